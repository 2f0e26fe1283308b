"""What a report says of a model and a data file in words and tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.explain.describe import export_text
from ffmlp.inputs.columns import NumberColumn
from ffmlp.report.assessment import HyperplaneEffects, Importance, Outcome, Rows
from ffmlp.report.pages import Table
from ffmlp.tabular.table_model import TableModel
from ffmlp.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

_MAX_DRIVERS = 3
_MAX_HYPERPLANES = 15
_MAX_NEURONS = 15
_MAX_CATEGORIES = 5
_MAX_COLUMNS = 20
_MAX_LABELS = 8


def introduction(model: TableModel, rows: Rows, path: Path) -> tuple[str, list[str]]:
    """The title of the page and the text below it."""
    labels = listed(model.labels.tolist())
    if len(model.labels) > _MAX_LABELS:
        labels = counted(len(model.labels), "class")
    fitted = ""
    if "file" in model.facts:
        fitted = f" It was fitted to {counted(model.facts['rows'], 'row')} of {model.facts['file']}."
    features = counted(len(model.features), "column")
    text = [f"The model {path.name} predicts {model.target} ({labels}) from {features}.{fitted}"]
    evaluation = model.facts.get("evaluation")
    if evaluation and not rows.nearly_all_seen:  # otherwise, it is the accuracy of the report
        deviation = evaluation["accuracy_deviation"]
        spread = f" ± {100 * deviation:.1f}" if deviation else ""
        text.append(
            f"Its accuracy on {counted(evaluation['n_rows'], 'row')} that it was not fitted to "
            f"({evaluation['method']}) is {100 * evaluation['accuracy']:.1f}{spread}%. Predicting the "
            f"most frequent class would give {100 * evaluation['majority']:.1f}%."
        )
    return f"Report on {path.name}", text


def seen_text(rows: Rows) -> str:
    """Whether the model was fitted to the rows."""
    if not rows.seen:
        return ""
    if rows.seen == 1.0:
        return "The model was fitted to these rows."
    share = min(max(rows.seen, 0.01), 0.99)  # neither none nor all
    return f"The model was fitted to about {share:.0%} of these rows."


def outcome(model: TableModel, rows: Rows) -> Outcome | None:
    """That of the rows, or of held-out ones if the model was fitted to nearly all of them."""
    held_out = Outcome.of_held_out(model) if rows.nearly_all_seen else None
    return held_out or Outcome.of_rows(rows)


def data_table(model: TableModel, rows: Rows, importance: Importance, name_of_file: str) -> Table:
    """The columns of the file."""
    shown = set(importance.columns[:_MAX_COLUMNS])
    described = []
    for name in [name for name in model.features if name in shown]:
        cells, kind = rows.X[name], "numeric" if name in model.numbers else "categorical"
        n_missing = int(cells.isna().sum())
        missing = f"{n_missing} ({n_missing / len(cells):.1%})" if n_missing else "none"
        values = _range(cells) if kind == "numeric" else _most_frequent(cells)
        described.append([name, kind, missing, values if n_missing < len(cells) else "none"])
    first = "" if rows.whole else "The first "
    text = f"{first}{counted(len(rows.X), 'row')} of {name_of_file}. {seen_text(rows)}".rstrip()
    if not rows.labelled.any():
        text += f" It has no {model.target!r} to compare with, so there is no accuracy in this report."
    unused = list(model.facts.get("unused", {}).items())
    notes = [f"Not used: {name} ({why})." for name, why in unused[:_MAX_COLUMNS]]
    left = len(model.features) - len(described)
    if left:
        notes.insert(0, f"The {len(described)} most important columns; the model uses {left} more.")
    counts = np.bincount(rows.truth[rows.labelled], minlength=len(model.labels))
    if counts.any():
        shares = [
            f"{label}: {count} ({count / counts.sum():.1%})"
            for label, count in zip(model.labels.tolist(), counts, strict=True)
        ]
        notes.insert(0, f"{model.target}: {', '.join(shares)}.")
        unknown = int((~rows.labelled).sum())
        if unknown:
            notes.append(f"{counted(unknown, 'row')} without {model.target}, or with an unseen class.")
    return Table("Data", text, ("column", "kind", "missing", "values"), described, notes)


def _range(cells: pd.Series) -> str:
    median = 2.0 * (0.5 * cells).median()  # the sum of two middle values may overflow, not of halves
    return f"{cells.min():.4g} to {cells.max():.4g}, median {median:.4g}"


def _most_frequent(cells: pd.Series) -> str:
    counts = cells.value_counts()
    shown = [f"{value} ({count})" for value, count in counts.head(_MAX_CATEGORIES).items()]
    more = len(counts) - _MAX_CATEGORIES
    return ", ".join(shown) + (f", {more} more" if more > 0 else "")


def design_table(model: TableModel) -> Table:
    """The layers, and the plans that were compared."""
    clf = model.classifier
    network, selection = clf.network_, clf.selection_
    header, *lines = selection.table
    n_plans = len(selection.plans)
    chosen = "There was only one plan."
    if n_plans > 1:
        chosen = (
            f"{n_plans} plans were compared on held-out rows. The chosen one (→), fitted to all rows, "
            "is the first, unless the plan with the lowest log-loss is better by more than one standard "
            "error."
        )
    text = (
        f"The network has {network.layers}. It follows the {network.stages.design} design, with one "
        f"neuron of the second layer for {network.stages.each_neuron}. Nothing was trained: every "
        f"weight follows from the Gaussian blobs that make up each class. {chosen}"
    )
    seconds = ", ".join(f"{step} {value:.3f} s" for step, value in clf.timings_.items())
    return Table("Network design", text, header, lines, [f"Fit time: {seconds}."])


def meaning_table(model: TableModel, effects: HyperplaneEffects) -> Table:
    """The neurons of l_2, and the hyperplanes with the largest effects on the decisions."""
    network = model.classifier.network_
    n_planes, n_second = len(network.hyperplanes), network.layer_sizes[2]
    lines = [
        [f"hyperplane {plane}", f"{effects.effects[plane]:.3g}", network.half_space(plane),
         _drivers(model, effects, plane)]
        for plane in effects.order[:_MAX_HYPERPLANES].tolist()
    ]  # fmt: skip
    neurons = "two neurons in the first layer, one for each side"
    if network.layer_sizes[1] == n_planes:
        neurons = "one neuron in the first layer, for one side"
    shown = f"{_MAX_HYPERPLANES} of {n_planes}" if n_planes > _MAX_HYPERPLANES else f"all {n_planes}"
    text = (
        f"Each hyperplane has {neurons}. The table lists {shown} hyperplanes by their mean effect on "
        "the lead of the predicted class, largest first."
    )
    shown_neurons = range(min(n_second, _MAX_NEURONS))
    meanings = [f"{neuron}  {network.meaning(2, neuron)}" for neuron in shown_neurons]
    if n_second > _MAX_NEURONS:
        meanings.append(f"and {n_second - _MAX_NEURONS} more")
    details = [
        ("The neurons of the second layer", "\n".join(meanings)),
        ("The design as text", export_text(model.classifier)),
    ]
    header = ("", "effect", "positive side", "main features (+ towards this side)")
    return Table("What the neurons mean", text, header, lines, (), details)


def _drivers(model: TableModel, effects: HyperplaneEffects, plane: int) -> str:
    """The columns that change a hyperplane's response most, with the direction of numbers."""
    table, slopes = model.classifier.network_.table, effects.slopes[plane]
    sizes, signs = table.summed(np.abs(slopes)), np.where(slopes[table.firsts] > 0, "+ ", "− ")
    numbers = [isinstance(part, NumberColumn) for part in table.parts]
    order = np.argsort(-sizes, kind="stable")[:_MAX_DRIVERS]
    return ", ".join(f"{signs[j] if numbers[j] else ''}{table.parts[j].name}" for j in order if sizes[j])


def notes_on_seen_rows(model: TableModel, rows: Rows) -> list[str]:
    """What the accuracy is about, if the model was fitted to some of the rows."""
    own, held_out = Outcome.of_rows(rows), Outcome.of_held_out(model)
    if not rows.seen or own is None:
        return []
    if held_out is None:
        return [f"{seen_text(rows)} Its accuracy on new rows is likely to be lower."]
    if not rows.nearly_all_seen:
        accuracy = f"On {held_out.about}, its accuracy is {held_out.confusion.accuracy:.1%}."
        return [f"{seen_text(rows)} {accuracy}"]
    return [
        f"{seen_text(rows)} Its accuracy on them, {own.confusion.accuracy:.1%}, says little about new "
        "rows. Accuracy, confusion matrix and calibration are those of held-out rows: fit predicted "
        "them with models that it had fitted to the other rows."
    ]
