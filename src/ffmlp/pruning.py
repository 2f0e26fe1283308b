"""Stage 1, pruning: drop the hyperplanes whose loss costs the fewest training errors.

Only the region table is read. Deleting hyperplane l merges exactly the pairs of regions whose codes
differ in bit l alone, so the errors that it adds are ``Σ max(a) + max(b) − max(a + b)`` over the class
counts of those pairs.

Most deletions need not be priced in every round. Let E(S) be the errors when the hyperplanes S
partition the space. Fewer hyperplanes never make fewer errors, so E(S' − l) ≥ E(S − l) whenever S'
is part of S: what a deletion cost in an earlier round, or what part of its pairs cost in this one,
is a lower bound of what it costs now. A hyperplane is priced only while its bound can still win.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ffmlp.regions import CodeIndex, Regions, pack

# (hyperplane, region) cells that are looked up at once: they stay in the cache.
_CELLS_AT_ONCE = 1 << 18
# Contenders are priced on this part of the regions, the largest ones, then on this, then on all.
_PARTS = (1 / 16, 1 / 4, 1.0)
# Below this many regions, pricing by parts costs more than it saves.
_REGIONS_WORTH_PARTS = 1 << 12
# With more classes, tables of slots by class would cost more memory than they save time.
_CLASSES_WITH_OWN_TABLE = 16


@dataclass(frozen=True, eq=False)
class PruningPath:
    """What was deleted in which order.

    Attributes
    ----------
    deleted : ndarray of shape (n_deleted,)
        Hyperplanes in the order of their deletion, numbered as before pruning.
    error_rates : ndarray of shape (n_deleted,)
        Training error rate after each deletion; leave-one-out error rate where ``error_threshold``
        prunes the readout design.
    initial_error_rate : float
        The same with all hyperplanes; NaN where the readout design took some of them only.
    kept : ndarray of shape (L,)
        The hyperplanes that stay, in ascending order.
    proved_minimum : int
        No fewer hyperplanes can stay below the threshold: proved by optimal pruning, which found the
        optimum if this equals ``len(kept)``; greedy pruning proves nothing and says 1.
    """

    deleted: NDArray[np.intp]
    error_rates: NDArray[np.float64]
    initial_error_rate: float
    kept: NDArray[np.intp]
    proved_minimum: int = 1


@dataclass(frozen=True, eq=False)
class _Partition:
    """The regions of one round: their codes, and their class counts (C, R) in the same order."""

    index: CodeIndex
    counts: NDArray[np.float64]
    largest: NDArray[np.float64]  # (R,) count of the majority class
    majority: NDArray[np.intp]  # (R,)

    @classmethod
    def of(cls, regions: Regions) -> _Partition:
        # Large regions first: part of them already makes tight bounds.
        order = np.argsort(-regions.counts.sum(axis=1), kind="stable")
        index = CodeIndex.of(pack(regions.codes[order]), regions.codes.shape[1])
        counts = np.ascontiguousarray(regions.counts[order].T, dtype=np.float64)
        return cls(index, counts, counts.max(axis=0), counts.argmax(axis=0))

    def __len__(self) -> int:
        return len(self.largest)

    @cached_property
    def _clashes(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Where to look for regions of another majority: only they lose anything when they merge.

        One table of slots for each majority class, marked where a region of another one is.
        """
        n_classes, n_slots = len(self.counts), len(self.index.heads)
        if n_classes > _CLASSES_WITH_OWN_TABLE:
            return self.index.slots, self.index.occupied
        marked = np.zeros((n_classes, n_slots), bool)
        for label in range(n_classes):
            marked[label, self.index.slots[self.majority != label]] = True
        return self.index.slots + n_slots * self.majority, marked.ravel()

    def added_errors(self, hyperplanes: NDArray[np.intp], start: int, stop: int) -> NDArray[np.float64]:
        """Errors that each deletion adds, counting the pairs whose first region is in [start, stop)."""
        added = np.zeros(len(hyperplanes))
        step = max(1, _CELLS_AT_ONCE // max(1, stop - start))
        for first in range(0, len(hyperplanes), step):
            some = hyperplanes[first : first + step]
            i, a, b = self.index.neighbours(some, start, stop, *self._clashes)
            merged = self.counts[0][a] + self.counts[0][b]
            for count in self.counts[1:]:
                np.maximum(merged, count[a] + count[b], out=merged)
            lost = self.largest[a] + self.largest[b] - merged
            added[first : first + step] = np.bincount(i, lost, minlength=len(some))
        return added

    def without(self, hyperplane: int) -> _Partition:
        """Merge the regions that only this hyperplane separates."""
        _, a, b = self.index.neighbours(np.array([hyperplane]), 0, len(self))
        left = np.ones(len(self), bool)
        left[b] = False
        kept = np.flatnonzero(left)
        counts, largest, majority = self.counts[:, kept], self.largest[kept], self.majority[kept]
        merged = self.counts[:, a] + self.counts[:, b]
        a = np.searchsorted(kept, a)
        counts[:, a], largest[a], majority[a] = merged, merged.max(axis=0), merged.argmax(axis=0)
        return _Partition(self.index.without(hyperplane, kept), counts, largest, majority)


def prune(
    regions: Regions,
    error_threshold: float,
    on_deletion: Callable[[int, float], None] = lambda n_left, error_rate: None,
) -> PruningPath:
    """Delete the cheapest hyperplane again and again while the error rate stays below a threshold.

    One hyperplane always stays; the lowest index wins a tie. Same result as pricing every deletion
    on all samples in every round, which costs O(n·L³); this costs O(R·L) a round at worst.

    Parameters
    ----------
    regions : Regions
        Occupied regions of all hyperplanes.
    error_threshold : float
        A deletion is made only if the resulting training error rate is below this.
    on_deletion : callable
        Called after each deletion with the number of hyperplanes left and the error rate.
    """
    total = float(regions.counts.sum())
    partition = _Partition.of(regions)
    errors = total - partition.largest.sum()
    initial_error_rate = errors / total

    bounds = np.full(regions.codes.shape[1], errors)
    left = np.arange(len(bounds))
    deleted: list[int] = []
    error_rates: list[float] = []
    # Errors never fall, so no deletion is worth pricing once they have reached the threshold.
    while len(left) > 1 and errors / total < error_threshold:
        cheapest = _cheapest(partition, left, bounds, errors)
        if not bounds[cheapest] / total < error_threshold:
            break
        errors = bounds[cheapest]
        left = left[left != cheapest]
        deleted.append(cheapest)
        error_rates.append(errors / total)
        on_deletion(len(left), errors / total)
        partition = partition.without(cheapest)
    return PruningPath(
        np.array(deleted, np.intp), np.array(error_rates), float(initial_error_rate), left
    )


def _cheapest(
    partition: _Partition, left: NDArray[np.intp], bounds: NDArray[np.float64], errors: float
) -> int:
    """The hyperplane with the fewest errors after its deletion, the lowest index in a tie.

    Raises ``bounds`` (L,), lower bounds of those errors, in place; the winner's is exact afterwards.
    """
    n_regions = len(partition)
    best = left[np.argmin(bounds[left])]
    bounds[best] = errors + partition.added_errors(np.array([best]), 0, n_regions)[0]

    contenders = left[left != best]
    added = np.zeros(len(contenders))
    start = 0
    for part in _PARTS if n_regions >= _REGIONS_WORTH_PARTS else (1.0,):
        bound = bounds[contenders]
        can_win = (bound < bounds[best]) | ((bound == bounds[best]) & (contenders < best))
        contenders, added = contenders[can_win], added[can_win]
        if len(contenders) == 0:
            return int(best)
        stop = int(part * n_regions)
        added += partition.added_errors(contenders, start, stop)
        bounds[contenders] = np.maximum(bounds[contenders], errors + added)
        start = stop
    finalists = np.sort(np.append(contenders, best))
    return int(finalists[np.argmin(bounds[finalists])])
