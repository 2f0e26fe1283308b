"""How far one feature has to change to reach each value of the hyperplanes' input.

A feature and its mapped value are tied by a polyline, the *track*: points (value, change) in the order
of the feature. The cost of a value, the size of the change, is not convex where the map bends. A track
is therefore cut into pieces; within each piece a convex polyline lies below the cost. A piece of one
segment is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.inputs.features import Gaussianisation

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
