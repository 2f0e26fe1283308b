"""The exact nearest point of another class, if the prediction is an argmax of linear functions.

Region r has the score ``normals[r]·x + offsets[r]``, and the region of the largest score decides (see
`ffmlp.network.region`). Another class is predicted where a region of it has at least the score of every
region of the sample's class: a union of convex polyhedra, one for each region of another class. The
sample is projected onto each of them, nearest first, until lower bounds exclude the others.
A polyhedron has a face for each region of the sample's class. Few of them matter, so faces become
constraints of the optimisation problem only when a solution violates them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ffmlp.arrays import Floats, Indices
from ffmlp.extras import imported

# The largest violation of a face by a solution, relative to the distance.
_TOLERANCE = 1e-9
# Violated faces that become constraints at once.
_FACES_AT_ONCE = 4
# The absolute tolerance of the solvers.
_PRECISION = 1e-10
_OPTIONS = {"primal_feasibility_tolerance": _PRECISION, "dual_feasibility_tolerance": _PRECISION}
# What DAQP answers if it has found the solution.
_SOLVED = 1


def dual_norm(vectors: Floats, norm: float) -> Floats:
    """The dual norm over the last axis: the largest product of each vector with a step of length 1."""
    if norm == 2:
        return np.sqrt(np.sum(vectors**2, axis=-1))
    magnitude = np.abs(vectors)
    return magnitude.max(axis=-1, initial=0.0) if norm == 1 else magnitude.sum(axis=-1)


def steepest_step(vectors: Floats, norm: float) -> Floats:
    """The step (n, N) of length 1 with the largest product with each vector; zero for a zero vector."""
    if norm == 2:
        size = dual_norm(vectors, norm)[:, None]
        return vectors / np.where(size > 0, size, 1.0)
    if norm == 1:
        largest = np.abs(vectors) == np.abs(vectors).max(axis=1, keepdims=True)
        return np.sign(vectors) * largest / largest.sum(axis=1, keepdims=True)
    return np.sign(vectors)


def length(steps: Floats, norm: float) -> Floats:
    """The norm of steps, over the last axis."""
    return np.linalg.norm(steps, ord=norm, axis=-1)


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores ``normals @ x + offsets`` of R regions, and the class that each votes for."""

    normals: Floats
    offsets: Floats
    classes: Indices


@dataclass(frozen=True, eq=False)
class FeasibleBox:
    """The feasible steps u (N,) from a sample, in units of ``scale``: ``low <= u <= high``."""

    scale: Floats
    low: Floats
    high: Floats
    norm: float

    def __post_init__(self) -> None:
        assert (self.low <= 0).all()
        assert (self.high >= 0).all()


@dataclass(frozen=True, eq=False)
class Nearest:
    """The step (N,) to the nearest point of another class, and its length.

    ``beyond(depth)`` is the step to a point that is deeper in the other class by ``depth``; None if
    there is none.
    """

    step: Floats
    distance: float
    beyond: Callable[[float], Floats | None]


def nearest_of_another_class(
    scores: LinearScores, x: Floats, winner: int, box: FeasibleBox
) -> Nearest | None:
    """The nearest point at which another class has at least the score of the winner.

    None if there is no such point in the box.
    """
    mine, others = (
        np.flatnonzero(part) for part in (scores.classes == winner, scores.classes != winner)
    )
    values = scores.normals @ x + scores.offsets
    best = mine[np.argmax(values[mine])]
    bound = _distances(scores, values, others, np.array([best]), box)[:, 0]
    nearest: Nearest | None = None
    for rank in np.argsort(bound, kind="stable"):
        limit = np.inf if nearest is None else nearest.distance
        if not bound[rank] < limit:
            break
        region = others[rank]
        faces = _distances(scores, values, np.array([region]), mine, box)[0]
        if faces.max() < limit:
            nearest = _Projection(scores, values, region, mine, box, faces).nearest(limit) or nearest
    return nearest


def _distances(
    scores: LinearScores, values: Floats, regions: Indices, mine: Indices, box: FeasibleBox
) -> Floats:
    """Distances to where each of the regions reaches the score of each of mine, ignoring the box."""
    movable = box.scale * (box.low < box.high)
    steepness = dual_norm((scores.normals[regions, None] - scores.normals[mine]) * movable, box.norm)
    behind = values[mine] - values[regions, None]
    distances = np.where(behind > 0, np.inf, 0.0)
    return np.divide(np.maximum(behind, 0.0), steepness, out=distances, where=steepness > 0)


class _Projection:
    """Projection onto the polyhedron of one region: ``slopes @ u >= behind`` for all faces.

    All lengths are in units of ``size``, a lower bound of the distance, so that tolerances are relative.
    """

    def __init__(
        self,
        scores: LinearScores,
        values: Floats,
        region: int,
        mine: Indices,
        box: FeasibleBox,
        distances: Floats,
    ) -> None:
        self.box = box
        self.movable = box.low < box.high
        slopes = ((scores.normals[region] - scores.normals[mine]) * box.scale)[:, self.movable]
        steepness = np.sqrt(np.sum(slopes**2, axis=1))
        self.crossable = steepness > 0
        steepness = np.where(self.crossable, steepness, 1.0)
        self.size = max(distances.max(), 1e-9)
        self.slopes = slopes / steepness[:, None]
        self.behind = (values[mine] - values[region]) / steepness / self.size
        self.low, self.high = (bound[self.movable] / self.size for bound in (box.low, box.high))
        self.active = [int(np.argmax(distances))]

    def nearest(self, limit: float) -> Nearest | None:
        """The nearest point of the polyhedron; None if it is not nearer than ``limit``."""
        step = self._shortest_step(0.0, limit / self.size)
        if step is None or self._shortest_step(_TOLERANCE, np.inf) is None:
            return None
        distance = float(length(step, self.box.norm) * self.size)
        return Nearest(self._full_step(step), distance, self._beyond)

    def _beyond(self, depth: float) -> Floats | None:
        step = self._shortest_step(depth / self.size, np.inf)
        return None if step is None else self._full_step(step)

    def _full_step(self, step: Floats) -> Floats:
        """The step of all features, in units of the box."""
        full = np.zeros(len(self.movable))
        full[self.movable] = step * self.size
        return full

    def _shortest_step(self, depth: float, limit: float) -> Floats | None:
        """The shortest step to ``depth`` beyond all faces; None unless it is shorter than ``limit``."""
        wanted = self.behind + depth
        if (wanted[~self.crossable] > 0).any():
            return None
        solver = SOLVERS[self.box.norm]
        while True:
            step = solver(self.slopes[self.active], wanted[self.active], self.low, self.high)
            if step is None or not length(step, self.box.norm) < limit:
                return None
            violation = wanted - self.slopes @ step
            violation[self.active] = -np.inf
            worst = np.argsort(-violation, kind="stable")[:_FACES_AT_ONCE]
            worst = worst[violation[worst] > _TOLERANCE]
            if not len(worst):
                return step
            self.active += worst.tolist()


def _shortest_euclidean(slopes: Floats, wanted: Floats, low: Floats, high: Floats) -> Floats | None:
    """Minimise ‖u‖₂ subject to ``slopes @ u >= wanted`` and ``low <= u <= high``."""
    n, unlimited = len(low), np.full(len(wanted), np.inf)
    daqp = imported("daqp", "Euclidean distances (norms 1 and inf need no extra)")
    step, _, status, _ = daqp.solve(
        np.eye(n), np.zeros(n), np.ascontiguousarray(slopes),
        np.concatenate([high, unlimited]), np.concatenate([low, wanted]),
        np.zeros(n + len(wanted), np.intc), primal_tol=_PRECISION, dual_tol=_PRECISION,
    )  # fmt: skip
    if status == _SOLVED:
        return np.clip(step, low, high)
    # To miss a polyhedron would make a distance too large: a second solver must agree.
    if _shortest_maximum(slopes, wanted + 1e-6, low, high) is not None:
        raise RuntimeError(
            "DAQP found no point in a polyhedron in which HiGHS found one, so the distance is not "
            "known. Use norm 1 or inf, or another scale."
        )
    return None


def _shortest_manhattan(slopes: Floats, wanted: Floats, low: Floats, high: Floats) -> Floats | None:
    """The same for ‖u‖₁: u = p − m with p, m >= 0."""
    n = len(low)
    bounds = np.column_stack([np.zeros(2 * n), np.concatenate([high, -low])])
    return _linear(np.ones(2 * n), np.hstack([slopes, -slopes]), wanted, bounds, lambda v: v[:n] - v[n:])


def _shortest_maximum(slopes: Floats, wanted: Floats, low: Floats, high: Floats) -> Floats | None:
    """The same for ‖u‖∞, the last variable."""
    n = len(low)
    identity, ones = np.eye(n), np.ones((n, 1))
    faces = np.block([[slopes, np.zeros((len(slopes), 1))], [identity, ones], [-identity, ones]])
    bounds = np.vstack([np.column_stack([low, high]), [0.0, np.inf]])
    cost = np.append(np.zeros(n), 1.0)
    return _linear(cost, faces, np.concatenate([wanted, np.zeros(2 * n)]), bounds, lambda v: v[:n])


def _linear(
    cost: Floats, faces: Floats, least: Floats, bounds: Floats, step: Callable[[Floats], Floats]
) -> Floats | None:
    solved = linprog(cost, A_ub=-faces, b_ub=-least, bounds=bounds, method="highs", options=_OPTIONS)
    if solved.status == 2:  # infeasible
        return None
    if solved.x is None:
        raise RuntimeError(f"The linear program of a distance was not solved: {solved.message}")
    return step(solved.x)


SOLVERS: dict[float, Callable[[Floats, Floats, Floats, Floats], Floats | None]] = {
    1: _shortest_manhattan,
    2: _shortest_euclidean,
    np.inf: _shortest_maximum,
}
