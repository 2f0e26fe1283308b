"""Draw the pictures of XOR by stages, for light and dark pages.

    python docs/pictures.py    # docs/images/xor-*.png and docs/images/paper-*.png

They show what `ffmlp.paper` computes of the first split of XOR. Letters stay as large as text where a
phone shows a picture with a width of 390 pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy import ndarray
from PIL import Image

from ffmlp import paper
from ffmlp.datasets import load

IMAGES = Path(__file__).parent / "images"
LINES = ("#009e73", "#cc79a7")
DELETED = "#808080"
# The ground, the ink and the colours of the two classes.
THEMES = {
    "light": ("#ffffff", "#1a1a1a", ["#0072b2", "#e69f00"]),
    "dark": ("#14181e", "#e6e8eb", ["#56b4e9", "#e69f00"]),
}
# Samples beyond these would make the files large and the clouds no clearer.
N_SHOWN = 400
LIMIT = 2.2
DOTS_PER_INCH = 140


def class_colours() -> list[str]:
    """The colours of the two classes in the current theme."""
    return mpl.rcParams["axes.prop_cycle"].by_key()["color"]


class Stages:
    """What the functions of `ffmlp.paper` return, one after the other."""

    def __init__(self) -> None:
        train, _ = load("xor").split(0)
        self.X, self.y = train.X, train.y
        self.Y = np.eye(2)[self.y]
        self.blobs = paper.stage_0(self.X, self.y, 2, np.random.RandomState(0))
        self.w, self.b = paper.stage_1(self.blobs)
        codes = self.X @ self.w.T + self.b > 0
        self.kept, self.deleted = paper.prune(codes, self.Y, 0.05)
        self.codes, self.counts = paper.regions(codes[:, self.kept], self.Y)
        self.network = paper.design(self.X, self.y, self.blobs, 0.05, 1000.0)


def draw_samples(ax: Axes, stages: Stages, size: float = 9) -> None:
    """Training samples in the colours of their classes."""
    X, y = stages.X[:N_SHOWN], stages.y[:N_SHOWN]
    for c, (colour, marker) in enumerate(zip(class_colours(), "os", strict=True)):
        ax.scatter(*X[y == c].T, s=size, c=colour, marker=marker, linewidths=0)
    ax.set(xlim=(-LIMIT, LIMIT), ylim=(-LIMIT, LIMIT), xticks=[], yticks=[], aspect="equal")


def draw_blobs(ax: Axes, stages: Stages) -> None:
    """The ellipse of each blob at two standard deviations."""
    for blob in stages.blobs:
        values, vectors = np.linalg.eigh(np.cov(blob.samples.T))
        angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
        width, height = 4 * np.sqrt(values[::-1])
        ax.add_patch(
            Ellipse(blob.samples.mean(axis=0), width, height, angle=angle, fill=False, lw=2.2,
                    ec=mpl.rcParams["text.color"])
        )  # fmt: skip


def draw_line(ax: Axes, stages: Stages, line: int, **style: Any) -> None:
    """One line of LDA, from edge to edge."""
    w, b = stages.w[line], stages.b[line]
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    ends = -b * w / (w @ w) + 10 * np.array([-along, along])
    ax.plot(*ends.T, **style)


def draw_kept(ax: Axes, stages: Stages) -> None:
    """The lines that pruning keeps, each in its colour."""
    for line, colour in zip(stages.kept, LINES, strict=True):
        draw_line(ax, stages, line, color=colour, lw=3)


def grid() -> tuple[ndarray, tuple[float, float, float, float]]:
    """Points (150 × 150, 2) that fill a panel, and its corners."""
    steps = np.linspace(-LIMIT, LIMIT, 150)
    points = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    return points, (-LIMIT, LIMIT, -LIMIT, LIMIT)


def draw_map(ax: Axes, values: ndarray, colours: Any, **options: Any) -> None:
    """Values at the points of the grid, as an image."""
    ax.imshow(
        values.reshape(150, 150), extent=grid()[1], origin="lower", cmap=colours, zorder=0, **options
    )


def code(signs: ndarray) -> str:
    """The code of a region, as the paper writes it."""
    return " ".join("01"[side] for side in signs.astype(int))


def draw_regions(ax: Axes, stages: Stages) -> None:
    """The class of each point by the largest output, and the code of each region."""
    points, _ = grid()
    classes = stages.network.responses(points)[2].argmax(axis=1)
    draw_map(ax, classes, ListedColormap(class_colours()), alpha=0.4)
    draw_kept(ax, stages)
    for signs in stages.codes:
        members = (points @ stages.w[stages.kept].T + stages.b[stages.kept] > 0) == signs
        centre = points[members.all(axis=1)].mean(axis=0)
        box = {"fc": mpl.rcParams["figure.facecolor"], "ec": "none", "boxstyle": "round,pad=0.25"}
        ax.text(*centre, code(signs), ha="center", va="center", bbox=box, fontsize=17)


def draw_network(ax: Axes, stages: Stages) -> None:
    """Neurons as circles, weights other than −P and 0 as lines."""
    network = stages.network
    ink = mpl.rcParams["text.color"]
    # The two neurons of a hyperplane stand beside each other.
    heights = [np.array([0.6, -0.6]), np.array([1.5, -0.5, 0.5, -1.5]),
               np.array([1.5, 0.5, -0.5, -1.5]), np.array([0.6, -0.6])]  # fmt: skip
    colours = [[ink] * 2, [*LINES, *LINES], [DELETED] * 4, class_colours()]
    for layer, weights in enumerate((network.W_1, network.W_2, network.W_3)):
        for to, source in np.argwhere((weights > 0) | (layer == 0)):
            colour = colours[1][to] if layer == 0 else ink
            ends = [heights[layer][source], heights[layer + 1][to]]
            ax.plot([layer, layer + 1], ends, color=colour, lw=1.6, zorder=1)
    names = ("input", "sides", "regions", "classes")
    for layer, (name, places) in enumerate(zip(names, heights, strict=True)):
        ax.scatter(np.full(len(places), layer), places, s=230, c=colours[layer], zorder=2,
                   ec=ink, linewidths=1.2)  # fmt: skip
        ax.text(layer, -2.25, name, ha="center", va="center", fontsize=13)
    ax.set(xlim=(-0.4, 3.4), ylim=(-2.6, 2.1))
    ax.axis("off")


def panels(n_rows: int, n_columns: int) -> tuple[Figure, list[Axes]]:
    """A figure with equal panels."""
    figure = Figure((3.0 * n_columns, 3.35 * n_rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.08)
    return figure, list(np.ravel(figure.subplots(n_rows, n_columns)))


def hero(stages: Stages) -> Figure:
    """The four stages of XOR."""
    figure, (first, second, third, fourth) = panels(2, 2)
    draw_samples(first, stages)
    draw_blobs(first, stages)
    draw_samples(second, stages)
    draw_kept(second, stages)
    draw_samples(third, stages, 2)
    draw_regions(third, stages)
    draw_network(fourth, stages)
    for ax, title in zip(figure.axes, ("blobs", "half-spaces", "regions", "network"), strict=True):
        ax.set_title(title, fontsize=18)
    return figure


def stage_0(stages: Stages) -> Figure:
    """Samples, and what the mixtures of the two classes draw."""
    figure, (first, second) = panels(1, 2)
    draw_samples(first, stages)
    first.set_title("training samples")
    draw_samples(second, stages, 0)
    for blob in stages.blobs:
        colour, marker = class_colours()[blob.target], "os"[blob.target]
        second.scatter(*blob.samples[:100].T, s=9, c=colour, marker=marker, lw=0)
    draw_blobs(second, stages)
    second.set_title("blobs, drawn samples")
    return figure


def stage_1(stages: Stages) -> Figure:
    """All lines of LDA, and those that pruning keeps."""
    figure, (first, second) = panels(1, 2)
    for ax in (first, second):
        draw_samples(ax, stages, 4)
    for line in range(len(stages.b)):
        draw_line(first, stages, line, color=mpl.rcParams["text.color"], lw=2.2)
    first.set_title(f"{len(stages.b)} lines of LDA")
    for line, _ in stages.deleted:
        draw_line(second, stages, line, color=DELETED, lw=2, ls=":")
    draw_kept(second, stages)
    second.set_title(f"{len(stages.kept)} are kept")
    return figure


def _draw_responses(values: ndarray, colours: list[str], titles: list[str], stages: Stages) -> Figure:
    figure, axes = panels(2, 2)
    ground = mpl.rcParams["figure.facecolor"]
    for ax, response, colour, title in zip(axes, values.T, colours, titles, strict=True):
        draw_map(ax, response, LinearSegmentedColormap.from_list("", [ground, colour]))
        for line in stages.kept:
            draw_line(ax, stages, line, color=DELETED, lw=1)
        ax.set(xlim=(-LIMIT, LIMIT), ylim=(-LIMIT, LIMIT), xticks=[], yticks=[], aspect="equal")
        ax.set_title(title)
    return figure


def layer_1(stages: Stages) -> Figure:
    """The responses of the four neurons of l_1."""
    l_1, _, _ = stages.network.responses(grid()[0])
    titles = [f"$\\mathrm{{relu}}({sign}h_{line})$" for sign in ("", "-") for line in (1, 2)]
    return _draw_responses(l_1, [*LINES, *LINES], titles, stages)


def layer_2(stages: Stages) -> Figure:
    """The responses of the four neurons of l_2."""
    _, l_2, _ = stages.network.responses(grid()[0])
    colours = [class_colours()[c] for c in stages.counts.argmax(axis=1)]
    return _draw_responses(l_2, colours, [f"region {code(r)}" for r in stages.codes], stages)


def regions(stages: Stages) -> Figure:
    """The regions with their codes, and the network."""
    figure, (first, second) = panels(1, 2)
    draw_samples(first, stages, 2)
    draw_regions(first, stages)
    first.set_title("regions and codes")
    draw_network(second, stages)
    second.set_title("the network")
    return figure


PICTURES: dict[str, Callable[[Stages], Figure]] = {
    "xor": hero,
    "paper-stage-0": stage_0,
    "paper-stage-1": stage_1,
    "paper-regions": regions,
    "paper-layer-1": layer_1,
    "paper-layer-2": layer_2,
}


def write(figure: Figure, path: Path) -> None:
    """A PNG of 256 colours, which has a third of the bytes."""
    content = BytesIO()
    figure.savefig(content, dpi=DOTS_PER_INCH)
    Image.open(content).convert("RGB").quantize(dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Write every picture in every theme."""
    stages = Stages()
    for theme, (ground, ink, classes) in THEMES.items():
        colours = {"figure.facecolor": ground, "axes.facecolor": ground, "savefig.facecolor": ground}
        colours |= dict.fromkeys(("text.color", "axes.edgecolor", "axes.titlecolor"), ink)
        colours["axes.prop_cycle"] = mpl.cycler(color=classes)
        sizes = {"font.size": 15, "axes.titlesize": 16}
        with mpl.rc_context(colours | sizes):
            for name, draw in PICTURES.items():
                write(draw(stages), IMAGES / f"{name}-{theme}.png")


if __name__ == "__main__":
    main()
