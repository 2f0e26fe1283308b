"""``ffmlp fit``: from a data file to a model file."""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ffmlp.cli.cluster import check_scheduler
from ffmlp.cli.console import Console, add_shared, check_numbers, check_output, dialect, require_packages
from ffmlp.cli.training import classifier, in_order, left_out, notes_on_data, notes_on_fit, table_model
from ffmlp.tables.memory import is_large
from ffmlp.tables.several import open_tables
from ffmlp.tables.tables import TEXT, DataFile, DataTable, pandas
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ffmlp.tabular.columns import Columns
    from ffmlp.tabular.table_model import TableModel

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
    what = "regions beside a readout, at most; 0 for none (auto)"
    design.add_argument("--max-regions", type=_number, default="auto", metavar="N", help=what)
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
    require_packages("fit", "pandas", "tqdm", "skops")
    console = Console(options)
    table = open_tables(options.data, dialect(options))
    check_output(options.output, options.force, *map(Path, table.names))
    if options.larger_than_memory or options.scheduler is not None or is_large(table):
        from ffmlp.cli.large_fit import fit_large

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

    from ffmlp.tabular.columns import infer
    from ffmlp.tabular.dates import with_dates
    from ffmlp.tabular.seen_rows import row_hashes, stored_hashes

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
        row_hashes=stored_hashes(row_hashes(X[columns.features], y)),
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
    return frame[in_order(table, columns)], y, int((~labelled).sum())


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
