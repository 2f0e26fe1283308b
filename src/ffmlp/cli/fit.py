"""``ffmlp fit``: from a data file to a model file."""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ffmlp.cli.console import Console, add_dialect, add_output, check_output, counted, dialect, need
from ffmlp.tables.tables import TEXT, Table, open_table, pandas
from ffmlp.tabular.columns import Columns, infer, known

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ffmlp.tabular.table_model import Evaluation, TableModel

HELP = "design a network from a table and save it"
EXAMPLE = "ffmlp fit iris.csv --target species -o iris.model"
_ROWS_AT_ONCE = 100_000
# What is written so is no model; other names are free.
_NO_MODELS = (".csv", ".tsv", ".txt", ".gz", ".bz2", ".xz", ".parquet", ".html", ".onnx", ".pt2")
# Below this many numbers, more threads cost more than they give.
_SMALL = 2_000_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("data", type=Path, metavar="DATA", help="a CSV, TSV or Parquet file")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    add_output(parser, "MODEL", "the model file to write")
    columns = parser.add_argument_group("columns")
    several: dict[str, Any] = {"nargs": "+", "action": "extend", "default": [], "metavar": "COLUMN"}
    columns.add_argument("--ignore", help="columns to leave out", **several)
    columns.add_argument("--categorical", help="columns whose numbers are categories", **several)
    columns.add_argument("--id", metavar="COLUMN", help="names the rows; left out, kept by predict")
    evaluation = parser.add_argument_group("evaluation").add_mutually_exclusive_group()
    evaluation.add_argument(
        "--test-size", type=float, default=0.25, metavar="SHARE",
        help="share of the rows to hold out (0.25); 0 for no evaluation",
    )  # fmt: skip
    evaluation.add_argument("--cv", type=int, metavar="FOLDS", help="cross-validate instead")
    design = parser.add_argument_group("design")
    design.add_argument("--design", choices=("auto", "region", "blob", "readout"), default="auto")
    design.add_argument(
        "--n-components", type=_components, default="auto", metavar="N", help="blobs per class (auto)"
    )
    design.add_argument(
        "--max-neurons", type=int, metavar="N", help="a small network of at most N neurons (no limit)"
    )
    design.add_argument("--seed", type=int, default=0)
    add_dialect(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def _components(text: str) -> int | str:
    try:
        return text if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be auto or a whole number, got {text!r}") from None


def run(options: argparse.Namespace) -> int:
    """Fit, evaluate, save and tell."""
    _check(options)
    need("fit", "pandas", "tqdm", "skops")
    from threadpoolctl import threadpool_limits

    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.tabular.table_model import evaluate, pipeline

    console = Console.of(options)
    table = open_table(options.data, dialect(options))
    columns = _columns(table, options)
    X, y, n_dropped = _read(table, columns, options.target)
    for name, reason in columns.unused.items():
        console.note(f"{name} is not used: {reason}.")
    if n_dropped:
        console.note(f"{counted(n_dropped, 'row')} without {options.target!r} left out.")
    classifier = FFMLPClassifier(
        options.n_components, design=options.design, max_neurons=options.max_neurons,
        random_state=options.seed,
    )  # fmt: skip
    model = pipeline(columns, classifier)
    evaluation = None
    with threadpool_limits(1 if X.size < _SMALL else None), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        if options.cv is not None or options.test_size > 0:
            with console.bar(options.cv or 1, "fit", "evaluating") as bar:
                evaluation = evaluate(
                    model, X, y, test_size=options.test_size, n_folds=options.cv, seed=options.seed,
                    on_part=bar.update,
                )  # fmt: skip
        start = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - start
    warned = [str(warning.message) for warning in told if warning.category is UserWarning]
    for message in dict.fromkeys(warned):
        console.note(message)
    fitted = _described(model, columns, table, options, y, evaluation, seconds)
    fitted.save(options.output)
    _tell(console, fitted, columns, options)
    return 0


def _check(options: argparse.Namespace) -> None:
    if not 0 <= options.test_size < 1:
        raise ValueError(f"--test-size must be at least 0 and below 1, got {options.test_size:g}.")
    if options.cv is not None and options.cv < 2:
        raise ValueError(f"--cv must be at least 2, got {options.cv}.")
    if not 0 <= options.seed < 2**32:
        raise ValueError(f"--seed must be at least 0 and below 2^32, got {options.seed}.")
    if options.output.suffix.lower() in _NO_MODELS:
        raise ValueError(f"{options.output}: so are other files named. Name the model such as m.model.")
    check_output(options.output, options.force, options.data)


def _columns(table: Table, options: argparse.Namespace) -> Columns:
    known(table, [options.target], "--target")
    known(table, options.ignore, "--ignore")
    known(table, options.categorical, "--categorical")
    left_out = [options.target, *options.ignore]
    if options.id is not None:
        left_out += known(table, [options.id], "--id")
    for name in left_out:
        if left_out.count(name) > 1 or name in options.categorical:
            raise ValueError(f"column {name!r} can be only one of target, id, ignored and categorical.")
    return infer(table, options.categorical, left_out)


def _read(table: Table, columns: Columns, target: str) -> tuple[pd.DataFrame, NDArray, int]:
    """Features and labels of the rows that have a label, and how many have none."""
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
    return frame[columns.features], y, int((~labelled).sum())


def _described(
    model: object,
    columns: Columns,
    table: Table,
    options: argparse.Namespace,
    y: NDArray,
    evaluation: Evaluation | None,
    seconds: float,
) -> TableModel:
    from ffmlp.tabular.table_model import TableModel, preparation

    facts = {
        "file": table.path.name,
        "rows": len(y),
        "classes": {str(label): count for label, count in sorted(Counter(y.tolist()).items())},
        "order": list(table.columns),
        "unused": columns.unused,
        "evaluation": None if evaluation is None else asdict(evaluation),
        "fit_seconds": seconds,
    }
    prepared = preparation(model)
    features = columns.numbers, columns.categories
    return TableModel(*features, options.target, options.id, dialect(options), facts, prepared, model)


def _tell(console: Console, model: TableModel, columns: Columns, options: argparse.Namespace) -> None:
    facts, clf = model.facts, model.classifier
    size = options.output.stat().st_size
    evaluation = facts["evaluation"]
    console.say(
        f"{facts['file']}: {counted(facts['rows'], 'row')}, {counted(len(columns.numbers), 'number')}, "
        f"{counted(len(columns.categories), 'category')} → {model.target} "
        f"({counted(len(facts['classes']), 'class')})"
    )
    if evaluation is not None:
        console.say(f"accuracy: {evaluation_text(evaluation)}")
    layers = " → ".join(map(str, clf.network_.layer_sizes))
    design = clf.selection_.plan.design
    console.say(f"network:  {layers} neurons ({design} design), fitted in {facts['fit_seconds']:.2f} s")
    console.say(f"saved:    {options.output} ({size / 1000:.0f} kB)")
    console.result(
        {
            "model": str(options.output),
            "bytes": size,
            "layers": list(clf.network_.layer_sizes),
            "design": design,
            "numbers": list(columns.numbers),
            "categories": list(columns.categories),
            "target": model.target,
            **facts,
        }
    )


def evaluation_text(evaluation: dict) -> str:
    """The evaluation in a line."""
    spread = evaluation["accuracy_deviation"]
    return (
        f"{evaluation['accuracy']:.3f}{f' ± {spread:.3f}' if spread else ''} on "
        f"{counted(evaluation['n_rows'], 'row')} ({evaluation['method']}); always the most frequent "
        f"class: {evaluation['majority']:.3f}"
    )
