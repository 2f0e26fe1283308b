"""Figures of samples, decision regions, neuron responses and the network itself.

Every class computes in a classmethod, keeps what it draws as attributes and draws in ``plot``, as
scikit-learn's displays do; ``plot`` sets ``figure_``, and ``ax_`` or ``axes_``. A title of ``None`` is
replaced by a default, an empty one by none. matplotlib is needed for drawing only. Legends are put
beside the axes, where a figure with ``layout="constrained"`` makes room for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ffmlp.hyperplanes import Hyperplanes
from ffmlp.network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    AnyFigure = Figure | SubFigure

Floats = NDArray[np.float64]

# Okabe and Ito's colours, told apart with any colour vision, and a grey. Nine colours and eight
# markers give 72 different combinations.
_COLOURS = ("0072B2", "E69F00", "009E73", "D55E00", "56B4E9", "CC79A7", "F0E442", "000000", "999999")
_PALETTE = np.array([list(bytes.fromhex(colour)) for colour in _COLOURS]) / 255
_MARKERS = "osD^vP*X"
_HEAT = "cividis"
_INK = "#222222"
_RED = "#D01020"

# Share of the samples' range that is shown around them.
_MARGIN = 0.1
# Columns of a figure with one panel per neuron.
_MAX_COLUMNS = 6
# More neurons of a layer than this are not drawn, only counted.
_MAX_NEURONS = 24
_SYMBOLS = ("$l_{in}$", "$l_1$", "$l_2$", "$l_{out}$")
_KINDS = ("features", "half-spaces", "regions", "classes")


def _matplotlib(module: str) -> ModuleType:
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("ffmlp.plots needs matplotlib: pip install 'ffmlp[plots]'") from error


class _AxesDisplay:
    """Draws into one axes."""

    ax_: Axes
    figure_: AnyFigure

    def _open(self, ax: Axes | None, figsize: tuple[float, float] = (6.4, 4.8)) -> Axes:
        if ax is None:
            _, ax = _matplotlib("pyplot").subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class _FigureDisplay:
    """Draws into several axes of a figure."""

    axes_: NDArray[np.object_]
    figure_: AnyFigure

    def _open(self, figure: AnyFigure | None, figsize: tuple[float, float]) -> AnyFigure:
        if figure is None:
            figure = _matplotlib("pyplot").figure(figsize=figsize, layout="constrained")
        self.figure_ = figure
        return figure


def _colours(numbers: ArrayLike) -> Floats:
    return _PALETTE[np.asarray(numbers, np.intp) % len(_PALETTE)]


def _lighter(colours: Floats, amount: float | Floats) -> Floats:
    return colours + amount * (1 - colours)


@dataclass(frozen=True, eq=False)
class View:
    """The part of the plane that is drawn: the range of some samples and a margin.

    Attributes
    ----------
    samples : ndarray of shape (n_samples, 2)
    feature_names : tuple of str
    low, high : ndarray of shape (2,)
        Opposite corners.
    """

    samples: Floats
    feature_names: tuple[str, ...]
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Any, feature_names: Sequence[str] | None = None) -> View:
        """The view of samples X of two features, named by X's columns unless names are given."""
        samples: Floats = check_array(X, dtype=np.float64, input_name="X")
        if samples.shape[1] != 2:
            raise ValueError(
                f"only samples of 2 features can be drawn in the plane, got X with {samples.shape[1]} "
                "features. Choose two of them and fit to those."
            )
        if feature_names is None:
            feature_names = getattr(X, "columns", ("x0", "x1"))
        low, high = samples.min(axis=0), samples.max(axis=0)
        margin = np.where(high > low, _MARGIN * (high - low), 1.0)
        return cls(samples, tuple(map(str, feature_names)), low - margin, high + margin)

    def grid(self, resolution: int) -> Floats:
        """Centres of resolution × resolution equal cells, row by row from the lower left."""
        centres = (np.arange(resolution) + 0.5) / resolution
        across, up = np.meshgrid(centres, centres)
        return self.low + np.column_stack([across.ravel(), up.ravel()]) * (self.high - self.low)

    def segments(self, planes: Hyperplanes) -> Floats:
        """The two ends (L, 2, 2) of each line within the view; NaN where none of it is."""
        if planes.weights.shape[1] != 2:
            raise ValueError(
                f"only lines can be drawn, got hyperplanes of {planes.weights.shape[1]} features."
            )
        lines = zip(planes.weights, planes.biases, strict=True)
        return np.array([self._segment(normal, offset) for normal, offset in lines])

    def _segment(self, normal: Floats, offset: float) -> Floats:
        # In units of the view, features of any scale are alike.
        size = self.high - self.low
        scaled = normal * size
        length = np.hypot(*scaled)
        if not length > 0:
            return np.full((2, 2), np.nan)
        unit = scaled / length
        foot = -(offset + normal @ self.low) / length * unit
        along = np.array([-unit[1], unit[0]])
        start, stop = -np.inf, np.inf
        for origin, slope in zip(foot, along, strict=True):
            if slope == 0:
                if not 0 <= origin <= 1:
                    return np.full((2, 2), np.nan)
                continue
            near, far = sorted([-origin / slope, (1 - origin) / slope])
            start, stop = max(start, near), min(stop, far)
        if start > stop:
            return np.full((2, 2), np.nan)
        return self.low + size * (foot + np.outer([start, stop], along))

    def frame(self, ax: Axes, title: str, *, labelled: bool = True) -> None:
        """Limit the axes to the view, name their features and give them a title."""
        ax.set_xlim(self.low[0], self.high[0])
        ax.set_ylim(self.low[1], self.high[1])
        ax.set_title(title)
        if labelled:
            ax.set_xlabel(self.feature_names[0])
            ax.set_ylabel(self.feature_names[1])

    def image(self, ax: Axes, values: NDArray, **style: Any) -> Any:
        """Draw one value, or colour, per cell of the grid."""
        extent = (self.low[0], self.high[0], self.low[1], self.high[1])
        return ax.imshow(values, extent=extent, origin="lower", aspect="auto", zorder=0, **style)

    def heat_map(self, ax: Axes, response: Floats, title: str, *, labelled: bool = False) -> Any:
        """Draw a neuron's response over the grid, relative to the largest, which is written down."""
        largest = response.max()
        share = response / largest if largest > 0 else response
        image = self.image(ax, share, cmap=_HEAT, vmin=0, vmax=1)
        box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5}
        note = f"max {largest:.3g}"
        ax.text(0.97, 0.03, note, ha="right", transform=ax.transAxes, fontsize="x-small", bbox=box)
        self.frame(ax, title, labelled=labelled)
        return image


def _draw_lines(ax: Axes, segments: Floats, colour: str = _INK) -> None:
    for x, y in segments[np.isfinite(segments).all(axis=(1, 2))].swapaxes(1, 2):
        ax.plot(x, y, color=colour, linewidth=1.6, zorder=3)


@dataclass(eq=False)
class SamplesDisplay(_AxesDisplay):
    """Scatter plot of two-dimensional samples, a colour and a marker for each class.

    Attributes
    ----------
    view : View
    classes : ndarray of shape (n_samples,)
        The class of each sample, as an index into ``labels``.
    labels : ndarray of shape (n_classes,)
    title : str

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import SamplesDisplay
    >>> ax = Figure(layout="constrained").subplots()
    >>> display = SamplesDisplay.from_data([[0, 0], [1, 2], [3, 1]], ["a", "b", "a"], ax=ax)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['a', 'b']
    """

    view: View
    classes: NDArray[np.intp]
    labels: NDArray
    title: str

    @classmethod
    def from_data(
        cls, X: Any, y: ArrayLike, *, ax: Axes | None = None, title: str | None = None
    ) -> SamplesDisplay:
        """Draw samples X (n_samples, 2) of classes y into ``ax``, or a new figure."""
        return cls._of(X, y, title="Samples" if title is None else title).plot(ax)

    @classmethod
    def _of(
        cls, X: Any, y: ArrayLike, *others: NDArray, title: str, names: Sequence[str] | None = None
    ) -> SamplesDisplay:
        """Undrawn; ``others`` are labels that need a colour even where no sample has them."""
        view, targets = View.of(X, names), column_or_1d(y)
        check_consistent_length(view.samples, targets)
        labels = np.unique(np.concatenate([targets, *map(np.ravel, others)]))
        return cls(view, np.searchsorted(labels, targets), labels, title)

    def plot(self, ax: Axes | None = None) -> SamplesDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        size = float(np.clip(8000 / len(self.classes), 14, 40))
        style: dict[str, Any] = {"s": size, "edgecolors": _INK, "linewidths": 0.3, "zorder": 2}
        for number, label in enumerate(self.labels):
            x, y = self.view.samples[self.classes == number].T
            marker = _MARKERS[number % len(_MARKERS)]
            ax.scatter(x, y, color=_colours(number), marker=marker, label=str(label), **style)
        self.view.frame(ax, self.title)
        columns = -(-len(self.labels) // 16)
        ax.legend(title="class", loc="upper left", bbox_to_anchor=(1.01, 1), ncols=columns)
        return self


@dataclass(eq=False)
class DecisionRegionsDisplay(_AxesDisplay):
    """Decision regions of a classifier of two features, under the samples.

    Attributes
    ----------
    samples : SamplesDisplay
    predictions : ndarray of shape (grid_resolution, grid_resolution)
        Predicted labels at ``samples.view.grid(grid_resolution)``.
    segments : ndarray of shape (L, 2, 2)
        Ends of each hyperplane within the view, NaN where none of it is; L is 0 without hyperplanes.
    """

    samples: SamplesDisplay
    predictions: NDArray
    segments: Floats

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        grid_resolution: int = 250,
        hyperplanes: bool = True,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> DecisionRegionsDisplay:
        """Draw what a fitted classifier predicts around samples X (n_samples, 2) of classes y.

        The estimator's ``hyperplanes_``, if it has any, are drawn too unless ``hyperplanes`` is false.
        """
        if title is None:
            title = f"Decision regions of {type(estimator).__name__}"
        view = View.of(X)
        grid: Any = view.grid(grid_resolution)
        if hasattr(X, "columns") and hasattr(X, "iloc"):
            # An estimator that was fitted to a data frame warns about anything else.
            grid = type(X)(grid, columns=X.columns)
        predictions = np.asarray(estimator.predict(grid)).reshape(grid_resolution, grid_resolution)
        known = np.asarray(getattr(estimator, "classes_", predictions))
        samples = SamplesDisplay._of(X, y, known, predictions, title=title, names=_names(estimator, X))
        planes = getattr(estimator, "hyperplanes_", None) if hyperplanes else None
        segments = np.empty((0, 2, 2)) if planes is None else view.segments(planes)
        return cls(samples, predictions, segments).plot(ax)

    def plot(self, ax: Axes | None = None) -> DecisionRegionsDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        numbers = np.searchsorted(self.samples.labels, self.predictions)
        self.samples.view.image(ax, _lighter(_colours(numbers), 0.65), interpolation="nearest")
        _draw_lines(ax, self.segments)
        self.samples.plot(ax)
        return self


@dataclass(eq=False)
class HyperplanesDisplay(_AxesDisplay):
    """The partitioning lines h_1, h_2, … over the samples.

    Attributes
    ----------
    samples : SamplesDisplay
    segments : ndarray of shape (L, 2, 2)
        Ends of each line within the view; NaN where none of it is.
    """

    samples: SamplesDisplay
    segments: Floats

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None, title: str | None = None
    ) -> HyperplanesDisplay:
        """Draw the ``hyperplanes_`` of a fitted estimator over samples X (n_samples, 2)."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "hyperplanes_"):
            raise TypeError(f"{type(estimator).__name__} has no hyperplanes_ that could be drawn.")
        title = "Partitioning lines" if title is None else title
        samples = SamplesDisplay._of(X, y, title=title, names=_names(estimator, X))
        return cls(samples, samples.view.segments(estimator.hyperplanes_)).plot(ax)

    def plot(self, ax: Axes | None = None) -> HyperplanesDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(self.samples.plot(ax).ax_)
        _draw_lines(ax, self.segments)
        box = {"facecolor": "white", "edgecolor": _INK, "boxstyle": "round,pad=0.15", "linewidth": 0.8}
        style: dict[str, Any] = {"ha": "center", "va": "center", "bbox": box, "zorder": 4}
        for number, (x, y) in enumerate(self._label_places(), start=1):
            if np.isfinite(x):
                ax.text(x, y, f"$h_{{{number}}}$", **style)
        return self

    def _label_places(self) -> Floats:
        """A point (L, 2) of each segment, near its ends if these are not taken by other labels."""
        view = self.samples.view
        shares = np.array([0.06, 0.94, 0.16, 0.84, 0.26, 0.74, 0.5])[:, None]
        places = np.full((len(self.segments), 2), np.nan)
        for number, (start, stop) in enumerate((self.segments - view.low) / (view.high - view.low)):
            candidates = start + shares * (stop - start)
            distances = np.linalg.norm(candidates[:, None] - places[:number], axis=2)
            room = np.nanmin(np.column_stack([distances, np.full(len(shares), 0.12)]), axis=1)
            places[number] = candidates[np.argmax(room)]
        return view.low + places * (view.high - view.low)


def _names(estimator: Any, X: Any) -> Sequence[str] | None:
    """The estimator's feature names, where X itself has none."""
    return None if hasattr(X, "columns") else getattr(estimator, "feature_names_in_", None)


@dataclass(eq=False)
class ResponsesDisplay(_FigureDisplay):
    """Heat maps of neuron responses over the plane, one panel per neuron.

    Attributes
    ----------
    view : View
    neurons : ndarray of shape (n_panels,)
    responses : ndarray of shape (n_panels, grid_resolution, grid_resolution)
        Responses at ``view.grid(grid_resolution)``.
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
    def from_network(
        cls,
        network: Network,
        X: Any,
        *,
        layer: int = 1,
        neurons: Sequence[int] | None = None,
        grid_resolution: int = 120,
        samples: bool = False,
        figure: AnyFigure | None = None,
        title: str | None = None,
    ) -> ResponsesDisplay:
        """Draw the responses of layer 1 (l_1), 2 (l_2) or 3 (l_out) over the range of X.

        Neuron l of l_1 has its opposite L + l below it. ``neurons`` restricts the panels, which is wise
        for large layers; ``samples`` outlines X in them.
        """
        if layer not in (1, 2, 3):
            raise ValueError(f"layer must be 1, 2 or 3, got {layer!r}.")
        view = View.of(X, None if hasattr(X, "columns") else network.feature_names)
        size = network.layer_sizes[layer]
        chosen = np.arange(size) if neurons is None else np.array(list(dict.fromkeys(neurons)), np.intp)
        if not len(chosen) or not ((chosen >= 0) & (chosen < size)).all():
            raise ValueError(f"layer {layer} has neurons 0 to {size - 1}, got neurons={neurons!r}.")
        response = network.responses(view.grid(grid_resolution))[layer - 1][:, chosen]
        opposite, place = np.zeros(len(chosen), np.intp), np.arange(len(chosen))
        if layer == 1:
            opposite, hyperplane = np.divmod(chosen, size // 2)
            place = np.unique(hyperplane, return_inverse=True)[1]
        n_columns = min(_MAX_COLUMNS, place.max() + 1)
        block, column = np.divmod(place, n_columns)
        cells = np.column_stack([(2 if layer == 1 else 1) * block + opposite, column])
        if title is None:
            title = f"Responses of layer {_SYMBOLS[layer]} ({_KINDS[layer]})"
        maps = response.T.reshape(len(chosen), grid_resolution, grid_resolution)
        return cls(view, chosen, maps, cells, samples, title).plot(figure)

    def plot(self, figure: AnyFigure | None = None) -> ResponsesDisplay:
        """Draw into ``figure``, or a new one."""
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
        figure.colorbar(image, ax=list(self.axes_), label="response / largest response", shrink=0.9)
        figure.suptitle(self.title)
        figure.supxlabel(self.view.feature_names[0], fontsize="medium")
        figure.supylabel(self.view.feature_names[1], fontsize="medium")
        return self


@dataclass(eq=False)
class TwoNeuronDisplay(_FigureDisplay):
    """One hyperplane as a two-neuron perceptron: the samples with the line, and both responses.

    Attributes
    ----------
    samples : SamplesDisplay
    segments : ndarray of shape (1, 2, 2)
        Ends of the line within the view.
    responses : ndarray of shape (2, resolution, resolution)
        Responses of both neurons over the plane.
    title : str
    axes_ : ndarray of shape (3,)
    """

    samples: SamplesDisplay
    segments: Floats
    responses: Floats
    title: str

    @classmethod
    def from_plane(
        cls,
        plane: Hyperplanes,
        X: Any,
        y: ArrayLike,
        *,
        grid_resolution: int = 200,
        figure: AnyFigure | None = None,
        title: str | None = None,
    ) -> TwoNeuronDisplay:
        """Draw the hyperplane that `two_class_lda` gives for samples X (n_samples, 2) of classes y."""
        if len(plane) != 1:
            raise ValueError(f"plane must be a single hyperplane, got {len(plane)}.")
        samples = SamplesDisplay._of(X, y, title="Separating line")
        view = samples.view
        response = plane.responses(view.grid(grid_resolution)).T
        maps = response.reshape(2, grid_resolution, grid_resolution)
        title = "Two-class LDA as a two-neuron perceptron" if title is None else title
        return cls(samples, view.segments(plane), maps, title).plot(figure)

    def plot(self, figure: AnyFigure | None = None) -> TwoNeuronDisplay:
        """Draw into ``figure``, or a new one."""
        figure = self._open(figure, (13, 4))
        self.axes_ = np.asarray(figure.subplots(1, 3))
        self.samples.plot(self.axes_[0])
        _draw_lines(self.axes_[0], self.segments)
        for neuron, ax in enumerate(self.axes_[1:]):
            response, title = self.responses[neuron], f"neuron {neuron}"
            image = self.samples.view.heat_map(ax, response, title, labelled=True)
            _draw_lines(ax, self.segments, "white")
        figure.colorbar(image, ax=list(self.axes_[1:]), label="response / largest response")
        figure.suptitle(self.title)
        return self


@dataclass(eq=False)
class NetworkDisplay(_AxesDisplay):
    """The network as the paper draws it: l_in, l_1, l_2 and l_out, and the links between them.

    Both neurons of a hyperplane share a colour, one of them light. Regions have the colour of their
    class. Positive links of stages 2 and 3 are red, negative ones thin and black, zero ones left out.

    Attributes
    ----------
    network : Network
    neurons : tuple of 4 ndarrays
        The neurons of each layer that are drawn, from top to bottom: at most 24.
    weights : tuple of 3 ndarrays
        The weights of each stage between drawn neurons.
    title : str
    """

    network: Network
    neurons: tuple[NDArray[np.intp], ...]
    weights: tuple[Floats, ...]
    title: str

    @classmethod
    def from_network(
        cls, network: Network, *, ax: Axes | None = None, title: str | None = None
    ) -> NetworkDisplay:
        """Draw a network into ``ax``, or a new figure."""
        layers = [np.arange(size) for size in network.layer_sizes]
        layers[1] = layers[1].reshape(2, -1).T.ravel()  # pairs of opposite neurons are neighbours
        drawn = tuple(layer[:_MAX_NEURONS] for layer in layers)
        weights = tuple(
            weight[np.ix_(drawn[stage + 1], drawn[stage])]
            for stage, weight in enumerate(network.weights)
        )
        if title is None:
            title = "Network of {} → {} → {} → {} neurons".format(*network.layer_sizes)
        return cls(network, drawn, weights, title).plot(ax)

    def plot(self, ax: Axes | None = None) -> NetworkDisplay:
        """Draw into ``ax``, or a new figure."""
        rows = max(map(len, self.neurons)) + 2
        ax = self._open(ax, (9.0, max(4.0, 1.4 + 0.36 * rows)))
        heights = [self._heights(layer) for layer in range(4)]
        self._draw_links(heights)
        # Neurons fit between their neighbours, whatever the size of the axes.
        room = ax.get_window_extent().height * 72 / ax.figure.dpi
        for layer in range(4):
            self._draw_layer(layer, heights[layer], min(22.0, 0.75 * room / rows))
        ax.set_xlim(-0.75, 3.75)
        ax.set_ylim(-0.12, 1.12)
        ax.set_title(self.title)
        ax.set_axis_off()
        return self

    def _heights(self, layer: int) -> Floats:
        """Where the drawn neurons of a layer are; the ellipsis, if any, takes the place after them."""
        n_drawn = len(self.neurons[layer])
        n_places = n_drawn + (n_drawn < self.network.layer_sizes[layer])
        step: float = min(0.24, 1 / n_places)
        places = (n_places - 1) / 2 - np.arange(n_places, dtype=np.float64)
        if layer == 1:  # pairs move together
            places[:n_drawn:2] -= 0.1
            places[1:n_drawn:2] += 0.1
        return 0.5 + step * places

    def _colours(self, layer: int) -> Floats:
        """The colour of each drawn neuron."""
        neurons, labels = self.neurons[layer], self.network.labels
        if layer == 0:
            return np.ones((len(neurons), 3))
        if layer == 1:
            # Colours that no class has come first.
            opposite, hyperplane = np.divmod(neurons, len(self.network.hyperplanes))
            return _lighter(_colours(hyperplane + len(labels)), 0.6 * opposite[:, None])
        classes = self.network.region_classes[neurons] if layer == 2 else neurons
        return _colours(classes)

    def _draw_links(self, heights: list[Floats]) -> None:
        collection = _matplotlib("collections").LineCollection
        line = _matplotlib("lines").Line2D

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
        negative = {"colors": "black", "linewidths": 0.5, "alpha": 0.25, "zorder": 1}
        positive = {"colors": _RED, "linewidths": 1.2, "alpha": 0.9, "zorder": 2}
        for stage in (1, 2):
            draw(stage, self.weights[stage] < 0, **negative)
            draw(stage, self.weights[stage] > 0, **positive)
        links = {
            "± normal vector, in its hyperplane's colour": _colours(len(self.network.labels)),
            "weight 1": _RED,
            f"weight −P (P = {self.network.penalty:g})": "0.6",
        }
        handles = [line([], [], color=colour, label=label) for label, colour in links.items()]
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        self.ax_.legend(handles=handles, ncols=3, frameon=False, **place)

    def _draw_layer(self, layer: int, heights: Floats, diameter: float) -> None:
        ax, neurons, colours = self.ax_, self.neurons[layer], self._colours(layer)
        x, y = np.full(len(neurons), layer), heights[: len(neurons)]
        ax.scatter(x, y, s=diameter**2, c=colours, edgecolors=_INK, linewidths=0.8, zorder=3)
        style: dict[str, Any] = {"va": "center", "zorder": 4}
        for neuron, height, colour in zip(neurons, y, colours, strict=True):
            ink = "black" if colour @ [0.3, 0.59, 0.11] > 0.5 else "white"
            ax.text(layer, height, str(neuron), ha="center", color=ink, fontsize=0.5 * diameter, **style)
            if layer == 0:
                ax.text(-0.14, height, self.network.feature_names[neuron], ha="right", **style)
            if layer == 3:
                ax.text(3.14, height, str(self.network.labels[neuron]), ha="left", **style)
        size = self.network.layer_sizes[layer]
        if len(neurons) < size:
            ax.text(layer, heights[-1], f"⋮  {size - len(neurons)} more", ha="center", va="center")
        ax.text(layer, 1.06, f"{_SYMBOLS[layer]}: {_KINDS[layer]}", ha="center", va="center")
        ax.text(layer, -0.06, f"{size} neurons" if size != 1 else "1 neuron", ha="center", va="center")


class AccuracyCurvesDisplay(_AxesDisplay):
    """Training and test accuracy over the epochs of a network that is trained.

    Parameters
    ----------
    train, test : array-like of shape (n_epochs + 1,) or (n_runs, n_epochs + 1)
        Accuracies in [0, 1], epoch 0 first. Of several runs, the mean and the range are drawn.
    title : str, default=None

    Attributes
    ----------
    train, test : ndarray of shape (n_runs, n_epochs + 1)
    title : str

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import AccuracyCurvesDisplay
    >>> display = AccuracyCurvesDisplay([0.5, 0.8, 0.9], [0.5, 0.7, 0.8])
    >>> ax = display.plot(Figure(layout="constrained").subplots()).ax_
    >>> [line.get_label() for line in ax.lines]
    ['train', 'test']
    """

    def __init__(self, train: ArrayLike, test: ArrayLike, *, title: str | None = None) -> None:
        self.train = self._checked(train, "train")
        self.test = self._checked(test, "test")
        self.title = "Accuracy during training" if title is None else title

    @staticmethod
    def _checked(accuracy: ArrayLike, name: str) -> Floats:
        runs = np.atleast_2d(np.asarray(accuracy, np.float64))
        if runs.ndim != 2 or not runs.size:
            raise ValueError(
                f"{name} must be of shape (n_epochs + 1,) or (n_runs, n_epochs + 1), got "
                f"{np.shape(accuracy)}."
            )
        if not ((runs >= 0) & (runs <= 1)).all():
            raise ValueError(
                f"{name} must be accuracies in [0, 1], got values from {runs.min():g} to {runs.max():g}."
            )
        return runs

    def plot(self, ax: Axes | None = None) -> AccuracyCurvesDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        for number, (name, runs) in enumerate((("train", self.train), ("test", self.test))):
            epochs, colour = np.arange(runs.shape[1]), _colours(number)
            several = f", mean and range of {len(runs)} runs" if len(runs) > 1 else ""
            ax.plot(epochs, runs.mean(axis=0), ("-", "--")[number], color=colour, label=name + several)
            if several:
                ax.fill_between(epochs, runs.min(axis=0), runs.max(axis=0), color=colour, alpha=0.2)
        ax.set_xlabel("epoch")
        ax.set_ylabel("accuracy")
        ax.xaxis.set_major_locator(_matplotlib("ticker").MaxNLocator(integer=True))
        ax.grid(alpha=0.3)
        ax.set_title(self.title)
        ax.legend(loc="lower right")
        return self
