"""Points of another class near samples: a search, and bounds of the distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.network.network import Network
from ffmlp.robustness.bent_leads import BentLead, SoftLead, Track, knots_and_scores, track
from ffmlp.robustness.limits import Limits
from ffmlp.robustness.polyhedra import SOLVERS, dual_norm, length, steepest_step

_DESCENT_STEPS = 30
_REFINEMENTS = 25
_BISECTIONS = 45
# A step goes to the boundary of the linearised lead, times this factor.
_OVERSHOOT = 1.02


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Samples (n, N) of classes ``winner`` (n,) that may move within limits."""

    network: Network
    samples: Floats
    winner: Indices
    limits: Limits

    def rows(self, rows: Indices) -> SearchProblem:
        """Some of the samples."""
        return SearchProblem(self.network, self.samples[rows], self.winner[rows], self.limits.rows(rows))

    def distance(self, points: Floats) -> Floats:
        """The distance of points (n, N) from their samples."""
        return length((points - self.samples) / self.limits.scale, self.limits.norm)

    def changed(self, points: Floats) -> Flags:
        """Whether points are of another class than their samples."""
        return self.network.classes(points) != self.winner


def found_points(problem: SearchProblem, starts: Floats) -> Floats:
    """A point of another class near each sample (n, N); NaN where none was found.

    ``starts`` (n, k, N) are candidates for such points; NaN marks missing ones.
    """
    best = np.full(problem.samples.shape, np.nan)
    for points in (_descended(problem), *np.moveaxis(starts, 1, 0)):
        points = np.clip(points, problem.limits.low, problem.limits.high)
        best = _nearer_points(problem, best, _bisected(problem, points))
    for _ in range(_REFINEMENTS):
        known = np.flatnonzero(np.isfinite(best).all(axis=1))
        if not len(known):
            return best
        part = problem.rows(known)
        tangent = _on_tangent(part, best[known])
        halfway = 0.5 * tangent + 0.5 * best[known]  # their sum may be no float
        better = _nearer_points(part, best[known], _bisected(part, tangent))
        better = _nearer_points(part, better, _bisected(part, halfway))
        gain = part.distance(best[known]) - part.distance(better)
        best[known] = better
        if not (gain > 1e-4 * part.distance(better)).any():
            break
    return best


def _nearer_points(problem: SearchProblem, first: Floats, second: Floats) -> Floats:
    """The nearer of two points to each sample; NaN is infinitely far."""
    near = [np.nan_to_num(problem.distance(points), nan=np.inf) for points in (first, second)]
    return np.where((near[1] < near[0])[:, None], second, first)


def _bisected(problem: SearchProblem, points: Floats) -> Floats:
    """The point just beyond the boundary on the line from the sample; NaN if the class is the same."""
    result = np.full_like(points, np.nan)
    there = np.flatnonzero(np.isfinite(points).all(axis=1))
    there = there[problem.rows(there).changed(points[there])] if len(there) else there
    if not len(there):
        return result
    part, far = problem.rows(there), points[there]
    near = part.samples.copy()
    for _ in range(_BISECTIONS):
        middle = 0.5 * near + 0.5 * far
        changed = part.changed(middle)[:, None]
        near, far = np.where(changed, near, middle), np.where(changed, middle, far)
    result[there] = far
    return result


def _descended(problem: SearchProblem) -> Floats:
    """Steps to the boundary of the linearised lead, until the class changes; NaN if it does not."""
    points = problem.samples.copy()
    active = np.arange(len(points))
    for _ in range(_DESCENT_STEPS):
        part = problem.rows(active)
        lead, gradient = _nearest_lead(part, points[active])
        points[active] = _stepped(part, points[active], lead + 1e-9, gradient)
        active = active[~part.changed(points[active])]
        if not len(active):
            break
    points[active] = np.nan
    return points


def _on_tangent(problem: SearchProblem, points: Floats) -> Floats:
    """The nearest point to the sample on the boundary's tangent at ``points``, slightly overshot."""
    lead, gradient = _nearest_lead(problem, points)
    at_sample = lead + np.sum(gradient * (problem.samples - points), axis=1)
    return _stepped(problem, problem.samples, np.maximum(at_sample, 0.0), gradient)


def _stepped(problem: SearchProblem, points: Floats, lead: Floats, gradient: Floats) -> Floats:
    """Points after the shortest step to a linear lead of zero, slightly overshot, within the limits."""
    limits = problem.limits
    stuck = (points <= limits.low) & (gradient > 0) | (points >= limits.high) & (gradient < 0)
    slope = np.where(stuck, 0.0, gradient) * limits.scale
    steepness = dual_norm(slope, limits.norm)[:, None]
    size = _OVERSHOOT * np.maximum(lead, 0.0)[:, None]
    # Where the lead is flat, no step is long enough.
    size = np.divide(size, steepness, out=np.zeros_like(size), where=steepness > 1e-9 * size)
    with np.errstate(over="ignore"):
        step = size * steepest_step(slope, limits.norm) * limits.scale
        moved = np.clip(points - step, limits.low, limits.high)
    # Nor is one that leads out of the range of floats: its end has no class.
    return np.where(np.isinf(moved).any(axis=1, keepdims=True), points, moved)


def _nearest_lead(problem: SearchProblem, points: Floats) -> tuple[Floats, Floats]:
    """The lead of the winner over the class of the nearest boundary, and its gradient (n, N)."""
    lead, gradient = problem.network.leads(points, problem.winner)
    gradient = problem.network.hyperplanes.by_features(gradient, points)
    steepness = dual_norm(gradient * problem.limits.scale, problem.limits.norm)
    away = np.divide(lead, steepness, out=np.full_like(lead, np.inf), where=steepness > 0)
    nearest = np.arange(len(points)), np.argmin(away, axis=1)
    return lead[nearest], gradient[nearest]


# A distance is exact if a point is at most this much farther than the lower bound, relative to it.
EXACT = 1e-6
# How far below zero the lead at a point is, relative to the sample's.
_OVERSHOOTS = (1e-9, 1e-8, 1e-7, 4e-7, 1e-6, 1e-5)
# Responses this far beyond zero, relative to their size, count as on the same side of their hyperplane:
# a solution may be on the other side by rounding.
_SLACKS = (0.0, 1e-9)

# A radius without another class grows by this factor, starting with a share of the distance of a known
# point. Without a point it grows up to this many units.
_GROWTH, _SMALLEST_SHARE, LARGEST_RADIUS = 1.4, 5.0, 1e4
# A search starts at this many points, up to this many times as far as the change of a relaxation.
_STARTS, _FARTHEST = 6, 10.0


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample x (N,) of class ``winner``: limits (N,) and units (N,) of its change, and the norm."""

    network: Network
    x: Floats
    winner: int
    low: Floats
    high: Floats
    scale: Floats
    norm: float

    @property
    def mapped(self) -> Floats:
        """The input (N,) of the hyperplanes."""
        return np.asarray(self.network.hyperplanes.mapped(self.x[None])[0], np.float64)

    def size(self, point: Floats) -> float:
        """The distance of a point (N,)."""
        return float(length((point - self.x) / self.scale, self.norm))

    def tracks(self, *radii: float) -> list[Track]:
        """The track of each feature, up to the largest radius, with points at the others."""
        planes, ends = self.network.hyperplanes, np.array(radii)
        parts = enumerate(zip(self.x, self.scale, self.low, self.high, strict=True))
        return [track(*part, ends, *knots_and_scores(planes, feature)) for feature, part in parts]

    @property
    def reach(self) -> float:
        """No feature has to change by more than this; infinite if there is no such limit."""
        low, high = self.low, self.high
        gaussianisation = self.network.hyperplanes.gaussianisation
        if gaussianisation is not None:
            # Maps are constant beyond their outermost knots.
            low = np.maximum(low, np.minimum(self.x, [knots[0] for knots in gaussianisation.knots]))
            high = np.minimum(high, np.maximum(self.x, [knots[-1] for knots in gaussianisation.knots]))
        farthest = np.maximum(self.x - low, high - self.x) / self.scale
        return float(length(farthest, self.norm))


@dataclass(frozen=True, eq=False)
class Bounds:
    """A proved lower bound of the distance, and the nearest point (N,) known, NaN if there is none.

    The distance is infinite if no point is known. Two infinite bounds prove that there is none.
    """

    lower: float
    distance: float
    point: Floats

    @property
    def is_exact(self) -> bool:
        """Whether both bounds are the same but for rounding."""
        return self.distance <= self.lower * (1 + EXACT)


def next_radius(known: Bounds) -> float:
    """The radius to search next: programmes of small radii are solved faster."""
    if not np.isfinite(known.distance):
        return min(_GROWTH * known.lower if known.lower > 0 else 1.0, LARGEST_RADIUS)
    radius = max(_GROWTH * known.lower, known.distance / _SMALLEST_SHARE)
    return min(radius, known.distance * (1 + 0.1 * EXACT))


@dataclass(frozen=True, eq=False)
class Reached:
    """Mapped features (N,) that a relaxation reached, on tracks up to a radius, with a lead of zero."""

    lead: BentLead
    tracks: list[Track]
    features: Floats
    radius: float


def with_nearer_point(sample: Sample, reached: Reached, known: Bounds) -> Bounds:
    """The bounds with the nearest point of the linear piece that a relaxation reached.

    A search replaces it where the lead is not linear.
    """
    if isinstance(reached.lead, SoftLead):
        return with_searched_point(sample, reached, known)
    return _nearer(sample, known, _on_linear_piece(sample, reached))


def with_searched_point(sample: Sample, reached: Reached, known: Bounds) -> Bounds:
    """The bounds with the nearest point that a search finds beyond what a relaxation reached."""
    places = zip(reached.tracks, reached.features, strict=True)
    change = np.array([path.place(value)[1] for path, value in places])
    size = float(length(change, sample.norm))
    if size == 0:
        return known
    limits = Limits(sample.low[None], sample.high[None], sample.scale, sample.norm)
    problem = SearchProblem(sample.network, sample.x[None], np.array([sample.winner]), limits)
    # At least slightly farther, as the lead is larger than the relaxed one.
    farther = np.geomspace(1.01, max(min(known.distance / size, _FARTHEST), 1.01), _STARTS)
    starts = sample.x + sample.scale * change * np.append([1.0, 1.0 + EXACT], farther)[:, None]
    return _nearer(sample, known, found_points(problem, starts[None])[0])


def _nearer(sample: Sample, known: Bounds, point: Floats | None) -> Bounds:
    """The bounds with a point, if it is nearer than the known one."""
    if point is None or not np.isfinite(point).all():
        return known
    distance = sample.size(point)
    return Bounds(known.lower, distance, point) if distance < known.distance else known


def _on_linear_piece(sample: Sample, reached: Reached) -> Floats | None:
    """The nearest point of another class on the linear piece, if there is one."""
    for slack in _SLACKS:
        piece = _LinearPiece(sample, reached, slack)
        for overshoot in _OVERSHOOTS:
            step = piece.shortest_step(overshoot)
            if step is None:  # nor is there one of a larger overshoot
                break
            point = np.clip(sample.x + sample.scale * step, sample.low, sample.high)
            if sample.network.classes(point[None])[0] != sample.winner:
                return point
    return None


class _LinearPiece:
    """Changes (N,) in which maps and lead are linear around the mapped features reached.

    They are between limits and have ``rows @ change >= wanted``. The first row is the fall of the lead,
    ``height`` the lead without a change.
    """

    def __init__(self, sample: Sample, reached: Reached, slack: float) -> None:
        lead, places = reached.lead, zip(reached.tracks, reached.features, strict=True)
        slopes, bases, self.low, self.high = np.array([_line(*place) for place in places]).T.copy()
        least, most = lead.ranges(*np.array([path.values[[0, -1]] for path in reached.tracks]).T)
        signs = np.where(lead.responses(reached.features) > 0, 1.0, -1.0)
        straight = lead.where(signs > 0, np.zeros(len(signs), bool))
        crossed = (least < 0) & (most > 0) & (lead.bends != 0)
        rows = np.vstack([-straight.slope, signs[crossed, None] * lead.weights[crossed]])
        allowed = slack * np.maximum(-least, most)[crossed]
        at_base = signs[crossed] * lead.responses(bases)[crossed]
        self.rows = rows * slopes
        self.wanted = np.append(straight.offset + straight.slope @ bases, -at_base - allowed)
        self.height, self.radius, self.norm = lead.at(sample.mapped), reached.radius, sample.norm

    def shortest_step(self, overshoot: float) -> Floats | None:
        """The shortest change with a lead below zero by an overshoot, relative to the height."""
        steepness = dual_norm(self.rows, self.norm)
        steepness = np.where(steepness > 0, steepness, 1.0)
        if self.height > 0:
            steepness[0] = self.height / self.radius
        wanted = self.wanted / steepness / self.radius
        wanted[0] += overshoot
        rows = self.rows / steepness[:, None]
        low, high = self.low / self.radius, self.high / self.radius
        # Solvers expect limits that allow no change at all; others are rows.
        above, below = np.flatnonzero(low > 0), np.flatnonzero(high < 0)
        unit = np.eye(len(low))
        rows = np.vstack([rows, unit[above], -unit[below]])
        wanted = np.concatenate([wanted, low[above], -high[below]])
        step = SOLVERS[self.norm](rows, wanted, np.minimum(low, 0.0), np.maximum(high, 0.0))
        return None if step is None else step * self.radius


def _line(track: Track, value: float) -> tuple[float, float, float, float]:
    """Slope and value at no change of the line that a track follows around a value; its two ends."""
    if len(track.values) == 1:
        return 0.0, float(track.values[0]), 0.0, 0.0
    slopes = np.diff(track.values) / np.diff(track.changes)
    first, _ = track.place(value)
    last, slope = first, slopes[first]
    same = np.abs(slopes - slope) <= 1e-12 * np.abs(slopes).max()
    while first > 0 and same[first - 1]:
        first -= 1
    while last + 1 < len(slopes) and same[last + 1]:
        last += 1
    ends = track.changes[first], track.changes[last + 1]
    return float(slope), float(track.values[first] - slope * ends[0]), float(ends[0]), float(ends[1])
