"""What a report tells about a model and a data file, as tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss

from ffmlp.explanations.describe import export_text
from ffmlp.reports.assessment import Importance, Movers, Reliability, Rows, confusion
from ffmlp.reports.pages import Table
from ffmlp.tabular.substitutes import substitutes
from ffmlp.tabular.table_model import TableModel

if TYPE_CHECKING:
    import pandas as pd

DATA, DESIGN, MEANING = "The data", "What was designed, and why", "What the neurons stand for"
ACCURACY, CALIBRATION = "Right and wrong predictions", "Are the probabilities right?"
IMPORTANCE, UNCERTAIN = "Which columns matter", "The least certain rows"

_MAX_DRIVERS = 3
_MAX_HYPERPLANES = 15
_MAX_NEURONS = 15
_MAX_CATEGORIES = 5
_MAX_COLUMNS = 20
_N_UNCERTAIN = 10


def introduction(model: TableModel, path: Path) -> tuple[str, list[str]]:
    """The title of the page and what stands below it."""
    labels = ", ".join(map(str, _labels(model)[:_MAX_NEURONS]))
    made = ""
    if "file" in model.facts:
        made = f", made from {model.facts['rows']} rows of {model.facts['file']}"
    text = [f"{path.name} predicts {model.target} ({labels}) from {len(model.features)} columns{made}."]
    evaluation = model.facts.get("evaluation")
    if evaluation:
        spread_of_folds = evaluation["accuracy_deviation"]
        about = f" ± {100 * spread_of_folds:.1f}" if spread_of_folds else ""
        text.append(
            f"Accuracy on {evaluation['n_rows']} rows it had not seen ({evaluation['method']}): "
            f"{100 * evaluation['accuracy']:.1f}{about}%. Always the most frequent class: "
            f"{100 * evaluation['majority']:.1f}%."
        )
    return f"A network that predicts {model.target}", text


def tables(
    model: TableModel, rows: Rows, movers: Movers, importance: Importance, path: Path
) -> list[Table]:
    """All tables of the report."""
    made = [_data(model, rows, importance, path), _design(model), _meaning(model, movers)]
    if rows.labelled.any():
        made += [_accuracy(model, rows, path), _calibration(rows)]
    return [*made, _importance(importance, rows), _uncertain(model, rows)]


def _labels(model: TableModel) -> list:
    labels: list = model.classifier.classes_.tolist()
    return labels


def _data(model: TableModel, rows: Rows, importance: Importance, path: Path) -> Table:
    shown = set(importance.columns[:_MAX_COLUMNS])
    described = [_number(name, rows.X[name]) for name in model.numbers if name in shown]
    described += [_category(name, rows.X[name]) for name in model.categories if name in shown]
    text = f"{len(rows.X)} rows of {path.name}" + ("." if rows.whole else ", the first of more.")
    if not rows.labelled.any():
        text += f" It has no {model.target!r} that the model knows: nothing is compared with the truth."
    unused = model.facts.get("unused", {})
    notes = [f"Not used: {name}: {why}." for name, why in list(unused.items())[:_MAX_COLUMNS]]
    left = len(model.features) - len(described)
    if left:
        notes.insert(0, f"The {len(described)} columns that matter most; {left} more are used.")
    counts = np.bincount(rows.truth[rows.labelled], minlength=len(_labels(model)))
    if counts.any():
        shares = [
            f"{label}: {count} ({count / counts.sum():.1%})"
            for label, count in zip(_labels(model), counts, strict=True)
        ]
        notes.insert(0, f"{model.target}: {', '.join(shares)}.")
        unknown = int((~rows.labelled).sum())
        if unknown:
            notes.append(f"Rows without {model.target}, or with an unknown one: {unknown}.")
    return Table(DATA, text, ("column", "kind", "missing", "values"), described, notes)


def _number(name: str, cells: pd.Series) -> list[str]:
    known = cells.dropna()
    values = "none"
    if len(known):
        low, middle, high = known.min(), known.median(), known.max()
        values = f"{low:.4g} to {high:.4g}, median {middle:.4g}"
    return [name, "number", _missing(cells), values]


def _category(name: str, cells: pd.Series) -> list[str]:
    counts = cells.value_counts()
    shown = [f"{value} ({count})" for value, count in counts.head(_MAX_CATEGORIES).items()]
    more = len(counts) - _MAX_CATEGORIES
    values = ", ".join(shown) + (f", {more} more" if more > 0 else "")
    return [name, "category", _missing(cells), values or "none"]


def _missing(cells: pd.Series) -> str:
    count = int(cells.isna().sum())
    return f"{count} ({count / len(cells):.1%})" if count else "none"


_DESIGNS = {
    "region": "one neuron of the second layer for each region that the hyperplanes cut out",
    "blob": "one neuron of the second layer for each Gaussian blob",
    "readout": "one neuron of the second layer for the evidence of each class, by least squares",
}


def _design(model: TableModel) -> Table:
    clf = model.classifier
    network, selection = clf.network_, clf.selection_
    header, *lines = [re.split(" {2,}", line.strip()) for line in str(selection).splitlines()]
    layers = " → ".join(
        f"{size} {kind}" for size, kind in zip(network.layer_sizes, network.kinds, strict=True)
    )
    n_plans = len(selection.plans)
    chosen = "There was nothing to choose."
    if n_plans > 1:
        chosen = (
            f"{n_plans} plans were tried on rows that were held back from them; → is the one that was "
            "carried out with all rows: the first, unless that of least log-loss is better by more than "
            "a standard error."
        )
    text = (
        f"A network of {layers}: the {selection.plan.design} design, with "
        f"{_DESIGNS[selection.plan.design]}. Nothing was trained: every weight follows from the blobs "
        f"that each class consists of. {chosen}"
    )
    seconds = ", ".join(f"{step} {value:.3f} s" for step, value in clf.timings_.items())
    marked = [line if line[0] == "→" else ["", *line] for line in lines]
    return Table(DESIGN, text, ("", *header), marked, [f"Time of the fit: {seconds}."])


def _meaning(model: TableModel, movers: Movers) -> Table:
    """The neurons of l_2, and the hyperplanes that move the decision most."""
    network = model.classifier.network_
    n_planes, n_second = len(network.hyperplanes), network.layer_sizes[2]
    lines = [
        [f"hyperplane {plane}", f"{movers.moves[plane]:.3g}", network.half_space(plane),
         _drivers(model, movers, plane)]
        for plane in movers.order[:_MAX_HYPERPLANES].tolist()
    ]  # fmt: skip
    text = (
        f"Each hyperplane is two neurons of the first layer, one for either side. The "
        f"{min(n_planes, _MAX_HYPERPLANES)} of {n_planes} that move the lead of the predicted class "
        "most, on average over the rows:"
    )
    neurons = [
        f"{neuron}  {network.meaning(2, neuron)}" for neuron in range(min(n_second, _MAX_NEURONS))
    ]
    if n_second > _MAX_NEURONS:
        neurons.append(f"and {n_second - _MAX_NEURONS} more")
    details = [
        ("The neurons of the second layer", "\n".join(neurons)),
        ("The design in words", export_text(model.classifier)),
    ]
    header = ("", "moves by", "one side", "driven by (+ towards it)")
    return Table(MEANING, text, header, lines, (), details)


def _drivers(model: TableModel, movers: Movers, plane: int) -> str:
    """The features along which a hyperplane's response changes most; a threshold has one only."""
    effects = movers.effects[plane]
    order = np.argsort(-np.abs(effects), kind="stable")[:_MAX_DRIVERS]
    names = model.classifier.network_.feature_names
    return ", ".join(f"{'+' if effects[j] > 0 else '−'} {names[j]}" for j in order if effects[j])


def _accuracy(model: TableModel, rows: Rows, path: Path) -> Table:
    known = rows.labelled
    truth, predicted, probability = rows.truth[known], rows.predicted[known], rows.probability[known]
    accuracy = float((truth == predicted).mean())
    balanced = balanced_accuracy_score(truth, predicted)
    loss = log_loss(truth, probability, labels=np.arange(probability.shape[1]))
    text = (
        f"Of {len(truth)} rows, {accuracy:.1%} are predicted rightly (balanced accuracy {balanced:.1%}, "
        f"log-loss {loss:.3f}); always the most frequent class would be right for "
        f"{np.bincount(truth).max() / len(truth):.1%}."
    )
    notes = []
    evaluation = model.facts.get("evaluation")
    if model.facts.get("file") == path.name:
        held = "" if not evaluation else (
            f" On rows that it had not seen ({evaluation['method']}), its accuracy was "
            f"{evaluation['accuracy']:.1%}."
        )  # fmt: skip
        notes.append(f"The model was made from a file of this name: it may know these rows.{held}")
    counts, labels = confusion(rows), [str(label) for label in _labels(model)]
    with np.errstate(invalid="ignore"):
        recall = np.diag(counts) / counts.sum(axis=1)
        precision = np.diag(counts) / counts.sum(axis=0)
    lines = [
        [label, *(str(count) for count in counts[number]), _percent(recall[number]),
         _percent(precision[number])]
        for number, label in enumerate(labels)
    ]  # fmt: skip
    header = ("true class", *(f"as {label}" for label in labels), "found", "right when said")
    return Table(ACCURACY, text, header, lines, notes)


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{share:.1%}"


def _calibration(rows: Rows) -> Table:
    found = Reliability.of(rows)
    text = (
        "Where the model is 80% sure, 80% of its predictions should be right. On average over the "
        f"rows, the two are {found.error:.1%} apart."
    )
    lines = [
        [f"{confidence:.1%}", f"{accuracy:.1%}", str(count)]
        for confidence, accuracy, count in zip(
            found.confidence, found.accuracy, found.counts, strict=True
        )
    ]
    return Table(CALIBRATION, text, ("mean probability", "right", "rows"), lines)


def _importance(importance: Importance, rows: Rows) -> Table:
    compared = "predictions" if rows.labelled.any() else "answers of the model itself"
    text = (
        "The cells of one column are shuffled among the rows, so that it tells nothing any more: so "
        f"many of the right {compared} get lost. Columns that repeat another one look unimportant."
    )
    lines = [
        [name, f"{100 * loss:.1f} ± {100 * deviation:.1f}"]
        for name, loss, deviation in zip(
            importance.columns, importance.losses, importance.deviations, strict=True
        )
    ]
    left = len(lines) - _MAX_COLUMNS
    notes = [f"{left} more columns matter less."] if left > 0 else []
    return Table(IMPORTANCE, text, ("column", "points of accuracy lost"), lines[:_MAX_COLUMNS], notes)


def _uncertain(model: TableModel, rows: Rows) -> Table:
    ordered = np.sort(rows.probability, axis=1)
    shown = np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[:_N_UNCERTAIN]
    labels = _labels(model)
    lines, details = [], []
    for row, why in zip(shown, model.classifier.explain(model.inputs(rows.X.iloc[shown])), strict=True):
        second, first = np.argsort(rows.probability[row], kind="stable")[-2:]
        truth = "unknown" if rows.truth[row] < 0 else str(labels[rows.truth[row]])
        lines.append(
            [
                f"row {row + 1}",
                _chance(model, rows, row, first),
                _chance(model, rows, row, second),
                truth,
            ]
        )
        instead = "".join(f"{cell}\n" for cell in substitutes(model, rows.X.iloc[row]))
        text = f"{instead}\n{why}" if instead else str(why)
        details.append((f"Why row {row + 1} is {why.label}", text))
    text = (
        f"The {len(shown)} rows for which the two most probable classes are closest; rows count from 1, "
        "without the header. Open an explanation below."
    )
    header = ("row", "most probable", "next", "true class")
    return Table(UNCERTAIN, text, header, lines, (), details)


def _chance(model: TableModel, rows: Rows, row: int, label: int) -> str:
    return f"{_labels(model)[label]} ({rows.probability[row, label]:.1%})"
