"""Leads with a bend at each hyperplane, and the mixed-integer programmes of changes that end them."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeWarning, linprog
from scipy.sparse import csr_array

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.network.hyperplanes import Hyperplanes, sigmoid, softplus
from ffmlp.network.network import Network

# Networks with more hyperplanes are too large for mixed-integer programmes.
MOST_BENDS = 100
# Values closer than this, relative to the size of the values of a track, are the same.
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Track:
    """Points of a feature: mapped ``values`` (k,) and signed ``changes`` (k,), both ascending."""

    values: Floats
    changes: Floats

    @property
    def speed(self) -> float:
        """The largest change of the value, relative to the size of the change."""
        sizes = np.abs(self.changes)
        rise, moved = np.abs(self.values - self.values[np.argmin(sizes)]), sizes > 0
        return float((rise[moved] / sizes[moved]).max(initial=0.0))

    def place(self, value: float) -> tuple[int, float]:
        """The segment (by its first point) that reaches a value with the smallest change; the change."""
        if len(self.values) == 1:
            return 0, float(self.changes[0])
        slack = _SAME * max(1.0, float(np.abs(self.values).max()))
        at = np.clip(value, self.values[0], self.values[-1])
        low, high = self.values[:-1], self.values[1:]
        segments = np.flatnonzero((low <= at + slack) & (at - slack <= high))
        rise = high[segments] - low[segments]
        share = np.divide(at - low[segments], rise, out=np.zeros(len(segments)), where=rise > slack)
        first, last = self.changes[segments], self.changes[segments + 1]
        change = first + np.clip(share, 0.0, 1.0) * (last - first)
        # A level segment reaches its value everywhere: with the end of the smaller change.
        nearer_end = np.where(np.abs(first) <= np.abs(last), first, last)
        change = np.where(rise <= slack, nearer_end, change)
        best = int(np.argmin(np.abs(change)))
        return int(segments[best]), float(change[best])

    def pieces(self, cuts: Collection[float]) -> list[slice]:
        """The points of each piece, if the track is cut at some changes."""
        inside = np.flatnonzero(np.isin(self.changes, list(cuts)))
        last = len(self.changes) - 1
        ends = [0, *(int(cut) for cut in inside if 0 < cut < last), last]
        return [slice(a, b + 1) for a, b in pairwise(ends)]

    def cut_around(self, segment: int, cuts: set[float]) -> bool:
        """Add the ends of a segment to the cuts; whether there is a new one."""
        ends = set(self.changes[[segment, segment + 1]].tolist())
        is_new = not ends <= cuts
        cuts |= ends
        return is_new


def track(
    x: float, scale: float, low: float, high: float, radii: Floats, knots: Floats, scores: Floats
) -> Track:
    """The track of a feature with value x between limits, up to the largest of some radii.

    Changes of the size of each radius, in units of ``scale``, are among its points. The map of the
    feature interpolates scores at knots; it is the feature itself if there are no knots.
    """
    inner = np.concatenate([x - radii * scale, [x], x + radii * scale])
    least, most = max(low, inner.min()), min(high, inner.max())
    places = np.concatenate([[least, most], inner, knots])
    places = places[(places >= least) & (places <= most)]
    changes, which = np.unique((places - x) / scale, return_index=True)
    values = np.interp(places[which], knots, scores) if len(knots) else places[which]
    return Track(values, changes)


def knots_and_scores(planes: Hyperplanes, feature: int) -> tuple[Floats, Floats]:
    """The knots of a feature's map and its scores there; none if features are not mapped."""
    maps = planes.gaussianisation
    return (np.zeros(0), np.zeros(0)) if maps is None else (maps.knots[feature], maps.scores[feature])


def lower_hull(values: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Slopes and intercepts of the largest convex function below points, one pair for each segment."""
    hull: list[tuple[float, float]] = []
    order = np.lexsort((heights, values))
    for point in zip(values[order].tolist(), heights[order].tolist(), strict=True):
        if hull and point[0] <= hull[-1][0]:
            continue  # a lower point at this value came first
        while len(hull) > 1:
            (x, y), (x_next, y_next) = hull[-2:]
            if (y_next - y) * (point[0] - x) < (point[1] - y) * (x_next - x):
                break  # the last point is below the line to this one
            hull.pop()
        hull.append(point)
    corners = np.array(hull)
    if len(corners) == 1:
        return np.zeros(1), corners[:, 1]
    slopes = np.diff(corners[:, 1]) / np.diff(corners[:, 0])
    return slopes, corners[:-1, 1] - slopes * corners[:-1, 0]


# Responses at which softplus is exact at first, and beyond which it is a line.
_KNOTS = np.array([-6.0, -3.0, -1.5, 0.0, 1.5, 3.0, 6.0])
_SATURATED = 25.0


@dataclass(frozen=True, eq=False)
class BentLead:
    """The lead ``slope·z + offset + Σ_l bends_l·max(0, weights_l·z + biases_l)`` at z (N,)."""

    slope: Floats
    offset: float
    weights: Floats  # (L, N)
    biases: Floats  # (L,)
    bends: Floats  # (L,)

    def at(self, z: Floats) -> float:
        """The lead at z (N,)."""
        return float(self.slope @ z + self.offset + self.bends @ self.bend(self.responses(z)))

    def bend(self, responses: Floats) -> Floats:
        """What each response adds to the lead, without its factor."""
        return np.maximum(responses, 0.0)

    def bend_slope(self, responses: Floats) -> Floats:
        """The slope of `bend`."""
        return (responses > 0).astype(np.float64)

    def cut(self, response: float, least: float, most: float) -> float:
        """Where to divide the interval of a response, so that chords of `bend` come nearer to it."""
        return 0.0

    def responses(self, z: Floats) -> Floats:
        """The responses (L,) whose positive parts bend the lead."""
        return self.weights @ z + self.biases

    def below(self, marks: Floats) -> BentLead:
        """A lead of bends that is nowhere larger: this one."""
        return self

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the largest response (L,) in a box."""
        middle, half = (low + high) / 2, (high - low) / 2
        centre, reach = self.responses(middle), np.abs(self.weights) @ half
        return centre - reach, centre + reach

    def where(self, positive: Flags, bent: Flags) -> BentLead:
        """The lead where the responses ``positive`` (L,) are so; of the others only ``bent`` count."""
        sure = np.where(positive & ~bent, self.bends, 0.0)
        return BentLead(
            self.slope + sure @ self.weights,
            self.offset + float(sure @ self.biases),
            self.weights[bent],
            self.biases[bent],
            self.bends[bent],
        )

    def by_steps(self, start: Floats, unit: Floats) -> BentLead:
        """The lead as a function of steps v (N,), with z = start + unit·v."""
        return replace(
            self,
            slope=self.slope * unit,
            offset=self.offset + float(self.slope @ start),
            weights=self.weights * unit,
            biases=self.responses(start),
        )


@dataclass(frozen=True, eq=False)
class SoftLead(BentLead):
    """The same with softplus, ``log(1 + exp(h))``, instead of ``max(0, h)``."""

    def bend(self, responses: Floats) -> Floats:
        """What each response adds to the lead, without its factor."""
        return softplus(responses)

    def bend_slope(self, responses: Floats) -> Floats:
        """The slope of `bend`."""
        return sigmoid(responses)

    def cut(self, response: float, least: float, most: float) -> float:
        """Where to divide the interval of a response, so that chords of `bend` come nearer to it."""
        margin = 0.1 * (most - least)
        return float(np.clip(response, least + margin, most - margin))

    def below(self, marks: Floats) -> BentLead:
        """A lead that is nowhere larger, and equal where all responses are among marks (k, L).

        A bend that raises the lead is replaced by tangents, one that lowers it by chords.
        """
        base, offset = self.slope, self.offset
        # Start with none, for a lead without bends.
        weights, biases, bends = [self.weights[:0]], [self.biases[:0]], [self.bends[:0]]
        for l in np.flatnonzero(self.bends):
            knots = np.unique(np.clip(np.append(_KNOTS, marks[:, l]), -_SATURATED, _SATURATED).round(5))
            corners, turns, value, slope = (_tangents if self.bends[l] > 0 else _chords)(knots)
            # The first line is value + slope·h.
            base = base + self.bends[l] * slope * self.weights[l]
            offset += self.bends[l] * (value + slope * self.biases[l])
            weights.append(np.tile(self.weights[l], (len(corners), 1)))
            biases.append(self.biases[l] - corners)
            bends.append(self.bends[l] * turns)
        parts = (np.concatenate(part) for part in (weights, biases, bends))
        return BentLead(base, offset, *parts)


def _chords(knots: Floats) -> tuple[Floats, Floats, float, float]:
    """Corners and turns of a polyline that is nowhere below softplus; value and slope of its start."""
    values = softplus(knots)
    slopes = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [1.0]])
    return knots, np.diff(slopes), float(values[0]), 0.0


def _tangents(knots: Floats) -> tuple[Floats, Floats, float, float]:
    """The same for a polyline that is nowhere above softplus."""
    values, slopes = softplus(knots), sigmoid(knots)
    heights = values - slopes * knots
    turns = np.diff(slopes)
    return -np.diff(heights) / turns, turns, float(heights[0]), float(slopes[0])


def bent_lead(network: Network, winner: int, rival: int) -> BentLead | None:
    """The lead of one class over another, if each hyperplane bends it once."""
    planes, bends = network.hyperplanes, network.stages.bends(winner, rival)
    if bends is None:
        return None
    lead = SoftLead if bends.soft else BentLead
    return lead(
        bends.slopes @ planes.weights,
        bends.offset + float(bends.slopes @ planes.biases),
        planes.weights,
        planes.biases,
        bends.turns,
    )


# Variables should be of this order of magnitude, so that the absolute tolerances of HiGHS are small.
SIZE = 100.0
# The relative error of the least cost that HiGHS reports for variables of this size.
ERROR = 1e-7
_OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "mip_abs_gap": 1e-8,
}
_OPTIMAL, _TIMED_OUT, _INFEASIBLE = 0, 1, 2


class Programme:
    """Minimise a linear cost of variables, some of them whole numbers, under linear requirements."""

    def __init__(self) -> None:
        self._low: list[float] = []
        self._high: list[float] = []
        self._cost: list[float] = []
        self._whole: list[bool] = []
        self._rows: list[tuple[Indices, Floats]] = []
        self._limits: list[float] = []

    def add(
        self, low: ArrayLike, high: ArrayLike, cost: ArrayLike = 0.0, whole: bool = False
    ) -> Indices:
        """Add variables between limits; returns their numbers."""
        lows, highs, costs = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(part, np.float64)) for part in (low, high, cost))
        )
        first = len(self._low)
        self._low += lows.tolist()
        self._high += highs.tolist()
        self._cost += costs.tolist()
        self._whole += [whole] * len(lows)
        return np.arange(first, first + len(lows))

    def at_most(self, limit: float, *terms: tuple[ArrayLike, ArrayLike]) -> None:
        """Require that the sum of variables times factors, given as pairs, is at most ``limit``."""
        variables, factors = [], []
        for some, values in terms:
            numbers = np.atleast_1d(some)
            variables.append(numbers)
            factors.append(np.broadcast_to(np.asarray(values, np.float64), numbers.shape))
        self._rows.append((np.concatenate(variables), np.concatenate(factors)))
        self._limits.append(float(limit))

    def solved(self, seconds: float, gap: float = 0.0) -> tuple[float, Floats | None]:
        """A lower bound of the least cost, infinite if no values meet all requirements; the best values.

        They are what HiGHS finds within a time limit, up to a relative gap.
        """
        lengths = [len(variables) for variables, _ in self._rows]
        places = np.repeat(np.arange(len(lengths)), lengths)
        variables, factors = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        table = csr_array((factors, (places, variables)), (len(lengths), len(self._low)))
        with warnings.catch_warnings():
            # SciPy warns that it passes some of the options to HiGHS as they are.
            warnings.simplefilter("ignore", OptimizeWarning)
            solved = linprog(
                self._cost, table, self._limits, bounds=np.column_stack([self._low, self._high]),
                integrality=np.array(self._whole, np.uint8), method="highs",
                options=_OPTIONS | {"time_limit": seconds, "mip_rel_gap": max(gap, ERROR / 10)},
            )  # fmt: skip
        if solved.status == _INFEASIBLE:
            return np.inf, None
        if solved.status not in (_OPTIMAL, _TIMED_OUT):
            return -np.inf, None
        bound = solved.fun if solved.status == _OPTIMAL else None
        if any(self._whole):
            bound = solved.get("mip_dual_bound")
        return float(bound) if bound is not None and np.isfinite(bound) else -np.inf, solved.x


def add_costs(programme: Programme, value: int, size: int, pieces: list[tuple[Floats, Floats]]) -> None:
    """Require that a size is at least a convex function of a value, in the piece that the value is in.

    A piece is given by its points: values and heights.
    """
    if len(pieces) == 1:
        for slope, intercept in zip(*lower_hull(*pieces[0]), strict=True):
            programme.at_most(-intercept, (value, slope), (size, -1.0))
        return
    chosen = programme.add(np.zeros(len(pieces)), 1.0, whole=True)
    low, high = (np.array([end(values) for values, _ in pieces]) for end in (np.min, np.max))
    values = programme.add(np.minimum(low, 0.0), np.maximum(high, 0.0))
    sizes = programme.add(np.zeros(len(pieces)), SIZE)
    for number, piece in enumerate(pieces):
        programme.at_most(0.0, (values[number], 1.0), (chosen[number], -high[number]))
        programme.at_most(0.0, (values[number], -1.0), (chosen[number], low[number]))
        for slope, intercept in zip(*lower_hull(*piece), strict=True):
            programme.at_most(
                0.0, (values[number], slope), (chosen[number], intercept), (sizes[number], -1.0)
            )
    for sign in (1.0, -1.0):
        programme.at_most(sign, (chosen, sign))
        programme.at_most(0.0, (values, sign), (value, -sign))
    programme.at_most(0.0, (sizes, 1.0), (size, -1.0))


def require_no_lead(
    programme: Programme, moved: Indices, lead: BentLead, least: Floats, most: Floats
) -> None:
    """Require that a lead is at most zero; its responses (L,) to variables lie between limits.

    A bend that raises the lead is at least the response and at least zero. One that lowers it is at most
    the response on one side of the hyperplane and at most zero on the other; a binary variable says
    which.
    """
    crossed = (least < 0) & (most > 0) & (lead.bends != 0)
    lead, least, most = lead.where(least >= 0, crossed), least[crossed], most[crossed]
    units = np.maximum(most, -least) / SIZE
    up = lead.bends > 0
    bent = programme.add(np.zeros(len(units)), most / units)
    sides = np.full(len(units), -1)
    sides[~up] = programme.add(np.zeros(np.count_nonzero(~up)), 1.0, whole=True)
    for l, unit in enumerate(units):
        weights, bias = lead.weights[l] / unit, lead.biases[l] / unit
        if up[l]:
            programme.at_most(-bias, (moved, weights), (bent[l], -1.0))
        else:
            bottom, top = least[l] / unit, most[l] / unit
            programme.at_most(bias - bottom, (moved, -weights), (bent[l], 1.0), (sides[l], -bottom))
            programme.at_most(0.0, (bent[l], 1.0), (sides[l], -top))
    factors = lead.bends * units
    largest = max(np.abs(lead.slope).max(initial=0.0), np.abs(factors).max(initial=0.0), 1e-300)
    programme.at_most(-lead.offset / largest, (moved, lead.slope / largest), (bent, factors / largest))
