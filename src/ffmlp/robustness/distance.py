"""The distance of samples to another class: exact where possible, otherwise two bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from joblib import Parallel, delayed

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.extras import imported
from ffmlp.network.blobs import Blobs, feature_units
from ffmlp.network.network import Network
from ffmlp.network.stages import LinearPieces
from ffmlp.robustness.bent_leads import MOST_BENDS
from ffmlp.robustness.limits import Limits
from ffmlp.robustness.nearby_points import Bounds, Sample, SearchProblem, found_points
from ffmlp.robustness.nearest_change import nearest_change
from ffmlp.robustness.polyhedra import (
    FeasibleBox,
    LinearScores,
    Nearest,
    dual_norm,
    length,
    nearest_of_another_class,
)
from ffmlp.words import counted, html_table

# How far beyond the boundary a point of another class lies, relative to the distance. Larger values are
# tried where rounding hides the other class.
_OVERSHOOTS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
# Blobs of other classes whose means start the search.
_TARGETS = 8
# The relative rounding error of a bound.
_ROUNDING = 1e-9
# Float64 is not precise enough for features whose standard deviations differ by a larger factor.
_LARGEST_RATIO = 1e7
# Squares of larger weights, and of features whose weights are as small, overflow.
_LARGEST_WEIGHT = 1e120
# Samples that are shown in a notebook.
_MAX_ROWS = 10


@dataclass(frozen=True, eq=False)
class Robustness:
    """Distances of samples to another class.

    Attributes
    ----------
    distance : ndarray of shape (n,)
        Where ``exact``, the distance to the nearest point of another class. Elsewhere an upper bound,
        the distance to ``points``. Infinite where there is no such point or none was found.
    points : ndarray of shape (n, N)
        A point of another class, slightly beyond ``distance``; NaN where there is none. It is a point of
        the network's inputs: in a table with categories, these are shares that stay as they are.
    lower : ndarray of shape (n,)
        A proved lower bound of the distance. Equal to ``distance`` where ``exact``. It is 0 for rows
        whose missing numbers are replaced by what the others say.
    exact : ndarray of bool, shape (n,)
    classes : ndarray of shape (n,)
        The class of each point, as an index into ``classes_``; -1 where there is none.
    norm : float
        2, 1 or inf.
    """

    distance: Floats
    points: Floats
    lower: Floats
    exact: Flags
    classes: Indices
    norm: float = 2.0

    def __len__(self) -> int:
        return len(self.distance)

    def __repr__(self) -> str:
        samples, n_exact = counted(len(self), "sample"), int(self.exact.sum())
        if not len(self):
            return "Robustness(no samples)"
        low, middle, high = self.distance.min(), np.median(self.distance), self.distance.max()
        proved = "all exact" if n_exact == len(self) else f"{n_exact} exact, the others upper bounds"
        return f"Robustness({samples}, distance {low:.4g} to {high:.4g}, median {middle:.4g}; {proved})"

    def _repr_html_(self) -> str:
        header = ("", "distance", "lower bound", "exact", "class")
        rows = [
            (f"{row}", f"{self.distance[row]:.4g}", f"{self.lower[row]:.4g}",
             "yes" if self.exact[row] else "no", f"{self.classes[row]}")
            for row in range(min(len(self), _MAX_ROWS))
        ]  # fmt: skip
        return f"<p>{self!r}</p>" + html_table(header, rows)


@dataclass(frozen=True)
class Effort:
    """The effort for exact distances: seconds for each sample, processes, whether to show a bar."""

    time_limit: float = 10.0
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.time_limit, Real) and self.time_limit > 0):
            raise ValueError(
                f"time_limit must be a positive number of seconds, got {self.time_limit!r}."
            )
        if self.n_jobs is not None and (not isinstance(self.n_jobs, Integral) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be an int other than 0, or None, got {self.n_jobs!r}.")


def robustness(
    network: Network, blobs: Blobs, cells: Floats, samples: Floats, limits: Limits, effort: Effort
) -> Robustness:
    """Distances of samples (n, N), the inputs of cells (n, M), in any units.

    A ValueError if the scales of the features differ too much.
    """
    steepest = np.abs(network.hyperplanes.weights).max()
    if steepest == 0:
        raise ValueError(
            "Every sample is predicted to be of the same class, as all hyperplanes have zero weights. "
            "There is no distance to another class. Design the network with more blobs."
        )
    if not 1 / _LARGEST_WEIGHT < steepest < _LARGEST_WEIGHT:
        raise ValueError(
            f"The features are so {'large' if steepest < 1 else 'small'} that distances would overflow. "
            "Fit to scaled features, for example with StandardScaler."
        )
    with np.errstate(over="ignore"):
        spreads = feature_units(blobs, network.hyperplanes) / limits.scale
    if not spreads.max() <= _LARGEST_RATIO * spreads.min():
        raise ValueError(
            "The standard deviations of the features differ by a factor of "
            f"{spreads.max() / spreads.min():.1g}, so distances would be rounding errors. Pass the unit "
            "of each feature as scale=, for example its standard deviation."
        )
    # Tolerances are for features of unit spread. A power of two changes no digit.
    unit = 2.0 ** np.round(np.log2(spreads).mean())
    scaled = replace(limits, scale=limits.scale * unit)
    nearest = distances(network, blobs, samples, scaled, effort)
    nearest = replace(
        nearest, distance=nearest.distance * unit, lower=nearest.lower * unit, norm=limits.norm
    )
    return _as_predicted(network, cells, nearest)


def distances(
    network: Network, blobs: Blobs, samples: Floats, limits: Limits, effort: Effort | None = None
) -> Robustness:
    """Distances within limits: exact where the scores have linear pieces, else two bounds.

    The bounds of networks with few bends meet, given enough time.
    """
    (scores,) = network.stages.scores(np.zeros((1, len(network.hyperplanes))))
    possible = np.flatnonzero(np.isfinite(scores))
    if len(possible) < 2:
        only = network.labels.tolist()[possible[0]]
        raise ValueError(
            f"Every sample is predicted to be of class {only!r}, so there is no distance to another "
            "class. Design the network with a smaller error_threshold."
        )
    pieces = network.stages.linear_pieces
    if pieces is not None and network.hyperplanes.gaussianisation is None:
        return _exact(network, pieces, samples, limits)
    known = _bounded(network, blobs, samples, limits)
    return _proved(network, samples, limits, known, effort or Effort())


def _as_predicted(network: Network, cells: Floats, nearest: Robustness) -> Robustness:
    """The same where missing numbers of cells (n, M) are replaced by what the other numbers say.

    Another number changes them, too. So nothing is proved, and a point counts only if `predict` agrees.
    """
    table = network.table
    missing = np.isnan(cells) & table.is_number
    filled = missing.any(axis=1)
    if table.imputation is None or not filled.any():
        return nearest
    reached = np.isfinite(nearest.distance)
    free = table.is_number & ~missing & reached[:, None]
    moved = np.where(free, nearest.points[:, table.firsts], cells)
    before, after = (network.classes(network.inputs(part)) for part in (cells, moved))
    changed = reached & (before != after)
    kept = changed | ~filled
    return Robustness(
        np.where(kept, nearest.distance, np.inf),
        np.where(kept[:, None], nearest.points, np.nan),
        np.where(filled, 0.0, nearest.lower),
        nearest.exact & ~filled,
        np.where(filled, np.where(changed, after, -1), nearest.classes),
        nearest.norm,
    )


def _exact(network: Network, pieces: LinearPieces, samples: Floats, limits: Limits) -> Robustness:
    winner = network.classes(samples)
    nearest = _nearest(network, pieces, samples, winner, limits)
    left, distance = list(nearest), np.full(len(samples), np.inf)
    distance[left] = [near.distance for near in nearest.values()]
    points = np.full(samples.shape, np.nan)
    for overshoot in _OVERSHOOTS:
        if not left:
            break
        beyond = []
        for row in left:
            near = nearest[row]
            size = near.distance + 1e-6 * np.abs(samples[row] / limits.scale).max()
            step = near.beyond(overshoot * size)
            beyond.append(near.step if step is None else step)
        moved = samples[left] + limits.scale * beyond
        points[left] = np.clip(moved, limits.low[left], limits.high[left])
        same = network.classes(points[left]) == winner[left]
        left = [row for row, is_same in zip(left, same, strict=True) if is_same]
    exact = np.ones(len(samples), bool)
    # Rounding hides the other class: the distance is a lower bound, but no point shows that it is exact.
    exact[left], points[left] = False, np.nan
    return _with_classes(network, points, np.where(exact, distance, np.inf), distance, exact)


def _nearest(
    network: Network, pieces: LinearPieces, Z: Floats, winner: Indices, limits: Limits
) -> dict[int, Nearest]:
    """The nearest point of another class in the space of the hyperplanes, for samples that have one."""
    planes = network.hyperplanes
    normals, offsets = pieces.weights @ planes.weights, pieces.weights @ planes.biases
    scores = LinearScores(normals, offsets, pieces.classes)
    scale = np.broadcast_to(limits.scale, Z.shape)
    safe = np.where(scale > 0, scale, 1.0)
    low, high = np.minimum((limits.low - Z) / safe, 0.0), np.maximum((limits.high - Z) / safe, 0.0)
    boxes = [FeasibleBox(*parts, limits.norm) for parts in zip(scale, low, high, strict=True)]
    parts = enumerate(zip(Z, winner, boxes, strict=True))
    nearest = {row: nearest_of_another_class(scores, *part) for row, part in parts}
    return {row: near for row, near in nearest.items() if near is not None}


def _bounded(network: Network, blobs: Blobs, samples: Floats, limits: Limits) -> Robustness:
    winner = network.classes(samples)
    lower, starts = _lower_bounds(network, samples, winner, limits, np.full(len(samples), np.inf))
    starts = np.concatenate([starts, _targets(network, blobs, samples, winner, limits)], axis=1)
    problem = SearchProblem(network, samples, winner, limits)
    points = found_points(problem, starts)
    distance = np.nan_to_num(problem.distance(points), nan=np.inf)
    if network.hyperplanes.gaussianisation is not None:
        # The steepness of a feature's map matters only up to the distance of the point found.
        lower = np.maximum(lower, _lower_bounds(network, samples, winner, limits, distance)[0])
    exact = np.zeros(len(samples), bool)
    return _with_classes(network, points, distance, np.minimum(lower, distance), exact)


def _proved(
    network: Network, samples: Floats, limits: Limits, known: Robustness, effort: Effort
) -> Robustness:
    """Bounds that meet where a mixed-integer programme proves it; as they are for other networks."""
    if network.stages.bends(0, 1) is None or len(network.hyperplanes) > MOST_BENDS:
        return known
    parts = zip(samples, network.classes(samples), limits.low, limits.high, strict=True)
    tasks = [
        delayed(nearest_change)(
            Sample(network, x, int(label), low, high, limits.scale, limits.norm),
            Bounds(known.lower[row], known.distance[row], known.points[row]),
            effort.time_limit,
        )
        for row, (x, label, low, high) in enumerate(parts)
    ]
    results = Parallel(effort.n_jobs, return_as="generator")(tasks)
    if effort.progress:
        tqdm = imported("tqdm.auto", "progress=True").tqdm
        results = tqdm(results, total=len(samples), desc="distances", unit="sample")
    bounds: list[Bounds] = list(results)
    exact = np.array([bound.is_exact for bound in bounds], bool)
    lower = np.array([bound.lower for bound in bounds], np.float64)
    distance = np.array([bound.distance for bound in bounds], np.float64)
    points = np.array([bound.point for bound in bounds], np.float64).reshape(samples.shape)
    return _with_classes(network, points, np.where(exact, lower, distance), lower, exact)


def _with_classes(
    network: Network, points: Floats, distance: Floats, lower: Floats, exact: Flags
) -> Robustness:
    """Distances to points (n, N), NaN where there are none, and the classes that are predicted there."""
    classes, reached = np.full(len(points), -1), np.isfinite(points).all(axis=1)
    if reached.any():
        classes[reached] = network.classes(points[reached])
    return Robustness(distance, points, lower, exact, classes)


def _lower_bounds(
    network: Network, samples: Floats, winner: Indices, limits: Limits, radius: Floats
) -> tuple[Floats, Floats]:
    """Proved lower bounds (n,) up to a radius (n,), and possible points (n, k, N) of another class."""
    planes, stages = network.hyperplanes, network.stages
    # A score moves by no more than this when its feature moves by one unit.
    speed = limits.scale * (limits.low < limits.high)
    if planes.gaussianisation is not None:
        speed = speed * planes.gaussianisation.steepest(samples, np.outer(radius, limits.scale))
    pieces = stages.linear_pieces
    if pieces is None:
        reach = np.stack([dual_norm(planes.weights * unit, limits.norm) for unit in speed])
        steepness = dual_norm(network.leads(samples, winner)[1] * speed[:, None], limits.norm)
        lower = stages.safe_distance(planes.signed_responses(samples), winner, reach, steepness)
        return (1 - _ROUNDING) * lower, np.empty((len(samples), 0, samples.shape[1]))
    Z, low, high = map(planes.mapped, (samples, limits.low, limits.high))
    nearest = _nearest(network, pieces, Z, winner, Limits(low, high, speed, limits.norm))
    lower, reached = np.full(len(Z), np.inf), np.full(Z.shape, np.nan)
    for row, near in nearest.items():
        lower[row], reached[row] = near.distance, Z[row] + speed[row] * near.step
    starts = np.where(reached == Z, samples, planes.unmapped(reached))
    return (1 - _ROUNDING) * lower, starts[:, None]


def _targets(network: Network, blobs: Blobs, samples: Floats, winner: Indices, limits: Limits) -> Floats:
    """The means (n, k, N) of the nearest blobs that are predicted to be of another class."""
    means = network.hyperplanes.unmapped(blobs.means)
    classes = network.classes(means)
    targets = np.full((len(samples), min(_TARGETS, len(blobs)), samples.shape[1]), np.nan)
    for row, sample in enumerate(samples):
        with np.errstate(over="ignore"):  # farther away than numbers go: not a target
            away = length((means - sample) / limits.scale, limits.norm)
        away[classes == winner[row]] = np.inf
        near = np.argsort(away, kind="stable")[: targets.shape[1]]
        near = near[np.isfinite(away[near])]
        targets[row, : len(near)] = means[near]
    return targets
