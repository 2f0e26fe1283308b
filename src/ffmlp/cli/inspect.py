"""``ffmlp inspect``: what a model file contains."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffmlp.cli.console import Console, add_shared
from ffmlp.cli.fit import evaluation_text, shown
from ffmlp.words import counted, listed, with_escapes

if TYPE_CHECKING:
    from ffmlp.tabular.table_model import TableModel

HELP = "show what a model contains: columns, classes, network, design, accuracy"
EXAMPLE = "ffmlp inspect iris.model"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_shared(parser, "MODEL", quiet=False)


def run(options: argparse.Namespace) -> None:
    """Load and print."""
    from ffmlp.tabular.table_model import TableModel

    console = Console(options)
    model = TableModel.load(options.model)
    console.say(*to_lines(options.model, model))
    console.result({"model": str(options.model), **_values(model)})


def to_lines(path: Path, model: TableModel) -> list[str]:
    """The model in a few lines."""
    clf, facts = model.classifier, model.facts
    counts = facts.get("classes", {})
    classes = [
        f"{label} ({counted(counts[str(label)], 'row')})" if str(label) in counts else str(label)
        for label in clf.classes_.tolist()
    ]
    lines = {
        "model": f"{path} ({path.stat().st_size / 1000:.0f} kB)",
        "fitted to": f"{facts['file']}, {counted(facts['rows'], 'row')}" if "file" in facts else "",
        "target": model.target,
        "classes": listed(classes),
        "numeric": listed(model.numbers),
        "categorical": listed(model.categories),
        "id": model.id_column or "",
        "not used": "; ".join(f"{name} ({why})" for name, why in facts.get("unused", {}).items()),
        "network": clf.network_.layers,
        "fit time": ", ".join(f"{step} {seconds:.3f} s" for step, seconds in clf.timings_.items()),
        "accuracy": evaluation_text(facts["evaluation"]) if facts.get("evaluation") else "",
    }
    text = [f"{name + ':':<13}{value}" for name, value in lines.items() if value]
    plans = str(with_escapes(clf.selection_)).split("\n")
    return [*text, "", "candidate plans (→ is chosen):", *plans]


def _values(model: TableModel) -> dict[str, Any]:
    clf = model.classifier
    selection = clf.selection_
    scored = zip(selection.plans, selection.log_losses, selection.accuracies, strict=True)
    plans = [
        asdict(plan) | _numbers(max_leaves=plan.max_leaves, log_loss=loss, accuracy=accuracy)
        for plan, loss, accuracy in scored
    ]
    return {
        "target": model.target,
        "id": model.id_column,
        "labels": clf.classes_.tolist(),
        "numbers": list(model.numbers),
        "categories": list(model.categories),
        "layers": list(clf.network_.layer_sizes),
        "kinds": list(clf.network_.kinds),
        "leaves": clf.n_leaves_,
        "plans": plans,
        "chosen": selection.best,
        "timings": clf.timings_,
        **shown(model.facts),
    }


def _numbers(**values: float) -> dict[str, float | None]:
    """Values for JSON, which has no infinite numbers."""
    return {name: float(value) if isfinite(value) else None for name, value in values.items()}
