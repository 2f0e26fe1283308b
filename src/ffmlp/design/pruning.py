"""Stage 1, pruning: greedy as in the paper, or the fewest hyperplanes with a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from ffmlp.arrays import Flags, Floats, Indices, Shape, row_blocks
from ffmlp.network.region import Regions, Words, distinct_codes, pack

# Hyperplanes whose costs are computed at once: at least this many, and more if that makes few cells
# (hyperplane, region) to look up.
_HYPERPLANES_AT_ONCE = 6
_CELLS_AT_ONCE = 1 << 15
# Slots per region: enough for most slots that are looked up to be empty.
_SLOTS_PER_REGION = 32


@dataclass(frozen=True, eq=False)
class PruningPath:
    """The deleted hyperplanes in order, and the error rates.

    Attributes
    ----------
    deleted : ndarray of shape (n_deleted,)
        Hyperplanes in the order of their deletion, numbered as before pruning. The readout design
        deletes all at once, in ascending order.
    error_rates : ndarray of shape (n_deleted,)
        Training error rate after each deletion. In the readout design, the rate after all of them:
        the leave-one-out error rate with ``error_threshold``, the training error rate with
        ``max_neurons``.
    initial_error_rate : float
        The same with all hyperplanes; NaN if the readout design was fitted to some of them only.
    kept : ndarray of shape (L,)
        The remaining hyperplanes, in ascending order.
    proved_minimum : int
        A proved lower bound of the number of hyperplanes that stay below the threshold. Optimal pruning
        is optimal if it equals ``len(kept)``. Greedy pruning proves nothing; its bound is 1.
    """

    deleted: Annotated[Indices, Shape("d")]
    error_rates: Annotated[Floats, Shape("d")]
    initial_error_rate: float
    kept: Annotated[Indices, Shape("k")]
    proved_minimum: int = 1

    def __repr__(self) -> str:
        return f"PruningPath({len(self.deleted)} hyperplanes deleted, {len(self.kept)} kept)"

    def check(self, n_hyperplanes: int) -> None:
        """Raise a ValueError unless this number of hyperplanes is kept, and each other deleted once."""
        if len(self.kept) != n_hyperplanes or not (np.diff(self.kept) > 0).all():
            raise ValueError("the hyperplanes are not those that pruning keeps")
        n_all = n_hyperplanes + len(self.deleted)
        if not np.array_equal(np.sort(np.concatenate([self.kept, self.deleted])), np.arange(n_all)):
            raise ValueError("pruning deletes a hyperplane twice, or one that does not exist")


def _table_size(n_slots: int) -> int:
    """The next power of two."""
    return 1 << (max(n_slots, 1) - 1).bit_length()


def _slots_of(words: Words, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The exclusive or of the keys of each code's set bits, eight bits at a time."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    slots = np.zeros(len(words), np.int64)
    for start in range(0, len(keys), 8):
        table = np.zeros(1, np.int64)
        for key in keys[start : start + 8]:
            table = np.concatenate([table, table ^ key])
        slots ^= table[octets[:, start // 8]]
    return slots


def _chain(slots: NDArray[np.int64], heads: NDArray[np.int32]) -> Indices:
    """Chain the numbers of each slot: write the first to ``heads``, return the next of each, or -1."""
    following = np.full(len(slots), -1, np.intp)
    number = np.arange(len(slots), dtype=np.int32)
    heads[slots] = number
    # One number becomes the head of its slot; the others are prepended to the chain one by one.
    waiting = number[heads[slots] != number]
    while len(waiting):
        slot = slots[waiting]
        behind = heads[slot]
        heads[slot] = waiting
        first = heads[slot] == waiting
        following[waiting[first]] = behind[first]
        waiting = waiting[~first]
    return following


class _Partition:
    """The regions of one round, their class counts and their neighbours.

    A region's slot is the exclusive or of the keys of its code's set bits. The exclusive or with
    ``keys[l]`` is the slot of its neighbour across hyperplane l. Most such slots are empty or have the
    same majority class, so that merging adds no errors. Each slot has a mark: 0 if empty, 1 + majority
    class, or 1 + C if several regions share it and form a chain. Whole codes are compared before regions
    count as neighbours: keys affect the speed, never the result.
    """

    def __init__(self, regions: Regions) -> None:
        n_regions, n_hyperplanes = regions.codes.shape
        n_slots = _table_size(_SLOTS_PER_REGION * n_regions)
        words = pack(regions.codes)
        self._words = np.ascontiguousarray(words.T)  # (n_words, R)
        self._bits = np.uint64(1) << np.arange(n_hyperplanes, dtype=np.uint64) % 64  # (L,) in its word
        self._keys = np.random.default_rng(0).integers(n_slots, size=(n_hyperplanes,))
        self._slots = _slots_of(words, self._keys)
        self._counts = np.array(regions.counts.T, np.float64, order="C")  # (C, R)
        self.largest = self._counts.max(axis=0)
        self._marks = np.zeros(n_slots, np.min_scalar_type(1 + len(self._counts)))
        self._own = (1 + self._counts.argmax(axis=0)).astype(self._marks.dtype)  # (R,) without chains
        self._common = np.bincount(self._own).argmax()  # the most common one at first
        self._heads = np.empty(n_slots, np.int32)  # first region of each chain; valid where marked
        self._index()

    def __len__(self) -> int:
        return len(self._slots)

    def _index(self) -> None:
        self._following = _chain(self._slots, self._heads)
        self._marks[self._slots] = self._own
        self._marks[self._slots[self._following >= 0]] = 1 + len(self._counts)

    def _neighbours(
        self, hyperplanes: Indices, chosen: Flags, clashing: bool = True
    ) -> tuple[Indices, Indices, Indices]:
        """All (i, a, b): regions a of ``chosen`` (R,) and b that only ``hyperplanes[i]`` separates.

        If ``clashing``, pairs with the same majority class, which add no errors, may be omitted. No pair
        is returned twice.
        """
        sources = np.flatnonzero(chosen)
        reached = self._slots[sources] ^ self._keys[hyperplanes, None]
        marks = self._marks[reached]
        wanted = marks != 0
        if clashing:
            wanted &= marks != self._own[sources]
        cells = np.flatnonzero(wanted)
        i, a = np.divmod(cells, len(sources))
        a, b = sources[a], self._heads[reached.ravel()[cells]].astype(np.intp)
        pairs = []
        while True:
            same = self._differ_by_one(hyperplanes, i, a, b)
            once = np.flatnonzero(same & ((a < b) | ~chosen[b]))
            pairs.append((i[once], a[once], b[once]))
            b = self._following[b]
            more = np.flatnonzero(~same & (b >= 0))
            if len(more) == 0:
                break
            i, a, b = i[more], a[more], b[more]
        i, a, b = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return i, a, b

    def _differ_by_one(self, hyperplanes: Indices, i: Indices, a: Indices, b: Indices) -> Flags:
        """Whether the codes of regions a and b (k,) differ in the bit of ``hyperplanes[i]`` alone.

        The word of that bit is compared first: few other regions differ in it alone, so that the time
        does not grow with the number of words.
        """
        bits = self._bits[hyperplanes][i]
        if len(self._words) == 1:
            return self._words[0][a] ^ self._words[0][b] == bits
        word = (hyperplanes // 64)[i]
        same = self._words[word, a] ^ self._words[word, b] == bits
        left = np.flatnonzero(same)
        others = self._words[:, a[left]] ^ self._words[:, b[left]]
        others[word[left], np.arange(len(left))] = 0  # has been compared
        same[left] = ~others.any(axis=0)
        return same

    def added_errors(self, hyperplanes: Indices, chosen: Flags | None = None) -> Floats:
        """The errors that each deletion adds by pairs with a chosen region (default: by all pairs)."""
        if chosen is None:
            # Of two regions with different majority classes, at least one is not of the common class.
            chosen = self._own != self._common
        added = np.zeros(len(hyperplanes))
        if len(hyperplanes) == 0 or not chosen.any():
            return added
        step = _at_once(int(np.count_nonzero(chosen)))
        for rows in row_blocks(len(hyperplanes), 1, step):
            some = hyperplanes[rows]
            i, a, b = self._neighbours(some, chosen)
            merged = self._counts[0][a] + self._counts[0][b]
            for count in self._counts[1:]:
                np.maximum(merged, count[a] + count[b], out=merged)
            lost = self.largest[a] + self.largest[b] - merged
            added[rows] = np.bincount(i, lost, minlength=len(some))
        return added

    def delete(self, hyperplane: int, left: Indices) -> Floats:
        """Merge the regions that only this hyperplane separates.

        Returns a lower bound of the change of the cost of each hyperplane in ``left``.
        """
        word, bit = self._words[hyperplane // 64], self._bits[hyperplane]
        beyond = word & bit != 0
        smaller_side = beyond if 2 * np.count_nonzero(beyond) < len(self) else ~beyond
        _, a, b = self._neighbours(np.array([hyperplane]), smaller_side, clashing=False)
        merged = self._counts.take(a, axis=1) + self._counts.take(b, axis=1)
        largest = merged.max(axis=0)
        lost = largest < self.largest[a] + self.largest[b]
        touched = np.zeros(len(self), bool)
        touched[a[lost]] = touched[b[lost]] = True
        before = self.added_errors(left, touched)

        self._counts[:, a], self.largest[a] = merged, largest
        self._own[a] = 1 + merged.argmax(axis=0)
        self._marks[self._slots] = 0
        word &= ~bit
        self._slots ^= np.where(beyond, self._keys[hyperplane], 0)
        touched = self._drop(b, touched)
        self._index()
        return self.added_errors(left, touched) - before

    def _drop(self, gone: Indices, touched: Flags) -> Flags:
        """Move the last regions into the places of those that are ``gone``."""
        if not len(gone):  # most hyperplanes separate no region from another one alone
            return touched
        n_regions = len(self) - len(gone)
        stays = np.ones(len(self), bool)
        stays[gone] = False
        last, holes = n_regions + np.flatnonzero(stays[n_regions:]), gone[gone < n_regions]
        for values in (self._words, self._counts, self.largest, self._own, self._slots, touched):
            values[..., holes] = values[..., last]
        self._words, self._counts = self._words[:, :n_regions], self._counts[:, :n_regions]
        self.largest, self._own = self.largest[:n_regions], self._own[:n_regions]
        # The number of slots is a power of two: keeping the low bits preserves the algebra of the keys.
        n_slots = min(len(self._marks), _table_size(_SLOTS_PER_REGION * n_regions))
        self._slots = self._slots[:n_regions] & (n_slots - 1)
        self._keys = self._keys & (n_slots - 1)
        self._marks, self._heads = self._marks[:n_slots], self._heads[:n_slots]
        return touched[:n_regions]


def prune(
    regions: Regions,
    error_threshold: float,
    on_deletion: Callable[[int, float], None] = lambda n_left, error_rate: None,
) -> PruningPath:
    """Delete the cheapest hyperplane repeatedly while the error rate stays below a threshold.

    At least one hyperplane is kept; ties go to the lowest index. The result is the same as if the errors
    of every deletion were counted on all samples in every round, which would take O(n·L³) time. This
    takes at most O(R·L) time per round. ``on_deletion`` is called after each deletion with the number of
    hyperplanes left and the error rate.
    """
    total = float(regions.counts.sum())
    partition = _Partition(regions)
    errors = total - float(partition.largest.sum())
    initial_error_rate = errors / total

    costs = np.zeros(regions.codes.shape[1])
    left = np.arange(len(costs))
    deleted: list[int] = []
    error_rates: list[float] = []
    # Errors never decrease, so no deletion is possible once they have reached the threshold.
    while len(left) > 1 and errors / total < error_threshold:
        cheapest = _cheapest(partition, left, costs)
        if not (errors + costs[cheapest]) / total < error_threshold:
            break
        errors += costs[cheapest]
        left = left[left != cheapest]
        deleted.append(cheapest)
        error_rates.append(errors / total)
        on_deletion(len(left), errors / total)
        if _at_once(len(partition)) < len(left):
            costs[left] += partition.delete(cheapest, left)
        else:  # the next round computes all costs
            partition.delete(cheapest, left[:0])
            costs[left] = 0.0
    return PruningPath(np.array(deleted, np.intp), np.array(error_rates), initial_error_rate, left)


def _at_once(n_regions: int) -> int:
    return max(_HYPERPLANES_AT_ONCE, _CELLS_AT_ONCE // n_regions)


def _cheapest(partition: _Partition, left: Indices, costs: Floats) -> int:
    """The hyperplane whose deletion adds the fewest errors; ties go to the lowest index.

    Updates ``costs`` (L,), lower bounds of those errors, in place; the cost of the result is exact.
    """
    at_once = _at_once(len(partition))
    if at_once >= len(left):
        costs[left] = partition.added_errors(left)
        return int(left[np.argmin(costs[left])])
    # The lowest bound is exact in most rounds, and then no other cost is needed.
    lowest = left[np.argmin(costs[left])]
    bound = costs[lowest]
    costs[lowest] = partition.added_errors(np.array([lowest]))[0]
    if costs[lowest] == bound:
        return int(lowest)
    pending = left[left != lowest]
    while True:
        cheapest = left[np.argmin(costs[left])]
        if cheapest not in pending:
            return int(cheapest)
        pending = pending[np.argsort(costs[pending], kind="stable")]
        some, pending = pending[:at_once], np.sort(pending[at_once:])
        costs[some] = partition.added_errors(some)


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
        chosen = np.flatnonzero(solution.x[: problem.n_hyperplanes] > 0.5)
        discarded = solution.x[problem.n_hyperplanes :] > 0.5
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
