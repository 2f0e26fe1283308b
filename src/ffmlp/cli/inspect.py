"""``ffmlp inspect``: what a model file holds."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffmlp.cli.console import Console, need
from ffmlp.cli.fit import evaluation_text
from ffmlp.tabular.columns import listed

if TYPE_CHECKING:
    from ffmlp.tabular.table_model import TableModel

HELP = "tell what a model is: columns, classes, network, design, accuracy"
EXAMPLE = "ffmlp inspect iris.model"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Load and tell."""
    need("inspect", "skops")
    from ffmlp.tabular.table_model import TableModel

    console = Console.of(options)
    model = TableModel.load(options.model)
    console.say(to_text(options.model, model))
    console.result({"model": str(options.model), **_values(model)})
    return 0


def to_text(path: Path, model: TableModel) -> str:
    """The model in some lines."""
    clf, facts = model.classifier, model.facts
    network = clf.network_
    layers = zip(network.layer_sizes, network.kinds, strict=True)
    counts = facts.get("classes", {})
    classes = [
        f"{label} ({counts[str(label)]} rows)" if str(label) in counts else str(label)
        for label in clf.classes_.tolist()
    ]
    lines = {
        "model": f"{path} ({path.stat().st_size / 1000:.0f} kB)",
        "made from": f"{facts['file']}, {facts['rows']} rows" if "file" in facts else "",
        "target": model.target,
        "classes": listed(classes),
        "numbers": listed(model.numbers),
        "categories": listed(model.categories),
        "id": model.id_column or "",
        "not used": "; ".join(f"{name} ({why})" for name, why in facts.get("unused", {}).items()),
        "network": " → ".join(f"{size} {kind}" for size, kind in layers),
        "fit time": ", ".join(f"{step} {seconds:.3f} s" for step, seconds in clf.timings_.items()),
    }
    text = [f"{name + ':':<12}{value}" for name, value in lines.items() if value]
    if facts.get("evaluation"):
        text.append(f"{'accuracy:':<12}{evaluation_text(facts['evaluation'])}")
    return "\n".join([*text, "", "what was tried (→ is what was taken):", str(clf.selection_)])


def _values(model: TableModel) -> dict[str, Any]:
    clf = model.classifier
    selection = clf.selection_
    tried = [
        {**asdict(plan), "log_loss": _number(loss), "accuracy": _number(accuracy)}
        for plan, loss, accuracy in zip(
            selection.plans, selection.log_losses, selection.accuracies, strict=True
        )
    ]
    return {
        "target": model.target,
        "id": model.id_column,
        "labels": clf.classes_.tolist(),
        "numbers": list(model.numbers),
        "categories": list(model.categories),
        "layers": list(clf.network_.layer_sizes),
        "kinds": list(clf.network_.kinds),
        "tried": tried,
        "taken": selection.best,
        "timings": clf.timings_,
        **model.facts,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
