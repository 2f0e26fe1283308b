"""``ffmlp evaluate``: how well a model predicts the rows of a file."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ffmlp.cli.console import Console, add_shared, require_packages
from ffmlp.cli.predict import open_data
from ffmlp.words import counted, escaped

if TYPE_CHECKING:
    from ffmlp.tabular.scores import FileScores

HELP = "compare the predictions for a table with its labels"
EXAMPLE = "ffmlp evaluate iris.model test.csv"
_TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log-loss",
    "auc": "AUC",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_shared(parser, "MODEL", "DATA", several=True)


def run(options: argparse.Namespace) -> None:
    """Read, predict, compare and print."""
    require_packages("evaluate", "pyarrow", "tqdm")
    from ffmlp.tabular.predictor import read_predictor
    from ffmlp.tabular.scores import score_file
    from ffmlp.tabular.table_columns import require_columns

    console = Console(options)
    model = read_predictor(options.model)
    table = open_data(options, model, console, *options.data)
    require_columns(table, [model.target], "the target of the model")
    with console.progress(None, "row", "evaluating") as update:
        scores = score_file(model, table, update)
    if scores.n_unlabelled:
        console.note(f"left out {counted(scores.n_unlabelled, 'row')} without {model.target!r}.")
    if scores.unknown:
        n_rows, example = sum(scores.unknown.values()), next(iter(scores.unknown))
        console.note(
            f"{table.path}, column {model.target}: {counted(n_rows, 'row')} with a class that the model "
            f"has not seen, for example {example!r}. They count as errors; log-loss and AUC leave them "
            "out."
        )
    for unknown in scores.unknown_categories:
        console.note(f"{table.path}, column {unknown}")
    console.say(*to_lines(scores, table.path))
    console.result({"model": str(options.model), "data": str(table.path), **asdict(scores)})


def to_lines(scores: FileScores, path: Path) -> list[str]:
    """Two tables: all classes together, beside the majority class, and each class."""
    majority = scores.majority
    lines = [f"{path}: {counted(scores.n_rows, 'row')}", "", f"{'':<18} {'model':>8} {'majority':>9}"]
    for name, title in _TITLES.items():
        value, other = getattr(scores, name), getattr(majority, name, None)
        lines.append(f"{title:<18} {_text(value):>8} {_text(other):>9}")
    if majority is not None:
        most = f"always {majority.label!r}, the most frequent class of the training data"
        lines.append(f"(majority: {most}, with the shares of its classes as probabilities)")
    labels = [escaped(scored.label) for scored in scores.classes]
    width = max(len("class"), *map(len, labels))
    lines += ["", f"{'class':<{width}} {'rows':>8} {'precision':>10} {'recall':>8}"]
    lines += [
        f"{label:<{width}} {of.n_rows:>8} {_text(of.precision):>10} {_text(of.recall):>8}"
        for label, of in zip(labels, scores.classes, strict=True)
    ]
    return lines


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
