"""The figures of the paper: the rows that each one shows, and its file."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ffmlp.reports.pages import Picture
from ffmlp.reproduction import figures
from ffmlp.reproduction.experiments import Settings
from ffmlp.reproduction.paper import Row
from ffmlp.reproduction.report import ORDERINGS, ROBUSTNESS, SIZES, TABLE_I
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


def plans(rows: Sequence[Row]) -> list[tuple[Plan, list[Row]]]:
    """The figures that show any of these rows, with the rows that they show."""
    chosen = [(plan, [row for row in rows if row.key in plan.rows]) for plan in FIGURES]
    return [(plan, shown) for plan, shown in chosen if shown]


def draw_one(plan: Plan, shown: Sequence[Row], settings: Settings, folder: Path) -> Picture:
    """Draw a figure of these rows, unless the folder has it already."""
    picture = Picture(folder / _file_name(plan, shown), plan.title, plan.caption, plan.beside)
    if not picture.path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        figure = plan.drawing(list(shown), settings)
        figure.suptitle(plan.title, fontsize="x-large", fontweight="bold")
        write_figure(figure, picture.path)
    return picture


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure as a PNG file, atomically."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DOTS_PER_INCH)
    write_whole(path, content.getvalue())


def draw(
    rows: Sequence[Row], settings: Settings, folder: Path, on_figure: Callable[[Picture], None]
) -> list[Picture]:
    """Draw the figures of these rows that the folder does not have yet; return all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for plan, shown in plans(rows):
        is_new = not (folder / _file_name(plan, shown)).exists()
        pictures.append(draw_one(plan, shown, settings, folder))
        if is_new:
            on_figure(pictures[-1])
    return pictures


def n_undrawn(rows: Sequence[Row], folder: Path) -> int:
    """The number of figures that `draw` would draw, for a progress bar."""
    return sum(not (folder / _file_name(plan, shown)).exists() for plan, shown in plans(rows))


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
        TABLE_I, ("xor",), figures.two_blobs,
    ),
    Plan(
        "mirror-points", "Mirror points and sign confusion",
        "Without ReLU, the next layer cannot tell a positive response times a positive weight from a "
        "negative response times a negative weight; with ReLU, each of two neurons speaks for its own "
        "side only.",
        TABLE_I, ("xor",), figures.mirror_points,
    ),
    Plan(
        "xor", "XOR, stage by stage",
        "Two lines divide the plane into four regions, one for each blob, and each region votes for its "
        "class; the network below computes this.",
        TABLE_I, ("xor",), figures.xor_stages,
    ),
    Plan(
        "responses-xor", "XOR: responses of the neurons",
        "The two neurons of a line respond on its two sides (one above the other), and each neuron of "
        "the second layer in one quadrant.",
        TABLE_I, ("xor",), figures.responses,
    ),
    Plan(
        "architecture", "The architecture of a designed network",
        "A hyperplane has two neurons in the first layer, one for each side (colour and light colour), "
        "a region with training samples has one in the second, and a class has an output.",
        TABLE_I, ("three_blobs",), figures.architecture,
    ),
    Plan(
        "sets", "The two-dimensional sets",
        "Training samples of the first split, with standardised features.",
        TABLE_I, _PLANAR, figures.sets,
    ),
    Plan(
        "responses-three-blobs", "3-Gaussian-blobs: responses of the neurons",
        "A neuron of the first layer responds in a half-plane (the opposite one is below it), a neuron "
        "of the second layer in a wedge, and two wedges contain one blob.",
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
        "The lines separate blobs of different classes; many are nearly parallel or meet in nearly one "
        "point, so few regions are occupied.",
        SIZES, ("three_blobs", "nine_blobs_0.3"), figures.partitioning_lines,
    ),
    Plan(
        "thresholds", "9-Gaussian-blobs by error threshold",
        "A higher threshold (in brackets) keeps fewer hyperplanes and nearly the same boundaries.",
        TABLE_I, ("nine_blobs_0.1", "nine_blobs_0.3"), figures.results,
    ),
    Plan(
        "two-new-moons", "2-new-moons: samples, mixture and result",
        "Samples from two blobs for each moon resemble the training samples, and the decision boundary "
        "follows the moons.",
        TABLE_I, ("two_moons",), figures.mixture_and_result,
    ),
    Plan(
        "four-new-moons", "4-new-moons: result of FF-MLP",
        "Three blobs for each moon are enough for boundaries that follow all four moons; in the hatched "
        "parts no training sample lies, and the region that is violated least gives the class.",
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
        "A flat curve means that backpropagation does not improve the design, a falling one that it "
        "makes it worse.",
        ORDERINGS,
        ("three_blobs", "nine_blobs_0.1", "nine_blobs_0.3", "four_moons", "circle_and_ring_16"),
        figures.accuracy_curves,
    ),
    Plan(
        "initialisation-nine-blobs", "9-Gaussian-blobs: designed and random initialisation",
        "Backpropagation from the design keeps the grid of nine cells; from random weights, with the "
        "same number of neurons, it does not find the grid.",
        ORDERINGS, ("nine_blobs_0.3",), figures.initialisations,
    ),
    Plan(
        "initialisation-four-new-moons", "4-new-moons: designed and random initialisation",
        "The boundaries follow the moons with the designed initialisation; with random weights they are "
        "too straight.",
        ORDERINGS, ("four_moons",), figures.initialisations,
    ),
    Plan(
        "robustness", "Robust accuracy by radius",
        "The curve of FF-MLP is exact and the others are upper bounds, so a network with a curve below "
        "that of FF-MLP is less robust.",
        ROBUSTNESS, ("nine_blobs_0.3", "circle_and_ring_16", "two_moons", "four_moons"),
        figures.robust_accuracies,
    ),
)  # fmt: skip
