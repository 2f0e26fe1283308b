"""Samples in the plane, alone, over decision regions or with partitioning lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ffmlp.design.blobs import Blobs
from ffmlp.model.features import Gaussianisation
from ffmlp.plots.view import (
    INK,
    AxesDisplay,
    Floats,
    View,
    colours,
    draw_lines,
    lighter,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More lines hide what they part.
_MAX_LINES = 60
_MARKERS = "osD^vP*X"


@dataclass(eq=False)
class SamplesDisplay(AxesDisplay):
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
        style: dict[str, Any] = {"s": size, "edgecolors": INK, "linewidths": 0.3, "zorder": 2}
        for number, label in enumerate(self.labels):
            x, y = self.view.samples[self.classes == number].T
            marker = _MARKERS[number % len(_MARKERS)]
            ax.scatter(x, y, color=colours(number), marker=marker, label=str(label), **style)
        self.view.frame(ax, self.title)
        columns = -(-len(self.labels) // 16)
        ax.legend(title="class", loc="upper left", bbox_to_anchor=(1.01, 1), ncols=columns)
        return self


@dataclass(eq=False)
class DecisionRegionsDisplay(AxesDisplay):
    """Decision regions of a classifier of two features, under the samples.

    Attributes
    ----------
    samples : SamplesDisplay
    predictions : ndarray of shape (grid_resolution, grid_resolution)
        Predicted labels at ``samples.view.grid(grid_resolution)``.
    segments : ndarray of shape (L, 2, 2)
        Ends of each hyperplane within the view, NaN where none of it is; L is 0 without hyperplanes.
    outlines : ndarray of shape (G, n_points, 2)
        Two standard deviations around the middle of each blob; G is 0 without blobs.
    outline_classes : ndarray of shape (G,)
        The class of each blob, as an index into ``samples.labels``.
    """

    samples: SamplesDisplay
    predictions: NDArray
    segments: Floats
    outlines: Floats = field(default_factory=lambda: np.empty((0, 1, 2)))
    outline_classes: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))

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
        ax: Axes | None = None,
        title: str | None = None,
    ) -> DecisionRegionsDisplay:
        """Draw what a fitted classifier predicts around samples X (n_samples, 2) of classes y.

        The estimator's ``hyperplanes_``, if it has any, are drawn too if ``hyperplanes`` is true; if it
        is None, where they are straight lines and no more than 60. Its ``blobs_`` are drawn where
        ``blobs`` is true.
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
        samples = SamplesDisplay._of(X, y, known, predictions, title=title, names=names(estimator, X))
        planes = getattr(estimator, "hyperplanes_", None) if hyperplanes is not False else None
        if planes is not None and hyperplanes is None:
            planes = planes if planes.gaussianisation is None and len(planes) <= _MAX_LINES else None
        segments = np.empty((0, 2, 2)) if planes is None else view.segments(planes)
        if not blobs:
            return cls(samples, predictions, segments).plot(ax)
        outlines = _outlines(estimator.blobs_, estimator.hyperplanes_.gaussianisation)
        owners = np.searchsorted(samples.labels, estimator.classes_[estimator.blobs_.classes])
        return cls(samples, predictions, segments, outlines, owners).plot(ax)

    def plot(self, ax: Axes | None = None) -> DecisionRegionsDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        numbers = np.searchsorted(self.samples.labels, self.predictions)
        self.samples.view.image(ax, lighter(colours(numbers), 0.65), interpolation="nearest")
        draw_lines(ax, self.segments)
        self.samples.plot(ax)
        for (x, y), colour in zip(
            self.outlines.swapaxes(1, 2), colours(self.outline_classes), strict=True
        ):
            ax.plot(x, y, color=INK, linewidth=3.0, zorder=4)
            ax.plot(x, y, color=colour, linewidth=1.6, zorder=4)
        return self


def _outlines(blobs: Blobs, scores: Gaussianisation | None) -> Floats:
    """Points (G, n, 2) two standard deviations around each blob, in the user's units."""
    angles = np.linspace(0, 2 * np.pi, 73)
    circle = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    outlines = blobs.means[:, None] + circle @ np.linalg.cholesky(blobs.covariances).swapaxes(1, 2)
    if scores is None:
        return outlines
    return scores.values(outlines.reshape(-1, 2)).reshape(outlines.shape)


@dataclass(eq=False)
class HyperplanesDisplay(AxesDisplay):
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
        samples = SamplesDisplay._of(X, y, title=title, names=names(estimator, X))
        return cls(samples, samples.view.segments(estimator.hyperplanes_)).plot(ax)

    def plot(self, ax: Axes | None = None) -> HyperplanesDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(self.samples.plot(ax).ax_)
        draw_lines(ax, self.segments)
        box = {"facecolor": "white", "edgecolor": INK, "boxstyle": "round,pad=0.15", "linewidth": 0.8}
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


def names(estimator: Any, X: Any) -> Sequence[str] | None:
    """The estimator's feature names, where X itself has none."""
    return None if hasattr(X, "columns") else getattr(estimator, "feature_names_in_", None)
