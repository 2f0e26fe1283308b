"""Decision regions of more than two features, on a plane through the space of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize

from ffmlp.arrays import Floats
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.plots.samples import SamplesDisplay, draw_regions, undrawn_samples
from ffmlp.plots.view import AxesDisplay, View, fitted_attribute
from ffmlp.robustness.limits import feature_number
from ffmlp.validation import checked_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Two hyperplanes with normals of a larger cosine are nearly parallel.
_MAX_COSINE = 0.98


@dataclass(eq=False)
class DecisionSliceDisplay(AxesDisplay):
    """Predictions on a plane, under the samples projected onto it.

    The plane is either a *slice*, spanned by two features while the others keep the values of one
    sample, or a *projection*, whose coordinates are the responses of two hyperplanes. A sample off the
    plane may have another class than the plane has below it.

    Attributes
    ----------
    samples : SamplesDisplay
    predictions : ndarray of shape (grid_resolution, grid_resolution)
        Predicted labels at the points of ``samples.view.grid(grid_resolution)``.
    segments : ndarray of shape (n, 2, 2)
        The two hyperplanes of a projection, as lines; none for a slice.
    silent : ndarray of shape (grid_resolution, grid_resolution)
        Where the output of the network is zero: these parts of the plane are hatched.
    """

    samples: SamplesDisplay
    predictions: NDArray
    segments: Floats
    silent: NDArray[np.bool_]

    @classmethod
    def from_estimator(
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
            plane = _slice(network, samples, centre, features, grid_resolution)
        else:
            default = "Projection onto two hyperplanes"
            unit = estimator.blobs_.feature_spreads
            pair = _most_important(estimator, X, unit) if hyperplanes is None else hyperplanes
            plane = _projection(network, samples, centre, list(pair), unit, grid_resolution)
        mapped = replace(network, hyperplanes=replace(network.hyperplanes, gaussianisation=None))
        predicted = estimator.classes_[mapped.classes(plane.points)]
        title = default if title is None else title
        drawn = undrawn_samples(plane.view, y, title, estimator.classes_)
        shape = grid_resolution, grid_resolution
        silent = ~mapped.forward(plane.points).any(axis=1).reshape(shape)
        return cls(drawn, predicted.reshape(shape), plane.segments, silent).plot(ax)

    def plot(self, ax: Axes | None = None) -> DecisionSliceDisplay:
        """Draw into ``ax``, or into a new figure."""
        draw_regions(self._open(ax), self.samples, self.predictions, self.segments, self.silent)
        return self


@dataclass(frozen=True, eq=False)
class _Plane:
    """A plane to draw; ``points`` are those of its grid, after the map of the features."""

    view: View
    points: Floats
    segments: Floats


def _slice(
    network: Network, samples: Floats, centre: Floats, features: Sequence[int | str], resolution: int
) -> _Plane:
    chosen = [feature_number(network.feature_names, feature) for feature in features]
    if len(chosen) != 2:
        raise ValueError(f"features must be two features, got {features!r}.")
    view = View.of(samples[:, chosen], [network.feature_names[feature] for feature in chosen])
    points = np.tile(centre.mean(axis=0), (resolution**2, 1))
    points[:, chosen] = view.grid(resolution)
    return _Plane(view, network.hyperplanes.mapped(points), np.empty((0, 2, 2)))


def _projection(
    network: Network, samples: Floats, centre: Floats, pair: list[int], unit: Floats, resolution: int
) -> _Plane:
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
    return _Plane(view, points, view.segments(axes))


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
