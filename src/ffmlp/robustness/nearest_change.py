"""The nearest point of another class for leads with bends, with a proof.

Mixed-integer programmes find it for the norms 1 and inf, branch and bound for the Euclidean norm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from time import perf_counter

import numpy as np

from ffmlp.arrays import Floats, Indices
from ffmlp.robustness.bent_leads import (
    ERROR,
    SIZE,
    BentLead,
    Programme,
    SoftLead,
    Track,
    add_costs,
    bent_lead,
    lower_hull,
    require_no_lead,
)
from ffmlp.robustness.nearby_points import (
    EXACT,
    LARGEST_RADIUS,
    Bounds,
    Reached,
    Sample,
    next_radius,
    with_nearer_point,
    with_searched_point,
)
from ffmlp.robustness.polyhedra import SOLVERS, dual_norm

# Programmes for each rival.
_MOST_ROUNDS = 100
# The least cost of a programme may be this share of the gap between the bounds too low.
_GAP_SHARE = 0.03


def nearest_change(sample: Sample, known: Bounds, seconds: float) -> Bounds:
    """Bounds of the distance to another class, within a time limit; equal where it is exact.

    The rival with the smallest lower bound is always next, so that no programme has a radius much larger
    than the distance to the nearest class.
    """
    if not sample.reach > 0:  # nothing can change
        return replace(known, lower=known.distance)
    stop = perf_counter() + seconds
    planes, stages = sample.network.hyperplanes, sample.network.stages
    (scores,) = stages.scores(planes.signed_responses(sample.x[None]))
    order = np.argsort(-scores, kind="stable")  # the smallest lead first
    possible = [int(label) for label in order if np.isfinite(scores[label]) and label != sample.winner]
    candidates = (bent_lead(sample.network, sample.winner, label) for label in possible)
    leads = [lead for lead in candidates if lead is not None]
    if sample.norm == 2:
        return _nearest_euclidean(sample, leads, known, seconds)
    rivals = [_Rival(sample, lead, known.lower) for lead in leads]
    for _ in range(_MOST_ROUNDS * len(rivals)):
        left = [each for each in rivals if not each.stuck and known.distance > each.lower * (1 + EXACT)]
        seconds = stop - perf_counter()
        if not left or seconds <= 0:
            break
        known = min(left, key=lambda rival: rival.lower).after_a_round(known, seconds)
    lower = min([known.distance, *(rival.lower for rival in rivals)])
    return replace(known, lower=lower)


class _Rival:
    """One other class: a proved lower bound of its distance, and the state of its programme.

    ``cuts`` has, for each feature, the changes at which its track is cut into pieces. ``marks`` (k, L)
    are the responses at which a lead with softplus is exact.
    """

    def __init__(self, sample: Sample, lead: BentLead, lower: float) -> None:
        self.sample, self.lead, self.lower = sample, lead, lower
        self.reach, self.stuck = sample.reach, False
        self.cuts: list[set[float]] = [set() for _ in sample.x]
        self.marks = np.zeros((0, len(lead.bends)))

    def after_a_round(self, known: Bounds, seconds: float) -> Bounds:
        """The nearest point known after one more programme, which also raises the lower bound."""
        sample, known = self.sample, replace(known, lower=self.lower)
        radius = min(next_radius(known), self.reach)
        tracks = sample.tracks(self.lower, radius)
        bound, reached, sizes = self._relaxed(tracks, radius, seconds)
        if bound == np.inf:  # nothing within the radius
            all_searched = radius >= min(known.distance, self.reach)
            self.lower = np.inf if all_searched else radius
            self.stuck = all_searched or radius >= LARGEST_RADIUS
            return known
        if reached is None or sizes is None:
            self.stuck = True
            return known
        refined = sample.norm == 1 and self._cut(tracks, reached, sizes, radius)
        if isinstance(self.lead, SoftLead):
            mark = self.lead.responses(reached)
            refined |= not np.isclose(self.marks, mark, rtol=0.0, atol=1e-5).all(axis=1).any()
            self.marks = np.vstack([self.marks, mark])
        better = with_nearer_point(sample, Reached(self.lead, tracks, reached, radius), known)
        refined |= better.distance < known.distance
        self.stuck = not (refined or bound > self.lower)
        self.lower = max(self.lower, bound)
        return better

    def _relaxed(
        self, tracks: list[Track], radius: float, seconds: float
    ) -> tuple[float, Floats | None, Floats | None]:
        """The smallest change if the tracks' costs are replaced by convex functions below them.

        Returns a lower bound of its size, its mapped features (N,) and the size (N,) of each change.
        """
        programme, unit, start = Programme(), radius / SIZE, self.sample.mapped
        total = programme.add(self.lower / unit, SIZE, 1.0)
        low, high = (np.array([path.values[end] for path in tracks]) for end in (0, -1))
        steps = np.maximum(np.maximum(high - start, start - low), 1e-300) / SIZE
        ends = (low - start) / steps, (high - start) / steps
        moved, largest = programme.add(*ends), self.sample.norm == np.inf
        sizes = np.repeat(total, len(moved)) if largest else programme.add(np.zeros(len(moved)), SIZE)
        for j, path in enumerate(tracks):
            if low[j] < high[j]:
                heights = np.abs(path.changes) / unit
                if largest:
                    heights = np.maximum(heights, self.lower / unit)
                values = (path.values - start[j]) / steps[j]
                pieces = [(values[piece], heights[piece]) for piece in path.pieces(self.cuts[j])]
                add_costs(programme, moved[j], sizes[j], pieces)
        if not largest:
            programme.at_most(0.0, (sizes, 1.0), (total, -1.0))
        lead = self.lead.below(self.marks).by_steps(start, steps)
        least, most = lead.ranges(*ends)
        speeds = np.array([path.speed for path in tracks]) / steps
        reach = radius * dual_norm(lead.weights * speeds, self.sample.norm)
        least, most = np.maximum(least, lead.biases - reach), np.minimum(most, lead.biases + reach)
        require_no_lead(programme, moved, lead, least, most)
        # While the bounds are far apart, the next programme is solved faster than this one is finished.
        bound, values = programme.solved(seconds, _GAP_SHARE * (1 - self.lower / radius))
        if values is None:
            return bound, None, None
        return bound * unit * (1 - ERROR), start + steps * values[moved], unit * values[sizes]

    def _cut(self, tracks: list[Track], reached: Floats, sizes: Floats, radius: float) -> bool:
        """Cut the tracks whose cost is too low at a solution around it; whether a cut is new."""
        refined = False
        for path, cuts, value, size in zip(tracks, self.cuts, reached, sizes, strict=True):
            segment, change = path.place(value)
            if len(path.changes) > 1 and abs(change) - size > 1e-9 * radius:
                refined |= path.cut_around(segment, cuts)
        return refined


@dataclass(frozen=True, eq=False)
class Maps:
    """Mapped ``values`` (N, k) at ascending ``changes`` (N, k), and the slopes (N, k - 1) between them.

    A track with fewer points ends with copies of its last one.
    """

    changes: Floats
    values: Floats
    slopes: Floats

    @classmethod
    def of(cls, tracks: list[Track]) -> Maps:
        """The maps of tracks."""
        most = max(2, *(len(path.changes) for path in tracks))
        changes, values = (
            np.array([np.pad(part, (0, most - len(part)), mode="edge") for part in parts])
            for parts in zip(*((path.changes, path.values) for path in tracks), strict=True)
        )
        runs, rises = np.diff(changes), np.diff(values)
        return cls(changes, values, np.divide(rises, runs, out=np.zeros_like(runs), where=runs > 0))

    def at(self, change: Floats) -> Floats:
        """The mapped features (N,) after a change (N,); beyond the outermost points as there."""
        change = np.clip(change, self.changes[:, 0], self.changes[:, -1])
        segment = np.maximum((self.changes[:, :-1] <= change[:, None]).sum(axis=1) - 1, 0)
        at = np.arange(len(change)), segment
        return np.asarray(self.values[at] + self.slopes[at] * (change - self.changes[at]), np.float64)

    def lines(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """Slopes (N,), and two intercepts (N,) each, of parallel lines that enclose the maps."""
        ends, run = (self.at(low), self.at(high)), high - low
        slopes = np.divide(ends[1] - ends[0], run, out=np.zeros_like(run), where=run > 0)
        inside = (self.changes > low[:, None]) & (self.changes < high[:, None])
        start = ends[0] - slopes * low
        others = np.where(inside, self.values - slopes[:, None] * self.changes, start[:, None])
        return slopes, others.min(axis=1), others.max(axis=1)


@dataclass(frozen=True, eq=False)
class Band:
    """Lines below and above each map in the intervals from ``low`` to ``high`` (N,).

    Slopes and intercepts are (2, N, k). The largest of the first lines is below the map, the smallest of
    the second ones above it.
    """

    low: Floats
    high: Floats
    slopes: Floats
    intercepts: Floats

    @classmethod
    def of(cls, maps: Maps, low: Floats, high: Floats) -> Band:
        """The narrowest band with convex lower and concave upper limits."""
        lines = np.zeros((2, *maps.changes.shape))
        return cls(low, high, lines, lines).renewed(maps, low, high, np.arange(len(low)))

    def renewed(self, maps: Maps, low: Floats, high: Floats, some: Indices) -> Band:
        """The band with the narrowest lines for some of the features, in narrower intervals."""
        new = Band(self.low.copy(), self.high.copy(), self.slopes.copy(), self.intercepts.copy())
        ends = maps.at(low), maps.at(high)
        for j in some:
            new.low[j], new.high[j] = low[j], high[j]
            inside = (maps.changes[j] > low[j]) & (maps.changes[j] < high[j])
            changes = np.concatenate([low[[j]], maps.changes[j][inside], high[[j]]])
            values = np.concatenate([ends[0][[j]], maps.values[j][inside], ends[1][[j]]])
            for side, sign in enumerate((1.0, -1.0)):
                slopes, intercepts = lower_hull(changes, sign * values)
                for lines, part in ((new.slopes, slopes), (new.intercepts, intercepts)):
                    lines[side, j] = sign * part[-1]
                    lines[side, j, : len(part)] = sign * part
        return new

    def at(self, change: Floats) -> tuple[Floats, Floats]:
        """Values (2, N) below and above the maps after a change (N,), and the slopes there."""
        values = self.slopes * change[:, None] + self.intercepts
        best = np.stack([values[0].argmax(axis=1), values[1].argmin(axis=1)])[..., None]
        return (
            np.take_along_axis(values, best, 2)[..., 0],
            np.take_along_axis(self.slopes, best, 2)[..., 0],
        )


# A requirement becomes a row if it is violated by more than this, relative to the radius.
_VIOLATED = 1e-8
# Responses whose limits become rows at once, and rounds of adding rows before a part is divided.
_ROWS_AT_ONCE, _MOST_EUCLIDEAN_ROUNDS = 4, 40
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


def _nearest_euclidean(sample: Sample, leads: list[BentLead], known: Bounds, seconds: float) -> Bounds:
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
    for _ in range(_MOST_EUCLIDEAN_ROUNDS):
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
    some = np.array([j])
    if part.band.low[j] < part.low[j] or part.band.high[j] > part.high[j]:
        return [replace(part, band=part.band.renewed(maps, part.low, part.high, some))]
    inside = maps.changes[j][(maps.changes[j] > part.low[j]) & (maps.changes[j] < part.high[j])]
    if not len(inside):
        return []
    cut = float(inside[np.argmin(np.abs(inside - part.step[j]))])
    intervals = (part.low, _with(part.high, j, cut)), (_with(part.low, j, cut), part.high)
    return [
        replace(part, low=low, high=high, band=part.band.renewed(maps, low, high, some))
        for low, high in intervals
    ]


def _with(values: Floats, index: int, value: float) -> Floats:
    """A copy of values (n,) with one of them replaced."""
    copy = values.copy()
    copy[index] = value
    return copy
