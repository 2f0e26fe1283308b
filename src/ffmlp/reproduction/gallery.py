"""Which figures of the paper belong to which rows, and the files they are drawn to."""

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

# Sharp on a projector; a figure of 12 inches is 1680 pixels wide.
_DOTS_PER_INCH = 140


@dataclass(frozen=True)
class Plan:
    """A figure of the paper: the rows it shows and how it is drawn.

    ``beside`` is the title of the report's table that it belongs to.
    """

    name: str
    title: str
    caption: str
    beside: str
    rows: tuple[str, ...]
    drawing: Callable[[list[Row], Settings], Figure]


def draw(
    rows: Sequence[Row], settings: Settings, folder: Path, on_figure: Callable[[Picture], None]
) -> list[Picture]:
    """Draw the figures of these rows that are not in the folder yet; all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for plan, shown in _plans(rows):
        picture = Picture(folder / _file_name(plan, shown), plan.title, plan.caption, plan.beside)
        if not picture.path.exists():
            figure = plan.drawing(shown, settings)
            figure.suptitle(plan.title, fontsize="x-large", fontweight="bold")
            content = io.BytesIO()
            figure.savefig(content, format="png", dpi=_DOTS_PER_INCH)
            write_whole(picture.path, content.getvalue())
            on_figure(picture)
        pictures.append(picture)
    return pictures


def n_undrawn(rows: Sequence[Row], folder: Path) -> int:
    """How many figures `draw` would draw, for a progress bar."""
    return sum(not (folder / _file_name(plan, shown)).exists() for plan, shown in _plans(rows))


def _plans(rows: Sequence[Row]) -> list[tuple[Plan, list[Row]]]:
    """The figures that show some of these rows, and which."""
    plans = [(plan, [row for row in rows if row.key in plan.rows]) for plan in FIGURES]
    return [(plan, shown) for plan, shown in plans if shown]


def _file_name(plan: Plan, shown: list[Row]) -> str:
    """Figures that show some of their rows only do not get the name of the whole one."""
    keys = [row.key for row in shown]
    return "-".join([plan.name, *(keys if len(keys) < len(plan.rows) else ())]) + ".png"


_PLANAR = (
    "xor", "three_blobs", "nine_blobs_0.1", "nine_blobs_0.3",
    "circle_and_ring_4", "circle_and_ring_16", "two_moons", "four_moons",
)  # fmt: skip

FIGURES = (
    Plan(
        "two-blobs", "Two Gaussian blobs and their two neurons",
        "Each of the two opposite neurons responds on one side of the LDA line only, the more the "
        "farther from it.",
        SIZES, ("xor",), figures.two_blobs,
    ),
    Plan(
        "xor", "XOR, stage by stage",
        "Two lines cut the plane into four regions, one for each blob, and each region votes for its "
        "class: the network below does just this.",
        SIZES, ("xor",), figures.xor_stages,
    ),
    Plan(
        "sets", "The two-dimensional sets",
        "Training samples of the first split, with standardised features: where classes overlap, no "
        "classifier is perfect.",
        TABLE_I, _PLANAR, figures.sets,
    ),
    Plan(
        "responses-three-blobs", "3-Gaussian-blobs: what each neuron responds to",
        "A neuron of the first layer covers a half-plane with its opposite below it, a neuron of the "
        "second a wedge, and two wedges hold one blob.",
        SIZES, ("three_blobs",), figures.responses,
    ),
    Plan(
        "responses-nine-blobs", "9-Gaussian-blobs: what each neuron responds to",
        "Four pairs of half-planes separate rows and columns, and each neuron of the second layer "
        "covers one of the nine cells.",
        SIZES, ("nine_blobs_0.3",), figures.responses,
    ),
    Plan(
        "lines", "Partitioning lines",
        "Lines run between blobs of different classes, and as they meet in nearly one point or are "
        "nearly parallel, few regions are occupied.",
        SIZES, ("three_blobs", "nine_blobs_0.3"), figures.partitioning_lines,
    ),
    Plan(
        "thresholds", "9-Gaussian-blobs by error threshold",
        "The higher the threshold (in brackets), the fewer hyperplanes are kept, for nearly the same "
        "boundaries.",
        TABLE_I, ("nine_blobs_0.1", "nine_blobs_0.3"), figures.results,
    ),
    Plan(
        "two-new-moons", "2-new-moons: samples, mixture and result",
        "Two blobs for each moon resemble the samples, and the lines between them bend around them.",
        TABLE_I, ("two_moons",), figures.mixture_and_result,
    ),
    Plan(
        "four-new-moons", "4-new-moons: result of FF-MLP",
        "Three blobs for each moon are enough for boundaries that follow all four.",
        TABLE_I, ("four_moons",), figures.results,
    ),
    Plan(
        "circle-and-ring", "Circle-and-ring by number of blobs for the ring",
        "More blobs (in brackets) make a rounder boundary; the lower panels show what backpropagation "
        "makes of it.",
        TABLE_I, ("circle_and_ring_4", "circle_and_ring_16"), figures.before_and_after,
    ),
    Plan(
        "curves", "Accuracy during backpropagation from the designed network",
        "A flat curve means that backpropagation adds nothing to the design, a falling one that it "
        "undoes it.",
        ORDERINGS,
        ("three_blobs", "nine_blobs_0.1", "nine_blobs_0.3", "four_moons", "circle_and_ring_16"),
        figures.accuracy_curves,
    ),
    Plan(
        "initialisation-nine-blobs", "9-Gaussian-blobs: designed and random initialisation",
        "Backpropagation from the design keeps the grid of nine cells; from random weights, with the "
        "same neurons, it cuts across it.",
        ORDERINGS, ("nine_blobs_0.3",), figures.initialisations,
    ),
    Plan(
        "initialisation-four-new-moons", "4-new-moons: designed and random initialisation",
        "From random weights the boundaries are too straight for the moons; from the design they bend.",
        ORDERINGS, ("four_moons",), figures.initialisations,
    ),
    Plan(
        "robustness", "Accuracy on test samples that may move",
        "The designed network's curve is exact, the others are upper bounds, so that a curve below the "
        "first is certainly less robust.",
        ROBUSTNESS, ("nine_blobs_0.3", "circle_and_ring_16", "two_moons", "four_moons"),
        figures.robust_accuracies,
    ),
)  # fmt: skip
