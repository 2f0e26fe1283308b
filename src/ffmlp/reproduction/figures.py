"""The paper's figures, from the first split of its rows (extra ``plots``).

Every figure is a function of rows and settings; `ffmlp.reproduction.gallery` lists the rows of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ffmlp.classifier import FFMLPClassifier
from ffmlp.datasets import Dataset
from ffmlp.model.regions import find_regions
from ffmlp.plots import (
    AccuracyCurvesDisplay,
    DecisionRegionsDisplay,
    HyperplanesDisplay,
    NetworkDisplay,
    ResponsesDisplay,
    RobustAccuracyDisplay,
    SamplesDisplay,
    TwoNeuronDisplay,
    View,
)
from ffmlp.plots.view import matplotlib
from ffmlp.reproduction.experiments import Settings, design, split_of, trained
from ffmlp.reproduction.paper import Row
from ffmlp.reproduction.robust_accuracy import RADII, attacked_accuracy, proved_accuracy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ffmlp.plots.view import AnyFigure

# More lines would hide the regions.
_MAX_LINES = 16


def _figure(width: float, height: float) -> Figure:
    figure = matplotlib("figure").Figure((width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure


def _panels(n_panels: int, n_columns: int, *, side: float = 4.0, **options: Any) -> Figure:
    """A figure with a grid of panels."""
    n_columns = min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    figure = _figure(max(1.2 + side * n_columns, 7.0), 0.9 + 0.9 * side * n_rows)
    axes = np.ravel(figure.subplots(n_rows, n_columns, squeeze=False, **options))
    for ax in axes[n_panels:]:
        ax.remove()
    return figure


def _share_legend(figure: AnyFigure, title: str | None = "class") -> None:
    """One legend for all panels, which share their colours: that of the panel with most classes."""
    handles, labels = max(
        (ax.get_legend_handles_labels() for ax in figure.axes), key=lambda p: len(p[1])
    )
    for legend in filter(None, (ax.get_legend() for ax in figure.axes)):
        legend.remove()
    figure.legend(handles, labels, title=title, loc="outside right upper", markerscale=1.5)


def _designed(row: Row, settings: Settings) -> tuple[Dataset, Dataset, FFMLPClassifier]:
    train, test = split_of(row, settings, 0)
    return train, test, design(row, train, settings.seed)


def _draw_result(ax: Axes, estimator: Any, train: Dataset, test: Dataset, title: str) -> None:
    """Training samples over decision regions, with training and test accuracy in the title."""
    scores = (f"{100 * estimator.score(part.X, part.y):.2f} %" for part in (train, test))
    title = "{}\ntrain {}, test {}".format(title, *scores)
    few = len(getattr(estimator, "hyperplanes_", ())) <= _MAX_LINES
    DecisionRegionsDisplay.from_estimator(
        estimator, train.X, train.y, hyperplanes=few, ax=ax, title=title
    )


def two_blobs(rows: list[Row], settings: Settings) -> Figure:
    """Two Gaussian blobs, the line between them and the responses of the two neurons."""
    rng = np.random.default_rng(settings.seed)
    y = np.repeat([0, 1], 300)
    X = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], 600) + np.outer(y, [4.0, 0.0])
    figure = _figure(13, 4.4)
    TwoNeuronDisplay.from_data(X, y, figure=figure)
    return figure


def xor_stages(rows: list[Row], settings: Settings) -> Figure:
    """Samples, hyperplanes, regions and classes of XOR, and the network."""
    train, test, clf = _designed(rows[0], settings)
    figure = _figure(13.5, 8.6)
    parts: Any = figure.subfigures(2, 1, height_ratios=[1, 1.1])
    stages, below = parts
    axes = stages.subplots(1, 4)
    SamplesDisplay.from_data(train.X, train.y, title="Stage 0: samples", ax=axes[0])
    HyperplanesDisplay.from_estimator(clf, train.X, train.y, title="Stage 1: hyperplanes", ax=axes[1])
    _draw_regions(axes[2], clf, train, "Stage 2: regions")
    _draw_result(axes[3], clf, train, test, "Stage 3: classes")
    _share_legend(stages)
    NetworkDisplay.from_estimator(clf, ax=below.subplots())
    return figure


def _draw_regions(ax: Axes, clf: FFMLPClassifier, train: Dataset, title: str) -> None:
    """Each region with its number, in a colour that no class has."""
    view, resolution = View.of(train.X), 250
    first = len(clf.classes_)
    regions = clf.regions_
    assert regions is not None  # the rows are of the region design
    grid, region = (
        first + find_regions(clf.hyperplanes_, regions, X) for X in (view.grid(resolution), train.X)
    )
    labels = np.arange(first + clf.network_.layer_sizes[2])
    samples = SamplesDisplay(view, region, labels, title)
    segments = view.segments(clf.hyperplanes_)
    DecisionRegionsDisplay(samples, grid.reshape(resolution, resolution), segments).plot(ax)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "boxstyle": "round,pad=0.2"}
    for number in range(clf.network_.layer_sizes[2]):
        x, y = train.X[region == first + number].mean(axis=0)
        ax.text(x, y, f"region {number}", ha="center", va="center", bbox=box, zorder=4)
    # The shared legend shows classes only.
    for scatter in ax.collections:
        scatter.set_label("_region")


def sets(rows: list[Row], settings: Settings) -> Figure:
    """Training samples of the two-dimensional sets."""
    shown = list({row.dataset: row for row in reversed(rows)}.values())[::-1]
    figure = _panels(len(shown), 3)
    for ax, row in zip(figure.axes, shown, strict=True):
        train, _ = split_of(row, settings, 0)
        SamplesDisplay.from_data(train.X, train.y, title=row.title.partition(" (")[0], ax=ax)
    _share_legend(figure)
    return figure


def responses(rows: list[Row], settings: Settings) -> Figure:
    """Heat maps of the neurons of l_1 and l_2."""
    train, _, clf = _designed(rows[0], settings)
    n_rows = 2, -(-clf.network_.layer_sizes[2] // 6)
    figure = _figure(13, 1.6 + 2.1 * sum(n_rows))
    parts: Any = figure.subfigures(2, 1, height_ratios=n_rows)
    for layer, part in enumerate(parts, start=1):
        ResponsesDisplay.from_estimator(clf, train.X, layer=layer, figure=part)
    return figure


def partitioning_lines(rows: list[Row], settings: Settings) -> Figure:
    """The hyperplanes after pruning."""
    figure = _panels(len(rows), 2, side=5.0)
    for ax, row in zip(figure.axes, rows, strict=True):
        train, _, clf = _designed(row, settings)
        title = f"{row.title}: {len(clf.hyperplanes_)} lines, {clf.network_.layer_sizes[2]} regions"
        HyperplanesDisplay.from_estimator(clf, train.X, train.y, title=title, ax=ax)
    _share_legend(figure)
    return figure


def results(rows: list[Row], settings: Settings) -> Figure:
    """Decision regions of the designed networks."""
    figure = _panels(len(rows), 2, side=5.0)
    for ax, row in zip(figure.axes, rows, strict=True):
        train, test, clf = _designed(row, settings)
        sizes = f"{len(clf.hyperplanes_)} hyperplanes, {clf.network_.layer_sizes[2]} regions"
        _draw_result(ax, clf, train, test, f"{row.title}: {sizes}")
    _share_legend(figure)
    return figure


def mixture_and_result(rows: list[Row], settings: Settings) -> Figure:
    """The training samples, a sample of the fitted mixtures, and the decision regions."""
    train, test, clf = _designed(rows[0], settings)
    rng, blobs = np.random.default_rng(settings.seed), clf.blobs_
    figure = _panels(3, 3, side=4.4)
    SamplesDisplay.from_data(train.X, train.y, title="Training samples", ax=figure.axes[0])
    counts = rng.multinomial(len(train.y), blobs.weights)
    drawn = np.vstack(list(map(rng.multivariate_normal, blobs.means, blobs.covariances, counts)))
    title = f"Samples from the {len(blobs)} fitted blobs"
    SamplesDisplay.from_data(drawn, np.repeat(blobs.classes, counts), title=title, ax=figure.axes[1])
    _draw_result(figure.axes[2], clf, train, test, "FF-MLP")
    _share_legend(figure)
    return figure


def before_and_after(rows: list[Row], settings: Settings) -> Figure:
    """Decision regions of the designed networks, and below them those after backpropagation."""
    figure = _panels(2 * len(rows), len(rows), side=5.0)
    for column, row in enumerate(rows):
        train, test, clf = _designed(row, settings)
        above, below = figure.axes[column], figure.axes[len(rows) + column]
        _draw_result(above, clf, train, test, f"{row.title}: FF-MLP")
        bp = trained(clf, "ff", train, test, settings.seed)
        _draw_result(below, bp, train, test, f"{row.title}: BP, {bp.n_epochs} epochs from FF-MLP")
    _share_legend(figure)
    return figure


def accuracy_curves(rows: list[Row], settings: Settings) -> Figure:
    """Accuracy by epoch of backpropagation from the designed network."""
    figure = _panels(len(rows), 3, sharey=True)
    for ax, row in zip(figure.axes, rows, strict=True):
        train, test, clf = _designed(row, settings)
        bp = trained(clf, "ff", train, test, settings.seed)
        AccuracyCurvesDisplay.from_estimator(bp, title=row.title, ax=ax)
    _share_legend(figure, title=None)
    return figure


def initialisations(rows: list[Row], settings: Settings) -> Figure:
    """Decision regions after backpropagation from the designed network and from random weights."""
    train, test, clf = _designed(rows[0], settings)
    figure = _panels(2, 2, side=5.0)
    for ax, start, name in zip(figure.axes, ("ff", "random"), ("FF-MLP", "random"), strict=True):
        bp = trained(clf, start, train, test, settings.seed)
        _draw_result(ax, bp, train, test, f"{name} initialisation, {bp.n_epochs} epochs")
    _share_legend(figure)
    return figure


def robust_accuracies(rows: list[Row], settings: Settings) -> Figure:
    """Robust accuracy: exact for FF-MLP, under attack for BP-MLP."""
    figure = _panels(len(rows), 2, side=4.6, sharey=True)
    for ax, row in zip(figure.axes, rows, strict=True):
        train, test, clf = _designed(row, settings)
        accuracies = {"FF-MLP, exact": proved_accuracy(clf, test)}
        for start, name in (("ff", "BP from FF-MLP, attacked"), ("random", "BP, attacked")):
            bp = trained(clf, start, train, test, settings.seed)
            accuracies[name] = attacked_accuracy(bp, test)
        RobustAccuracyDisplay(RADII, accuracies, title=row.title).plot(ax)
    _share_legend(figure, title=None)
    return figure
