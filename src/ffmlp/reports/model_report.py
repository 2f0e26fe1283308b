"""The tables of a report on a model and a data file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.explanations.describe import export_text
from ffmlp.model.columns import NumberColumn
from ffmlp.reports.assessment import HyperplaneEffects, Importance, Outcome, Rows
from ffmlp.reports.pages import Table
from ffmlp.tabular.substitutes import substitutes
from ffmlp.tabular.table_model import TableModel
from ffmlp.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

DATA, DESIGN, MEANING = "Data", "Network design", "What the neurons mean"
ACCURACY, CALIBRATION = "Accuracy", "Calibration"
IMPORTANCE, UNCERTAIN = "Feature importance", "Least certain predictions"

_MAX_DRIVERS = 3
_MAX_HYPERPLANES = 15
_MAX_NEURONS = 15
_MAX_CATEGORIES = 5
_MAX_COLUMNS = 20
_N_UNCERTAIN = 10


def introduction(model: TableModel, path: Path) -> tuple[str, list[str]]:
    """The title of the page and the text below it."""
    labels = listed(model.labels.tolist())
    fitted = ""
    if "file" in model.facts:
        fitted = f" It was fitted to {counted(model.facts['rows'], 'row')} of {model.facts['file']}."
    features = counted(len(model.features), "column")
    text = [f"The model {path.name} predicts {model.target} ({labels}) from {features}.{fitted}"]
    evaluation = model.facts.get("evaluation")
    if evaluation:
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
    return f"The model was fitted to about {rows.seen:.0%} of these rows."


def outcome(model: TableModel, rows: Rows) -> Outcome | None:
    """That of the rows, or of held-out ones if the model was fitted to these rows."""
    held_out = Outcome.of_held_out(model) if rows.seen == 1.0 else None
    return held_out or Outcome.of_rows(rows)


def tables(
    model: TableModel, rows: Rows, effects: HyperplaneEffects, importance: Importance, name: str
) -> list[Table]:
    """All tables of the report; ``name`` is that of the file."""
    made = [_data(model, rows, importance, name), _design(model), _meaning(model, effects)]
    shown = outcome(model, rows)
    if shown is not None:
        made += [_accuracy(model, rows, shown), _calibration(shown)]
    return [*made, _importance(model, importance, rows), _uncertain(model, rows)]


def _data(model: TableModel, rows: Rows, importance: Importance, name_of_file: str) -> Table:
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
    return Table(DATA, text, ("column", "kind", "missing", "values"), described, notes)


def _range(cells: pd.Series) -> str:
    return f"{cells.min():.4g} to {cells.max():.4g}, median {cells.median():.4g}"


def _most_frequent(cells: pd.Series) -> str:
    counts = cells.value_counts()
    shown = [f"{value} ({count})" for value, count in counts.head(_MAX_CATEGORIES).items()]
    more = len(counts) - _MAX_CATEGORIES
    return ", ".join(shown) + (f", {more} more" if more > 0 else "")


def _design(model: TableModel) -> Table:
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
    return Table(DESIGN, text, header, lines, [f"Fit time: {seconds}."])


def _meaning(model: TableModel, effects: HyperplaneEffects) -> Table:
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
    return Table(MEANING, text, header, lines, (), details)


def _drivers(model: TableModel, effects: HyperplaneEffects, plane: int) -> str:
    """The columns that change a hyperplane's response most, with the direction of numbers."""
    table, slopes = model.classifier.network_.table, effects.slopes[plane]
    sizes, signs = table.summed(np.abs(slopes)), np.where(slopes[table.firsts] > 0, "+ ", "− ")
    numbers = [isinstance(part, NumberColumn) for part in table.parts]
    order = np.argsort(-sizes, kind="stable")[:_MAX_DRIVERS]
    return ", ".join(f"{signs[j] if numbers[j] else ''}{table.parts[j].name}" for j in order if sizes[j])


def _accuracy(model: TableModel, rows: Rows, shown: Outcome) -> Table:
    found = shown.confusion
    text = (
        f"The accuracy on {shown.about} is {found.accuracy:.1%} (balanced accuracy "
        f"{found.balanced_accuracy:.1%}, log-loss {shown.log_loss:.3f}). Predicting the most frequent "
        f"class would give {shown.majority:.1%}."
    )
    labels = list(map(str, model.labels.tolist()))
    lines = [
        [label, *map(str, row), *("–" if np.isnan(share) else f"{share:.1%}" for share in shares)]
        for label, row, *shares in zip(labels, found.counts, found.recall, found.precision, strict=True)
    ]
    header = ("true class", *(f"as {label}" for label in labels), "recall", "precision")
    return Table(ACCURACY, text, header, lines, _notes_on_seen_rows(model, rows))


def _notes_on_seen_rows(model: TableModel, rows: Rows) -> list[str]:
    """What the accuracy is about, if the model was fitted to some of the rows."""
    own, held_out = Outcome.of_rows(rows), Outcome.of_held_out(model)
    if not rows.seen or own is None:
        return []
    if held_out is None:
        return [f"{seen_text(rows)} Its accuracy on new rows is likely to be lower."]
    if rows.seen < 1.0:
        accuracy = f"On {held_out.about}, its accuracy is {held_out.confusion.accuracy:.1%}."
        return [f"{seen_text(rows)} {accuracy}"]
    return [
        f"{seen_text(rows)} Its accuracy on them, {own.confusion.accuracy:.1%}, says little about new "
        "rows. Accuracy, confusion matrix and calibration are those of held-out rows: fit predicted "
        "them with models that it had fitted to the other rows."
    ]


def _calibration(shown: Outcome) -> Table:
    found = shown.reliability
    text = (
        "If the model is calibrated, 80% of the predictions with a probability of 80% are correct. The "
        f"expected calibration error, the mean difference between the two, is {found.error:.1%} on "
        f"{shown.about}."
    )
    bins = zip(found.confidence, found.accuracy, found.counts, strict=True)
    lines = [[f"{probability:.1%}", f"{right:.1%}", str(count)] for probability, right, count in bins]
    return Table(CALIBRATION, text, ("mean probability", "accuracy", "rows"), lines)


def _importance(model: TableModel, importance: Importance, rows: Rows) -> Table:
    against = "" if rows.labelled.any() else ", measured against the model's own predictions"
    text = (
        "Permutation importance: the accuracy that is lost when the values of one column are shuffled"
        f"{against}. Columns that repeat the information of another one look unimportant."
    )
    n_shuffled = len(importance.columns)
    if n_shuffled < len(model.features):
        text += f" Only the {n_shuffled} columns with the largest mean attributions were shuffled."
    left = len(model.features) - _MAX_COLUMNS
    notes = [f"{counted(left, 'more column')}, less important."] if left > 0 else []
    return Table(IMPORTANCE, text, notes=notes)


def least_certain(rows: Rows, n: int) -> list[int]:
    """The rows whose two most probable classes are closest."""
    ordered = np.sort(rows.probability, axis=1)
    return np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[:n].tolist()


def _uncertain(model: TableModel, rows: Rows) -> Table:
    shown = least_certain(rows, _N_UNCERTAIN)
    labels = model.labels.tolist()
    lines, details = [], []
    explanations = model.classifier.explain(model.classified(rows.X.iloc[shown]))
    for number, (row, why) in enumerate(zip(shown, explanations, strict=True)):
        probability = rows.probability[row]
        first_two = np.argsort(-probability, kind="stable")[:2]
        likeliest = [f"{labels[label]} ({probability[label]:.1%})" for label in first_two]
        truth = "unknown" if rows.truth[row] < 0 else str(labels[rows.truth[row]])
        lines.append([f"row {row + 1}", *likeliest, truth])
        cells = substitutes(model.table, rows.X.iloc[row], explanations.samples[number])
        instead = "".join(f"{cell}\n" for cell in cells)
        text = f"{instead}\n{why}" if instead else str(why)
        details.append((f"Why row {row + 1} is {why.label}", text))
    text = (
        f"The {counted(len(shown), 'row')} whose two most probable classes are closest, each with an "
        "explanation below. Rows count from 1, without the header."
    )
    header = ("row", "predicted", "runner-up", "true class")
    return Table(UNCERTAIN, text, header, lines, (), details)
