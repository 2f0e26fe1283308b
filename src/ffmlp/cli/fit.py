"""``ffmlp fit``: from a data file to a model file."""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ffmlp.cli.cluster import check_scheduler, scheduler
from ffmlp.cli.console import Console, add_shared, check_numbers, check_output, dialect, require_packages
from ffmlp.extras import require
from ffmlp.tables.opening import JoinedTable, is_large, open_tables
from ffmlp.tables.tables import TEXT, DataFile, DataTable, LocatedError
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.tabular.large_tables import FirstLook, Reader
    from ffmlp.tabular.table_columns import Columns
    from ffmlp.tabular.table_model import TableModel


# Time and memory of a fit grow with the square of the features.
_MOST_COLUMNS, _MANY_COLUMNS = 5000, 2000


def left_out(table: DataTable, options: argparse.Namespace) -> list[str]:
    """The columns that are not features: target, id and ignored ones; an error if a role is wrong."""
    from ffmlp.tabular.table_columns import require_columns

    names = [options.target, *options.ignore]
    n_columns = len(table.columns) - len(names)
    if n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"{table.path} has {n_columns} columns beside the target, more than {_MOST_COLUMNS}. Time "
            "and memory grow with the square of their number. Select some, or reduce them, for example "
            "to principal components."
        )
    require_columns(table, [options.target], "--target")
    require_columns(table, options.ignore, "--ignore")
    require_columns(table, options.categorical, "--categorical")
    if options.id is not None:
        require_columns(table, [options.id], "--id")
        names.append(options.id)
    for name in names:
        if names.count(name) > 1 or name in options.categorical:
            roles = "target, id, ignored or categorical"
            raise ValueError(f"column {name!r} can have only one role: {roles}.")
    return names


def classifier(columns: Columns, options: argparse.Namespace) -> FFMLPClassifier:
    """The classifier that the options ask for."""
    from ffmlp.classifier import FFMLPClassifier

    chosen = ("n_components", "design", "max_neurons", "max_leaves")
    parameters: Any = {name: getattr(options, name) for name in chosen}
    parameters["categorical_features"] = list(columns.categories)
    return FFMLPClassifier(**parameters, random_state=options.seed)


def in_order(table: DataTable, columns: Columns) -> list[str]:
    """The features in the order of the file, so that the classifier takes its columns as they are."""
    source = {part: dates.name for dates in columns.dates for part in dates.names}
    return sorted(columns.features, key=lambda name: table.columns.index(source.get(name, name)))


def notes_on_data(
    columns: Columns, labels: Sequence[int | str], n_dropped: int, target: str
) -> list[str]:
    """What a person would look at twice before the model is fitted."""
    from ffmlp.tabular.table_columns import notes_on_labels

    notes = [f"{name} is not used: {reason}." for name, reason in columns.unused.items()]
    notes += [*columns.notes, *notes_on_labels(target, labels)]
    n_columns = len(columns.features)
    if n_columns > _MANY_COLUMNS:
        megabytes = 8 * n_columns**2 / 1e6  # a threshold of each column has a weight for every one
        notes.append(
            f"{counted(n_columns, 'column')}: time, memory and the model file grow with the square of "
            f"their number. The file may take {megabytes:.0f} MB, the fit ten times as much."
        )
    if n_dropped:
        notes.append(f"left out {counted(n_dropped, 'row')} without {target!r}.")
    return notes


def notes_on_fit(
    caught: list[warnings.WarningMessage], evaluation: dict[str, Any] | None, target: str
) -> list[str]:
    """What the classifier warns of, each once, and whether it is no better than a constant."""
    warned = [str(warning.message) for warning in caught if warning.category is UserWarning]
    if evaluation is not None and evaluation["accuracy"] <= evaluation["majority"]:
        warned.append(
            f"the model is no better than the majority class: accuracy {evaluation['accuracy']:.3f}, "
            f"majority class {evaluation['majority']:.3f}. The columns may say little about {target!r}."
        )
    return list(dict.fromkeys(warned))


def table_model(
    table: DataFile,
    columns: Columns,
    options: argparse.Namespace,
    model: FFMLPClassifier,
    *,
    classes: Mapping[int | str, int],
    evaluation: dict[str, Any] | None,
    seconds: float,
    row_hashes: list[int],
) -> TableModel:
    """A fitted classifier with its columns and the facts about its fit.

    ``classes`` are the number of rows of each class, in the order of the classes.
    """
    from ffmlp.tabular.table_model import TableModel

    one = not isinstance(table, JoinedTable)
    facts = {
        **({"file": table.path.name} if one else {"file": str(table.path), "files": table.names}),
        "rows": sum(classes.values()),
        "classes": {str(label): count for label, count in classes.items()},
        "order": list(table.columns),
        "unused": columns.unused,
        "evaluation": evaluation,
        "fit_seconds": seconds,
        "row_hashes": row_hashes,
    }
    names = columns.numbers, columns.categories, options.target, options.id
    return TableModel(*names, dialect(options), facts, model, dates=columns.dates)


def fit_large(
    table: DataFile, options: argparse.Namespace, console: Console
) -> tuple[TableModel, list[str]]:
    """The model of a table, and the notes on it. All rows are read through sums over sections."""
    require("tables larger than memory", "dask", "distributed")
    if options.cv is not None:
        raise ValueError(
            f"{table.path} is too large for memory, and --cv needs all rows there. Use --test-size."
        )
    from ffmlp.tabular.large_tables import sections_of
    from ffmlp.tabular.table_columns import columns_of

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
    from ffmlp.parameters import TooFewClassesError
    from ffmlp.tabular.large_tables import fitted, last_look
    from ffmlp.tabular.scores import check_rows

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


HELP = "design a network from a table and save it as a model"
EXAMPLE = "ffmlp fit iris.csv --target species -o iris.model"
_ROWS_AT_ONCE = 100_000
# Names of other files; a model may have any other name.
_OTHER_FILES = dict.fromkeys((".csv", ".tsv", ".txt", ".gz", ".bz2", ".xz", ".parquet"), "a data file")
_OTHER_FILES |= {".html": "a report", ".onnx": "an export", ".pt2": "an export"}
# With fewer numbers than this, more threads cost more time than they save.
_SMALL = 2_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    columns = parser.add_argument_group("columns")
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": [], "metavar": "COLUMN"}
    columns.add_argument("--ignore", help="columns to leave out", **several)
    columns.add_argument("--categorical", help="columns to treat as categories", **several)
    columns.add_argument("--id", metavar="COLUMN", help="column that names the rows; predict copies it")
    evaluation = parser.add_argument_group("evaluation").add_mutually_exclusive_group()
    what = "share of the rows to hold out (0.25); 0 skips the evaluation"
    evaluation.add_argument("--test-size", type=float, default=0.25, metavar="SHARE", help=what)
    evaluation.add_argument("--cv", type=int, metavar="FOLDS", help="cross-validate instead")
    design = parser.add_argument_group("design")
    designs = ("auto", "paper", "region", "blob", "readout")
    what = "auto chooses one on held-out rows (auto)"
    design.add_argument("--design", choices=designs, default="auto", help=f"network design; {what}")
    what = "blobs per class (auto)"
    design.add_argument("--n-components", type=_number, default="auto", metavar="N", help=what)
    design.add_argument("--max-neurons", type=int, metavar="N", help="neurons at most (no limit)")
    what = "leaves of the trees that correct the readout, at most; 0 for none (auto)"
    design.add_argument("--max-leaves", type=_number, default="auto", metavar="N", help=what)
    design.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    large = parser.add_argument_group("tables larger than memory (extra dask)")
    what = "read the rows in sections, again for each pass; the default for large tables"
    large.add_argument("--larger-than-memory", action="store_true", help=what)
    what = "the same on the Dask cluster of this scheduler, for example tcp://host:8786"
    large.add_argument("--scheduler", metavar="ADDRESS", help=what)
    add_shared(parser, "DATA", output=("MODEL", "model file to write"), several=True)


def _number(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be auto or an integer, got {text!r}") from None


def run(options: argparse.Namespace) -> None:
    """Evaluate, fit, save and print a summary."""
    _check(options)
    require_packages("fit", "pandas", "tqdm")
    console = Console(options)
    table = open_tables(options.data, dialect(options))
    check_output(options.output, options.force, *map(Path, table.names))
    if options.larger_than_memory or options.scheduler is not None or is_large(table):
        model, notes = fit_large(table, options, console)
    else:
        model, notes = _fit_in_memory(table, options, console)
    model.save(options.output, options.force)
    _print_summary(console, model, notes, options)


def _fit_in_memory(
    table: DataFile, options: argparse.Namespace, console: Console
) -> tuple[TableModel, list[str]]:
    """The model of a table, and the notes on it."""
    from threadpoolctl import threadpool_limits

    from ffmlp.tabular.dates import with_dates
    from ffmlp.tabular.scores import hashes_of, stored_hashes
    from ffmlp.tabular.table_columns import infer

    columns = infer(table, options.categorical, left_out(table, options))
    X, y, n_dropped = _read(with_dates(table, columns.dates), columns, options.target)
    classes = dict(sorted(Counter(y.tolist()).items()))
    notes = notes_on_data(columns, list(classes), n_dropped, options.target)
    for note in notes:
        console.note(note)
    model = classifier(columns, options)
    n_threads = 1 if X.size < _SMALL else None
    with threadpool_limits(n_threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        evaluation = _evaluated(model, X, y, options, console)
        start = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - start
    warned = notes_on_fit(caught, evaluation, options.target)
    for note in warned:
        console.note(note)
    fitted = table_model(
        table, columns, options, model, classes=classes, evaluation=evaluation, seconds=seconds,
        row_hashes=stored_hashes(hashes_of(X[columns.features], y)),
    )  # fmt: skip
    return fitted, notes + warned


def _check(options: argparse.Namespace) -> None:
    if not 0 <= options.test_size < 1:
        raise ValueError(f"--test-size must be at least 0 and below 1, got {options.test_size:g}.")
    check_numbers(options, 2, "cv")
    check_numbers(options, 0, "seed", bits=32)
    if str(options.output) == "-":
        raise ValueError(
            "a model is not written to standard output. Name a file, for example -o x.model."
        )
    what = _OTHER_FILES.get(options.output.suffix.lower())
    if what is not None:
        raise ValueError(
            f"{options.output} looks like {what}. Choose another name for the model, for example "
            f"-o {options.output.with_suffix('.model')}."
        )
    if options.cv is not None and (options.larger_than_memory or options.scheduler is not None):
        raise ValueError("--cv needs all rows in memory. Use --test-size instead.")
    check_scheduler(options, options.data)
    check_output(options.output, options.force)


def _read(table: DataTable, columns: Columns, target: str) -> tuple[pd.DataFrame, NDArray, int]:
    """Features and labels of the labelled rows, and the number of rows without a label."""
    from ffmlp.tables.blocks import joined
    from ffmlp.tabular.table_model import labels

    blocks = table.blocks(_ROWS_AT_ONCE, {**columns.kinds, target: TEXT})
    frame = joined(list(blocks))
    labelled = frame[target].notna()
    if not labelled.any():
        raise ValueError(f"{table.path}: column {target!r} is empty.")
    frame = frame[labelled].reset_index(drop=True)
    try:
        y = labels(frame[target])
    except ValueError as error:
        number = table.columns.index(target) + 1
        raise ValueError(f"{table.path}, column {number} ({target!r}): {error}") from error
    return frame[in_order(table, columns)], y, int((~labelled).sum())


def _evaluated(
    model: Any, X: pd.DataFrame, y: NDArray, options: argparse.Namespace, console: Console
) -> dict[str, Any] | None:
    """The evaluation that the options ask for, as plain JSON values."""
    from ffmlp.tabular.scores import evaluate

    n_folds, test_size = options.cv, options.test_size
    if n_folds is None and not test_size:
        return None
    with console.progress(n_folds or 1, "fit", "evaluating") as update:
        return asdict(evaluate(model, X, y, test_size, n_folds, options.seed, update))


def _print_summary(
    console: Console, model: TableModel, notes: list[str], options: argparse.Namespace
) -> None:
    facts, clf, size = model.facts, model.classifier, options.output.stat().st_size
    console.say(
        f"{facts['file']}: {counted(facts['rows'], 'row')}, {counted(len(model.features), 'feature')} "
        f"({len(model.numbers)} numeric, {len(model.categories)} categorical) → {model.target} "
        f"({counted(len(facts['classes']), 'class')})"
    )
    if facts["evaluation"] is not None:
        console.say(f"accuracy: {evaluation_text(facts['evaluation'])}")
    layers = " → ".join(map(str, clf.network_.layer_sizes))
    design = clf.selection_.plan.design
    console.say(f"network:  {layers} neurons ({design} design), fitted in {facts['fit_seconds']:.2f} s")
    if clf.n_leaves_:
        console.say(f"trees:    {clf.n_leaves_} leaves, which correct the readout")
    console.say(f"saved:    {options.output} ({size / 1000:.0f} kB)")
    console.result(
        {"model": str(options.output), "bytes": size, "layers": list(clf.network_.layer_sizes),
         "leaves": clf.n_leaves_, "design": design, "numbers": list(model.numbers),
         "categories": list(model.categories), "target": model.target, "notes": notes, **shown(facts)}
    )  # fmt: skip


def shown(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts about a fit that are printed as JSON."""
    return {name: value for name, value in facts.items() if name != "row_hashes"}


def evaluation_text(evaluation: dict) -> str:
    """The evaluation in one line."""
    spread = evaluation["accuracy_deviation"]
    return (
        f"{evaluation['accuracy']:.3f}{f' ± {spread:.3f}' if spread else ''} on "
        f"{counted(evaluation['n_rows'], 'row')} ({evaluation['method']}); majority class: "
        f"{evaluation['majority']:.3f}"
    )
