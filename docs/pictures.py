"""Draw pictures of the pages, for light and dark ones.

    python docs/pictures.py    # docs/images/*-light.png and docs/images/*-dark.png

Those of XOR show what `ffmlp.paper` computes of its first split, the others the numbers of tables that
stand on the pages. Letters stay as large as text where a phone shows a picture with a width of 390
pixels.
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

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
LINES = ("#009e73", "#cc79a7")
DELETED = "#808080"
# The ground, the ink and the colours of the two classes.
THEMES = {
    "light": ("#ffffff", "#1a1a1a", ["#0072b2", "#e69f00"]),
    "dark": ("#14181e", "#e6e8eb", ["#56b4e9", "#e69f00"]),
}
INKED = ("axes.labelcolor", "xtick.color", "ytick.color", "legend.labelcolor")
# Samples beyond these would make the files large and the clouds no clearer.
N_SHOWN = 400
LIMIT = 2.2
DOTS_PER_INCH = 140


def class_colours() -> list[str]:
    """The colours of the two classes in the current theme."""
    return mpl.rcParams["axes.prop_cycle"].by_key()["color"][:2]


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


def table(page: str, header: str) -> list[list[str]]:
    """The rows of the first table of a page whose header begins so, without bold letters."""
    text = (DOCS / page).read_text(encoding="utf-8").replace("**", "")
    lines = text[text.index(f"| {header} |") :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def accuracy_and_time(stages: Stages) -> Figure:
    """Mean accuracy against median fit time on the 20 sets of the page on benchmarks."""
    figure = Figure((6.0, 5.4), layout="constrained")
    ax = figure.subplots()
    ink = mpl.rcParams["text.color"]
    names = {"FFMLPClassifier()": "default", "FFMLPClassifier(max_leaves=0)": "max_leaves=0",
             "FFMLPClassifier(max_neurons=50)": "max_neurons=50", "scikit-learn's MLPClassifier": "MLP",
             "CatBoost": "CatBoost", "random forest": "forest", "XGBoost": "XGBoost",
             "RealMLP": "RealMLP", "ExtraTrees": "ExtraTrees", "LightGBM": "LightGBM"}  # fmt: skip
    right = ("XGBoost", "LightGBM", "ExtraTrees", "MLP")
    for cells in table("benchmarks/index.md", "classifier"):
        name = next(
            (short for long, short in names.items() if cells[0].replace("`", "").startswith(long)), ""
        )
        if not name:
            continue
        accuracy, seconds = float(cells[1].split()[0]), float(cells[4])
        ours = cells[0].startswith("`FFMLP")
        ax.plot(seconds, accuracy, "o" if ours else "s", ms=9, c=class_colours()[0 if ours else 1])
        side = (8, "left") if name not in right else (-8, "right")
        ax.annotate(name, (seconds, accuracy), (side[0], -4), textcoords="offset points", ha=side[1],
                    fontsize=13, color=ink)  # fmt: skip
    ax.set_xscale("log")
    ax.set_xlim(0.02, 200)
    ax.set_xlabel("median fit, seconds")
    ax.set_ylabel("mean accuracy, %")
    return figure


def cluster_times(stages: Stages) -> Figure:
    """Times of fits of the default on a cluster, against the rows."""
    figure = Figure((6.0, 4.6), layout="constrained")
    ax = figure.subplots()
    powers = {"10⁵": 1e5, "10⁶": 1e6, "10⁷": 1e7, "10⁸": 1e8}
    rows = [cells for cells in table("guide/larger_data.md", "rows") if cells[0] in powers]
    shown = {"in memory": ("in memory", "D"), "1": ("1 worker", "s"), "2": ("2 workers", "o")}
    for key, (name, marker) in shown.items():
        points = [(powers[cells[0]], float(cells[3])) for cells in rows
                  if cells[1] == "default" and cells[2].partition(" of")[0] == key]  # fmt: skip
        ax.plot(*zip(*points, strict=True), f"{marker}-", ms=9, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_yticks([3, 10, 30, 100, 300, 1000], ["3", "10", "30", "100", "300", "1000"])
    ax.set_yticks([], minor=True)
    ax.set_xlabel("rows")
    ax.set_ylabel("fit, seconds")
    ax.legend()
    return figure


PICTURES: dict[str, Callable[[Stages], Figure]] = {
    "xor": hero,
    "paper-stage-0": stage_0,
    "paper-stage-1": stage_1,
    "paper-regions": regions,
    "paper-layer-1": layer_1,
    "paper-layer-2": layer_2,
    "accuracy-and-time": accuracy_and_time,
    "cluster-times": cluster_times,
}


def write(figure: Figure, path: Path) -> None:
    """A PNG of 256 colours, which has a third of the bytes."""
    content = BytesIO()
    figure.savefig(content, dpi=DOTS_PER_INCH)
    Image.open(content).convert("RGB").quantize(dither=Image.Dither.NONE).save(path, optimize=True)


def main(folder: Path = IMAGES) -> None:
    """Write every picture in every theme."""
    stages = Stages()
    for theme, (ground, ink, classes) in THEMES.items():
        colours = {"figure.facecolor": ground, "axes.facecolor": ground, "savefig.facecolor": ground}
        colours |= dict.fromkeys(("text.color", "axes.edgecolor", "axes.titlecolor", *INKED), ink)
        colours["axes.prop_cycle"] = mpl.cycler(color=[*classes, *LINES])
        sizes = {"font.size": 15, "axes.titlesize": 16}
        with mpl.rc_context(colours | sizes):
            for name, draw in PICTURES.items():
                write(draw(stages), folder / f"{name}-{theme}.png")


if __name__ == "__main__":
    main()
