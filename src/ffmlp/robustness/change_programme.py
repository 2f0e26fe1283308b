"""The smallest change at which a lead is at most zero, as a mixed-integer programme for HiGHS."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeWarning, linprog
from scipy.sparse import csr_array

from ffmlp.arrays import Floats, Indices
from ffmlp.robustness.bent_leads import BentLead, Track, lower_hull
from ffmlp.robustness.polyhedra import dual_norm

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


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best values found, None if there are none, and a lower bound of the least cost.

    The bound is infinite if no values meet all requirements.
    """

    values: Floats | None
    bound: float


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

    def solved(self, seconds: float, gap: float = 0.0) -> Outcome:
        """The least cost that HiGHS finds within a time limit, up to a relative gap."""
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
            return Outcome(None, np.inf)
        if solved.status not in (_OPTIMAL, _TIMED_OUT):
            return Outcome(None, -np.inf)
        bound = -np.inf
        if any(self._whole):
            bound = -np.inf if (proved := solved.get("mip_dual_bound")) is None else float(proved)
        elif solved.status == _OPTIMAL:
            bound = float(solved.fun)
        return Outcome(solved.x, bound if np.isfinite(bound) else -np.inf)


# The least cost of a programme may be this share of the gap between the bounds too low.
_GAP_SHARE = 0.03


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The least size of a change, from below: the tracks' costs are replaced by convex functions.

    Attributes
    ----------
    lead : BentLead
        As a function of the mapped features.
    start : ndarray of shape (N,)
        The mapped sample.
    tracks : list of N Tracks
    cuts : sequence of N sets of float
        Changes at which each track is cut into pieces.
    lower, radius : float
        Bounds of the size of the change.
    norm : {1, inf}
    """

    lead: BentLead
    start: Floats
    tracks: list[Track]
    cuts: list[set[float]]
    lower: float
    radius: float
    norm: float

    def solved(self, seconds: float) -> Solution:
        """The relaxed change of the least size."""
        programme, unit = Programme(), self.radius / SIZE
        total = programme.add(self.lower / unit, SIZE, 1.0)
        low, high = (np.array([one.values[end] for one in self.tracks]) for end in (0, -1))
        steps = np.maximum(np.maximum(high - self.start, self.start - low), 1e-300) / SIZE
        lead = self.lead.by_steps(self.start, steps)
        ends = (low - self.start) / steps, (high - self.start) / steps
        moved = programme.add(*ends)
        sizes = (
            np.repeat(total, len(moved))
            if self.norm == np.inf
            else programme.add(np.zeros(len(moved)), SIZE)
        )
        for j, one in enumerate(self.tracks):
            if low[j] < high[j]:
                heights = one.heights / unit
                if self.norm == np.inf:
                    heights = np.maximum(heights, self.lower / unit)
                values = (one.values - self.start[j]) / steps[j]
                pieces = cut_pieces(one, self.cuts[j])
                add_costs(programme, moved[j], sizes[j], [(values[p], heights[p]) for p in pieces])
        if self.norm == 1:
            programme.at_most(0.0, (sizes, 1.0), (total, -1.0))
        require_no_lead(programme, moved, lead, *self._ranges(lead, steps, *ends))
        # While the bounds are far apart, the next programme is solved faster than this one is finished.
        outcome = programme.solved(seconds, _GAP_SHARE * (1 - self.lower / self.radius))
        if outcome.values is None:
            return Solution(outcome.bound, None, None)
        bound = outcome.bound * unit * (1 - ERROR)
        reached = self.start + steps * outcome.values[moved]
        return Solution(bound, reached, unit * outcome.values[sizes])

    def _ranges(self, lead: BentLead, steps: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the largest response (L,) within the radius, for scaled steps."""
        least, most = lead.ranges(low, high)
        speeds = np.array([one.speed for one in self.tracks]) / steps
        reach = self.radius * dual_norm(lead.weights * speeds, self.norm)
        return np.maximum(least, lead.biases - reach), np.minimum(most, lead.biases + reach)


@dataclass(frozen=True, eq=False)
class Solution:
    """A lower bound of the size; mapped features (N,) and the size (N,) of each change, if any."""

    bound: float
    reached: Floats | None
    sizes: Floats | None


def cut_pieces(track: Track, cuts: Iterable[float]) -> list[slice]:
    """The points of each piece of a track."""
    inside = np.flatnonzero(np.isin(track.changes, list(cuts)))
    last = len(track.changes) - 1
    ends = [0, *(int(cut) for cut in inside if 0 < cut < last), last]
    return [slice(a, b + 1) for a, b in pairwise(ends)]


def add_costs(
    programme: Programme, value: int, size: int, pieces: list[tuple[Floats, Floats]]
) -> Indices:
    """Require that a size is at least a convex function of a value, in the piece that the value is in.

    A piece is given by its points: values and heights. Returns a binary variable for each piece; none if
    there is one piece.
    """
    if len(pieces) == 1:
        for slope, intercept in zip(*lower_hull(*pieces[0]), strict=True):
            programme.at_most(-intercept, (value, slope), (size, -1.0))
        return np.zeros(0, np.intp)
    chosen = programme.add(np.zeros(len(pieces)), 1.0, whole=True)
    low, high = (np.array([end(values) for values, _ in pieces]) for end in (np.min, np.max))
    values = programme.add(np.minimum(low, 0.0), np.maximum(high, 0.0))
    sizes = programme.add(np.zeros(len(pieces)), SIZE)
    for place, piece in enumerate(pieces):
        programme.at_most(0.0, (values[place], 1.0), (chosen[place], -high[place]))
        programme.at_most(0.0, (values[place], -1.0), (chosen[place], low[place]))
        for slope, intercept in zip(*lower_hull(*piece), strict=True):
            programme.at_most(
                0.0, (values[place], slope), (chosen[place], intercept), (sizes[place], -1.0)
            )
    for sign in (1.0, -1.0):
        programme.at_most(sign, (chosen, sign))
        programme.at_most(0.0, (values, sign), (value, -sign))
    programme.at_most(0.0, (sizes, 1.0), (size, -1.0))
    return chosen


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
