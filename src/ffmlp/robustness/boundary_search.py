"""Search for points of another class near samples: upper bounds of the distance.

Nothing is proved here. Gradient descent on the lead and given starts lead to points of another class.
Bisection finds the boundary between them and the sample. Points on its tangents bring it nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.network.network import Network
from ffmlp.robustness.limits import Limits
from ffmlp.robustness.polyhedra import dual_norm, length, steepest_step

_DESCENT_STEPS = 30
_REFINEMENTS = 25
_BISECTIONS = 45
# A step goes to the boundary of the linearised lead, times this factor.
_OVERSHOOT = 1.02


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Samples (n, N) of classes ``own`` (n,) that may move within limits."""

    network: Network
    samples: Floats
    own: Indices
    limits: Limits

    def rows(self, rows: Indices) -> SearchProblem:
        """Some of the samples."""
        return SearchProblem(self.network, self.samples[rows], self.own[rows], self.limits.rows(rows))

    def distance(self, points: Floats) -> Floats:
        """The distance of points (n, N) from their samples."""
        return length((points - self.samples) / self.limits.scale, self.limits.norm)

    def changed(self, points: Floats) -> Flags:
        """Whether the class of points is another than that of their samples."""
        return self.network.classes(points) != self.own


def found_points(problem: SearchProblem, starts: Floats) -> Floats:
    """A point of another class near each sample (n, N); NaN where none was found.

    ``starts`` (n, k, N) are candidates for such points; NaN marks missing ones.
    """
    best = np.full(problem.samples.shape, np.nan)
    for points in (_descended(problem), *np.moveaxis(starts, 1, 0)):
        points = np.clip(points, problem.limits.low, problem.limits.high)
        best = _nearer_points(problem, best, _bisected(problem, points))
    for _ in range(_REFINEMENTS):
        known = np.flatnonzero(np.isfinite(best).all(axis=1))
        if not len(known):
            return best
        part = problem.rows(known)
        tangent = _on_tangent(part, best[known])
        halfway = 0.5 * tangent + 0.5 * best[known]  # their sum may be no float
        better = _nearer_points(part, best[known], _bisected(part, tangent))
        better = _nearer_points(part, better, _bisected(part, halfway))
        gain = part.distance(best[known]) - part.distance(better)
        best[known] = better
        if not (gain > 1e-4 * part.distance(better)).any():
            break
    return best


def _nearer_points(problem: SearchProblem, one: Floats, other: Floats) -> Floats:
    """The nearer of two points to each sample; NaN is infinitely far."""
    near = [np.nan_to_num(problem.distance(points), nan=np.inf) for points in (one, other)]
    return np.where((near[1] < near[0])[:, None], other, one)


def _bisected(problem: SearchProblem, points: Floats) -> Floats:
    """The point just beyond the boundary on the line from the sample; NaN if the class is the same."""
    result = np.full_like(points, np.nan)
    there = np.flatnonzero(np.isfinite(points).all(axis=1))
    there = there[problem.rows(there).changed(points[there])] if len(there) else there
    if not len(there):
        return result
    part, far = problem.rows(there), points[there]
    near = part.samples.copy()
    for _ in range(_BISECTIONS):
        middle = 0.5 * near + 0.5 * far
        changed = part.changed(middle)[:, None]
        near, far = np.where(changed, near, middle), np.where(changed, middle, far)
    result[there] = far
    return result


def _descended(problem: SearchProblem) -> Floats:
    """Steps to the boundary of the linearised lead, until the class changes; NaN if it does not."""
    points = problem.samples.copy()
    active = np.arange(len(points))
    for _ in range(_DESCENT_STEPS):
        part = problem.rows(active)
        lead, gradient = _nearest_lead(part, points[active])
        points[active] = _stepped(part, points[active], lead + 1e-9, gradient)
        active = active[~part.changed(points[active])]
        if not len(active):
            break
    points[active] = np.nan
    return points


def _on_tangent(problem: SearchProblem, points: Floats) -> Floats:
    """The nearest point to the sample on the boundary's tangent at ``points``, slightly overshot."""
    lead, gradient = _nearest_lead(problem, points)
    at_sample = lead + np.sum(gradient * (problem.samples - points), axis=1)
    return _stepped(problem, problem.samples, np.maximum(at_sample, 0.0), gradient)


def _stepped(problem: SearchProblem, points: Floats, lead: Floats, gradient: Floats) -> Floats:
    """Points after the shortest step to a linear lead of zero, slightly overshot, within the limits."""
    limits = problem.limits
    stuck = (points <= limits.low) & (gradient > 0) | (points >= limits.high) & (gradient < 0)
    slope = np.where(stuck, 0.0, gradient) * limits.scale
    steepness = dual_norm(slope, limits.norm)[:, None]
    size = _OVERSHOOT * np.maximum(lead, 0.0)[:, None]
    # Where the lead is flat, no step is long enough.
    size = np.divide(size, steepness, out=np.zeros_like(size), where=steepness > 1e-9 * size)
    with np.errstate(over="ignore"):
        step = size * steepest_step(slope, limits.norm) * limits.scale
        moved = np.clip(points - step, limits.low, limits.high)
    # Nor is one that leads out of the range of floats: its end has no class.
    return np.where(np.isinf(moved).any(axis=1, keepdims=True), points, moved)


def _nearest_lead(problem: SearchProblem, points: Floats) -> tuple[Floats, Floats]:
    """The lead of the own class over the class of the nearest boundary, and its gradient (n, N)."""
    lead, gradient = problem.network.leads(points, problem.own)
    gradient = problem.network.hyperplanes.by_features(gradient, points)
    steepness = dual_norm(gradient * problem.limits.scale, problem.limits.norm)
    away = np.divide(lead, steepness, out=np.full_like(lead, np.inf), where=steepness > 0)
    nearest = np.arange(len(points)), np.argmin(away, axis=1)
    return lead[nearest], gradient[nearest]
