"""Heat maps of the responses of neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import Floats
from ffmlp.design.discriminants import two_class_lda
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.plots.architecture import draw_perceptron
from ffmlp.plots.samples import SamplesDisplay, undrawn_samples
from ffmlp.plots.view import SYMBOLS, FigureDisplay, View, draw_lines, network_of

if TYPE_CHECKING:
    from ffmlp.plots.view import AnyFigure


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
            The neurons to draw; all of the layer by default, but no regions beside a readout.
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
        view = View.of(X, None if hasattr(X, "columns") else network.feature_names, limits)
        size = network.layer_sizes[layer]
        by_default = range(network.weighted_sizes[layer])
        chosen = np.array(list(dict.fromkeys(by_default if neurons is None else neurons)), np.intp)
        if not len(chosen) or not ((chosen >= 0) & (chosen < size)).all():
            raise ValueError(f"layer {layer} has neurons 0 to {size - 1}, got neurons={neurons!r}.")
        response = network.responses(view.grid(grid_resolution))[layer - 1][:, chosen]
        below, place = np.zeros(len(chosen), np.intp), np.arange(len(chosen))
        if layer == 1:
            below, hyperplane = np.divmod(chosen, len(network.hyperplanes))
            place = np.unique(hyperplane, return_inverse=True)[1]
        n_blocks = -(-(place.max() + 1) // max_columns)
        n_columns = -(-(place.max() + 1) // n_blocks)  # blocks of equal length, as far as possible
        block, column = np.divmod(place, n_columns)
        rows_of_each = 2 if layer == 1 and not network.hyperplanes.one_sided else 1
        cells = np.column_stack([rows_of_each * block + below, column])
        if title is None:
            title = f"Responses of layer {SYMBOLS[layer]} ({network.kinds[layer]})"
        maps = response.T.reshape(len(chosen), grid_resolution, grid_resolution)
        return cls(view, chosen, maps, cells, samples, title).plot(figure)

    def plot(self, figure: AnyFigure | None = None) -> ResponsesDisplay:
        """Draw into ``figure``, or into a new one."""
        n_rows, n_columns = self.cells.max(axis=0) + 1
        figure = self._open(figure, (1.0 + 2.1 * n_columns, 0.8 + 2.0 * n_rows))
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
        return self


@dataclass(eq=False)
class TwoNeuronDisplay(FigureDisplay):
    """Two-class LDA as a two-neuron perceptron: samples and line, the perceptron, both responses.

    Attributes
    ----------
    samples : SamplesDisplay
    plane : Hyperplanes
        The line: its weights are those of neuron 0, and their opposites those of neuron 1.
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

    def plot(self, figure: AnyFigure | None = None) -> TwoNeuronDisplay:
        """Draw into ``figure``, or into a new one."""
        figure, view = self._open(figure, (9, 8)), self.samples.view
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
        return self
