"""The network: its neurons and links, and heat maps of its responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import Floats
from ffmlp.design.lda import two_class_lda
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.trees import Trees
from ffmlp.plots.samples import SamplesDisplay, undrawn_samples
from ffmlp.plots.view import (
    INK,
    RED,
    SYMBOLS,
    AxesDisplay,
    FigureDisplay,
    View,
    colours,
    draw_lines,
    greys,
    lighter,
    matplotlib,
    network_of,
)
from ffmlp.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffmlp.plots.view import AnyFigure


# Colours of hyperplanes by number: colours like positive weights or regions come late.
_ORDER = (2, 5, 4, 3, 6, 0, 1, 7, 8)


def half_space_colours(neurons: ArrayLike, n_hyperplanes: int, n_classes: int) -> Floats:
    """The colours (n, 3) of neurons of l_1: one for each hyperplane, lighter on its negative side.

    The first hyperplanes have colours that no class has.
    """
    negative, hyperplane = np.divmod(np.asarray(neurons, np.intp), n_hyperplanes)
    order = np.array(sorted(_ORDER, key=lambda number: number < n_classes))
    return lighter(colours(order[hyperplane % len(order)]), 0.6 * negative[:, None])


@dataclass(eq=False)
class NetworkDisplay(AxesDisplay):
    """The network as in the paper: l_in, l_1, l_2 and l_out, and the links between them.

    The two neurons of a hyperplane have the same colour, one of them lighter. Neurons of l_2 have the
    colour of their class, or greys. In stages 2 and 3, positive weights are red lines, negative weights
    thin black lines, and zero weights are not drawn. One box stands for all leaves of the trees that
    correct a readout.

    Attributes
    ----------
    network : Network
    neurons : tuple of 4 ndarrays
        The neurons of each layer that are drawn, from top to bottom.
    weights : tuple of 3 ndarrays
        The weights of each stage between drawn neurons.
    title : str
    grey : bool
        Whether neurons of l_2 have shades of grey instead of the colour of their class.
    """

    network: Network
    neurons: tuple[NDArray[np.intp], ...]
    weights: tuple[Floats, ...]
    title: str
    grey: bool = False

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        hyperplanes: Sequence[int] | NDArray[np.intp] | None = None,
        max_neurons: int = 24,
        grey: bool = False,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> NetworkDisplay:
        """Draw a network.

        Parameters
        ----------
        estimator : FFMLPClassifier or Network
        hyperplanes : sequence of int, default=None
            The hyperplanes whose neurons are drawn in l_1, from top to bottom; all by default.
        max_neurons : int, default=24
            At most this many neurons of a layer are drawn.
        grey : bool, default=False
            Whether neurons of l_2 have shades of grey instead of the colour of their class.
        """
        network = network_of(estimator)
        planes, layers = network.hyperplanes, [np.arange(size) for size in network.weighted_sizes]
        chosen = np.arange(len(planes)) if hyperplanes is None else np.asarray(hyperplanes, np.intp)
        if not planes.one_sided:  # the two neurons of a hyperplane are next to each other
            chosen = np.column_stack([chosen, chosen + len(planes)]).ravel()
        layers[1] = chosen
        drawn = tuple(layer[:max_neurons] for layer in layers)
        weights = tuple(
            weight[np.ix_(drawn[stage + 1], drawn[stage])]
            for stage, weight in enumerate(network.weights)
        )
        if title is None:
            title = "Network of {} → {} → {} → {} neurons".format(*network.layer_sizes)
        return cls(network, drawn, weights, title, grey).plot(ax)

    def _draw(self, ax: Axes) -> None:
        rows = max(map(len, self.neurons)) + 2
        self._resize(9.0, max(4.0, 1.4 + 0.36 * rows))
        heights = [self._heights(layer) for layer in range(4)]
        self._draw_links(heights)
        # Neurons fit between their neighbours, whatever the size of the axes.
        height = ax.get_window_extent().height * 72 / ax.figure.dpi
        for layer in range(4):
            self._draw_layer(layer, heights[layer], min(22.0, 0.75 * height / rows))
        ax.set(xlim=(-0.75, 3.75), ylim=(-0.12, 1.12), title=self.title)
        ax.set_axis_off()

    def _heights(self, layer: int) -> Floats:
        """The heights of the drawn neurons of a layer, then of the ellipsis and of the leaves."""
        n_drawn = len(self.neurons[layer])
        n_places = n_drawn + (n_drawn < self.network.weighted_sizes[layer])
        n_places += layer == 2 and self.network.stages.trees is not None
        step: float = min(0.24, 1 / n_places)
        places = (n_places - 1) / 2 - np.arange(n_places, dtype=np.float64)
        if layer == 1 and not self.network.hyperplanes.one_sided:  # the two of a pair move together
            places[:n_drawn:2] -= 0.1
            places[1:n_drawn:2] += 0.1
        return 0.5 + step * places

    def _colours(self, layer: int) -> Floats:
        """The colour of each drawn neuron."""
        neurons = self.neurons[layer]
        if layer == 0:
            return np.ones((len(neurons), 3))
        if layer == 1:
            return half_space_colours(neurons, len(self.network.hyperplanes), len(self.network.labels))
        if layer == 2 and self.grey:
            return greys(self.network.layer_sizes[2])[neurons]
        return colours(self.network.stages.neuron_classes[neurons] if layer == 2 else neurons)

    def _draw_links(self, heights: list[Floats]) -> None:
        collection = matplotlib("collections").LineCollection
        line = matplotlib("lines").Line2D

        def draw(stage: int, chosen: NDArray[np.bool_], **style: Any) -> None:
            after, before = np.nonzero(chosen)
            ends = [
                np.column_stack([np.full(len(after), column), heights[column][neurons]])
                for column, neurons in ((stage, before), (stage + 1, after))
            ]
            self.ax_.add_collection(collection(np.stack(ends, axis=1), **style))

        first = self.weights[0] != 0
        shades = self._colours(1)[np.nonzero(first)[0]]
        draw(0, first, colors=shades, linewidths=1.2, zorder=1)
        for stage in (1, 2):
            draw(stage, self.weights[stage] < 0, colors="black", linewidths=0.5, alpha=0.25, zorder=1)
            draw(stage, self.weights[stage] > 0, colors=RED, linewidths=1.2, alpha=0.9, zorder=2)
        positive, negative = self.network.stages.link_names
        normal = "normal vector, in the colour of its hyperplane"
        links = {normal: self._colours(1)[0], positive: RED, negative: "0.6"}
        handles = [line([], [], color=colour, label=label) for label, colour in links.items()]
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        self.ax_.legend(handles=handles, ncols=3, frameon=False, **below)

    def _draw_layer(self, layer: int, heights: Floats, diameter: float) -> None:
        ax, neurons, shown = self.ax_, self.neurons[layer], heights[: len(self.neurons[layer])]
        draw_neurons(ax, layer, shown, self._colours(layer), list(map(str, neurons)), diameter)
        style: dict[str, Any] = {"va": "center", "zorder": 4}
        for neuron, height in zip(neurons, shown, strict=True):
            if layer == 0:
                ax.text(-0.14, height, self.network.input_columns[neuron], ha="right", **style)
            if layer == 3:
                ax.text(3.14, height, str(self.network.labels[neuron]), ha="left", **style)
        left = self.network.weighted_sizes[layer] - len(neurons)
        if left:
            ax.text(layer, heights[len(neurons)], f"⋮  {left} more", ha="center", va="center")
        if layer == 2 and self.network.stages.trees is not None:
            self._draw_leaves(self.network.stages.trees, heights[-1])
        size = self.network.layer_sizes[layer]
        title = f"{SYMBOLS[layer]}: {self.network.kinds[layer]}"
        ax.text(layer, 1.06, title, ha="center", va="center", parse_math=True)
        ax.text(layer, -0.06, counted(size, "neuron"), ha="center", va="center")

    def _draw_leaves(self, trees: Trees, height: float) -> None:
        """One box for all leaves, linked to the hyperplanes that the trees compare and to classes."""
        compared = np.isin(self.neurons[1] % len(self.network.hyperplanes), trees.axes)
        before, after = (self._heights(layer)[: len(self.neurons[layer])] for layer in (1, 3))
        for layer, ends in ((1, before[compared]), (3, after)):
            for end in ends:
                self.ax_.plot([layer, 2], [end, height], ":", color=INK, linewidth=0.8, zorder=1)
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": INK, "linewidth": 0.8}
        style: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4, "bbox": box}
        self.ax_.text(2, height, f"{len(trees)} leaves", **style)


def draw_neurons(
    ax: Axes, x: float, heights: Floats, shades: Floats, names: Sequence[str], diameter: float
) -> None:
    """Draw neurons as discs above each other, with their names inside; the diameter is in points."""
    style: dict[str, Any] = {"edgecolors": INK, "linewidths": 0.8, "zorder": 3}
    ax.scatter(np.full(len(heights), x), heights, s=diameter**2, c=shades, **style)
    text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 0.5 * diameter, "zorder": 4}
    for height, shade, name in zip(heights, shades, names, strict=True):
        ink = "black" if shade @ [0.3, 0.59, 0.11] > 0.5 else "white"
        ax.text(x, height, name, color=ink, **text)


def draw_perceptron(ax: Axes, plane: Hyperplanes, feature_names: Sequence[str], title: str) -> None:
    """Draw a line of two features as a perceptron of two neurons, with weights and biases."""
    heights, shades = np.array([0.8, 0.2]), half_space_colours([0, 1], 1, 2)
    text: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}

    def value(symbol: str, number: float) -> str:
        return f"${symbol}$ = " + f"{number:.2f}".replace("-", "−")

    for neuron, (minus, sign) in enumerate((("", 1), ("-", -1))):
        for feature, weight in enumerate(sign * plane.weights[0]):
            start, stop = heights[[feature, neuron]]
            ax.plot([0, 1], [start, stop], color=shades[neuron], linewidth=2.2, zorder=1)
            # A level link has its label beside it, the others where they do not cross.
            up = start + 0.06 * sign if feature == neuron else start + 0.74 * (stop - start)
            label = value(f"{minus}w_{feature}", weight)
            ax.text(0.5 if feature == neuron else 0.74, up, label, bbox=box, **text)
        outside = heights[neuron] + 0.17 * sign
        ax.text(1, outside, "bias " + value(f"{minus}b", sign * plane.biases[0]), **text)
        ax.text(1.16, heights[neuron], f"ReLU(${minus}h$)", **(text | {"ha": "left"}))
    draw_neurons(ax, 0, heights, np.ones((2, 3)), feature_names, 30)
    draw_neurons(ax, 1, heights, shades, ["0", "1"], 30)
    ax.text(0.5, -0.1, r"$h = w_0 x_0 + w_1 x_1 + b$", **text)
    ax.set(xlim=(-0.2, 1.65), ylim=(-0.18, 1.1), title=title)
    ax.set_axis_off()


@dataclass(eq=False)
class ResponsesDisplay(FigureDisplay):
    """Heat maps of the responses of a layer over the plane, one panel for each neuron.

    Attributes
    ----------
    view : View
    neurons : ndarray of shape (n_panels,)
    responses : ndarray of shape (n_panels, grid_resolution, grid_resolution)
        Responses at the points of ``view.grid(grid_resolution)``.
    cells : ndarray of shape (n_panels, 2)
        Row and column of each panel.
    samples : bool
        Whether the samples are drawn too.
    title : str
    axes_ : ndarray of shape (n_panels,)
    """

    view: View
    neurons: NDArray[np.intp]
    responses: Floats
    cells: NDArray[np.intp]
    samples: bool
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        layer: int = 1,
        neurons: Sequence[int] | None = None,
        grid_resolution: int = 120,
        samples: bool = False,
        limits: ArrayLike | None = None,
        max_columns: int = 6,
        title: str | None = None,
        figure: AnyFigure | None = None,
    ) -> ResponsesDisplay:
        """Draw the responses of a network over the range of X.

        Parameters
        ----------
        estimator : FFMLPClassifier or Network
        X : array-like of shape (n_samples, 2)
        layer : {1, 2, 3}, default=1
            1 is l_1, 2 is l_2 and 3 is l_out. In l_1, the two neurons of a hyperplane are one above
            the other.
        neurons : sequence of int, default=None
            The neurons to draw; all of the layer by default, but no leaves of trees.
        grid_resolution : int, default=120
        samples : bool, default=False
            Whether to draw X, too.
        limits : array-like of shape (2, 2), default=None
            Lower left and upper right corner of the view, by default around X.
        max_columns : int, default=6
        """
        if layer not in (1, 2, 3):
            raise ValueError(f"layer must be 1, 2 or 3, got {layer!r}.")
        network = network_of(estimator)
        view = View.of(X, network.feature_names, limits)
        size = network.layer_sizes[layer]
        by_default = range(network.weighted_sizes[layer])
        chosen = np.array(list(dict.fromkeys(by_default if neurons is None else neurons)), np.intp)
        if not len(chosen) or not ((chosen >= 0) & (chosen < size)).all():
            raise ValueError(f"layer {layer} has neurons 0 to {size - 1}, got neurons={neurons!r}.")
        response = network.responses(view.grid(grid_resolution))[layer - 1][:, chosen]
        below, panel = np.zeros(len(chosen), np.intp), np.arange(len(chosen))
        if layer == 1:
            below, hyperplane = np.divmod(chosen, len(network.hyperplanes))
            panel = np.unique(hyperplane, return_inverse=True)[1]
        n_blocks = -(-(panel.max() + 1) // max_columns)
        n_columns = -(-(panel.max() + 1) // n_blocks)  # blocks of equal length, as far as possible
        block, column = np.divmod(panel, n_columns)
        rows_of_each = 2 if layer == 1 and not network.hyperplanes.one_sided else 1
        cells = np.column_stack([rows_of_each * block + below, column])
        if title is None:
            title = f"Responses of layer {SYMBOLS[layer]} ({network.kinds[layer]})"
        maps = response.T.reshape(len(chosen), grid_resolution, grid_resolution)
        return cls(view, chosen, maps, cells, samples, title).plot(figure)

    def _draw(self, figure: AnyFigure) -> None:
        n_rows, n_columns = self.cells.max(axis=0) + 1
        self._resize(1.0 + 2.1 * n_columns, 0.8 + 2.0 * n_rows)
        grid = figure.add_gridspec(n_rows, n_columns)
        self.axes_ = np.empty(len(self.neurons), object)
        for panel, (row, column) in enumerate(self.cells):
            self.axes_[panel] = ax = figure.add_subplot(grid[row, column])
            image = self.view.heat_map(ax, self.responses[panel], f"neuron {self.neurons[panel]}")
            if self.samples:
                ax.plot(*self.view.samples.T, "o", ms=2, mfc="none", mec="white", mew=0.3, alpha=0.7)
            ax.tick_params(labelsize="x-small")
        figure.colorbar(image, ax=list(self.axes_), label="response / maximum", shrink=0.9)
        figure.suptitle(self.title)
        figure.supxlabel(self.view.feature_names[0], fontsize="medium")
        figure.supylabel(self.view.feature_names[1], fontsize="medium")


@dataclass(eq=False)
class TwoNeuronDisplay(FigureDisplay):
    """Two-class LDA as a two-neuron perceptron: samples and line, the perceptron, both responses.

    Attributes
    ----------
    samples : SamplesDisplay
    plane : Hyperplanes
        The line: neuron 0 has its weights, neuron 1 their opposites.
    responses : ndarray of shape (2, grid_resolution, grid_resolution)
        Responses of both neurons at the points of ``samples.view.grid(grid_resolution)``.
    title : str
    axes_ : ndarray of shape (4,)
        Samples, perceptron, neuron 0 and neuron 1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import TwoNeuronDisplay
    >>> X, y = [[0, 0], [1, 2], [4, 0], [5, 2]], [0, 0, 1, 1]
    >>> display = TwoNeuronDisplay.from_data(X, y, figure=Figure(layout="constrained"))
    >>> [ax.get_title() for ax in display.axes_]
    ['Separating line', 'Perceptron', 'Response of neuron 0', 'Response of neuron 1']
    """

    samples: SamplesDisplay
    plane: Hyperplanes
    responses: Floats
    title: str

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        grid_resolution: int = 200,
        limits: ArrayLike | None = None,
        title: str | None = None,
        figure: AnyFigure | None = None,
    ) -> TwoNeuronDisplay:
        """Fit `ffmlp.two_class_lda` to samples X (n_samples, 2) of two classes y and draw it.

        ``limits`` are the lower left and the upper right corner of the view, by default around X.
        """
        samples = undrawn_samples(View.of(X, limits=limits), y, "Separating line")
        plane = two_class_lda(X, y)
        response = plane.responses(samples.view.grid(grid_resolution)).T
        maps = response.reshape(2, grid_resolution, grid_resolution)
        title = "Two-class LDA as a two-neuron perceptron" if title is None else title
        return cls(samples, plane, maps, title).plot(figure)

    def _draw(self, figure: AnyFigure) -> None:
        self._resize(9, 8)
        view = self.samples.view
        self.axes_ = np.ravel(figure.subplots(2, 2))
        segments = view.segments(self.plane)
        self.samples.plot(self.axes_[0])
        draw_lines(self.axes_[0], segments)
        draw_perceptron(self.axes_[1], self.plane, view.feature_names, "Perceptron")
        for neuron, ax in enumerate(self.axes_[2:]):
            title = f"Response of neuron {neuron}"
            image = view.heat_map(ax, self.responses[neuron], title, labelled=True)
            draw_lines(ax, segments, "white")
        figure.colorbar(image, ax=list(self.axes_[2:]), label="response / maximum")
        figure.suptitle(self.title)
