"""The smallest change at which a lead is at most zero, as a mixed-integer programme.

Variables are scaled: steps of the mapped features to at most `SIZE`, sizes of changes to the radius.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ffmlp.arrays import Floats, Indices
from ffmlp.robustness.bent_leads import BentLead
from ffmlp.robustness.mixed_integer import ERROR, SIZE, Programme
from ffmlp.robustness.polyhedra import dual_norm
from ffmlp.robustness.tracks import Track, lower_hull

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
