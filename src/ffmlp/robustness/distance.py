"""How far a sample is from another class: exactly where that can be had, else between two bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ffmlp.design.blobs import Blobs, Floats
from ffmlp.explanations.margins import units
from ffmlp.model.network import Network
from ffmlp.model.prediction import most_probable_classes
from ffmlp.model.regions import Regions
from ffmlp.model.stages import BlobStages, ReadoutStages, RegionStages
from ffmlp.robustness.boundary_search import Grounds, found_points, leads
from ffmlp.robustness.certificates import blob_bound, readout_bound
from ffmlp.robustness.limits import Limits, checked_limits
from ffmlp.robustness.polyhedra import (
    LinearScores,
    Nearest,
    Room,
    dual_norm,
    length,
    nearest_of_another_class,
)

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# A point of another class lies this much beyond the boundary, relative to the distance: as little as
# rounding allows.
_HAIRS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
# Blobs of other classes towards which another class is searched.
_TARGETS = 8
# Rounding may make a bound too large by this share.
_ROUNDING = 1e-9
# Features whose deviations differ more cannot be solved for together in float64.
_LARGEST_RATIO = 1e7


@dataclass(frozen=True, eq=False)
class Robustness:
    """Distances of samples to another class.

    Attributes
    ----------
    distance : ndarray of shape (n,)
        Where ``exact``, the distance to the nearest point of another class; elsewhere that to
        ``points``, so that the nearest is not farther. Infinite where none is there, or none was found.
    points : ndarray of shape (n, N)
        A point of another class that is a hair more than ``distance`` away; NaN where there is none.
    lower : ndarray of shape (n,)
        No point of another class is nearer: proved. Equal to ``distance`` where ``exact``.
    exact : ndarray of bool, shape (n,)
    classes : ndarray of shape (n,)
        The class of each point, as an index into ``classes_``; -1 where there is none.
    """

    distance: Floats
    points: Floats
    lower: Floats
    exact: NDArray[np.bool_]
    classes: NDArray[np.intp]


def robustness(
    clf: FFMLPClassifier,
    X: ArrayLike,
    norm: float | str = 2,
    *,
    scale: ArrayLike | None = None,
    frozen: Sequence[int | str] = (),
    bounds: Mapping[int | str, tuple[float | None, float | None]] | None = None,
) -> Robustness:
    """The distance of each sample to the nearest point that is predicted to be of another class.

    It is exact for the region design without gaussianised features, regions without training samples
    included. For the other designs it lies between ``lower``, which is proved, and ``distance``, at
    which another class was found.

    Parameters
    ----------
    clf : FFMLPClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
    norm : {2, 1, inf, "inf"}, default=2
        2 is the Euclidean distance, 1 the sum of all changes, inf the largest change. Exact distances
        in norm 2 need the extra ``robustness``.
    scale : array-like of shape (n_features,), default=None
        What counts as a change by one in each feature; 1 by default.
    frozen : sequence of int or str, default=()
        Features that do not move, by number or name.
    bounds : mapping of feature to (low, high), default=None
        Limits of features, None for no limit. The samples must lie within.

    Returns
    -------
    Robustness

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier, robustness
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(X, y)
    >>> found = robustness(clf, X[:2], norm="inf")
    >>> found.distance.round(3), found.exact
    (array([1.125, 1.036]), array([ True,  True]))
    >>> clf.predict(X[:2]), clf.predict(found.points)
    (array([0, 0]), array([1, 1]))
    """
    check_is_fitted(clf)
    samples: Floats = np.asarray(clf._checked(X), np.float64)
    limits = checked_limits(clf.network_.feature_names, samples, norm, scale, frozen, bounds)
    spreads = units(clf.blobs_, clf.hyperplanes_) / limits.scale
    if spreads.max() > _LARGEST_RATIO * spreads.min():
        raise ValueError(
            f"the deviations of the features differ by a factor of {spreads.max() / spreads.min():.1g}: "
            "distances that add them up would be rounding. Say by scale= what counts as a change by one "
            "in each feature, for instance its standard deviation."
        )
    return distances(clf.network_, clf.blobs_, clf.regions_, samples, limits)


def distances(
    network: Network, blobs: Blobs, regions: Regions | None, samples: Floats, limits: Limits
) -> Robustness:
    """Distances within limits, by whatever way the design allows."""
    votes = np.unique(network.stages.neuron_classes)
    if len(votes) < 2:
        only = network.labels.tolist()[votes[0]]
        raise ValueError(
            f"every sample is predicted to be of class {only!r}: there is no other class to be at a "
            "distance from."
        )
    linear = isinstance(network.stages, RegionStages) and network.hyperplanes.gaussianisation is None
    return (_exact if linear else _bounded)(network, blobs, regions, samples, limits)


def _exact(
    network: Network, blobs: Blobs, regions: Regions | None, samples: Floats, limits: Limits
) -> Robustness:
    own = most_probable_classes(network, regions, samples)
    found = _nearest(network, samples, own, limits.low, limits.high, limits.scale, limits.norm)
    distance = np.array([np.inf if near is None else near.distance for near in found])
    points, classes = np.full(samples.shape, np.nan), np.full(len(samples), -1)
    left = [row for row, near in enumerate(found) if near is not None]
    for hair in _HAIRS:
        if not left:
            break
        beyond = []
        for row in left:
            near = found[row]
            assert near is not None
            size = near.distance + 1e-6 * np.abs(samples[row] / limits.scale).max()
            step = near.beyond(hair * size)
            beyond.append(near.step if step is None else step)
        points[left] = np.clip(
            samples[left] + limits.scale * beyond, limits.low[left], limits.high[left]
        )
        classes[left] = most_probable_classes(network, regions, points[left])
        left = [row for row in left if classes[row] == own[row]]
    exact = np.ones(len(samples), bool)
    # Rounding hides the other class: the distance holds as a bound, but there is no witness.
    exact[left], points[left], classes[left] = False, np.nan, -1
    return Robustness(np.where(exact, distance, np.inf), points, distance, exact, classes)


def _nearest(
    network: Network,
    Z: Floats,
    own: NDArray[np.intp],
    low: Floats,
    high: Floats,
    scale: Floats,
    norm: float,
) -> list[Nearest | None]:
    """The nearest point of another class in the space of the hyperplanes, for each sample."""
    scores = LinearScores.of(network)
    scale = np.broadcast_to(scale, Z.shape)
    safe = np.where(scale > 0, scale, 1.0)
    return [
        nearest_of_another_class(
            scores, z, int(label), Room(unit, np.minimum(down, 0.0), np.maximum(up, 0.0), norm)
        )
        for z, label, unit, down, up in zip(
            Z, own, scale, (low - Z) / safe, (high - Z) / safe, strict=True
        )
    ]


def _bounded(
    network: Network, blobs: Blobs, regions: Regions | None, samples: Floats, limits: Limits
) -> Robustness:
    own = most_probable_classes(network, regions, samples)

    def classify(points: Floats) -> NDArray[np.intp]:
        return most_probable_classes(network, regions, points)

    lower, starts = _lower_bounds(network, samples, own, limits, np.full(len(samples), np.inf))
    starts = np.concatenate([starts, _targets(network, blobs, samples, own, classify, limits)], axis=1)
    grounds = Grounds(
        network, classify, samples, own, limits.low, limits.high, limits.scale, limits.norm
    )
    points = found_points(grounds, starts)
    there = np.isfinite(points).all(axis=1)
    distance, classes = np.full(len(samples), np.inf), np.full(len(samples), -1)
    distance[there] = grounds.rows(np.flatnonzero(there)).distance(points[there])
    classes[there] = classify(points[there]) if there.any() else 0
    if network.hyperplanes.gaussianisation is not None:
        # How steep a feature's map is only matters as far as the nearest point can be.
        lower = np.maximum(lower, _lower_bounds(network, samples, own, limits, distance)[0])
    exact = np.zeros(len(samples), bool)
    return Robustness(distance, points, np.minimum(lower, distance), exact, classes)


def _lower_bounds(
    network: Network, samples: Floats, own: NDArray[np.intp], limits: Limits, radius: Floats
) -> tuple[Floats, Floats]:
    """Proved distances (n,) up to a radius (n,), and points (n, k, N) at which another class may be."""
    planes, stages = network.hyperplanes, network.stages
    scores = planes.gaussianisation
    # A score moves by no more than this when its feature moves by one unit.
    speed = np.broadcast_to(limits.scale, samples.shape) * (limits.low < limits.high)
    if scores is not None:
        speed = speed * scores.steepest(samples, np.outer(radius, limits.scale))
    if isinstance(stages, RegionStages):
        assert scores is not None
        Z, low, high = map(scores.apply, (samples, limits.low, limits.high))
        found = _nearest(network, Z, own, low, high, speed, limits.norm)
        lower, reached = np.full(len(Z), np.inf), np.full(Z.shape, np.nan)
        for row, near in enumerate(found):
            if near is not None:
                lower[row], reached[row] = near.distance, Z[row] + speed[row] * near.step
        starts = np.where(reached == Z, samples, scores.values(reached))
        return (1 - _ROUNDING) * lower, starts[:, None]
    h = planes.log_odds(samples)
    reach = np.stack([dual_norm(planes.weights * unit, limits.norm) for unit in speed])
    nothing = np.empty((len(samples), 0, samples.shape[1]))
    if isinstance(stages, BlobStages):
        return (1 - _ROUNDING) * blob_bound(stages, h, own, reach), nothing
    assert isinstance(stages, ReadoutStages)
    steepness = dual_norm(leads(network, samples, own)[1] * speed[:, None], limits.norm)
    return (1 - _ROUNDING) * readout_bound(stages, h, own, reach, steepness), nothing


def _targets(
    network: Network,
    blobs: Blobs,
    samples: Floats,
    own: NDArray[np.intp],
    classify: Callable[[Floats], NDArray[np.intp]],
    limits: Limits,
) -> Floats:
    """The middles (n, k, N) of the nearest blobs that are predicted to be of another class."""
    scores = network.hyperplanes.gaussianisation
    middles = blobs.means if scores is None else scores.values(blobs.means)
    classes = classify(middles)
    targets = np.full((len(samples), min(_TARGETS, len(blobs)), samples.shape[1]), np.nan)
    for row, sample in enumerate(samples):
        away = length((middles - sample) / limits.scale, limits.norm)
        away[classes == own[row]] = np.inf
        near = np.argsort(away, kind="stable")[: targets.shape[1]]
        near = near[np.isfinite(away[near])]
        targets[row, : len(near)] = middles[near]
    return targets
