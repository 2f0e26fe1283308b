"""Trees that are grown best-first: the split of largest gain comes first.

So the first m - 1 splits are the best tree of m leaves, and one tree gives all sizes. A split compares
the rank of a response with a threshold. Targets are integers, so that every sum is exact: a tree depends
neither on the order of the samples nor on the number of threads.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ffmlp.arrays import Floats, Indices
from ffmlp.inputs.rows import evenly, mixed

try:
    from ffmlp.design.trees import _tree_growth as compiled
except ImportError:  # installed without a C compiler
    compiled = None  # type: ignore[assignment]

# The weight and the targets of a sample: compiled loops are made for up to so many.
MOST_CHANNELS = 8
# Ranks have 15 bits. The best split is sought between groups of 128 ranks.
_N_RANKS, _N_BINS, _BIN_SHIFT = 1 << 15, 256, 7
# Ranks are those among so many samples.
_ROWS_OF_RANKS = 1 << 13
# Compiled loops read the ranks of so many features at once.
_WIDTH = 8
# A gain below this share of what it is a difference of may be rounding error.
_LEAST_GAIN = 1e-9
_LARGEST_SUM = 2**31 - 1

_FEATURE, _THRESHOLD, _LEFT, _FIRST, _END = range(5)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Responses as ranks: ``table`` (n, S) has the ranks of F features, and constants up to `_WIDTH`.

    Feature f has ``levels[f]``: ascending thresholds, and the ranks of the responses between them.
    """

    table: NDArray[np.int16]
    levels: tuple[tuple[NDArray[np.float32], NDArray[np.int16]], ...]

    @classmethod
    def of(cls, h: NDArray[np.float32], weight: Floats) -> Ranks:
        """The ranks of responses h (n, F) among samples of this weight."""
        n_features = h.shape[1]
        table = np.zeros((len(h), -(-n_features // _WIDTH) * _WIDTH), np.int16)
        some = evenly(len(h), _ROWS_OF_RANKS)

        def fill(feature: int) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
            thresholds, ranks = _levels(h[some, feature], weight[some])
            table[:, feature] = ranks[np.searchsorted(thresholds, h[:, feature])]
            return thresholds, ranks

        levels = Parallel(require="sharedmem")(map(delayed(fill), range(n_features)))
        return cls(table, tuple(levels))

    def select(self, rows: Indices) -> Ranks:
        """Some of the samples."""
        return Ranks(self.table[rows], self.levels)

    def thresholds(self, tree: Tree, splits: Indices) -> NDArray[np.float32]:
        """The thresholds that responses are compared with at some splits of a tree."""
        compared, nodes = np.empty(len(splits), np.float32), tree.nodes[splits]
        for feature in np.unique(nodes[:, _FEATURE]).tolist():
            thresholds, ranks = self.levels[feature]
            here = nodes[:, _FEATURE] == feature
            above = np.searchsorted(ranks, nodes[here, _THRESHOLD], side="right")
            compared[here] = thresholds[above - 1]
        return compared


def _levels(
    values: NDArray[np.float32], weight: Floats
) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """Thresholds half-way between distinct values, and their ranks by the weight below them."""
    distinct, number = np.unique(values, return_inverse=True)
    if len(distinct) <= _N_BINS:
        ranks = np.arange(len(distinct)) * (_N_RANKS // len(distinct))
    else:
        mass = np.bincount(number, weight)
        above = np.cumsum(mass)
        ranks = np.minimum((above - mass) / above[-1] * _N_RANKS, _N_RANKS - 1)
    middle = (distinct[:-1].astype(np.float64) + distinct[1:]) / 2
    return not_above(middle), ranks.astype(np.int16)


def not_above(threshold: Floats) -> NDArray[np.float32]:
    """The largest float32 up to each threshold: it parts the same float32 responses."""
    rounded = threshold.astype(np.float32)
    below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded.astype(np.float64) > threshold, below, rounded)


def integers(
    weight: Floats, targets: Floats, bound: float | None = None
) -> tuple[NDArray[np.int32], float]:
    """Weights and weighted targets (n, 1 + K) as multiples of small units, and the targets' unit.

    The unit is so small that rounding does not matter, and so large that the absolute values of a column
    add up to less than 2³¹. ``bound`` is the largest such sum of weighted targets, if known.
    """
    room = _LARGEST_SUM - len(weight)
    weighted = targets * weight[:, None]
    largest = np.abs(weighted).sum(axis=0).max() if bound is None else bound
    scale, unit = room / weight.sum(), max(largest, np.finfo(np.float64).tiny) / room
    multiples = np.empty((len(weight), 1 + targets.shape[1]), np.int32)
    multiples[:, 0] = np.maximum(np.rint(weight * scale), 1)
    multiples[:, 1:] = np.rint(weighted / unit)
    return multiples, unit * scale


@dataclass(frozen=True, eq=False)
class Tree:
    """A best-first tree: nodes are numbered in the order of the splits, children after their parents.

    A row of ``nodes`` (M, 5) has the feature, the largest rank that goes left, the left child, -1 for a
    leaf, which is followed by the right one, and where its samples begin and end in ``rows``, which are
    the samples in the order of the leaves. ``totals`` (M, 1 + K) are the sums of the targets in each
    node.
    """

    nodes: NDArray[np.int32]
    rows: NDArray[np.int32]
    totals: NDArray[np.int32]

    @classmethod
    def grown(
        cls,
        ranks: Ranks,
        targets: NDArray[np.int32],
        most_leaves: int,
        seed: int,
        *,
        random: bool,
        fewest: int,
        prior: float = 0.0,
    ) -> Tree:
        """A tree of all samples with these ranks and `integers`.

        The gain of a split is the decrease of the squared error. Its threshold is a random one of each
        feature, or any one. Nodes of fewer than ``fewest`` samples are not split. The weight of
        ``prior`` samples is added to each side's weight, so that few samples do not decide. Takes
        O(n·F·d) time for a tree of depth d, and O(F) more for each node of best splits.
        """
        rows = np.arange(len(targets), dtype=np.int32)
        most = 2 * min(most_leaves, len(rows)) - 1
        nodes, totals = np.empty((most, 5), np.int32), np.empty((most, targets.shape[1]), np.int32)
        grow = _grow if compiled is None else compiled.grow
        added = prior * float(targets[:, 0].mean())
        options = len(ranks.levels), seed, fewest, added, random
        n_nodes = grow(ranks.table, targets, rows, nodes, totals, *options)
        return cls(nodes[:n_nodes], rows, totals[:n_nodes])

    def __len__(self) -> int:
        """The number of leaves."""
        return (len(self.nodes) + 1) // 2

    @property
    def features(self) -> NDArray[np.int32]:
        """The feature (M,) that each node compares; -1 for leaves."""
        return self.nodes[:, _FEATURE]

    @property
    def left(self) -> NDArray[np.int32]:
        """The left child (M,) of each node, which is followed by the right one; -1 for leaves."""
        return self.nodes[:, _LEFT]

    def without_samples(self) -> Tree:
        """The nodes alone: samples and totals take more memory."""
        return replace(self, rows=self.rows[:0].copy(), totals=self.totals[:0].copy())

    def sums(self, values: Floats) -> Floats:
        """The sums (M, K) of values (n, K) of the samples in each node."""
        running = np.zeros((len(values) + 1, values.shape[1]))
        np.cumsum(values[self.rows], axis=0, out=running[1:])
        return running[self.nodes[:, _END]] - running[self.nodes[:, _FIRST]]

    def leaves(self, ranks: Ranks) -> NDArray[np.int32]:
        """The leaf of each sample with these ranks."""
        rows, leaves = np.arange(len(ranks.table), dtype=np.int32), np.empty(len(ranks.table), np.int32)
        descend = _descend if compiled is None else compiled.descend
        descend(ranks.table, rows, self.nodes, leaves)
        return leaves

    def subtract(self, values: Floats, targets: NDArray[np.int32]) -> None:
        """Take the values (M, K) of its leaf from each target, times its weight, in place."""
        subtract = _subtract if compiled is None else compiled.subtract
        subtract(self.rows, self.nodes, np.ascontiguousarray(values), targets)

    def pruned(self, nodes: NDArray, n_leaves: int) -> NDArray:
        """The nodes of the tree of the first ``n_leaves - 1`` splits that these nodes are in."""
        while (deep := nodes > 2 * n_leaves - 2).any():
            nodes = np.where(deep, self._parents[nodes], nodes)
        return nodes

    @cached_property
    def _parents(self) -> Indices:
        parents = np.full(len(self.nodes), -1)
        inner = np.flatnonzero(self.left >= 0)
        parents[self.left[inner]] = parents[self.left[inner] + 1] = inner
        return parents


def _grow(
    table: NDArray[np.int16],
    targets: NDArray[np.int32],
    rows: NDArray[np.int32],
    nodes: NDArray[np.int32],
    totals: NDArray[np.int32],
    n_features: int,
    seed: int,
    fewest: int,
    prior: float,
    is_random: bool,
) -> int:
    """`compiled.grow` in NumPy."""
    nodes[0] = (-1, 0, -1, 0, len(rows))
    n_nodes = 1
    heap: list[tuple[float, int, int, int]] = []

    def open_node(number: int) -> None:
        seen = rows[nodes[number, _FIRST] : nodes[number, _END]]
        totals[number] = targets[seen].sum(axis=0)
        if len(seen) >= fewest:
            node_seed = mixed(np.array([seed + number], np.uint64))[0] if is_random else None
            split = _best_split(
                table[seen, :n_features], targets[seen].astype(np.int64), node_seed, prior
            )
            if split is not None:
                gain, feature, threshold = split
                heapq.heappush(heap, (-gain, number, feature, threshold))

    open_node(0)
    while heap and n_nodes < len(nodes):
        _, number, feature, threshold = heapq.heappop(heap)
        first, end = nodes[number, [_FIRST, _END]]
        is_right = table[rows[first:end], feature] > threshold
        rows[first:end] = rows[first:end][np.argsort(is_right, kind="stable")]
        middle = end - np.count_nonzero(is_right)
        nodes[number, :_FIRST] = feature, threshold, n_nodes
        nodes[n_nodes : n_nodes + 2] = (-1, 0, -1, first, middle), (-1, 0, -1, middle, end)
        for child in (n_nodes, n_nodes + 1):
            open_node(child)
        n_nodes += 2
    return n_nodes


def _best_split(
    ranks: NDArray[np.int16], targets: NDArray[np.int64], seed: np.uint64 | None, prior: float
) -> tuple[float, int, int] | None:
    """The gain, feature and threshold of a node's best split; ``seed`` draws random thresholds."""
    n_features = ranks.shape[1]
    if seed is not None:
        low, high = ranks.min(axis=0).astype(np.int64), ranks.max(axis=0).astype(np.int64)
        draws = (mixed(seed + np.arange(n_features, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)
        thresholds = (low + (draws * (high - low) >> 32))[:, None]
        left = ((ranks <= thresholds.T).T @ targets)[:, None]
    else:
        thresholds = np.tile(((np.arange(1, _N_BINS) << _BIN_SHIFT) - 1), (n_features, 1))
        counts = np.zeros((n_features, _N_BINS, targets.shape[1]), np.int64)
        for feature, bins in enumerate((ranks >> _BIN_SHIFT).T):
            np.add.at(counts[feature], bins, targets)
        left = np.cumsum(counts, axis=1)[:, :-1]
    total = targets.sum(axis=0)
    right = total - left
    before = _squares(total) / (total[0] + prior)
    both_sides = (left[..., 0] > 0) & (right[..., 0] > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        after = _squares(left) / (left[..., 0] + prior) + _squares(right) / (right[..., 0] + prior)
    after = np.where(both_sides, after, -np.inf)
    best = np.unravel_index(after.argmax(), after.shape)
    if not after[best] > before * (1.0 + _LEAST_GAIN):
        return None
    return float(after[best] - before), int(best[0]), int(thresholds[best])


def _squares(sums: NDArray[np.int64]) -> Floats:
    """The squared length of all channels but the weight, added in their order."""
    total = np.zeros(sums.shape[:-1])
    for channel in range(1, sums.shape[-1]):
        part = sums[..., channel].astype(np.float64)
        total = total + part * part
    return total


def _subtract(
    rows: NDArray[np.int32], nodes: NDArray[np.int32], values: Floats, targets: NDArray[np.int32]
) -> None:
    """`compiled.subtract` in NumPy."""
    for node, value in zip(nodes, values, strict=True):
        if node[_LEFT] < 0:
            here = rows[node[_FIRST] : node[_END]]
            targets[here, 1:] -= np.rint(targets[here, :1] * value).astype(np.int32)


def _descend(
    table: NDArray[np.int16],
    rows: NDArray[np.int32],
    nodes: NDArray[np.int32],
    leaves: NDArray[np.int32],
) -> None:
    """`compiled.descend` in NumPy."""
    at, moving = np.zeros(len(rows), np.intp), np.arange(len(rows))
    while len(moving):
        left = nodes[at, _LEFT]
        inner = left >= 0
        leaves[moving[~inner]] = at[~inner]
        moving, node, left = moving[inner], nodes[at[inner]], left[inner]
        at = left + (table[rows[moving], node[:, _FEATURE]] > node[:, _THRESHOLD])
