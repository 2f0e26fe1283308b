"""``ffmlp fit``: from a data file to a model file.

`run` is the way of the rows. `_InMemory` and `_InSections` are the two kinds of rows that go it.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ffmlp.cli.cluster import check_scheduler, scheduler
from ffmlp.cli.console import Console, add_shared, check_numbers, check_output, dialect, require_packages
from ffmlp.extras import require
from ffmlp.tables.opening import JoinedTable, is_large, open_tables, sections_of
from ffmlp.tables.tables import TEXT, DataFile, DataTable, LocatedError
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.tabular.large_tables import Reader
    from ffmlp.tabular.scores import Evaluation
    from ffmlp.tabular.table_columns import Columns
    from ffmlp.tabular.table_model import TableModel

HELP = "design a network from a table and save it as a model"
EXAMPLE = "ffmlp fit iris.csv --target species -o iris.model"
# Names of other files; a model may have any other name.
_OTHER_FILES = dict.fromkeys((".csv", ".tsv", ".txt", ".gz", ".bz2", ".xz", ".parquet"), "a data file")
_OTHER_FILES |= {".html": "a report", ".onnx": "an export", ".pt2": "an export"}
# Time and memory of a fit grow with the square of the features.
_MOST_COLUMNS, _MANY_COLUMNS = 5000, 2000
_ROWS_AT_ONCE = 100_000
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
    """Read, evaluate, fit, save and print a summary."""
    _check(options)
    require_packages("fit", "pandas", "tqdm")
    console = Console(options)
    table = open_tables(options.data, dialect(options))
    check_output(options.output, options.force, *map(Path, table.names))
    in_sections = options.larger_than_memory or options.scheduler is not None or is_large(table)
    if in_sections:
        require("tables larger than memory", "dask", "distributed")
    if in_sections and options.cv is not None:
        raise ValueError(
            f"{table.path} is too large for memory, and --cv needs all rows there. Use --test-size."
        )
    read = _InSections.read if in_sections else _InMemory.read
    with scheduler(options.scheduler) if in_sections else nullcontext():
        rows = read(table, options, console)
        notes = _notes_on_data(rows, options.target)
        for note in notes:
            console.note(note)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            fitted = rows.fitted(_classifier(rows.columns, options))
    warned = _notes_on_fit(caught, fitted.evaluation, options.target)
    for note in warned:
        console.note(note)
    model = _table_model(table, rows, fitted, options)
    model.save(options.output, options.force)
    _print_summary(console, model, notes + warned, options)


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


def _left_out(table: DataTable, options: argparse.Namespace) -> list[str]:
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
    ids = [] if options.id is None else [options.id]
    require_columns(table, [options.target], "--target")
    require_columns(table, options.ignore, "--ignore")
    require_columns(table, options.categorical, "--categorical")
    require_columns(table, ids, "--id")
    names += ids
    for name in names:
        if names.count(name) > 1 or name in options.categorical:
            roles = "target, id, ignored or categorical"
            raise ValueError(f"column {name!r} can have only one role: {roles}.")
    return names


def _classifier(columns: Columns, options: argparse.Namespace) -> FFMLPClassifier:
    """The classifier that the options ask for."""
    from ffmlp.classifier import FFMLPClassifier

    chosen = ("n_components", "design", "max_neurons", "max_leaves")
    parameters: Any = {name: getattr(options, name) for name in chosen}
    parameters["categorical_features"] = list(columns.categories)
    return FFMLPClassifier(**parameters, random_state=options.seed)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A fitted classifier, its evaluation, the seconds of its fit, and the smallest hashes of rows."""

    classifier: FFMLPClassifier
    evaluation: Evaluation | None
    seconds: float
    row_hashes: list[int]


@dataclass(frozen=True, eq=False)
class _InMemory:
    """The labelled rows of a table, in memory. ``classes`` are the numbers of rows, by label."""

    columns: Columns
    classes: dict[int | str, int]
    n_unlabelled: int
    X: pd.DataFrame
    y: NDArray
    options: argparse.Namespace
    console: Console

    @classmethod
    def read(cls, table: DataFile, options: argparse.Namespace, console: Console) -> _InMemory:
        """Infer the columns, then read them."""
        from ffmlp.tables.tables import joined
        from ffmlp.tabular.dates import with_dates
        from ffmlp.tabular.table_columns import infer
        from ffmlp.tabular.table_model import labels

        target = options.target
        columns = infer(table, options.categorical, _left_out(table, options))
        dated = with_dates(table, columns.dates)
        blocks = dated.blocks(_ROWS_AT_ONCE, {**columns.kinds, target: TEXT})
        frame = joined(list(blocks))
        labelled = frame[target].notna()
        _require_labels(table, target, labelled.any())
        frame = frame[labelled].reset_index(drop=True)
        with _errors_about_labels(table, target):
            y = labels(frame[target])
        classes = dict(sorted(Counter(y.tolist()).items()))
        X = frame[_in_order(table, columns)]
        return cls(columns, classes, int((~labelled).sum()), X, y, options, console)

    def fitted(self, model: FFMLPClassifier) -> _Fitted:
        """Evaluate fits to some of the rows, then fit to all rows."""
        from threadpoolctl import threadpool_limits

        from ffmlp.tabular.scores import evaluate, hashes_of, stored_hashes

        n_folds, test_size, seed = self.options.cv, self.options.test_size, self.options.seed
        evaluation = None
        with threadpool_limits(1 if self.X.size < _SMALL else None):
            if n_folds is not None or test_size:
                with self.console.progress(n_folds or 1, "fit", "evaluating") as update:
                    evaluation = evaluate(model, self.X, self.y, test_size, n_folds, seed, update)
            start = perf_counter()
            model.fit(self.X, self.y)
            seconds = perf_counter() - start
        hashes = stored_hashes(hashes_of(self.X[self.columns.features], self.y))
        return _Fitted(model, evaluation, seconds, hashes)


@dataclass(frozen=True, eq=False)
class _InSections:
    """The labelled rows of a table that is larger than memory, read through sums over sections."""

    columns: Columns
    classes: dict[int | str, int]
    n_unlabelled: int
    sections: Sequence[DataTable]
    reader: Reader
    console: Console

    @classmethod
    def read(cls, table: DataFile, options: argparse.Namespace, console: Console) -> _InSections:
        """Infer the columns and the classes."""
        from ffmlp.dask.partitions import Passes
        from ffmlp.tabular.large_tables import Reader, first_look
        from ffmlp.tabular.table_columns import columns_of

        target, sections, left_out = options.target, list(sections_of(table)), _left_out(table, options)
        with console.passes("reading columns", None) as on_section, _errors_about_labels(table, target):
            look = first_look(sections, target, options.categorical, left_out, Passes(on_section))
        columns = columns_of(table, look.tallies, options.categorical)
        _require_labels(table, target, bool(look.labels))
        features, held_out = _in_order(table, columns), (options.test_size, options.seed)
        with _errors_about_labels(table, target):
            reader = Reader.of(columns, features, target, look.labels, *held_out)
        classes = {label: look.labels[str(label)] for label in reader.labels.tolist()}
        return cls(columns, classes, look.n_unlabelled, sections, reader, console)

    def fitted(self, model: FFMLPClassifier) -> _Fitted:
        """Evaluate a fit to the rows that are not held out, then fit to all rows."""
        import numpy as np

        from ffmlp.dask.partitions import Passes
        from ffmlp.parameters import TooFewClassesError
        from ffmlp.tabular.large_tables import fitted, last_look
        from ffmlp.tabular.scores import check_rows

        reader, counts = self.reader, np.array(list(self.classes.values()))
        n_rows, start, evaluated, n_passes = int(counts.sum()), perf_counter(), None, None
        with_test_size = f"with --test-size {reader.test_size:g}"
        if reader.test_size:
            check_rows(reader.labels, counts, 2)
            with self.console.passes("evaluating", n_rows) as on_section, warnings.catch_warnings():
                # The fit to all rows gives the same warnings.
                warnings.simplefilter("ignore", UserWarning)
                passes = Passes(on_section)
                try:
                    evaluated = fitted(model, self.sections, reader, passes, to_all=False)
                except TooFewClassesError as error:
                    raise ValueError(
                        f"{with_test_size}, the rows that are not held out do not have two classes. "
                        "Choose a smaller share, or 0 to skip the evaluation."
                    ) from error
            n_passes = len(passes)
        with self.console.passes("comparing", n_rows) as on_section:
            look = last_look(evaluated, self.sections, reader, Passes(on_section))
        if reader.test_size and look.held_out is None:
            raise ValueError(
                f"{with_test_size}, none of the {n_rows} rows is held out. Choose a larger share, or 0 "
                "to skip the evaluation."
            )
        held_out, seconds = look.held_out, perf_counter() - start
        evaluation = None if held_out is None else held_out.evaluation(counts, seconds)
        start = perf_counter()
        # The evaluation has shown how many passes there will be, unless another design is chosen.
        with self.console.passes("fitting", n_rows, n_passes) as on_section:
            final = fitted(model, self.sections, reader, Passes(on_section), to_all=True)
        return _Fitted(final, evaluation, perf_counter() - start, look.hashes)


def _require_labels(table: DataFile, target: str, are_there: bool) -> None:
    if not are_there:
        raise ValueError(f"{table.path}: column {target!r} is empty.")


@contextmanager
def _errors_about_labels(table: DataFile, target: str) -> Iterator[None]:
    """Errors about labels name their column."""
    try:
        yield
    except LocatedError:
        raise
    except ValueError as error:
        number = table.columns.index(target) + 1
        raise ValueError(f"{table.path}, column {number} ({target!r}): {error}") from error


def _in_order(table: DataTable, columns: Columns) -> list[str]:
    """The features in the order of the file, so that the classifier takes its columns as they are."""
    source = {part: dates.name for dates in columns.dates for part in dates.names}
    return sorted(columns.features, key=lambda name: table.columns.index(source.get(name, name)))


def _notes_on_data(rows: _InMemory | _InSections, target: str) -> list[str]:
    """What a person would look at twice before the model is fitted."""
    from ffmlp.tabular.table_columns import notes_on_labels

    columns = rows.columns
    notes = [f"{name} is not used: {reason}." for name, reason in columns.unused.items()]
    notes += [*columns.notes, *notes_on_labels(target, list(rows.classes))]
    n_columns = len(columns.features)
    if n_columns > _MANY_COLUMNS:
        megabytes = 8 * n_columns**2 / 1e6  # a threshold of each column has a weight for every one
        notes.append(
            f"{counted(n_columns, 'column')}: time, memory and the model file grow with the square of "
            f"their number. The file may take {megabytes:.0f} MB, the fit ten times as much."
        )
    if rows.n_unlabelled:
        notes.append(f"left out {counted(rows.n_unlabelled, 'row')} without {target!r}.")
    return notes


def _notes_on_fit(
    caught: list[warnings.WarningMessage], evaluation: Evaluation | None, target: str
) -> list[str]:
    """What the classifier warns of, each once, and whether it is no better than a constant."""
    warned = [str(warning.message) for warning in caught if warning.category is UserWarning]
    if evaluation is not None and evaluation.accuracy <= evaluation.majority:
        warned.append(
            f"the model is no better than the majority class: accuracy {evaluation.accuracy:.3f}, "
            f"majority class {evaluation.majority:.3f}. The columns may say little about {target!r}."
        )
    return list(dict.fromkeys(warned))


def _table_model(
    table: DataFile, rows: _InMemory | _InSections, fitted: _Fitted, options: argparse.Namespace
) -> TableModel:
    """The classifier with its columns and the facts about its fit."""
    from ffmlp.tabular.table_model import TableModel

    is_joined, columns = isinstance(table, JoinedTable), rows.columns
    facts = {
        **({"file": str(table.path), "files": table.names} if is_joined else {"file": table.path.name}),
        "rows": sum(rows.classes.values()),
        "classes": {str(label): count for label, count in rows.classes.items()},
        "order": list(table.columns),
        "unused": columns.unused,
        "evaluation": None if fitted.evaluation is None else asdict(fitted.evaluation),
        "fit_seconds": fitted.seconds,
        "row_hashes": fitted.row_hashes,
    }
    names = columns.numbers, columns.categories, options.target, options.id
    return TableModel(*names, dialect(options), facts, fitted.classifier, dates=columns.dates)


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
