"""Stage 1, pruning with a proof: the fewest hyperplanes that keep the training error below a threshold.

Greedy pruning gives no guarantee. The exact problem is an integer program: choose hyperplanes
``x_l ∈ {0, 1}`` and discard groups ``d_g ∈ {0, 1}`` of samples (those of one class in one region of all
hyperplanes). The discarded samples must stay within the error budget. Of every two groups of different
classes, one is discarded or a chosen hyperplane separates them. There are too many such pairs to list,
so a pair becomes a constraint when a solution violates it.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.design.pruning import PruningPath, prune
from ffmlp.network.codes import distinct_codes, pack
from ffmlp.network.regions import Regions

# Each group is constrained with this many of the groups that are hardest to separate from it.
_PARTNERS = 2
# A bound that exceeds an integer by more than this proves the next integer.
_BOUND_TOLERANCE = 1e-6


def prune_optimally(regions: Regions, error_threshold: float, time_limit: float) -> PruningPath:
    """Keep the fewest hyperplanes that the threshold allows.

    Starts from the greedy solution. The result's ``proved_minimum`` equals the number of hyperplanes
    kept if optimality was proved within ``time_limit`` seconds; otherwise the difference is the gap. If
    the error rate of all hyperplanes is not below the threshold, all are kept.
    """
    stop = perf_counter() + time_limit
    greedy = prune(regions, error_threshold)
    if not greedy.initial_error_rate < error_threshold:
        return replace(greedy, proved_minimum=len(greedy.kept))

    problem = _Problem(regions, error_threshold)
    kept, minimum = greedy.kept, 1
    every, none = np.arange(problem.n_hyperplanes), np.zeros(len(problem.mass), bool)
    pairs = problem.violated(every, none)  # inseparable
    while minimum < len(kept) and perf_counter() < stop:
        solution = problem.solve(pairs, minimum, len(kept), stop - perf_counter())
        if solution.status == 2:  # infeasible: no smaller set meets the threshold
            minimum = len(kept)
            break
        if solution.mip_dual_bound is not None:
            minimum = max(minimum, int(np.ceil(solution.mip_dual_bound - _BOUND_TOLERANCE)))
        if solution.x is None:
            break
        chosen, discarded = problem.parts(solution.x)
        if len(chosen) < len(kept) and regions.select(chosen).error_rate < error_threshold:
            kept = chosen
        known = len(pairs)
        pairs = pairs | problem.violated(chosen, discarded)
        if len(pairs) == known:
            break
    deleted = np.setdiff1d(every, kept)
    left = [np.setdiff1d(every, deleted[: n + 1]) for n in range(len(deleted))]
    error_rates = np.array([regions.select(some).error_rate for some in left])
    return PruningPath(deleted, error_rates, greedy.initial_error_rate, kept, minimum)


class _Problem:
    """The integer program of one region table."""

    def __init__(self, regions: Regions, error_threshold: float) -> None:
        region, self.label = np.nonzero(regions.counts)
        self.mass = regions.counts[region, self.label].astype(np.float64)
        self.codes = regions.codes[region]
        self.n_hyperplanes = regions.codes.shape[1]
        self.budget = _largest_below(error_threshold, self.mass)

    def violated(self, chosen: Indices, discarded: Flags) -> set[tuple[int, int]]:
        """Pairs of groups, neither of them discarded, that the chosen hyperplanes do not separate.

        Each group is paired with the groups of other classes in its cell whose codes differ least.
        """
        _, cell = distinct_codes(pack(self.codes[:, chosen]))
        pairs = set()
        held = np.flatnonzero(~discarded)
        held = held[np.argsort(cell[held], kind="stable")]
        for members in np.split(held, np.flatnonzero(np.diff(cell[held])) + 1):
            for group in members:
                others = members[self.label[members] != self.label[group]]
                separating = np.count_nonzero(self.codes[others] != self.codes[group], axis=1)
                for other in others[np.argsort(separating, kind="stable")[:_PARTNERS]]:
                    pairs.add((int(min(group, other)), int(max(group, other))))
        return pairs

    def solve(
        self, pairs: set[tuple[int, int]], minimum: int, maximum: int, time_limit: float
    ) -> OptimizeResult:
        """Fewest hyperplanes, from minimum to maximum, that satisfy the constraints of some pairs."""
        n_groups = len(self.mass)
        size = np.concatenate([np.ones(self.n_hyperplanes), np.zeros(n_groups)])
        mass = np.concatenate([np.zeros(self.n_hyperplanes), self.mass])
        constraints = [
            LinearConstraint(sparse.csr_array(size[None]), minimum, maximum),
            LinearConstraint(sparse.csr_array(mass[None]), -np.inf, self.budget),
        ]
        if pairs:
            first, second = np.array(sorted(pairs)).T
            row = np.arange(len(first))
            discarded = sparse.csr_array(
                (np.ones(2 * len(row)), (np.tile(row, 2), np.concatenate([first, second]))),
                shape=(len(row), n_groups),
            )
            separated = sparse.csr_array((self.codes[first] != self.codes[second]).astype(np.float64))
            constraints.append(LinearConstraint(sparse.hstack([separated, discarded]), 1, np.inf))
        return milp(
            size,
            constraints=constraints,
            integrality=np.ones(len(size)),
            bounds=Bounds(0, 1),
            options={"time_limit": max(time_limit, 0.01)},
        )

    def parts(self, x: Floats) -> tuple[Indices, Flags]:
        """The chosen hyperplanes and the discarded groups of a solution."""
        return np.flatnonzero(x[: self.n_hyperplanes] > 0.5), x[self.n_hyperplanes :] > 0.5


def _largest_below(error_threshold: float, mass: Floats) -> float:
    """The largest sum of errors whose rate is below the threshold."""
    total = float(mass.sum())
    # Larger sums are integers, but not all integers are such sums.
    if total >= 2.0**53 or not np.array_equal(mass, np.round(mass)):
        return float(np.nextafter(error_threshold * total, 0.0))
    errors = np.floor(error_threshold * total) + 1
    while not errors / total < error_threshold:
        errors -= 1
    return float(errors)
