"""The figures of a report on a model and a data file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.design.subsets import evenly
from ffmlp.extras import imported
from ffmlp.model.network import Network
from ffmlp.plots import (
    ChangeDisplay,
    DecisionRegionsDisplay,
    EffectsDisplay,
    ExplanationDisplay,
    FamiliarityDisplay,
    NetworkDisplay,
)
from ffmlp.reports.assessment import HyperplaneEffects, Importance, Rows
from ffmlp.reports.model_report import (
    ACCURACY,
    CALIBRATION,
    DATA,
    DESIGN,
    IMPORTANCE,
    UNCERTAIN,
    least_certain,
    outcome,
)
from ffmlp.reports.pages import Picture
from ffmlp.tables.tables import pandas
from ffmlp.tabular.scores import Reliability
from ffmlp.tabular.table_model import TableModel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DOTS_PER_INCH = 140
_BLUE = "#0072B2"
_MAX_BARS = 20
_MAX_NEURONS = 16
_MAX_SAMPLES = 1000
_MAX_CURVES = 6
# A confusion matrix of more classes has no labels and no numbers.
_MAX_CLASSES = 20


def draw(
    model: TableModel, rows: Rows, effects: HyperplaneEffects, importance: Importance, folder: Path
) -> list[Picture]:
    """Draw all figures of a report into a folder."""

    def save(figure: Figure, title: str, beside: str, caption: str) -> None:
        path = folder / f"{title.lower().replace(' ', '-')}.png"
        figure.savefig(path, dpi=_DOTS_PER_INCH)
        pictures.append(Picture(path, title, caption, beside))

    pictures: list[Picture] = []
    # Column names may contain a $.
    with imported("matplotlib", "figures").rc_context({"text.parse_math": False}):
        text = (
            "Of a large network, only the hyperplanes that contribute most to the decisions and the "
            "first neurons of the other layers are drawn."
        )
        save(_network(model.classifier.network_, effects), "Network", DESIGN, text)
        text = "Accuracy lost when a column is shuffled: mean and standard deviation."
        save(_importance(importance), "Permutation importance", IMPORTANCE, text)
        text = (
            "How the lead of a class changes if all rows take a value of the column: the median, and "
            "the middle half of the rows."
        )
        save(_effects(model, rows, importance), "Effect curves", IMPORTANCE, text)
        text = (
            "The distance of the rows to the blobs of the training rows. Look at unfamiliar rows first."
        )
        if model.classifier.network_.familiar is not None:
            save(_familiarity(model, rows), "Familiar rows", DATA, text)
        for figure, title, text in _least_certain(model, rows):
            save(figure, title, UNCERTAIN, text)
        shown = outcome(model, rows)
        if shown is not None:
            text, labels = "Number of rows by true and predicted class.", map(str, model.labels.tolist())
            save(_confusion(shown.confusion.counts, list(labels)), "Confusion matrix", ACCURACY, text)
            text = "On the diagonal, the model is calibrated; below it, it is overconfident."
            save(_reliability(shown.reliability), "Reliability diagram", CALIBRATION, text)
        pair = [name for name in importance.columns if name in model.numbers][:2]
        if len(pair) == 2 and len(_complete(rows, pair)):
            text = (
                f"Predictions for {pair[0]} and {pair[1]}, with every other column at its median or "
                "most frequent value. The rows shown have their own values there, so some lie on the "
                "colour of another class."
            )
            save(_decisions(model, rows, pair), "Decision regions", IMPORTANCE, text)
    return pictures


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    module = imported("matplotlib.figure", "figures")
    figure = module.Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _network(network: Network, effects: HyperplaneEffects) -> Figure:
    """The network, with the hyperplanes that contribute most to the decisions."""
    figure, ax = _figure(9.0, 2.2 + 0.36 * min(max(network.layer_sizes), _MAX_NEURONS))
    options: Any = {"hyperplanes": effects.order, "max_neurons": _MAX_NEURONS}
    NetworkDisplay.from_estimator(network, **options, ax=ax)
    return figure


def _importance(importance: Importance) -> Figure:
    """A bar for each column, the most important one on top."""
    names = importance.columns[:_MAX_BARS]
    figure, ax = _figure(7.0, 1.2 + 0.32 * len(names))
    places = np.arange(len(names))[::-1]
    losses, deviations = 100 * importance.losses[: len(names)], 100 * importance.deviations[: len(names)]
    ax.barh(places, losses, xerr=deviations, color=_BLUE, ecolor="0.35", height=0.7)
    ax.set_yticks(places, names)
    ax.set_xlabel("accuracy lost, in percentage points")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def _effects(model: TableModel, rows: Rows, importance: Importance) -> Figure:
    """The curves of the most important columns, for the last class."""
    figure = imported("matplotlib.figure", "figures").Figure(figsize=(9.6, 5.5), layout="constrained")
    shown = rows.X.iloc[evenly(len(rows.X), _MAX_SAMPLES)]
    options: Any = {"columns": importance.columns[:_MAX_CURVES], "figure": figure}
    EffectsDisplay.from_estimator(model.classifier, model.classified(shown), **options)
    return figure


def _familiarity(model: TableModel, rows: Rows) -> Figure:
    figure, ax = _figure(6.4, 3.4)
    FamiliarityDisplay.from_estimator(model.classifier, model.classified(rows.X), ax=ax)
    return figure


def _least_certain(model: TableModel, rows: Rows) -> list[tuple[Figure, str, str]]:
    """The explanation of the least certain row, and its smallest change."""
    (row,) = least_certain(rows, 1)
    clf, sample = model.classifier, model.classified(rows.X.iloc[[row]])
    changeable = bool(rows.X.iloc[row][list(model.numbers)].notna().any())
    (explanation,) = clf.explain(sample, counterfactual=changeable, norm="inf")
    if explanation.rival is None:
        return []
    figure, ax = _figure(8.0, 4.8)
    ExplanationDisplay.from_explanation(explanation, ax=ax)
    text = f"Why row {row + 1} is {explanation.label}: what each column adds to its lead."
    made = [(figure, "Least certain row", text)]
    if explanation.counterfactual is not None:
        figure, ax = _figure(8.0, 4.2)
        ChangeDisplay.from_explanation(explanation, ax=ax)
        made.append((figure, "Smallest change", f"What would make row {row + 1} another class."))
    return made


def _confusion(counts: NDArray[np.int64], labels: list[str]) -> Figure:
    """Shares of each true class as shades, counts as numbers."""
    side = min(9.0, 2.4 + 0.55 * len(labels))
    figure, ax = _figure(side + 2.0, side)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(image, ax=ax, label="share of the true class")
    if len(labels) <= _MAX_CLASSES:
        ax.set_xticks(range(len(labels)), labels, rotation=30 if len(labels) > 3 else 0, ha="center")
        ax.set_yticks(range(len(labels)), labels)
        for (row, column), count in np.ndenumerate(counts):
            ink = "white" if shares[row, column] > 0.55 else "black"
            ax.text(column, row, str(count), ha="center", va="center", color=ink)
    ax.set(xlabel="predicted class", ylabel="true class")
    return figure


def _reliability(found: Reliability) -> Figure:
    """Accuracy against the probability of the predicted class; large dots are many rows."""
    figure, ax = _figure(5.6, 4.8)
    ax.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="calibrated")
    places, sizes = (found.confidence, found.accuracy), 30 + 270 * found.counts / found.counts.max()
    ax.plot(*places, color=_BLUE, linewidth=1)
    ax.scatter(*places, s=sizes, color=_BLUE, alpha=0.85, label="rows", zorder=3)
    ax.set(xlim=(0, 1.03), ylim=(-0.03, 1.06))
    ax.set(xlabel="probability of the predicted class", ylabel="accuracy")
    ax.legend(loc="upper left", frameon=False, markerscale=0.5)
    return figure


def _complete(rows: Rows, columns: list[str]) -> NDArray[np.intp]:
    """The rows with values in these columns and, if any row has one, a true class."""
    present = rows.X[columns].notna().all(axis=1)
    return np.flatnonzero(present & (rows.labelled | ~rows.labelled.any()))


def _decisions(model: TableModel, rows: Rows, pair: list[str]) -> Figure:
    """The predictions for two columns, with some of the rows on top."""
    X = rows.X
    fixed = {name: X[name].median() for name in model.numbers}
    fixed |= {name: next(iter(X[name].mode()), None) for name in model.categories}
    shown = _complete(rows, pair)
    shown = shown[evenly(len(shown), _MAX_SAMPLES)]
    classes = rows.truth if rows.labelled.any() else rows.predicted

    def predict(two: pd.DataFrame) -> NDArray:
        frame = pandas().DataFrame(fixed | dict(two), index=two.index)
        return model.labels[model.classes(frame[model.features])]

    model_of_two = SimpleNamespace(classes_=model.labels, predict=predict)
    figure, ax = _figure(7.6, 5.2)
    samples, y = X[pair].iloc[shown], model.labels[classes[shown]]
    options: Any = {"hyperplanes": False, "ax": ax, "title": ""}
    DecisionRegionsDisplay.from_estimator(model_of_two, samples, y, **options)
    return figure
