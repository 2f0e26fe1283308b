"""The maps of all features as functions of their changes, and lines that enclose them in intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import Floats, Indices
from ffmlp.robustness.tracks import Track, lower_hull


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
        most = max(2, *(len(one.changes) for one in tracks))
        changes, values = (
            np.array([np.pad(part, (0, most - len(part)), mode="edge") for part in parts])
            for parts in zip(*((one.changes, one.values) for one in tracks), strict=True)
        )
        runs, rises = np.diff(changes), np.diff(values)
        return cls(changes, values, np.divide(rises, runs, out=np.zeros_like(runs), where=runs > 0))

    def at(self, change: Floats) -> Floats:
        """The mapped features (N,) after a change (N,); beyond the outermost points as there."""
        change = np.clip(change, self.changes[:, 0], self.changes[:, -1])
        segment = np.maximum((self.changes[:, :-1] <= change[:, None]).sum(axis=1) - 1, 0)
        own = np.arange(len(change)), segment
        return np.asarray(self.values[own] + self.slopes[own] * (change - self.changes[own]), np.float64)

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
        """The band with the narrowest lines for some of the features, in intervals within its own."""
        new = Band(self.low.copy(), self.high.copy(), self.slopes.copy(), self.intercepts.copy())
        ends = maps.at(low), maps.at(high)
        for j in some:
            new.low[j], new.high[j] = low[j], high[j]
            inside = (maps.changes[j] > low[j]) & (maps.changes[j] < high[j])
            changes = np.concatenate([low[[j]], maps.changes[j][inside], high[[j]]])
            values = np.concatenate([ends[0][[j]], maps.values[j][inside], ends[1][[j]]])
            for side, sign in enumerate((1.0, -1.0)):
                slopes, intercepts = lower_hull(changes, sign * values)
                for lines, own in ((new.slopes, slopes), (new.intercepts, intercepts)):
                    lines[side, j] = sign * own[-1]
                    lines[side, j, : len(own)] = sign * own
        return new

    def at(self, change: Floats) -> tuple[Floats, Floats]:
        """Values (2, N) below and above the maps after a change (N,), and the slopes there."""
        values = self.slopes * change[:, None] + self.intercepts
        best = np.stack([values[0].argmax(axis=1), values[1].argmin(axis=1)])[..., None]
        return (
            np.take_along_axis(values, best, 2)[..., 0],
            np.take_along_axis(self.slopes, best, 2)[..., 0],
        )
