"""Leads as piecewise linear functions, of the inputs of the hyperplanes and of each feature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ffmlp.arrays import Flags, Floats
from ffmlp.inputs.features import Gaussianisation
from ffmlp.network.hyperplanes import sigmoid, softplus
from ffmlp.network.network import Network

# Values closer than this, relative to the size of the values of a track, are the same.
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Track:
    """Points of a feature: mapped ``values`` (k,) and signed ``changes`` (k,), both ascending."""

    values: Floats
    changes: Floats

    @property
    def heights(self) -> Floats:
        """The size (k,) of each change."""
        return np.abs(self.changes)

    @property
    def speed(self) -> float:
        """The largest change of the value, relative to the size of the change."""
        still = np.argmin(self.heights)
        moved = self.heights > 0
        rise = np.abs(self.values - self.values[still])[moved]
        return float((rise / self.heights[moved]).max(initial=0.0))

    def place(self, value: float) -> tuple[int, float]:
        """The segment (by its first point) that reaches a value with the smallest change; the change."""
        if len(self.values) == 1:
            return 0, float(self.changes[0])
        slack = _SAME * max(1.0, float(np.abs(self.values).max()))
        at = np.clip(value, self.values[0], self.values[-1])
        low, high = self.values[:-1], self.values[1:]
        found = np.flatnonzero((low <= at + slack) & (at - slack <= high))
        rise = high[found] - low[found]
        share = np.divide(at - low[found], rise, out=np.zeros(len(found)), where=rise > slack)
        run = self.changes[found + 1] - self.changes[found]
        change = self.changes[found] + np.clip(share, 0.0, 1.0) * run
        # A level segment reaches its value everywhere: with the end of the smaller change.
        level, ends = rise <= slack, np.stack([self.changes[found], self.changes[found + 1]])
        change = np.where(level, np.take_along_axis(ends, np.abs(ends).argmin(0)[None], 0)[0], change)
        best = int(np.argmin(np.abs(change)))
        return int(found[best]), float(change[best])


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


def tracks(
    gaussianisation: Gaussianisation | None,
    x: Floats,
    scale: Floats,
    low: Floats,
    high: Floats,
    radii: Floats,
) -> list[Track]:
    """The track of each feature."""
    nothing = (np.zeros(0),) * len(x)
    knots = nothing if gaussianisation is None else gaussianisation.knots
    scores = nothing if gaussianisation is None else gaussianisation.scores
    parts = zip(x, scale, low, high, [radii] * len(x), knots, scores, strict=True)
    return [track(*part) for part in parts]


def lower_hull(values: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Slopes and intercepts of the largest convex function below points, one pair for each segment."""
    hull: list[tuple[float, float]] = []
    order = np.lexsort((heights, values))
    for point in zip(values[order].tolist(), heights[order].tolist(), strict=True):
        if hull and point[0] <= hull[-1][0]:
            continue  # a lower point at this value came first
        while len(hull) > 1 and _turns_down(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    corners = np.array(hull)
    if len(corners) == 1:
        return np.zeros(1), corners[:, 1]
    slopes = np.diff(corners[:, 1]) / np.diff(corners[:, 0])
    return slopes, corners[:-1, 1] - slopes * corners[:-1, 0]


def _turns_down(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


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
        return float(self.slope @ z + self.offset + self.bends @ np.maximum(self.responses(z), 0.0))

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

    def at(self, z: Floats) -> float:
        """The lead at z (N,)."""
        return float(self.slope @ z + self.offset + self.bends @ softplus(self.responses(z)))

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
