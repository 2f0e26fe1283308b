"""The nearest point of another class for piecewise linear leads, with a proof.

A mixed-integer programme asks for the smallest change at which the lead over a rival is at most zero. A
bend that raises the lead is convex and needs no binary variable; one that lowers it needs one. A point
that is known limits the change, hence the responses, hence the bends that can matter. Where the map of a
feature bends, the programme uses a convex function below the size of the change. Its least cost is a
lower bound. The linear piece of the network that it reaches gives a point, hence an upper bound. Limits
and convex functions become tighter there until both bounds meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.model.network import Network
from ffmlp.robustness.bent_leads import BentLead, SoftLead, bent_lead
from ffmlp.robustness.boundary_search import SearchProblem, found_points
from ffmlp.robustness.change_programme import Relaxation, Solution
from ffmlp.robustness.limits import Limits
from ffmlp.robustness.polyhedra import SOLVERS, dual_norm, length
from ffmlp.robustness.tracks import Track, tracks

# A distance is exact if a point is at most this much farther than the lower bound, relative to it.
EXACT = 1e-6
# How far below zero the lead at a point is, relative to the sample's.
_OVERSHOOTS = (1e-9, 1e-8, 1e-7, 4e-7, 1e-6, 1e-5)
# Responses this far beyond zero, relative to their size, count as on the same side of their hyperplane:
# a solution may be on the other side by rounding.
_SLACKS = (0.0, 1e-9)
# A radius without another class grows by this factor, starting with a share of the distance of a known
# point. Without a point it grows up to this many units.
_GROWTH, _SMALLEST_SHARE, _LARGEST_RADIUS = 1.4, 5.0, 1e4
_MOST_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample x (N,) of class ``own``: limits (N,) and units (N,) of its change, and the norm."""

    network: Network
    x: Floats
    own: int
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
        gaussianisation = self.network.hyperplanes.gaussianisation
        return tracks(gaussianisation, self.x, self.scale, self.low, self.high, np.array(radii))

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


def nearest_change(sample: Sample, known: Bounds, seconds: float) -> Bounds:
    """Bounds of the distance to another class, within a time limit; equal where it is exact.

    The rival with the smallest lower bound is always next, so that no programme has a radius much larger
    than the distance to the nearest class.
    """
    stop = perf_counter() + seconds
    rivals = []
    for label in _rivals(sample):
        lead = bent_lead(sample.network, sample.own, label)
        assert lead is not None
        rivals.append(_Rival(sample, lead, known.lower))
    for _ in range(_MOST_ROUNDS * len(rivals)):
        left = [one for one in rivals if not one.stuck and known.distance > one.lower * (1 + EXACT)]
        seconds = stop - perf_counter()
        if not left or seconds <= 0:
            break
        known = min(left, key=lambda one: one.lower).after_a_round(known, seconds)
    lower = min([known.distance, *(one.lower for one in rivals)])
    return replace(known, lower=lower)


def _rivals(sample: Sample) -> list[int]:
    """The other classes, the smallest lead first."""
    planes, stages = sample.network.hyperplanes, sample.network.stages
    (scores,) = stages.scores(planes.signed_responses(sample.x[None]))
    possible = [label for label in np.argsort(-scores, kind="stable") if np.isfinite(scores[label])]
    return [int(label) for label in possible if label != sample.own]


class _Rival:
    """One other class: a proved lower bound of its distance, and what is known of its programme."""

    def __init__(self, sample: Sample, lead: BentLead, lower: float) -> None:
        self.sample, self.lead, self.lower = sample, lead, lower
        self.reach, self.stuck = sample.reach, False
        self.cuts: list[set[float]] = [set() for _ in sample.x]
        self.normals: list[Floats] = []
        self.marks = np.zeros((0, len(lead.bends)))

    def after_a_round(self, known: Bounds, seconds: float) -> Bounds:
        """The nearest point known after one more programme, which also raises the lower bound."""
        sample, known = self.sample, replace(known, lower=self.lower)
        radius = min(_radius(known), self.reach)
        relaxation = Relaxation(
            self.lead.below(self.marks),
            sample.mapped,
            sample.tracks(self.lower, radius),
            self.cuts,
            self.lower,
            radius,
            sample.norm,
            self.normals,
        )
        solution = relaxation.solved(seconds)
        if solution.bound == np.inf:  # nothing within the radius
            all_searched = radius >= min(known.distance, self.reach)
            self.lower = np.inf if all_searched else radius
            self.stuck = all_searched or radius >= _LARGEST_RADIUS
            return known
        if solution.reached is None:
            self.stuck = True
            return known
        refined = _refined(relaxation, solution)
        if isinstance(self.lead, SoftLead):
            mark = self.lead.responses(solution.reached)
            refined |= not np.isclose(self.marks, mark, rtol=0.0, atol=1e-5).all(axis=1).any()
            self.marks = np.vstack([self.marks, mark])
            better = _with_search(sample, relaxation, solution, known, self.normals)
        else:
            better = _with_points(sample, relaxation, solution, known, self.normals)
        refined |= better.distance < known.distance
        self.stuck = not (refined or solution.bound > self.lower)
        self.lower = max(self.lower, solution.bound)
        return better


def _radius(known: Bounds) -> float:
    """The radius to search next: programmes of small radii are solved faster."""
    if not np.isfinite(known.distance):
        return min(_GROWTH * known.lower if known.lower > 0 else 1.0, _LARGEST_RADIUS)
    radius = max(_GROWTH * known.lower, known.distance / _SMALLEST_SHARE)
    return min(radius, known.distance * (1 + 0.1 * EXACT))


def _refined(relaxation: Relaxation, solution: Solution) -> bool:
    """Cut the tracks whose cost is too low at a solution around the segments reached; whether any."""
    assert solution.reached is not None
    assert solution.sizes is not None
    if relaxation.norm == np.inf:
        return False
    inexact = length(solution.sizes, 2) > (1 + 0.1 * EXACT) * solution.bound
    refined = relaxation.norm == 2 and bool(inexact)
    for one, cuts, value, size in zip(
        relaxation.tracks, relaxation.cuts, solution.reached, solution.sizes, strict=True
    ):
        segment, change = one.place(value)
        if len(one.changes) > 1 and abs(change) - size > 1e-9 * relaxation.radius:
            ends = set(one.changes[[segment, segment + 1]].tolist())
            refined |= not ends <= cuts
            cuts |= ends
    return refined


def _with_search(
    sample: Sample, relaxation: Relaxation, solution: Solution, known: Bounds, normals: list[Floats]
) -> Bounds:
    """The bounds with the nearest point that a search finds from what a solution reached."""
    assert solution.reached is not None
    assert solution.sizes is not None
    places = zip(relaxation.tracks, solution.reached, strict=True)
    change = np.array([one.place(value)[1] for one, value in places])
    limits = Limits(sample.low[None], sample.high[None], sample.scale, sample.norm)
    problem = SearchProblem(sample.network, sample.x[None], np.array([sample.own]), limits)
    # Slightly farther, as the lead is larger than that of the relaxation.
    starts = sample.x + sample.scale * change * np.array([[1.0], [1.0 + EXACT], [1.01]])
    (point,) = found_points(problem, starts[None])
    normals += [solution.sizes, np.abs(point - sample.x) / sample.scale]
    distance = sample.size(point)
    return Bounds(known.lower, distance, point) if distance < known.distance else known


def _with_points(
    sample: Sample, relaxation: Relaxation, solution: Solution, known: Bounds, normals: list[Floats]
) -> Bounds:
    """The bounds with the nearest point of the linear piece that a solution reached.

    Its change and that of the solution are added to the normals.
    """
    assert solution.sizes is not None
    for slack, overshoot in product(_SLACKS, _OVERSHOOTS):
        step = _linear_piece(relaxation, solution, slack).shortest_step(overshoot)
        if step is None:
            continue
        normals += [np.abs(step), solution.sizes]
        point = np.clip(sample.x + sample.scale * step, sample.low, sample.high)
        if sample.network.classes(point[None])[0] != sample.own:
            distance = sample.size(point)
            return known if distance >= known.distance else Bounds(known.lower, distance, point)
    return known


@dataclass(frozen=True, eq=False)
class _LinearPiece:
    """Changes (N,) between limits, in which ``rows @ change >= wanted``.

    The first row is the fall of the lead, ``height`` the lead without a change.
    """

    rows: Floats
    wanted: Floats
    low: Floats
    high: Floats
    height: float
    radius: float
    norm: float

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


def _linear_piece(relaxation: Relaxation, solution: Solution, slack: float) -> _LinearPiece:
    """The piece in which maps and lead are linear around what a solution reached."""
    assert solution.reached is not None
    slopes, bases, low, high = (np.zeros(len(relaxation.tracks)) for _ in range(4))
    for j, (one, value) in enumerate(zip(relaxation.tracks, solution.reached, strict=True)):
        slopes[j], bases[j], low[j], high[j] = _line(one, value)
    values = np.array([one.values[[0, -1]] for one in relaxation.tracks])
    lead = relaxation.lead
    least, most = lead.ranges(values[:, 0], values[:, 1])
    signs = np.where(lead.responses(solution.reached) > 0, 1.0, -1.0)
    straight = lead.where(signs > 0, np.zeros(len(signs), bool))
    crossed = (least < 0) & (most > 0) & (lead.bends != 0)
    rows = np.vstack([-straight.slope, signs[crossed, None] * lead.weights[crossed]])
    allowed = slack * np.maximum(-least, most)[crossed]
    at_base = signs[crossed] * lead.responses(bases)[crossed]
    wanted = np.append(straight.offset + straight.slope @ bases, -at_base - allowed)
    height = lead.at(relaxation.start)
    return _LinearPiece(rows * slopes, wanted, low, high, height, relaxation.radius, relaxation.norm)


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
