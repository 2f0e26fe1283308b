"""Samples, decision regions and hyperplanes, of two features or on a plane through more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from ffmlp.arrays import Floats
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.parameters import checked_samples
from ffmlp.plots.view import INK, AxesDisplay, View, colours, draw_lines, fitted_attribute, lighter, like
from ffmlp.robustness.limits import feature_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# More lines would hide the regions.
_MAX_LINES = 60
_MARKERS = "osD^vP*X"
# The entry in the legend for the points where the output of a designed network is zero.
SILENT = "no neuron of\n$l_2$ responds"


@dataclass(eq=False)
class SamplesDisplay(AxesDisplay):
    """Scatter plot of samples of two features, with a colour and a marker for each class.

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
        cls,
        X: Any,
        y: ArrayLike,
        *,
        limits: ArrayLike | None = None,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> SamplesDisplay:
        """Draw samples X (n_samples, 2) of classes y.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
        limits : array-like of shape (2, 2), default=None
            Lower left and upper right corner of the view, by default around X.
        """
        view = View.of(X, limits=limits)
        return undrawn_samples(view, y, "Samples" if title is None else title).plot(ax)

    def _draw(self, ax: Axes) -> None:
        size = float(np.clip(8000 / len(self.classes), 14, 40))
        style: dict[str, Any] = {"s": size, "edgecolors": INK, "linewidths": 0.3, "zorder": 2}
        for number, label in enumerate(self.labels):
            x, y = self.view.samples[self.classes == number].T
            marker = _MARKERS[number % len(_MARKERS)]
            ax.scatter(x, y, color=colours(number), marker=marker, label=str(label), **style)
        self.view.frame(ax, self.title)
        self.draw_legend()

    def draw_legend(self) -> None:
        """Draw a legend of all that has a label."""
        columns = -(-len(self.labels) // 16)
        self.ax_.legend(title="class", loc="upper left", bbox_to_anchor=(1.01, 1), ncols=columns)


def undrawn_samples(
    view: View, y: ArrayLike, title: str, other_labels: NDArray | None = None
) -> SamplesDisplay:
    """Samples to be drawn later; ``other_labels`` get a colour even if no sample has them."""
    targets = column_or_1d(y)
    check_consistent_length(view.samples, targets)
    labels = np.unique(targets if other_labels is None else np.concatenate([targets, other_labels]))
    return SamplesDisplay(view, np.searchsorted(labels, targets), labels, title)


@dataclass(eq=False)
class DecisionRegionsDisplay(AxesDisplay):
    """Decision regions of a classifier of two features, under the samples.

    The plane is pale and hatched where the output of a network is zero: in the region design, outside of
    all regions with training samples.

    Attributes
    ----------
    samples : SamplesDisplay
    predictions : ndarray of shape (grid_resolution, grid_resolution)
        Predicted labels at the points of ``samples.view.grid(grid_resolution)``.
    segments : ndarray of shape (L, 2, 2)
        Ends of each hyperplane within the view, or NaN. L is 0 if none are drawn.
    outlines : ndarray of shape (G, n_points, 2)
        The line two standard deviations around the mean of each blob; G is 0 if none are drawn.
    outline_classes : ndarray of shape (G,)
        The class of each blob, as an index into ``samples.labels``.
    silent : ndarray of shape (grid_resolution, grid_resolution), or None
        Where ``estimator.network_.forward`` is zero; None if the estimator has no network.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp import FFMLPClassifier
    >>> from ffmlp.plots import DecisionRegionsDisplay
    >>> X, y = [[0, 0], [1, 1], [0, 2], [1, 3], [5, 0], [6, 1]], [0, 0, 1, 1, 2, 2]
    >>> clf = FFMLPClassifier(design="region", n_components=1).fit(X, y)
    >>> display = DecisionRegionsDisplay.from_estimator(clf, X, y, ax=Figure().subplots())
    >>> bool(display.silent.any())
    True
    """

    samples: SamplesDisplay
    predictions: NDArray
    segments: Floats
    outlines: Floats = field(default_factory=lambda: np.empty((0, 1, 2)))
    outline_classes: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    silent: NDArray[np.bool_] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        grid_resolution: int = 250,
        hyperplanes: bool | None = None,
        blobs: bool = False,
        limits: ArrayLike | None = None,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> DecisionRegionsDisplay:
        """Draw the predictions of any fitted classifier around the samples.

        Parameters
        ----------
        estimator : classifier
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
        grid_resolution : int, default=250
        hyperplanes : bool, default=None
            Whether to draw ``estimator.hyperplanes_``. By default they are drawn if there are any,
            they are straight lines and at most 60.
        blobs : bool, default=False
            Whether to draw ``estimator.blobs_``.
        limits : array-like of shape (2, 2), default=None
            Lower left and upper right corner of the view, by default around X.
        """
        if title is None:
            title = f"Decision regions of {type(estimator).__name__}"
        view = View.of(X, getattr(estimator, "feature_names_in_", None), limits)
        predicted = np.asarray(estimator.predict(like(X, view.grid(grid_resolution))))
        known = np.concatenate([getattr(estimator, "classes_", predicted), predicted])
        samples = undrawn_samples(view, y, title, known)
        planes = getattr(estimator, "hyperplanes_", None)
        if planes is not None and hyperplanes is None:
            hyperplanes = planes.gaussianisation is None and len(planes) <= _MAX_LINES
        segments = view.segments(planes) if planes is not None and hyperplanes else np.empty((0, 2, 2))
        display = cls(samples, predicted.reshape(grid_resolution, grid_resolution), segments)
        if blobs:
            owners = estimator.classes_[estimator.blobs_.classes]
            display.outline_classes = np.searchsorted(samples.labels, owners)
            display.outlines = _outlines(estimator.blobs_, estimator.hyperplanes_)
        if hasattr(estimator, "network_"):
            output = estimator.network_.forward(view.grid(grid_resolution))
            display.silent = ~output.any(axis=1).reshape(display.predictions.shape)
        return display.plot(ax)

    def _draw(self, ax: Axes) -> None:
        shades = colours(np.searchsorted(self.samples.labels, self.predictions))
        amount = np.full(self.predictions.shape, 0.65)
        if self.silent is not None:
            amount[self.silent] = 0.85
        self.samples.view.image(ax, lighter(shades, amount[..., None]), interpolation="nearest")
        draw_lines(ax, self.segments)
        self.samples.plot(ax)
        if self.silent is not None and self.silent.any():
            _hatch(ax, self.samples.view, self.silent)
            self.samples.draw_legend()
        for outline, colour in zip(self.outlines, colours(self.outline_classes), strict=True):
            ax.plot(*outline.T, color=INK, linewidth=3.0, zorder=4)
            ax.plot(*outline.T, color=colour, linewidth=1.6, zorder=4)


def _hatch(ax: Axes, view: View, chosen: NDArray[np.bool_]) -> None:
    """Hatch the chosen cells of the grid, with an entry in the legend."""
    across, up = view.grid(len(chosen)).T.reshape(2, *chosen.shape)
    style: dict[str, Any] = {"hatch": "////", "edgecolor": "0.45", "linewidth": 0.0}
    ax.contourf(across, up, chosen, levels=[0.5, 1.5], colors="none").set(zorder=1, **style)
    ax.fill([], [], facecolor="0.95", label=SILENT, **style)


def _outlines(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """The line (G, n, 2) two standard deviations around each blob, in the user's units."""
    angles = np.linspace(0, 2 * np.pi, 73)
    circle = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    outlines = blobs.means[:, None] + circle @ np.linalg.cholesky(blobs.covariances).swapaxes(1, 2)
    return planes.unmapped(outlines.reshape(-1, 2)).reshape(outlines.shape)


@dataclass(eq=False)
class HyperplanesDisplay(AxesDisplay):
    """The hyperplanes of two features, as lines h_1, h_2, … over the samples.

    Attributes
    ----------
    samples : SamplesDisplay
    segments : ndarray of shape (L, 2, 2)
        Ends of each line within the view; NaN for lines outside of it.
    """

    samples: SamplesDisplay
    segments: Floats

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        limits: ArrayLike | None = None,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> HyperplanesDisplay:
        """Draw the ``hyperplanes_`` of a fitted classifier over samples X (n_samples, 2).

        Parameters
        ----------
        estimator : FFMLPClassifier
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
        limits : array-like of shape (2, 2), default=None
            Lower left and upper right corner of the view, by default around X.
        """
        planes = fitted_attribute(estimator, "hyperplanes_")
        title = "Hyperplanes" if title is None else title
        view = View.of(X, getattr(estimator, "feature_names_in_", None), limits)
        return cls(undrawn_samples(view, y, title), view.segments(planes)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        self.samples.plot(ax)
        draw_lines(ax, self.segments)
        box = {"facecolor": "white", "edgecolor": INK, "boxstyle": "round,pad=0.15", "linewidth": 0.8}
        style: dict[str, Any] = {"ha": "center", "va": "center", "bbox": box, "zorder": 4}
        for number, (x, y) in enumerate(self._label_places(), start=1):
            if np.isfinite(x):
                ax.text(x, y, f"$h_{{{number}}}$", **style)

    def _label_places(self) -> Floats:
        """A point (L, 2) of each segment, near one of its ends if no other label is there."""
        view = self.samples.view
        shares = np.array([0.06, 0.94, 0.16, 0.84, 0.26, 0.74, 0.5])[:, None]
        places = np.full((len(self.segments), 2), np.nan)
        for number, (start, stop) in enumerate((self.segments - view.low) / (view.high - view.low)):
            candidates = start + shares * (stop - start)
            distances = np.linalg.norm(candidates[:, None] - places[:number], axis=2)
            distance = np.nanmin(np.column_stack([distances, np.full(len(shares), 0.12)]), axis=1)
            places[number] = candidates[np.argmax(distance)]
        return view.low + places * (view.high - view.low)


# Two hyperplanes with normals of a larger cosine are nearly parallel.
_MAX_COSINE = 0.98


class DecisionSliceDisplay(DecisionRegionsDisplay):
    """Predictions on a plane, under the samples projected onto it.

    The plane is either a *slice*, spanned by two features while the others keep the values of one
    sample, or a *projection*, whose coordinates are the responses of two hyperplanes. A sample off the
    plane may have another class than the plane has below it. The attributes are the same as those of
    `DecisionRegionsDisplay`; the segments are the two hyperplanes of a projection.
    """

    @classmethod
    def from_estimator(  # type: ignore[override]
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        features: Sequence[int | str] | None = None,
        hyperplanes: Sequence[int] | None = None,
        through: ArrayLike | None = None,
        grid_resolution: int = 250,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> DecisionSliceDisplay:
        """Draw a slice along two features, or the projection onto two hyperplanes.

        Parameters
        ----------
        estimator : FFMLPClassifier
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        features : two of int or str, default=None
            The features of a slice, by number or name.
        hyperplanes : two ints, default=None
            The hyperplanes of a projection. Without ``features``, the default is the hyperplane that
            contributes most to the leads of X, and the next one that is not nearly parallel to it.
        through : array-like of shape (n_features,), default=None
            A sample that the plane goes through; the mean of X by default.
        grid_resolution : int, default=250
        """
        if features is not None and hyperplanes is not None:
            raise ValueError("features and hyperplanes are both given. Choose one of them.")
        network = fitted_attribute(estimator, "network_")
        samples = np.asarray(checked_samples(estimator, X), np.float64)
        # The plane goes through the mean of these samples.
        centre = samples if through is None else np.asarray(through, np.float64).reshape(1, -1)
        if centre.shape[1] != samples.shape[1]:
            raise ValueError(
                f"through must be one sample of {samples.shape[1]} features, got {centre.shape[1]}."
            )
        if features is not None:
            default = f"Slice through {'the mean' if through is None else 'a sample'}"
            view, points, segments = _slice(network, samples, centre, features, grid_resolution)
        else:
            default = "Projection onto two hyperplanes"
            unit = estimator.blobs_.feature_spreads
            pair = _most_important(estimator, X, unit) if hyperplanes is None else hyperplanes
            view, points, segments = _projection(
                network, samples, centre, list(pair), unit, grid_resolution
            )
        mapped = replace(network, hyperplanes=replace(network.hyperplanes, gaussianisation=None))
        predicted = estimator.classes_[mapped.classes(points)]
        title = default if title is None else title
        drawn = undrawn_samples(view, y, title, estimator.classes_)
        shape = grid_resolution, grid_resolution
        silent = ~mapped.forward(points).any(axis=1).reshape(shape)
        return cls(drawn, predicted.reshape(shape), segments, silent=silent).plot(ax)


# The view of a plane, its grid after the map of the features, and the segments to draw.
Plane = tuple[View, Floats, Floats]


def _slice(
    network: Network, samples: Floats, centre: Floats, features: Sequence[int | str], resolution: int
) -> Plane:
    chosen = [feature_number(network.feature_names, feature) for feature in features]
    if len(chosen) != 2:
        raise ValueError(f"features must be two features, got {features!r}.")
    view = View.of(samples[:, chosen], [network.feature_names[feature] for feature in chosen])
    points = np.tile(centre.mean(axis=0), (resolution**2, 1))
    points[:, chosen] = view.grid(resolution)
    return view, network.hyperplanes.mapped(points), np.empty((0, 2, 2))


def _projection(
    network: Network, samples: Floats, centre: Floats, pair: list[int], unit: Floats, resolution: int
) -> Plane:
    planes = network.hyperplanes
    if len(pair) != 2 or not all(0 <= number < len(planes) for number in pair):
        raise ValueError(f"hyperplanes must be two of 0 to {len(planes) - 1}, got {pair}.")
    names = [f"$h_{{{number}}}$: {network.half_space(number)}" for number in pair]
    view = View.of(planes.log_odds(samples)[:, pair], names)
    normals, biases = planes.weights[pair], planes.biases[pair]
    middle = planes.mapped(centre).mean(axis=0)
    step = view.grid(resolution) - (normals @ middle + biases)
    points = middle + step @ np.linalg.pinv(normals * unit).T * unit
    axes = Hyperplanes(np.eye(2), np.zeros(2), planes.pairs[pair])
    return view, points, view.segments(axes)


def _most_important(estimator: Any, X: Any, unit: Floats) -> list[int]:
    """The hyperplane that adds most to the leads, and the next one that is not parallel to it."""
    effect = np.abs(estimator.explain(X).effects).mean(axis=0)
    order = np.argsort(-effect, kind="stable")
    normals = normalize(estimator.hyperplanes_.weights * unit)
    others = order[np.abs(normals[order] @ normals[order[0]]) < _MAX_COSINE]
    if not len(others):
        raise ValueError(
            "All hyperplanes are nearly parallel, so they span no plane. Draw a slice instead: give two "
            "features."
        )
    return [int(order[0]), int(others[0])]
