"""``ffmlp fit`` for tables that are larger than memory: in sections, on threads or on a cluster."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ffmlp.cli.cluster import scheduler
from ffmlp.cli.console import Console
from ffmlp.cli.training import classifier, in_order, left_out, notes_on_data, notes_on_fit, table_model
from ffmlp.extras import require
from ffmlp.tables.tables import DataFile, DataTable, LocatedError

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.tabular.columns import Columns
    from ffmlp.tabular.large_tables import FirstLook, Reader
    from ffmlp.tabular.table_model import TableModel


def fit_large(
    table: DataFile, options: argparse.Namespace, console: Console
) -> tuple[TableModel, list[str]]:
    """The model of a table, and the notes on it. All rows are read through sums over sections."""
    require("tables larger than memory", "dask", "distributed")
    if options.cv is not None:
        raise ValueError(
            f"{table.path} is too large for memory, and --cv needs all rows there. Use --test-size."
        )
    from ffmlp.tabular.columns import columns_of
    from ffmlp.tabular.large_tables import sections_of

    not_features = left_out(table, options)
    with scheduler(options.scheduler):
        sections = list(sections_of(table))
        look = _first_look(table, sections, not_features, options, console)
        columns = columns_of(table, look.tallies, options.categorical)
        reader = _reader(table, columns, look, options)
        labels = reader.labels.tolist()
        classes = {label: look.labels[str(label)] for label in labels}
        notes = notes_on_data(columns, labels, look.n_unlabelled, options.target)
        for note in notes:
            console.note(note)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = _fitted(classifier(columns, options), sections, reader, classes, console)
    warned = notes_on_fit(caught, found.evaluation, options.target)
    for note in warned:
        console.note(note)
    return table_model(table, columns, options, classes=classes, **vars(found)), notes + warned


def _first_look(
    table: DataFile,
    sections: Sequence[DataTable],
    not_features: list[str],
    options: argparse.Namespace,
    console: Console,
) -> FirstLook:
    from ffmlp.dask.partitions import Passes
    from ffmlp.tabular.large_tables import first_look

    with console.passes("reading columns", None) as on_section, _of_target(table, options.target):
        passes = Passes(on_section)
        look = first_look(sections, options.target, options.categorical, not_features, passes)
    if look is None:
        raise ValueError(f"{table.path} has a header but no rows.")
    if not look.labels:
        raise ValueError(f"{table.path}: column {options.target!r} is empty.")
    return look


def _reader(table: DataFile, columns: Columns, look: FirstLook, options: argparse.Namespace) -> Reader:
    from ffmlp.tabular.large_tables import Reader

    features, held_out = in_order(table, columns), (options.test_size, options.seed)
    with _of_target(table, options.target):
        return Reader.of(columns, features, options.target, look.labels, *held_out)


@contextmanager
def _of_target(table: DataFile, target: str) -> Iterator[None]:
    """Errors about labels, with the name of their column."""
    try:
        yield
    except LocatedError:
        raise
    except ValueError as error:
        number = table.columns.index(target) + 1
        raise ValueError(f"{table.path}, column {number} ({target!r}): {error}") from error


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A fitted classifier and what is known of its fit."""

    model: FFMLPClassifier
    evaluation: dict[str, Any] | None
    seconds: float
    row_hashes: list[int]


def _fitted(
    model: FFMLPClassifier,
    sections: Sequence[DataTable],
    reader: Reader,
    classes: dict[int | str, int],
    console: Console,
) -> _Fitted:
    """Evaluate a fit to the rows that are not held out, then fit to all rows."""
    import numpy as np

    from ffmlp.dask.partitions import Passes
    from ffmlp.tabular.evaluation import check_rows
    from ffmlp.tabular.large_tables import fitted, last_look
    from ffmlp.validation import TooFewClassesError

    counts = np.array(list(classes.values()))
    n_rows, start, evaluated, n_passes = int(counts.sum()), perf_counter(), None, None
    if reader.test_size:
        check_rows(reader.labels, counts, 2)
        with console.passes("evaluating", n_rows) as on_section, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit to all rows gives the same warnings
            passes = Passes(on_section)
            try:
                evaluated = fitted(model, sections, reader, passes, to_all=False)
            except TooFewClassesError as error:
                raise ValueError(
                    f"with --test-size {reader.test_size:g}, the rows that are not held out do not have "
                    "two classes. Choose a smaller share, or 0 to skip the evaluation."
                ) from error
        n_passes = len(passes)
    with console.passes("comparing", n_rows) as on_section:
        look = last_look(evaluated, sections, reader, Passes(on_section))
    evaluation = None
    if look.held_out is not None:
        evaluation = asdict(look.held_out.evaluation(counts, perf_counter() - start))
    elif reader.test_size:
        raise ValueError(
            f"with --test-size {reader.test_size:g}, none of the {n_rows} rows is held out. Choose a "
            "larger share, or 0 to skip the evaluation."
        )
    start = perf_counter()
    # The evaluation has shown how many passes there will be, unless another design is chosen.
    with console.passes("fitting", n_rows, n_passes) as on_section:
        final = fitted(model, sections, reader, Passes(on_section), to_all=True)
    return _Fitted(final, evaluation, perf_counter() - start, look.hashes)
