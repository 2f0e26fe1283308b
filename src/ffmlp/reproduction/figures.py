"""The paper's figures, from the first split of its rows (extra ``plots``).

Every figure is a function of rows and settings; `FIGURES` lists the rows of each.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.datasets import Dataset
from ffmlp.design.lda import two_class_lda
from ffmlp.network.region import find_regions
from ffmlp.plots import (
    AccuracyCurvesDisplay,
    AccuracyIntervalsDisplay,
    DecisionRegionsDisplay,
    HyperplanesDisplay,
    NetworkDisplay,
    ResponsesDisplay,
    RobustAccuracyDisplay,
    SamplesDisplay,
    TwoNeuronDisplay,
    View,
)
from ffmlp.plots.networks import half_space_colours
from ffmlp.plots.samples import SILENT
from ffmlp.plots.view import INK, draw_lines, greys, matplotlib
from ffmlp.report.layout import Picture
from ffmlp.reproduction.experiments import (
    RADII,
    Run,
    Settings,
    attacked_accuracy,
    design,
    proved_accuracy,
    split_of,
    trained,
)
from ffmlp.reproduction.findings import NAMES, TITLE
from ffmlp.reproduction.report_tables import CLAIM_BY_CLAIM, RANDOM_STARTS, ROBUSTNESS, SIZES, TABLE_I
from ffmlp.reproduction.reported import Row
from ffmlp.reproduction.verdicts import by_split
from ffmlp.storage.whole_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ffmlp.plots.view import AnyFigure

# Sharp on a projector: a figure of 12 inches is 1680 pixels wide.
DOTS_PER_INCH = 140
# More lines would hide the regions.
_MAX_LINES = 16
# Cells of a decision map in each direction: their edges are not seen.
_RESOLUTION = 400
# A point and its mirror.
_PAIR = (r"$x$", r"$\tilde{x}$")
# Labels on top of samples.
_BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "boxstyle": "round,pad=0.2"}


def _figure(width: float, height: float) -> Figure:
    figure = matplotlib("figure").Figure((width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure


def _panels(n_panels: int, n_columns: int, *, side: float = 4.0, **options: Any) -> Figure:
    """A figure with a grid of panels."""
    n_columns = min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    figure = _figure(max(1.6 + side * n_columns, 7.0), 1.1 + side * n_rows)
    axes = np.ravel(figure.subplots(n_rows, n_columns, squeeze=False, **options))
    for ax in axes[n_panels:]:
        ax.remove()
    return figure


def _share_legend(figure: AnyFigure, **options: Any) -> None:
    """One legend for all panels, which share their colours."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
        if (legend := ax.get_legend()) is not None:
            legend.remove()
    names = sorted(entries, key=lambda name: name == SILENT)  # after all classes
    style: Any = {"loc": "outside right upper", "title": "class", "markerscale": 1.5} | options
    figure.legend([entries[name] for name in names], names, **style)


def _finish_curves(figure: Figure) -> None:
    """One legend below the panels, for its names are long, and one label for each row of panels."""
    for ax in figure.axes:
        spec = ax.get_subplotspec()
        if spec is not None and not spec.is_first_col():
            ax.set_ylabel("")
    _share_legend(figure, loc="outside lower center", title=None, ncols=3, markerscale=1)


def _square(*samples: Floats) -> Floats:
    """The lower left and the upper right corner of a square around all samples."""
    every = np.vstack(samples)
    low, high = every.min(axis=0), every.max(axis=0)
    half = 0.55 * (high - low).max()
    return (low + high) / 2 + np.array([[-half], [half]])


def _equal_aspect(axes: Iterable[Axes]) -> None:
    """One unit has the same length in both directions: angles and circles look as they are."""
    for ax in axes:
        ax.set_aspect("equal")


def _planes(drawings: Sequence[Callable[..., Any]], n_columns: int, *, side: float = 5.0) -> Figure:
    """A panel for each drawing of the plane; the panels share one legend."""
    figure = _panels(len(drawings), n_columns, side=side)
    for ax, draw in zip(figure.axes, drawings, strict=True):
        draw(ax=ax)
    _equal_aspect(figure.axes)
    _share_legend(figure)
    return figure


def _designed(row: Row, settings: Settings) -> tuple[Dataset, Dataset, FFMLPClassifier]:
    train, test = split_of(row, settings, 0)
    return train, test, design(row, train, settings.seed)


def _all_designed(
    rows: list[Row], settings: Settings
) -> tuple[list[tuple[Row, Dataset, Dataset, FFMLPClassifier]], Floats]:
    """The designed network of each row, and a square around the training samples of all rows."""
    made = [(row, *_designed(row, settings)) for row in rows]
    return made, _square(*(train.X for _, train, *_ in made))


def _draw_result(
    estimator: Any, train: Dataset, test: Dataset, limits: Floats, title: str, *, ax: Axes
) -> DecisionRegionsDisplay:
    """Training samples over decision regions, with training and test accuracy in the title."""
    scores = (f"{100 * estimator.score(part.X, part.y):.2f} %" for part in (train, test))
    few = len(getattr(estimator, "hyperplanes_", ())) <= _MAX_LINES
    options: Any = {"grid_resolution": _RESOLUTION, "hyperplanes": few, "limits": limits}
    title = "{}\ntrain {}, test {}".format(title, *scores)
    return DecisionRegionsDisplay.from_estimator(
        estimator, train.X, train.y, **options, title=title, ax=ax
    )


def _two_blobs(settings: Settings) -> tuple[Floats, Floats]:
    """Samples of two Gaussian blobs of one covariance, and their classes."""
    rng = np.random.default_rng(settings.seed)
    y = np.repeat([0, 1], 300)
    covariance = [[1.0, 0.5], [0.5, 1.0]]
    return rng.multivariate_normal([0.0, 0.0], covariance, 600) + np.outer(y, [4.0, 0.0]), y


def two_blobs(rows: list[Row], settings: Settings) -> Figure:
    """Two Gaussian blobs, the line between them, the perceptron and the responses of its neurons."""
    X, y = _two_blobs(settings)
    figure = _figure(9.6, 8.2)
    axes = TwoNeuronDisplay.from_data(X, y, limits=_square(X), figure=figure).axes_
    axes[0].legend(title="class", loc="upper left")
    _equal_aspect([axes[0], *axes[2:]])
    return figure


def mirror_points(rows: list[Row], settings: Settings) -> Figure:
    """A point and its mirror, and weight × response in the next layer without and with ReLU."""
    X, y = _two_blobs(settings)
    plane = two_class_lda(X, y)
    figure = _figure(13.0, 5.0)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.2, 1, 1])
    title = "A point and its mirror"
    samples = SamplesDisplay.from_data(X, y, limits=_square(X), title=title, ax=left)
    left.legend(title="class", loc="lower left")
    _equal_aspect([left])
    segments = samples.view.segments(plane)
    draw_lines(left, segments)
    unit = plane.weights[0] / np.linalg.norm(plane.weights[0])
    pair = segments[0].mean(axis=0) + np.outer([2.2, -2.2], unit)
    response = plane.log_odds(pair)[:, 0]
    _draw_pair(left, pair, response)
    # The response to x or to its mirror, times a weight of either sign.
    points, weights = np.array([0, 1, 0, 1]), np.array([1, -1, -1, 1])
    signs = ("+", "−", "−", "+")
    labels = [f"{_PAIR[x]}, weight {sign}1" for x, sign in zip(points, signs, strict=True)]
    linear, relu = response[None], np.maximum([response, -response], 0)
    title = "One neuron without ReLU:\ntwo pairs of cases look the same"
    _draw_products(middle, weights * linear[:, points], labels, title)
    title = "Two neurons with ReLU:\nfour cases, four answers"
    _draw_products(right, weights * relu[:, points], labels, title)
    return figure


def _draw_pair(ax: Axes, pair: Floats, response: Floats) -> None:
    """A point and its mirror, with their responses."""
    ax.plot(*pair.T, "--", color=INK, linewidth=1.2, zorder=4)
    style: Any = {"textcoords": "offset points", "ha": "center", "bbox": _BOX | {"alpha": 1.0}}
    for name, point, h, fill, up in zip(_PAIR, pair, response, (INK, "white"), (14, -22), strict=True):
        ax.plot(*point, "o", markersize=11, color=fill, markeredgecolor=INK, zorder=5)
        text = f"{name}: $h$ = {h:+.1f}".replace("-", "−")
        ax.annotate(text, point, (0, up), zorder=6, **style)


def _draw_products(ax: Axes, products: Floats, labels: list[str], title: str) -> None:
    """Bars of weight × response, for each neuron and case."""
    height, largest = 0.7 / len(products), np.abs(products).max()
    shades = half_space_colours([0, 1], 1, 2)
    for neuron, values in enumerate(products):
        heights = np.arange(len(labels)) + height * (neuron - (len(products) - 1) / 2)
        style: Any = {"color": shades[neuron], "edgecolor": INK, "linewidth": 0.6}
        ax.barh(heights, values, 0.9 * height, label=f"neuron {neuron}", **style)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set(xlim=(-1.15 * largest, 1.15 * largest), xlabel="weight × response", title=title)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.legend(loc="upper left", fontsize="small")


def architecture(rows: list[Row], settings: Settings) -> Figure:
    """The layers of a designed network: pairs of half-spaces, regions, classes."""
    _, _, clf = _designed(rows[0], settings)
    d_in, d_1, d_2, d_out = clf.network_.layer_sizes
    figure = _figure(9.6, 6.0)
    title = (
        f"{rows[0].title}: {d_in} features, both sides of {d_1 // 2} hyperplanes, {d_2} regions, "
        f"{d_out} classes"
    )
    NetworkDisplay.from_estimator(clf, grey=True, title=title, ax=figure.subplots())
    return figure


def xor_stages(rows: list[Row], settings: Settings) -> Figure:
    """Samples, hyperplanes, regions and classes of XOR, and the network."""
    train, test, clf = _designed(rows[0], settings)
    limits = _square(train.X)
    figure = _figure(13.5, 8.2)
    parts: Any = figure.subfigures(2, 1, height_ratios=[1, 1.1])
    stages, below = parts
    axes = stages.subplots(1, 4)
    common: Any = {"limits": limits}
    SamplesDisplay.from_data(train.X, train.y, **common, title="Stage 0: samples", ax=axes[0])
    HyperplanesDisplay.from_estimator(
        clf, train.X, train.y, **common, title="Stage 1: hyperplanes", ax=axes[1]
    )
    _draw_regions(axes[2], clf, train, limits, "Stage 2: regions")
    _draw_result(clf, train, test, limits, "Stage 3: classes", ax=axes[3])
    segments = View.of(train.X, limits=limits).segments(clf.hyperplanes_)
    (drawn,) = np.nonzero(np.isfinite(segments).all(axis=(1, 2)))
    shades = half_space_colours(drawn, len(segments), len(clf.classes_))
    for ax in axes[1:]:  # lines have the colours of their neurons
        for line, shade in zip(ax.lines, shades, strict=True):
            line.set_color(shade)
    _equal_aspect(axes)
    _share_legend(stages)
    NetworkDisplay.from_estimator(clf, grey=True, ax=below.subplots())
    return figure


def _draw_regions(ax: Axes, clf: FFMLPClassifier, train: Dataset, limits: Floats, title: str) -> None:
    """Each region with its number, in the grey of its neuron; samples in the colours of classes."""
    view, regions = View.of(train.X, limits=limits), clf.regions_
    assert regions is not None  # the rows are of the region design
    grid, owners = (
        find_regions(clf.hyperplanes_, regions, X) for X in (view.grid(_RESOLUTION), train.X)
    )
    view.image(ax, greys(len(regions))[grid.reshape(_RESOLUTION, _RESOLUTION)])
    draw_lines(ax, view.segments(clf.hyperplanes_))
    SamplesDisplay.from_data(train.X, train.y, limits=limits, title=title, ax=ax)
    for number in range(len(regions)):
        x, y = train.X[owners == number].mean(axis=0)
        ax.text(x, y, f"region {number}", ha="center", va="center", bbox=_BOX, zorder=4)


def sets(rows: list[Row], settings: Settings) -> Figure:
    """Training samples of the two-dimensional sets."""
    shown = list({row.dataset: row for row in reversed(rows)}.values())[::-1]
    parts = {row.title.partition(" (")[0]: split_of(row, settings, 0)[0] for row in shown}
    limits = _square(*(train.X for train in parts.values()))
    return _planes(
        [
            partial(SamplesDisplay.from_data, train.X, train.y, limits=limits, title=title)
            for title, train in parts.items()
        ],
        3,
        side=4.0,
    )


def responses(rows: list[Row], settings: Settings) -> Figure:
    """Heat maps of the neurons of l_1 and l_2."""
    train, _, clf = _designed(rows[0], settings)
    n_columns = min(len(clf.hyperplanes_), 6)
    n_rows = 2 * -(-len(clf.hyperplanes_) // 6), -(-clf.network_.layer_sizes[2] // n_columns)
    figure = _figure(max(1.6 + 2.2 * n_columns, 6.4), 1.8 + 2.3 * sum(n_rows))
    parts: Any = figure.subfigures(2, 1, height_ratios=n_rows)
    options: Any = {"limits": _square(train.X), "max_columns": n_columns, "grid_resolution": 250}
    for layer, part in enumerate(parts, start=1):
        display = ResponsesDisplay.from_estimator(clf, train.X, layer=layer, **options, figure=part)
        _equal_aspect(display.axes_)
    return figure


def partitioning_lines(rows: list[Row], settings: Settings) -> Figure:
    """The hyperplanes after pruning."""
    made, limits = _all_designed(rows, settings)
    drawings = []
    for row, train, _, clf in made:
        title = f"{row.title}: {len(clf.hyperplanes_)} lines, {clf.network_.layer_sizes[2]} regions"
        draw = partial(HyperplanesDisplay.from_estimator, clf, train.X, train.y, limits=limits)
        drawings.append(partial(draw, title=title))
    return _planes(drawings, 2)


def results(rows: list[Row], settings: Settings) -> Figure:
    """Decision regions of the designed networks."""
    made, limits = _all_designed(rows, settings)
    drawings = []
    for row, train, test, clf in made:
        sizes = f"{len(clf.hyperplanes_)} hyperplanes, {clf.network_.layer_sizes[2]} regions"
        drawings.append(partial(_draw_result, clf, train, test, limits, f"{row.title}: {sizes}"))
    return _planes(drawings, 2)


def mixture_and_result(rows: list[Row], settings: Settings) -> Figure:
    """The training samples, a sample of the fitted mixtures, and the decision regions."""
    train, test, clf = _designed(rows[0], settings)
    rng, blobs = np.random.default_rng(settings.seed), clf.blobs_
    counts = rng.multinomial(len(train.y), blobs.weights)
    drawn = np.vstack(list(map(rng.multivariate_normal, blobs.means, blobs.covariances, counts)))
    limits, classes = _square(train.X, drawn), np.repeat(blobs.classes, counts)
    title = f"Samples from the {len(blobs)} fitted blobs"
    samples = partial(SamplesDisplay.from_data, limits=limits)
    drawings: list[Callable[..., Any]] = [
        partial(samples, train.X, train.y, title="Training samples"),
        partial(samples, drawn, classes, title=title),
        partial(_draw_result, clf, train, test, limits, "FF-MLP"),
    ]
    return _planes(drawings, 3, side=4.4)


def before_and_after(rows: list[Row], settings: Settings) -> Figure:
    """Decision regions of the designed networks, and below them those after backpropagation."""
    made, limits = _all_designed(rows, settings)
    above, below = [], []
    for row, train, test, clf in made:
        bp = trained(clf, "design", train, test, settings.seed)
        draw = partial(partial, _draw_result, train=train, test=test, limits=limits)
        above.append(draw(clf, title=f"{row.title}: FF-MLP"))
        below.append(draw(bp, title=f"{row.title}: BP, {bp.n_epochs} epochs from FF-MLP"))
    return _planes(above + below, len(rows))


def initialisations(rows: list[Row], settings: Settings) -> Figure:
    """Decision regions after backpropagation from the designed network and from random weights."""
    train, test, clf = _designed(rows[0], settings)
    drawings = []
    for start, name in (("design", "FF-MLP"), ("random", "random")):
        bp = trained(clf, start, train, test, settings.seed)
        title = f"{name} initialisation, {bp.n_epochs} epochs"
        drawings.append(partial(_draw_result, bp, train, test, _square(train.X), title))
    return _planes(drawings, 2)


def accuracy_curves(rows: list[Row], settings: Settings) -> Figure:
    """Accuracy by epoch of backpropagation from the designed network."""
    figure = _panels(len(rows), 3, sharey=True)
    for ax, row in zip(figure.axes, rows, strict=True):
        train, test, clf = _designed(row, settings)
        bp = trained(clf, "design", train, test, settings.seed)
        AccuracyCurvesDisplay.from_estimator(bp, title=row.title, ax=ax)
    _finish_curves(figure)
    return figure


def robust_accuracies(rows: list[Row], settings: Settings) -> Figure:
    """Robust accuracy: exact for FF-MLP, under attack for BP-MLP."""
    figure = _panels(len(rows), 2, side=4.0, sharey=True)
    for ax, row in zip(figure.axes, rows, strict=True):
        train, test, clf = _designed(row, settings)
        accuracies = {"FF-MLP, exact": proved_accuracy(clf, test)}
        for start, name in (("design", "BP from FF-MLP, attacked"), ("random", "BP, attacked")):
            bp = trained(clf, start, train, test, settings.seed)
            accuracies[name] = attacked_accuracy(bp, test)
        RobustAccuracyDisplay(RADII, accuracies, title=row.title).plot(ax)
    _finish_curves(figure)
    return figure


# The methods of the overview: our method, the field of its runs, and the paper's name.
_METHODS = {
    "literal FF-MLP": ("literal", "test_accuracy", "ff"),
    "our FF-MLP": ("ff", "test_accuracy", ""),
    "its bare network": ("bp_ff_50", "start_test_accuracy", ""),
    "BP from its bare network": ("bp_ff_50", "test_accuracy", "bp_ff_50"),
    "BP from random weights": ("bp_random_50", "test_accuracy", "bp_random_50"),
}
_OVERVIEW = (
    "The axes differ from row to row. BP starts from the bare network of our FF-MLP, which has no "
    "rule for regions without training samples, or from random weights (the mean of the starts on "
    "each split)."
)


def overview(rows: Sequence[Row], runs: Sequence[Run]) -> Figure:
    """Test accuracies in % of several methods over the splits of each row, and the paper's values."""
    shown = []
    for row in rows:
        ours, paper = {}, {}
        for name, (method, field, reported) in _METHODS.items():
            ours[name] = 100 * np.array(list(by_split(runs, row, method, field).values()))
            if reported in row.reported:
                paper[name] = row.reported[reported][1]
        shown.append((row.title, ours, paper))
    figure = _figure(5.4, 1.9 + 0.82 * len(rows))  # as wide as a phone shows it in full
    AccuracyIntervalsDisplay(shown, reference="the paper", title="").plot(figure)
    return figure


@dataclass(frozen=True)
class Plan:
    """A figure of the paper: its rows, and the function that draws it.

    ``beside`` is the title of the table in the report that the figure follows.
    """

    name: str
    title: str
    caption: str
    beside: str
    rows: tuple[str, ...]
    drawing: Callable[[list[Row], Settings], Figure]


def open_figures(rows: Sequence[Row], settings: Settings, folder: Path) -> list[Callable[[], None]]:
    """Calls, in any order and by any process, that draw the figures which the folder does not have."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [(plan, shown, folder / _file_name(plan, shown)) for plan, shown in _plans(rows)]
    return [
        partial(_draw, plan, shown, settings, path) for plan, shown, path in drawn if not path.exists()
    ]


def pictures(rows: Sequence[Row], runs: Sequence[Run], folder: Path) -> list[Picture]:
    """The overview of these runs, which is drawn here, and the figures of these rows."""
    path = folder / "overview.png"
    _write(overview(rows, runs), path)
    others = (
        _picture(folder / _file_name(plan, shown), plan.title, plan.caption, plan.beside)
        for plan, shown in _plans(rows)
    )
    return [_picture(path, "Test accuracy, row by row", _OVERVIEW, TITLE), *others]


def _picture(path: Path, title: str, caption: str, beside: str) -> Picture:
    return Picture(path.read_bytes(), title, caption, beside, f"{path.parent.name}/{path.name}")


def _plans(rows: Sequence[Row]) -> list[tuple[Plan, list[Row]]]:
    """The figures that show any of these rows, with the rows that they show."""
    chosen = [(plan, [row for row in rows if row.key in plan.rows]) for plan in FIGURES]
    return [(plan, shown) for plan, shown in chosen if shown]


def _draw(plan: Plan, shown: list[Row], settings: Settings, path: Path) -> None:
    with threadpool_limits(1):
        figure = plan.drawing(shown, settings)
    figure.suptitle(plan.title, fontsize="x-large", fontweight="bold")
    _write(figure, path)


def _write(figure: Figure, path: Path) -> None:
    content = io.BytesIO()
    # Tight: a label that leaves the figure is not cut off.
    figure.savefig(content, format="png", dpi=DOTS_PER_INCH, bbox_inches="tight", pad_inches=0.12)
    write_whole(path, content.getvalue())


def _file_name(plan: Plan, shown: Sequence[Row]) -> str:
    """The name of the figure, and its rows if they are not all of them."""
    keys = [row.key for row in shown]
    return "-".join([plan.name, *(keys if len(keys) < len(plan.rows) else ())]) + ".png"


_PLANAR = (
    "xor", "three_blobs", "nine_blobs_0.1", "nine_blobs_0.3",
    "circle_and_ring_4", "circle_and_ring_16", "two_moons", "four_moons",
)  # fmt: skip

FIGURES = (
    Plan(
        "two-blobs", "Two Gaussian blobs and their two neurons",
        "Two-class LDA is a perceptron: one neuron has weights w and bias b, the other one their "
        "opposites, and each responds on its side of the line, in proportion to the distance.",
        NAMES, ("xor",), two_blobs,
    ),
    Plan(
        "mirror-points", "Mirror points and sign confusion",
        "Without ReLU, the next layer cannot tell a positive response times a positive weight from a "
        "negative response times a negative weight; with ReLU, each of two neurons speaks for its own "
        "side only.",
        NAMES, ("xor",), mirror_points,
    ),
    Plan(
        "xor", "XOR, stage by stage",
        "Two lines divide the plane into four regions, one for each blob, and each region votes for "
        "its class; the network below computes this.",
        NAMES, ("xor",), xor_stages,
    ),
    Plan(
        "responses-xor", "XOR: responses of the neurons",
        "The two neurons of a line respond on its two sides (one above the other), and each neuron of "
        "the second layer in one quadrant.",
        NAMES, ("xor",), responses,
    ),
    Plan(
        "architecture", "The architecture of a designed network",
        "A hyperplane has two neurons in the first layer, one for each side (colour and light "
        "colour), a region with training samples has one in the second, and a class has an output.",
        NAMES, ("three_blobs",), architecture,
    ),
    Plan(
        "sets", "The two-dimensional sets",
        "Training samples of the first split, with standardised features.",
        TABLE_I, _PLANAR, sets,
    ),
    Plan(
        "responses-three-blobs", "3-Gaussian-blobs: responses of the neurons",
        "A neuron of the first layer responds in a half-plane (the opposite one is below it), a "
        "neuron of the second layer in a wedge, and two wedges contain one blob.",
        SIZES, ("three_blobs",), responses,
    ),
    Plan(
        "responses-nine-blobs", "9-Gaussian-blobs: responses of the neurons",
        "Four pairs of half-planes separate rows and columns, and each neuron of the second layer "
        "covers one of the nine cells.",
        SIZES, ("nine_blobs_0.3",), responses,
    ),
    Plan(
        "lines", "Partitioning lines",
        "The lines separate blobs of different classes; many are nearly parallel or meet in nearly "
        "one point, so few regions are occupied.",
        SIZES, ("three_blobs", "nine_blobs_0.3"), partitioning_lines,
    ),
    Plan(
        "thresholds", "9-Gaussian-blobs by error threshold",
        "A higher threshold (in brackets) keeps fewer hyperplanes and nearly the same boundaries.",
        TABLE_I, ("nine_blobs_0.1", "nine_blobs_0.3"), results,
    ),
    Plan(
        "two-new-moons", "2-new-moons: samples, mixture and result",
        "Samples from two blobs for each moon resemble the training samples, and the decision "
        "boundary follows the moons.",
        TABLE_I, ("two_moons",), mixture_and_result,
    ),
    Plan(
        "four-new-moons", "4-new-moons: result of FF-MLP",
        "Three blobs for each moon are enough for boundaries that follow all four moons; in the "
        "hatched parts no training sample lies, and the region that is violated least gives the class.",
        TABLE_I, ("four_moons",), results,
    ),
    Plan(
        "circle-and-ring", "Circle-and-ring by number of blobs for the ring",
        "More blobs (in brackets) give a rounder boundary; the lower panels show the network after "
        "backpropagation.",
        TABLE_I, ("circle_and_ring_4", "circle_and_ring_16"), before_and_after,
    ),
    Plan(
        "curves", "Accuracy during backpropagation from the designed network",
        "Averaged over the batches of an epoch, training accuracy hides the drops that it has at the "
        "end of epochs, together with test accuracy.",
        CLAIM_BY_CLAIM,
        ("three_blobs", "nine_blobs_0.1", "nine_blobs_0.3", "four_moons", "circle_and_ring_16"),
        accuracy_curves,
    ),
    Plan(
        "initialisation-nine-blobs", "9-Gaussian-blobs: designed and random initialisation",
        "Backpropagation from the design keeps the grid of nine cells; from random weights, with the "
        "same number of neurons, it does not find the grid.",
        RANDOM_STARTS, ("nine_blobs_0.3",), initialisations,
    ),
    Plan(
        "initialisation-four-new-moons", "4-new-moons: designed and random initialisation",
        "The boundaries follow the moons with the designed initialisation; with random weights they "
        "are too straight.",
        RANDOM_STARTS, ("four_moons",), initialisations,
    ),
    Plan(
        "robustness", "Robust accuracy by radius",
        "The curve of FF-MLP is exact and the others are upper bounds, so a network with a curve "
        "below the curve of FF-MLP is less robust.",
        ROBUSTNESS, ("nine_blobs_0.3", "circle_and_ring_16", "two_moons", "four_moons"),
        robust_accuracies,
    ),
)  # fmt: skip
