"""The Euclidean distance to another class for leads with bends, with a proof.

Branch and bound over parts of the surroundings of a sample: an interval for each feature and one for
each response. In a part, a bend that raises the lead is at least each of its tangents, one that lowers
it at most its chord, and the map of a feature lies in a band. So the lead is at least a convex function.
The nearest change at which that is not positive is a quadratic programme (DAQP), solved by cutting
planes.

Its solution u is the nearest point of a convex set. Hence every change v in the part that is no longer
than a known one lies in a cap: ``v·u >= ‖u‖²`` and ``‖v‖ <= radius``. The cap narrows all intervals, and
shrinks to a point where the bounds meet. No linear programme knows as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from time import perf_counter

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.robustness.bands import Band, Maps
from ffmlp.robustness.bent_leads import BentLead
from ffmlp.robustness.nearby_points import (
    EXACT,
    Bounds,
    Reached,
    Sample,
    next_radius,
    with_nearer_point,
    with_searched_point,
)
from ffmlp.robustness.polyhedra import SOLVERS

# A requirement becomes a row if it is violated by more than this, relative to the radius.
_VIOLATED = 1e-8
# Responses whose limits become rows at once, and rounds of adding rows before a part is divided.
_ROWS_AT_ONCE, _MOST_ROUNDS = 4, 40
# Rows that are met by more than this share of the radius are dropped.
_LOOSE = 0.02
# A part is divided if a round raises its bound by less than this share of what is missing.
_WORTHWHILE = 0.03
# A part is done if its bound is nearer to the radius than this, relative to it.
_CLOSE = 0.5 * EXACT
# The relative errors of the least size that DAQP finds, and of a sum of float64 numbers.
_ERROR, _ROUNDING = 1e-8, 1e-13
# A band is renewed if an interval has shrunk by this factor and costs this share of the lead.
_SHRUNK, _MATTERS = 0.9, 0.02
# Points on the way to the radius at which the lead is computed; the share of a lead that is almost zero.
_WAY, _ALMOST = 6, 1e-6


@dataclass(frozen=True, eq=False)
class _Part:
    """Changes between ``low`` and ``high`` (N,) with responses between ``least`` and ``most`` (L,).

    Those that are no longer than the radius and at which the lead is not positive have
    ``rows @ change >= wanted``. The nearest change with this is ``step`` (N,). None is shorter than
    ``lower``.
    """

    lead: BentLead
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    band: Band
    rows: Floats
    wanted: Floats
    step: Floats
    lower: float

    @classmethod
    def whole(cls, lead: BentLead, maps: Maps, band: Band, lower: float) -> _Part:
        """All changes."""
        far, n = np.full(len(lead.bends), np.inf), len(maps.changes)
        ends = maps.changes[:, 0], maps.changes[:, -1]
        return cls(lead, *ends, -far, far, band, np.zeros((0, n)), np.zeros(0), np.zeros(n), lower)


@dataclass(frozen=True, eq=False)
class _Line:
    """A function of the mapped features that is nowhere larger than the lead in a part.

    ``lost`` (L,) is what each bend is lower at the nearest change, ``blurred`` (N,) what the band of
    each feature adds to that.
    """

    slope: Floats
    offset: float
    lost: Floats
    blurred: Floats

    @classmethod
    def of(cls, part: _Part, maps: Maps) -> _Line:
        """Tangents and chords at the nearest change of a part."""
        lead, z = part.lead, maps.at(part.step)
        h = np.clip(lead.responses(z), part.least, part.most)
        first, last, values = lead.bend(part.least), lead.bend(part.most), lead.bend(h)
        run, down = part.most - part.least, lead.bends < 0
        chords = np.divide(last - first, run, out=np.zeros_like(run), where=run > 0)
        slopes = np.where(down, chords, lead.bend_slope(h))
        heights = np.where(down, first - chords * part.least, values - slopes * h)
        factors = lead.bends * slopes
        slope = lead.slope + factors @ lead.weights
        below, above = part.band.at(part.step)[0]
        return cls(
            slope,
            lead.offset + float(lead.bends @ heights + factors @ lead.biases),
            lead.bends * (values - heights - slopes * h),
            np.where(slope > 0, slope * (z - below), slope * (z - above)),
        )


def nearest_euclidean(sample: Sample, leads: list[BentLead], known: Bounds, seconds: float) -> Bounds:
    """Bounds of the Euclidean distance to where a lead is not positive, within a time limit."""
    stop, reach = perf_counter() + seconds, sample.reach
    while not known.is_exact and perf_counter() < stop:
        radius = min(next_radius(known), reach)
        if radius <= known.lower:  # beyond the largest radius nothing is searched
            break
        known = _searched(sample, leads, known, radius, stop)
    return replace(known, lower=known.distance) if known.lower >= reach else known


def _searched(
    sample: Sample, leads: list[BentLead], known: Bounds, radius: float, stop: float
) -> Bounds:
    """The bounds after a search within a radius; the lower one is as large if there is no point."""
    tracks = sample.tracks(radius)
    maps, number = Maps.of(tracks), count()
    band = Band.of(maps, maps.changes[:, 0], maps.changes[:, -1])
    parts: list[tuple[float, int, _Part]] = []
    for lead in leads:
        part = _bounded(_Part.whole(lead, maps, band, known.lower), maps, radius)
        if part is not None:
            heappush(parts, (part.lower, next(number), part))
            reached = Reached(lead, tracks, maps.at(part.step), radius)
            known = with_searched_point(sample, reached, known)
    while parts:
        most = min(radius, known.distance)
        lower, _, part = heappop(parts)
        if lower >= most * (1 - _CLOSE):
            break
        known = replace(known, lower=max(known.lower, lower))
        if perf_counter() > stop:
            return known
        there = _on_the_way(part, maps, most)
        if there is not None:
            known = with_nearer_point(sample, Reached(part.lead, tracks, there, radius), known)
            most = min(most, known.distance)
        divided = _divided(part, maps)
        for child in divided or [part]:
            bounded = _bounded(child, maps, most, patient=not divided)
            if bounded is not None:
                heappush(parts, (bounded.lower, next(number), bounded))
    lower = radius if radius < known.distance else known.distance * (1 - _CLOSE)
    return replace(known, lower=max(known.lower, lower))


def _bounded(part: _Part, maps: Maps, radius: float, patient: bool = False) -> _Part | None:
    """The part with its bound raised; None if it has no change that is shorter than the radius.

    A patient search goes on until no requirement is violated.
    """
    for _ in range(_MOST_ROUNDS):
        part = _narrowed(part, maps, radius)
        is_inside = bool(((part.low <= part.step) & (part.step <= part.high)).all())
        if is_inside:
            line = _Line.of(part, maps)
            renewed = _renewed(part, maps, line)
            if renewed is not part:
                part, line = renewed, _Line.of(renewed, maps)
            rows, wanted = _violated(part, line, radius)
            if not len(rows):
                break
            rows, wanted = np.vstack([part.rows, rows]), np.append(part.wanted, wanted)
            part = replace(part, rows=rows, wanted=wanted)
        step = _nearest(part, radius)
        if step is None:
            return None
        lower = max(part.lower, _size(step) * (1 - _ERROR))
        if lower >= radius * (1 - _CLOSE):
            return None
        gain, tight = lower - part.lower, part.rows @ step - part.wanted < _LOOSE * radius
        rows, wanted = part.rows[tight], part.wanted[tight]
        part = replace(part, rows=rows, wanted=wanted, step=step, lower=lower)
        if is_inside and not patient and gain < _WORTHWHILE * (radius - lower):
            break
    return part


def _nearest(part: _Part, radius: float) -> Floats | None:
    """The nearest change (N,) of a part that meets its rows; None if there is none."""
    low, high = part.low / radius, part.high / radius
    if not len(part.rows):
        return radius * np.clip(0.0, low, high)
    step = SOLVERS[2](part.rows, part.wanted / radius, low, high)
    return None if step is None else np.clip(step * radius, part.low, part.high)


def _size(step: Floats) -> float:
    return float(np.sqrt(step @ step))


def _narrowed(part: _Part, maps: Maps, radius: float) -> _Part:
    """The part within the cap that its nearest change and the radius leave."""
    size, weights = _size(part.step), part.lead.weights
    cap = _Cap(part.step / (size or 1.0), size * (1 - _ERROR), radius)
    first, last = cap.ranges(np.eye(len(part.low)))
    low = np.maximum(part.low, first)
    high = np.maximum(low, np.minimum(part.high, last))
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    slopes, below, above = maps.lines(low, high)
    least, most = cap.ranges(weights * slopes)
    ends = maps.at(low), maps.at(high)
    # The cap is about lines, the intervals are about each feature for itself: both hold.
    least = np.maximum(least + up @ below + down @ above, up @ ends[0] + down @ ends[1])
    most = np.minimum(most + up @ above + down @ below, up @ ends[1] + down @ ends[0])
    least = np.maximum(part.least, least + part.lead.biases)
    most = np.maximum(least, np.minimum(part.most, most + part.lead.biases))
    return replace(part, low=low, high=high, least=least, most=most)


@dataclass(frozen=True, eq=False)
class _Cap:
    """Changes of at most ``radius`` beyond the plane with a normal of length 1 at distance ``lower``."""

    normal: Floats
    lower: float
    radius: float

    def ranges(self, rows: Floats) -> tuple[Floats, Floats]:
        """The least and the largest product (k,) of each row (k, N) with a change in the cap."""
        along, size = rows @ self.normal, np.sqrt(np.sum(rows**2, axis=1))
        across = np.sqrt(np.maximum(size**2 - along**2, 0.0) * max(self.radius**2 - self.lower**2, 0.0))
        least, most = along * self.lower - across, along * self.lower + across
        # Where the end of the ball is beyond the plane, the plane does not matter.
        end, plane = self.radius * size, self.lower * size
        least = np.where(-along * self.radius >= plane, -end, least)
        return least, np.where(along * self.radius >= plane, end, most)


def _renewed(part: _Part, maps: Maps, line: _Line) -> _Part:
    """The part with a new band where intervals have shrunk and it matters."""
    shrunk = part.high - part.low < _SHRUNK * (part.band.high - part.band.low)
    some = np.flatnonzero(shrunk & (line.blurred > _MATTERS * (line.blurred.sum() + line.lost.sum())))
    if not len(some):
        return part
    return replace(part, band=part.band.renewed(maps, part.low, part.high, some))


def _violated(part: _Part, line: _Line, radius: float) -> tuple[Floats, Floats]:
    """Rows (k, N) and wanted values (k,) that the nearest change does not meet.

    They require that the lead is not positive and that responses stay in their intervals.
    """
    lead = part.lead
    coefficients = np.vstack([line.slope, lead.weights, -lead.weights])
    offsets = np.concatenate([[line.offset], lead.biases - part.most, part.least - lead.biases])
    values, slopes = part.band.at(part.step)
    up, down = np.maximum(coefficients, 0.0), np.minimum(coefficients, 0.0)
    gradients = up * slopes[0] + down * slopes[1]
    excess = up @ values[0] + down @ values[1] + offsets
    excess -= _ROUNDING * (np.abs(coefficients) @ np.abs(values).max(axis=0) + np.abs(offsets))
    size = np.sqrt(np.sum(gradients**2, axis=1))
    depth = np.divide(excess, size, out=np.where(excess > 0, radius, -radius), where=size > 0)
    chosen = np.append(0, 1 + np.argsort(-depth[1:], kind="stable")[:_ROWS_AT_ONCE])
    chosen = chosen[depth[chosen] > _VIOLATED * radius]
    # A row of zeros can never be met: there the lead or a response does not depend on the change.
    rows = -gradients[chosen] / np.where(size > 0, size, 1.0)[chosen, None]
    return rows, depth[chosen] + rows @ part.step


def _on_the_way(part: _Part, maps: Maps, radius: float) -> Floats | None:
    """The first mapped features (N,) beyond the nearest change at which the lead is not positive."""
    nothing = np.zeros(len(part.step))
    limit = _ALMOST * abs(part.lead.at(maps.at(nothing)))
    for factor in np.linspace(1.0, max(radius / (_size(part.step) or radius), 1.0), _WAY):
        z = maps.at(factor * part.step)
        if part.lead.at(z) <= limit:
            return z
    return None


def _divided(part: _Part, maps: Maps) -> list[_Part]:
    """The part divided where its lead is farthest from the true one; nothing if it is the true one."""
    line = _Line.of(part, maps)
    l, j = int(np.argmax(line.lost)), int(np.argmax(line.blurred))
    if max(line.lost[l], line.blurred[j]) <= 0:
        return []
    if line.lost[l] >= line.blurred[j]:
        response = part.lead.responses(maps.at(part.step))[l]
        cut = part.lead.cut(response, part.least[l], part.most[l])
        return [
            replace(part, most=_with(part.most, l, cut)),
            replace(part, least=_with(part.least, l, cut)),
        ]
    place = np.array([j])
    if part.band.low[j] < part.low[j] or part.band.high[j] > part.high[j]:
        return [replace(part, band=part.band.renewed(maps, part.low, part.high, place))]
    inside = maps.changes[j][(maps.changes[j] > part.low[j]) & (maps.changes[j] < part.high[j])]
    if not len(inside):
        return []
    cut = float(inside[np.argmin(np.abs(inside - part.step[j]))])
    intervals = (part.low, _with(part.high, j, cut)), (_with(part.low, j, cut), part.high)
    return [
        replace(part, low=low, high=high, band=part.band.renewed(maps, low, high, place))
        for low, high in intervals
    ]


def _with(values: Floats, place: int, value: float) -> Floats:
    """A copy of values (n,) with one of them replaced."""
    copy = values.copy()
    copy[place] = value
    return copy
