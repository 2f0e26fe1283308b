"""Points of another class near samples, found by walking: upper bounds of the distance.

Nothing is proved here. A walk follows the lead's gradient until the class changes; ways from the sample
to points of other classes are cut in halves; what is found is then drawn in along the boundary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.model.network import Network
from ffmlp.robustness.polyhedra import dual_norm, length

_WALK_STEPS = 30
_REFINEMENTS = 25
_BISECTIONS = 45
# A step goes this much beyond where the boundary would be if it were flat.
_OVERSHOOT = 1.02


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Where to search: samples (n, N) of classes ``own``, which move between ``low`` and ``high``.

    Lengths are in units of ``scale`` (N,).
    """

    network: Network
    samples: Floats
    own: NDArray[np.intp]
    low: Floats
    high: Floats
    scale: Floats
    norm: float

    def rows(self, rows: NDArray) -> SearchProblem:
        """Some of the samples."""
        parts = self.samples[rows], self.own[rows], self.low[rows], self.high[rows]
        return SearchProblem(self.network, *parts, self.scale, self.norm)

    def distance(self, points: Floats) -> Floats:
        """How far points (n, N) are from their samples."""
        return length((points - self.samples) / self.scale, self.norm)

    def changed(self, points: Floats) -> NDArray[np.bool_]:
        """Whether points have another class than their samples."""
        return self.network.classes(points) != self.own


def found_points(problem: SearchProblem, starts: Floats) -> Floats:
    """A point of another class near each sample (n, N); NaN where none was found.

    ``starts`` (n, k, N) are points that the search may try first, NaN where there is none.
    """
    best = np.full(problem.samples.shape, np.nan)
    candidates = [_walk(problem), *np.moveaxis(starts, 1, 0)]
    for points in candidates:
        best = _nearer(problem, best, _drawn_in(problem, np.clip(points, problem.low, problem.high)))
    for _ in range(_REFINEMENTS):
        known = np.flatnonzero(np.isfinite(best).all(axis=1))
        if not len(known):
            return best
        part = problem.rows(known)
        flat = _on_tangent(part, best[known])
        halfway = 0.5 * (flat + best[known])
        better = _nearer(part, best[known], _drawn_in(part, flat))
        better = _nearer(part, better, _drawn_in(part, halfway))
        gain = part.distance(best[known]) - part.distance(better)
        best[known] = better
        if not (gain > 1e-4 * part.distance(better)).any():
            break
    return best


def _nearer(problem: SearchProblem, one: Floats, other: Floats) -> Floats:
    """Of two points, the one nearer to the sample; NaN is infinitely far."""
    near = [np.nan_to_num(problem.distance(points), nan=np.inf) for points in (one, other)]
    return np.where((near[1] < near[0])[:, None], other, one)


def _drawn_in(problem: SearchProblem, points: Floats) -> Floats:
    """The point just beyond where the class changes on the way from the sample; NaN if it does not."""
    result = np.full_like(points, np.nan)
    there = np.flatnonzero(np.isfinite(points).all(axis=1))
    there = there[problem.rows(there).changed(points[there])] if len(there) else there
    if not len(there):
        return result
    part, far = problem.rows(there), points[there]
    near = part.samples.copy()
    for _ in range(_BISECTIONS):
        middle = 0.5 * (near + far)
        changed = part.changed(middle)[:, None]
        near, far = np.where(changed, near, middle), np.where(changed, middle, far)
    result[there] = far
    return result


def _walk(problem: SearchProblem) -> Floats:
    """Steps to where the nearest boundary would be if it were flat, until the class changes."""
    points = problem.samples.copy()
    going = np.arange(len(points))
    for _ in range(_WALK_STEPS):
        part = problem.rows(going)
        lead, gradient = _nearest_lead(part, points[going])
        points[going] = _stepped(part, points[going], lead + 1e-9, gradient)
        going = going[~part.changed(points[going])]
        if not len(going):
            break
    points[going] = np.nan
    return points


def _on_tangent(problem: SearchProblem, points: Floats) -> Floats:
    """The point nearest to the sample on the boundary's tangent at ``points``, and a little beyond."""
    lead, gradient = _nearest_lead(problem, points)
    at_sample = lead + np.sum(gradient * (problem.samples - points), axis=1)
    return _stepped(problem, problem.samples, np.maximum(at_sample, 0.0), gradient)


def _stepped(problem: SearchProblem, points: Floats, lead: Floats, gradient: Floats) -> Floats:
    """The shortest step that brings a linear lead to zero, a little longer, within the limits."""
    stuck = (points <= problem.low) & (gradient > 0) | (points >= problem.high) & (gradient < 0)
    slope = np.where(stuck, 0.0, gradient) * problem.scale
    steepness = dual_norm(slope, problem.norm)[:, None]
    if problem.norm == 2:
        direction = slope / np.where(steepness > 0, steepness, 1.0)
    elif problem.norm == 1:
        steepest = np.abs(slope) == np.abs(slope).max(axis=1, keepdims=True)
        direction = np.sign(slope) * steepest / steepest.sum(axis=1, keepdims=True)
    else:
        direction = np.sign(slope)
    size = _OVERSHOOT * np.maximum(lead, 0.0)[:, None]
    # Where the lead is flat, no step is long enough.
    size = np.divide(size, steepness, out=np.zeros_like(size), where=steepness > 1e-9 * size)
    return np.clip(points - size * direction * problem.scale, problem.low, problem.high)


def _nearest_lead(problem: SearchProblem, points: Floats) -> tuple[Floats, Floats]:
    """The lead of the own class over the class whose boundary seems nearest, and its gradient (n, N)."""
    lead, gradient = problem.network.leads(points, problem.own)
    gradient = problem.network.hyperplanes.by_features(gradient, points)
    steepness = dual_norm(gradient * problem.scale, problem.norm)
    away = np.divide(lead, steepness, out=np.full_like(lead, np.inf), where=steepness > 0)
    rival = np.argmin(away, axis=1)
    rows = np.arange(len(points))
    return lead[rows, rival], gradient[rows, rival]
