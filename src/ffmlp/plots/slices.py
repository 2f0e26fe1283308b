"""Decision regions of more than two features, on a plane through the space of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ffmlp.explanations.explain import explained
from ffmlp.plots.samples import SamplesDisplay
from ffmlp.plots.view import INK, AxesDisplay, Floats, View, colours, draw_lines, lighter
from ffmlp.robustness.limits import feature_number
from ffmlp.validation import checked_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Two hyperplanes whose normals are more alike than this (cosine) span no plane worth looking at.
_TOO_ALIKE = 0.98


@dataclass(eq=False)
class DecisionSliceDisplay(AxesDisplay):
    """Predictions on a plane, under the samples as they project onto it.

    The plane is a *slice* along two features, through a sample that all other features are taken
    from; or it lies across the two hyperplanes that matter most, and its coordinates are their
    responses. Samples off the plane may have other classes than the plane has below them.

    Attributes
    ----------
    samples : SamplesDisplay
    predictions : ndarray of shape (grid_resolution, grid_resolution)
        Predicted labels at ``samples.view.grid(grid_resolution)``.
    segments : ndarray of shape (n, 2, 2)
        Lines where the coordinates of a projection change sign; none for a slice.
    """

    samples: SamplesDisplay
    predictions: NDArray
    segments: Floats

    @classmethod
    def slice(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        features: Sequence[int | str],
        *,
        through: ArrayLike | None = None,
        grid_resolution: int = 250,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> DecisionSliceDisplay:
        """Draw the plane of two ``features`` through the sample ``through``, or the mean of X."""
        check_is_fitted(clf)
        samples, network = np.asarray(checked_samples(clf, X), np.float64), clf.network_
        if len(features) != 2:
            raise ValueError(f"features must be two, got {features!r}.")
        chosen = [feature_number(network.feature_names, feature) for feature in features]
        names = [network.feature_names[feature] for feature in chosen]
        fixed = samples.mean(axis=0) if through is None else np.asarray(through, np.float64).ravel()
        if fixed.shape != samples.shape[1:]:
            raise ValueError(
                f"through must be one sample of {samples.shape[1]} features, got shape {fixed.shape}."
            )
        if title is None:
            title = "Slice through " + ("the mean" if through is None else "a sample")
        view = View.of(samples[:, chosen], names)
        points = np.tile(fixed, (grid_resolution**2, 1))
        points[:, chosen] = view.grid(grid_resolution)
        classes = network.classes(points)
        return cls._drawn(clf, view, y, classes, np.empty((0, 2, 2)), title, ax)

    @classmethod
    def projection(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        *,
        hyperplanes: Sequence[int] | None = None,
        grid_resolution: int = 250,
        ax: Axes | None = None,
        title: str | None = None,
    ) -> DecisionSliceDisplay:
        """Draw the plane across two hyperplanes, by default those that add most to the leads of X.

        It goes through the mean of X, and off it as little as the two responses ask for.
        """
        check_is_fitted(clf)
        samples, planes = np.asarray(checked_samples(clf, X), np.float64), clf.hyperplanes_
        scale = clf.blobs_.feature_spreads
        pair = list(_telling(clf, samples, scale) if hyperplanes is None else hyperplanes)
        if len(pair) != 2 or not all(0 <= l < len(planes) for l in pair):
            raise ValueError(f"hyperplanes must be two of 0 to {len(planes) - 1}, got {hyperplanes!r}.")
        responses = planes.log_odds(samples)[:, pair]
        view = View.of(responses, [f"$h_{{{l}}}$: {clf.network_.half_space(l)}" for l in pair])
        middle = planes.mapped(samples).mean(axis=0)
        across = np.linalg.pinv(planes.weights[pair] * scale)
        wanted = view.grid(grid_resolution) - (planes.weights[pair] @ middle + planes.biases[pair])
        # The plane lies in the space of the hyperplanes, behind the map of the features.
        network = replace(clf.network_, hyperplanes=replace(planes, gaussianisation=None))
        classes = network.classes(middle + wanted @ across.T * scale)
        lines = replace(
            planes, weights=np.eye(2), biases=np.zeros(2), pairs=planes.pairs[pair], gaussianisation=None
        )
        title = "Projection onto two hyperplanes" if title is None else title
        return cls._drawn(clf, view, y, classes, view.segments(lines), title, ax)

    @classmethod
    def _drawn(
        cls,
        clf: Any,
        view: View,
        y: ArrayLike,
        classes: NDArray[np.intp],
        segments: Floats,
        title: str,
        ax: Axes | None,
    ) -> DecisionSliceDisplay:
        targets, side = column_or_1d(y), round(len(classes) ** 0.5)
        samples = SamplesDisplay._of(
            view.samples, targets, clf.classes_, title=title, names=view.feature_names
        )
        return cls(samples, clf.classes_[classes].reshape(side, side), segments).plot(ax)

    def plot(self, ax: Axes | None = None) -> DecisionSliceDisplay:
        """Draw into ``ax``, or a new figure."""
        ax = self._open(ax)
        numbers = np.searchsorted(self.samples.labels, self.predictions)
        self.samples.view.image(ax, lighter(colours(numbers), 0.65), interpolation="nearest")
        draw_lines(ax, self.segments, INK)
        self.samples.plot(ax)
        return self


def _telling(clf: Any, samples: Floats, scale: Floats) -> list[int]:
    """The hyperplane that adds most to the leads, and the next one that is not nearly the same."""
    made = explained(clf.network_, clf.blobs_, samples)
    weight = np.abs(made.contributions).mean(axis=0)
    order = np.argsort(-weight, kind="stable")
    normals = clf.hyperplanes_.weights * scale
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    alike = np.abs(normals[order] @ normals[order[0]])
    others = order[alike < _TOO_ALIKE]
    if not len(others):
        raise ValueError(
            "all hyperplanes are nearly parallel: they span no plane. Draw a slice along two features."
        )
    return [int(order[0]), int(others[0])]
