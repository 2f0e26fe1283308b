"""The figures of the paper: the rows that each one shows, and its file."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from ffmlp.arrays import Floats
from ffmlp.report.layout import Picture
from ffmlp.reproduction import figures
from ffmlp.reproduction.accuracy_tables import TABLE_I
from ffmlp.reproduction.backprop_tables import CLAIM_BY_CLAIM, RANDOM_STARTS
from ffmlp.reproduction.experiments import Run, Settings
from ffmlp.reproduction.findings import NAMES, TITLE
from ffmlp.reproduction.network_tables import ROBUSTNESS, SIZES
from ffmlp.reproduction.reported import Row
from ffmlp.reproduction.verdicts import by_split
from ffmlp.storage.whole_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Sharp on a projector: a figure of 12 inches is 1680 pixels wide.
DOTS_PER_INCH = 140


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
    overview = folder / "overview.png"
    _write(figures.overview([_accuracies(row, runs) for row in rows]), overview)
    others = (
        _picture(folder / _file_name(plan, shown), plan.title, plan.caption, plan.beside)
        for plan, shown in _plans(rows)
    )
    return [_picture(overview, "Test accuracy, row by row", _OVERVIEW, TITLE), *others]


def _picture(path: Path, title: str, caption: str, beside: str) -> Picture:
    return Picture(path.read_bytes(), title, caption, beside, f"{path.parent.name}/{path.name}")


# The methods of the overview: our method, the field of its runs, and the paper's name.
_METHODS = {
    "literal FF-MLP": ("literal", "test_accuracy", "ff"),
    "our FF-MLP": ("ff", "test_accuracy", ""),
    "its bare network": ("bp_ff_50", "start_test_accuracy", ""),
    "BP from its bare network": ("bp_ff_50", "test_accuracy", "bp_ff_50"),
    "BP from random weights": ("bp_random_50", "test_accuracy", "bp_random_50"),
}
_OVERVIEW = (
    "Each row has an axis of its own. BP starts from the bare network of our FF-MLP, which has no "
    "rule for regions without training samples, or from random weights (the mean of the starts on "
    "each split)."
)


def _accuracies(row: Row, runs: Sequence[Run]) -> tuple[str, dict[str, Floats], dict[str, float]]:
    """The title of a row, the test accuracies in % of each method by split, and the paper's."""
    ours = {
        name: 100 * np.array(list(by_split(runs, row, method, field).values()))
        for name, (method, field, _) in _METHODS.items()
    }
    paper = {
        name: row.reported[reported][1]
        for name, (*_, reported) in _METHODS.items()
        if reported in row.reported
    }
    return row.title, ours, paper


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
        NAMES, ("xor",), figures.two_blobs,
    ),
    Plan(
        "mirror-points", "Mirror points and sign confusion",
        "Without ReLU, the next layer cannot tell a positive response times a positive weight from a "
        "negative response times a negative weight; with ReLU, each of two neurons speaks for its own "
        "side only.",
        NAMES, ("xor",), figures.mirror_points,
    ),
    Plan(
        "xor", "XOR, stage by stage",
        "Two lines divide the plane into four regions, one for each blob, and each region votes for "
        "its class; the network below computes this.",
        NAMES, ("xor",), figures.xor_stages,
    ),
    Plan(
        "responses-xor", "XOR: responses of the neurons",
        "The two neurons of a line respond on its two sides (one above the other), and each neuron of "
        "the second layer in one quadrant.",
        NAMES, ("xor",), figures.responses,
    ),
    Plan(
        "architecture", "The architecture of a designed network",
        "A hyperplane has two neurons in the first layer, one for each side (colour and light "
        "colour), a region with training samples has one in the second, and a class has an output.",
        NAMES, ("three_blobs",), figures.architecture,
    ),
    Plan(
        "sets", "The two-dimensional sets",
        "Training samples of the first split, with standardised features.",
        TABLE_I, _PLANAR, figures.sets,
    ),
    Plan(
        "responses-three-blobs", "3-Gaussian-blobs: responses of the neurons",
        "A neuron of the first layer responds in a half-plane (the opposite one is below it), a "
        "neuron of the second layer in a wedge, and two wedges contain one blob.",
        SIZES, ("three_blobs",), figures.responses,
    ),
    Plan(
        "responses-nine-blobs", "9-Gaussian-blobs: responses of the neurons",
        "Four pairs of half-planes separate rows and columns, and each neuron of the second layer "
        "covers one of the nine cells.",
        SIZES, ("nine_blobs_0.3",), figures.responses,
    ),
    Plan(
        "lines", "Partitioning lines",
        "The lines separate blobs of different classes; many are nearly parallel or meet in nearly "
        "one point, so few regions are occupied.",
        SIZES, ("three_blobs", "nine_blobs_0.3"), figures.partitioning_lines,
    ),
    Plan(
        "thresholds", "9-Gaussian-blobs by error threshold",
        "A higher threshold (in brackets) keeps fewer hyperplanes and nearly the same boundaries.",
        TABLE_I, ("nine_blobs_0.1", "nine_blobs_0.3"), figures.results,
    ),
    Plan(
        "two-new-moons", "2-new-moons: samples, mixture and result",
        "Samples from two blobs for each moon resemble the training samples, and the decision "
        "boundary follows the moons.",
        TABLE_I, ("two_moons",), figures.mixture_and_result,
    ),
    Plan(
        "four-new-moons", "4-new-moons: result of FF-MLP",
        "Three blobs for each moon are enough for boundaries that follow all four moons; in the "
        "hatched parts no training sample lies, and the region that is violated least gives the class.",
        TABLE_I, ("four_moons",), figures.results,
    ),
    Plan(
        "circle-and-ring", "Circle-and-ring by number of blobs for the ring",
        "More blobs (in brackets) give a rounder boundary; the lower panels show the network after "
        "backpropagation.",
        TABLE_I, ("circle_and_ring_4", "circle_and_ring_16"), figures.before_and_after,
    ),
    Plan(
        "curves", "Accuracy during backpropagation from the designed network",
        "Averaged over the batches of an epoch, training accuracy hides the drops that it has at the "
        "end of epochs, together with test accuracy.",
        CLAIM_BY_CLAIM,
        ("three_blobs", "nine_blobs_0.1", "nine_blobs_0.3", "four_moons", "circle_and_ring_16"),
        figures.accuracy_curves,
    ),
    Plan(
        "initialisation-nine-blobs", "9-Gaussian-blobs: designed and random initialisation",
        "Backpropagation from the design keeps the grid of nine cells; from random weights, with the "
        "same number of neurons, it does not find the grid.",
        RANDOM_STARTS, ("nine_blobs_0.3",), figures.initialisations,
    ),
    Plan(
        "initialisation-four-new-moons", "4-new-moons: designed and random initialisation",
        "The boundaries follow the moons with the designed initialisation; with random weights they "
        "are too straight.",
        RANDOM_STARTS, ("four_moons",), figures.initialisations,
    ),
    Plan(
        "robustness", "Robust accuracy by radius",
        "The curve of FF-MLP is exact and the others are upper bounds, so a network with a curve "
        "below that of FF-MLP is less robust.",
        ROBUSTNESS, ("nine_blobs_0.3", "circle_and_ring_16", "two_moons", "four_moons"),
        figures.robust_accuracies,
    ),
)  # fmt: skip
