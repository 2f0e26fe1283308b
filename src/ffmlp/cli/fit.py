"""``ffmlp fit``: from a data file to a model file."""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ffmlp.cli.console import Console, add_shared, check_numbers, check_output, dialect, require_packages
from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import TEXT, DataTable, pandas
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ffmlp.tabular.columns import Columns
    from ffmlp.tabular.table_model import TableModel

HELP = "design a network from a table and save it as a model"
EXAMPLE = "ffmlp fit iris.csv --target species -o iris.model"
_ROWS_AT_ONCE = 100_000
# Time and memory of a fit grow with the square of the features.
_MOST_COLUMNS = 5000
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
    what = "regions beside a readout, at most; 0 for none (auto)"
    design.add_argument("--max-regions", type=_number, default="auto", metavar="N", help=what)
    design.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (0)")
    add_shared(parser, "DATA", output=("MODEL", "model file to write"))


def _number(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be auto or an integer, got {text!r}") from None


def run(options: argparse.Namespace) -> None:
    """Evaluate, fit, save and print a summary."""
    _check(options)
    require_packages("fit", "pandas", "tqdm", "skops")
    from threadpoolctl import threadpool_limits

    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.tabular.dates import with_dates
    from ffmlp.tabular.seen_rows import row_hashes, stored_hashes
    from ffmlp.tabular.table_model import TableModel

    console = Console(options)
    table = open_table(options.data, dialect(options))
    columns = _columns(table, options)
    X, y, n_dropped = _read(with_dates(table, columns.dates), columns, options.target)
    notes = _notes_on_data(columns, y, n_dropped, options.target)
    for note in notes:
        console.note(note)
    chosen = ("n_components", "design", "max_neurons", "max_regions")
    parameters: Any = {name: getattr(options, name) for name in chosen}
    parameters["categorical_features"] = list(columns.categories)
    model = FFMLPClassifier(**parameters, random_state=options.seed)
    n_threads = 1 if X.size < _SMALL else None
    with threadpool_limits(n_threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        evaluation = _evaluated(model, X, y, options, console)
        start = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - start
    warned = _notes_on_fit(caught, evaluation, options.target)
    for note in warned:
        console.note(note)
    facts = {
        "file": table.path.name,
        "rows": len(y),
        "classes": {str(label): count for label, count in sorted(Counter(y.tolist()).items())},
        "order": list(table.columns),
        "unused": columns.unused,
        "evaluation": evaluation,
        "fit_seconds": seconds,
        "row_hashes": stored_hashes(row_hashes(X[columns.features], y)),
    }
    names = columns.numbers, columns.categories, options.target, options.id
    fitted = TableModel(*names, dialect(options), facts, model, dates=columns.dates)
    fitted.save(options.output, options.force)
    _print_summary(console, fitted, notes + warned, options)


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
    check_output(options.output, options.force, options.data)


def _columns(table: DataTable, options: argparse.Namespace) -> Columns:
    from ffmlp.tabular.columns import infer, require_columns

    left_out = [options.target, *options.ignore]
    n_columns = len(table.columns) - len(left_out)
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
        left_out.append(options.id)
    for name in left_out:
        if left_out.count(name) > 1 or name in options.categorical:
            roles = "target, id, ignored or categorical"
            raise ValueError(f"column {name!r} can have only one role: {roles}.")
    return infer(table, options.categorical, left_out)


def _read(table: DataTable, columns: Columns, target: str) -> tuple[pd.DataFrame, NDArray, int]:
    """Features and labels of the labelled rows, and the number of rows without a label."""
    from ffmlp.tabular.table_model import labels

    blocks = table.blocks(_ROWS_AT_ONCE, {**columns.kinds, target: TEXT})
    frame = pandas().concat(blocks, ignore_index=True)
    labelled = frame[target].notna()
    if not labelled.any():
        raise ValueError(f"{table.path}: column {target!r} is empty.")
    frame = frame[labelled].reset_index(drop=True)
    try:
        y = labels(frame[target])
    except ValueError as error:
        number = table.columns.index(target) + 1
        raise ValueError(f"{table.path}, column {number} ({target!r}): {error}") from error
    return frame[_in_order(table, columns)], y, int((~labelled).sum())


def _in_order(table: DataTable, columns: Columns) -> list[str]:
    """The features in the order of the file, so that the classifier takes its columns as they are."""
    source = {part: dates.name for dates in columns.dates for part in dates.names}
    return sorted(columns.features, key=lambda name: table.columns.index(source.get(name, name)))


def _notes_on_data(columns: Columns, y: NDArray, n_dropped: int, target: str) -> list[str]:
    """What a person would look at twice before the model is fitted."""
    from ffmlp.tabular.oddities import notes_on_labels

    notes = [f"{name} is not used: {reason}." for name, reason in columns.unused.items()]
    notes += [*columns.notes, *notes_on_labels(target, sorted({*y.tolist()}))]
    if n_dropped:
        notes.append(f"left out {counted(n_dropped, 'row')} without {target!r}.")
    return notes


def _notes_on_fit(
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


def _evaluated(
    model: Any, X: pd.DataFrame, y: NDArray, options: argparse.Namespace, console: Console
) -> dict[str, Any] | None:
    """The evaluation that the options ask for, as plain JSON values."""
    from ffmlp.tabular.evaluation import evaluate

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
    n_regions = clf.n_regions_
    if design == "readout" and n_regions:
        console.say(f"regions:  {n_regions}, which add to the evidence where it errs")
    console.say(f"saved:    {options.output} ({size / 1000:.0f} kB)")
    console.result(
        {"model": str(options.output), "bytes": size, "layers": list(clf.network_.layer_sizes),
         "regions": n_regions, "design": design, "numbers": list(model.numbers),
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
