"""Regions where the evidence errs, grown on left-out residuals.

Randomised trees grow on what the readout leaves unexplained of samples that it has not seen, and on the
classes themselves. A tree is grown best-first: the split of largest gain comes first. So the first m - 1
splits are the best tree of m regions, and one tree gives all sizes. Each tree is grown without one fold
of the samples. On these left-out samples, least squares weigh the evidence and the trees, and the loss
decides how many regions a tree keeps. If no size lowers it clearly, there are no regions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar, nnls
from sklearn.tree import ExtraTreeRegressor

from ffmlp.arrays import Floats, Indices
from ffmlp.design.subsets import evenly
from ffmlp.model.region_trees import RegionTrees

N_FOLDS = 10
# Trees on residuals and on classes, each. Few samples leave more to chance, so they get twice as many.
N_TREES = 40
FEW_SAMPLES = 600
# Samples that one tree sees, and on which sizes and weights are judged; more are drawn from.
ROWS_PER_TREE = 20_000
# A node of fewer samples is not split.
_FEWEST_SAMPLES = 5
_MOST_LEAVES = 4096
# More regions must lower the left-out loss by this share.
_LEAST_GAIN = 0.002
# Up to this many regions, few trees of best splits are better than many of random ones. Best splits are
# sought among a third of the features, but at least so many.
_FEW_REGIONS, _FEW_TREES, _FEWEST_FEATURES = 4000, 5, 24
# Eigenvalues of the products of the parts below this share of the largest are raised to it.
_SMALLEST_EIGENVALUE = 1e-4
_FLOORS = 10.0 ** np.arange(-3.5, -0.4, 0.5)


@dataclass(frozen=True, eq=False)
class Grown:
    """The weight of the readout beside the regions, the regions, and the link to probabilities."""

    weight: float
    trees: RegionTrees
    power: float
    floor: float


@dataclass(frozen=True, eq=False)
class _Tree:
    """A best-first tree: nodes are numbered in the order of the splits, children after their parents.

    ``means`` (nodes, 2C) are the weighted means of classes and residuals of the samples in each node.
    """

    feature: Indices
    threshold: Floats
    left: Indices
    parent: Indices
    means: Floats

    @classmethod
    def of(cls, model: ExtraTreeRegressor, h: NDArray, targets: Floats, weight: Floats) -> _Tree:
        """The tree of a model that was fitted to these samples."""
        tree = model.tree_
        left, leaf = tree.children_left, model.apply(h)
        inner = np.flatnonzero(left >= 0)
        parent = np.full(tree.node_count, -1)
        parent[left[inner]] = parent[tree.children_right[inner]] = inner
        columns = [weight, *(weight * part for part in targets.T)]
        sums = np.column_stack([np.bincount(leaf, column, tree.node_count) for column in columns])
        level = np.zeros(1, np.intp)
        splits = []
        while len(level := level[left[level] >= 0]):
            splits.append(level)
            level = np.concatenate([left[level], left[level] + 1])
        for above in reversed(splits):
            sums[above] = sums[left[above]] + sums[left[above] + 1]
        return cls(tree.feature, tree.threshold, left, parent, sums[:, 1:] / sums[:, :1])

    def nodes(self, leaf: Indices, n_leaves: int) -> Indices:
        """The node of each sample in the tree of the first ``n_leaves - 1`` splits, from its leaf."""
        while (deep := leaf > 2 * n_leaves - 2).any():
            leaf = np.where(deep, self.parent[leaf], leaf)
        return leaf


def grow_regions(
    h: NDArray[np.float32],
    axes: Indices,
    y: Indices,
    weight: Floats,
    shares: Floats,
    left_out: Floats,
    max_regions: float,
) -> Grown | None:
    """Regions for distinct samples with responses h (n, F) of the hyperplanes ``axes``; None if useless.

    ``left_out`` (n, C) is the evidence of the readout for samples that it has not seen. Samples are
    sorted by class and value. Trees have a seed of their own, so that the same samples give the same
    regions. Takes O(T·n·F·log n) time for T trees, with n limited to `ROWS_PER_TREE`.
    """
    rng = np.random.RandomState(0)
    classes = np.eye(len(shares))[y] - shares
    smooth = left_out - shares
    targets = np.hstack([classes, classes - smooth])
    few = max_regions < _FEW_REGIONS
    n_trees = _FEW_TREES if few else N_TREES * (2 if len(y) <= FEW_SAMPLES else 1)
    judged = evenly(len(y), ROWS_PER_TREE)
    fold = np.full(len(y), -1)
    fold[judged] = np.arange(len(judged)) % min(n_trees, N_FOLDS)
    forests = [
        _Forest.grown(kind, n_trees, h, targets, weight, fold, "best" if few else "random", rng)
        for kind in (("residuals",) if few else ("residuals", "classes"))
    ]
    known = smooth[judged], classes[judged], weight[judged]
    best = _Mix.of([], 0, *known)
    for n_leaves in _sizes(int(min(_MOST_LEAVES, max_regions / (n_trees * len(forests))))):
        mix = _Mix.of(forests, n_leaves, *known)
        if mix.loss < (1.0 - _LEAST_GAIN) * best.loss:
            best = mix
    trees = _joined(forests, best, axes) if best.n_leaves else None
    if trees is None:
        return None
    power, floor = best_link(shares + best.evidence, y[judged], weight[judged])
    return Grown(float(best.weights[0]), trees, power, floor)


def _sizes(most: int) -> Iterator[int]:
    """2, 4, 8, … and the largest size itself."""
    size = 2
    while size < most:
        yield size
        size *= 2
    if most >= 2:
        yield most


@dataclass(frozen=True, eq=False)
class _Forest:
    """Trees on one target, and the leaf of each left-out sample in each tree that it was left out of."""

    trees: list[_Tree]
    left_out: list[tuple[Indices, Indices]]  # judged samples and their leaves, tree by tree
    n_judged: int

    @classmethod
    def grown(
        cls,
        kind: str,
        n_trees: int,
        h: NDArray[np.float32],
        targets: Floats,
        weight: Floats,
        fold: Indices,
        splitter: str,
        rng: np.random.RandomState,
    ) -> _Forest:
        """Tree t is grown without the samples of fold t; a fold of -1 is in no fold."""
        half, n_features = targets.shape[1] // 2, h.shape[1]
        target = np.ascontiguousarray(targets[:, half:] if kind == "residuals" else targets[:, :half])
        judged = np.flatnonzero(fold >= 0)
        n_folds = fold.max() + 1
        some_features = min(n_features, max(_FEWEST_FEATURES, n_features // 3))
        trees, left_out = [], []
        for number in range(n_trees):
            inside = np.flatnonzero(fold != number % n_folds)
            if len(inside) > ROWS_PER_TREE:
                inside = np.sort(rng.choice(inside, ROWS_PER_TREE, replace=False))
            model = ExtraTreeRegressor(
                splitter=splitter,
                max_features=n_features if splitter == "random" else some_features,
                min_samples_split=_FEWEST_SAMPLES,
                max_leaf_nodes=_MOST_LEAVES,
                random_state=rng.randint(1 << 30),
            ).fit(h[inside], target[inside], weight[inside])
            trees.append(_Tree.of(model, h[inside], targets[inside], weight[inside]))
            out = np.flatnonzero(fold[judged] == number % n_folds)
            left_out.append((out, model.apply(h[judged[out]])))
        return cls(trees, left_out, len(judged))

    def values(self, n_leaves: int) -> tuple[Floats, Floats]:
        """Left-out means (n, 2C) of each judged sample's nodes over trees, and their excess variance.

        Few left-out trees vary more than all trees do. The excess is the variance that they have more.
        """
        total, squares = np.zeros((2, self.n_judged, self.trees[0].means.shape[1]))
        count = np.zeros(self.n_judged)
        for tree, (samples, leaf) in zip(self.trees, self.left_out, strict=True):
            found = tree.means[tree.nodes(leaf, n_leaves)]
            total[samples] += found
            squares[samples] += found**2
            count[samples] += 1
        seen = np.maximum(count, 1)[:, None]
        mean = total / seen
        variance = np.maximum(squares / seen - mean**2, 0.0) * seen / np.maximum(seen - 1, 1)
        return mean, variance * (1.0 / seen - 1.0 / len(self.trees))


@dataclass(frozen=True, eq=False)
class _Mix:
    """The weights of the evidence and of each forest's means, and their loss on left-out samples."""

    weights: Floats
    n_leaves: int
    loss: float
    evidence: Floats

    @classmethod
    def of(
        cls, forests: list[_Forest], n_leaves: int, smooth: Floats, classes: Floats, weight: Floats
    ) -> _Mix:
        parts, excess = [smooth], [0.0]
        for forest in forests:
            mean, over = forest.values(n_leaves)
            for kind in np.hsplit(np.arange(mean.shape[1]), 2):
                parts.append(mean[:, kind])
                excess.append(float(weight @ over[:, kind].sum(axis=1)))
        # Regions know the classes and the residuals of their samples. Each of the two is weighed beside
        # the evidence alone, and the weights are averaged, which is steadier than weighing both.
        weights, loss = np.zeros(len(parts)), 0.0
        for first in (1, 2):
            some = [0, *range(first, len(parts), 2)]
            own, left = _least_squares(
                [parts[k] for k in some], [excess[k] for k in some], classes, weight
            )
            weights[some] += own / 2
            loss += left / 2
        return cls(weights, n_leaves, loss, np.tensordot(weights, np.array(parts), axes=1))


def _least_squares(
    parts: list[Floats], excess: list[float], target: Floats, weight: Floats
) -> tuple[Floats, float]:
    """Nonnegative weights of the parts (n, C) and the mean squared error that they leave."""
    root = np.sqrt(weight)[:, None]
    columns = np.array([(root * part).ravel() for part in parts])
    goal = (root * target).ravel()
    products, moments = columns @ columns.T - np.diag(excess), columns @ goal
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values, max(_SMALLEST_EIGENVALUE * values[-1], np.finfo(np.float64).tiny))
    own, _ = nnls((vectors * np.sqrt(values)).T, (vectors / np.sqrt(values)).T @ moments)
    loss = own @ products @ own - 2 * own @ moments + goal @ goal
    return own, float(loss / weight.sum())


def best_link(evidence: Floats, y: Indices, weight: Floats) -> tuple[float, float]:
    """Power and floor of ``P_c ∝ max(evidence_c, floor) ** power`` with the least log-loss."""
    rows, share = np.arange(len(y)), weight / weight.sum()

    def loss(log_power: float, logs: Floats) -> float:
        scaled = np.exp(log_power) * logs
        return float(share @ (np.log(np.exp(scaled).sum(axis=1)) - scaled[rows, y]))

    tried = []
    for floor in _FLOORS:
        logs = np.log(np.maximum(evidence, floor))
        logs -= logs.max(axis=1, keepdims=True)
        found = minimize_scalar(
            loss, args=(logs,), bounds=(-2.0, 3.0), method="bounded", options={"xatol": 0.02}
        )
        tried.append((found.fun, float(np.exp(found.x)), float(floor)))
    _, power, floor = min(tried)
    return power, floor


def _joined(forests: list[_Forest], mix: _Mix, axes: Indices) -> RegionTrees | None:
    """The trees of all forests with a weight, cut to their first splits, as one table; None if empty."""
    nodes, thresholds, children, roots, values = [], [], [], [], []
    n_nodes = n_regions = 0
    for forest, weights in zip(forests, mix.weights[1:].reshape(-1, 2), strict=True):
        if not weights.any():
            continue
        for tree in forest.trees:
            n_splits = min(mix.n_leaves, (len(tree.left) + 1) // 2) - 1
            if not n_splits:
                continue
            # Node ids below 2·n_splits + 1 are kept; those with children among them are splits.
            kept = np.arange(2 * n_splits + 1)
            inner = (tree.left[kept] >= 0) & (tree.left[kept] < len(kept))
            number = np.where(inner, n_nodes + np.cumsum(inner) - 1, 0)
            number[~inner] = -1 - (n_regions + np.arange(len(kept) - n_splits))
            split = kept[inner]
            nodes.append(axes[tree.feature[split]])
            thresholds.append(_not_above(tree.threshold[split]))
            children.append(np.column_stack([number[tree.left[split]], number[tree.left[split] + 1]]))
            roots.append(n_nodes)
            parts = np.hsplit(tree.means[kept[~inner]], 2)
            values.append((weights[0] * parts[0] + weights[1] * parts[1]) / len(forest.trees))
            n_nodes += n_splits
            n_regions += n_splits + 1
    if not roots:
        return None
    return RegionTrees(
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(thresholds),
        np.concatenate(children).astype(np.int32),
        np.array(roots, np.int32),
        np.concatenate(values),
    )


def _not_above(threshold: Floats) -> NDArray[np.float32]:
    """The largest float32 up to each threshold: it parts the same float32 responses."""
    rounded = threshold.astype(np.float32)
    below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded.astype(np.float64) > threshold, below, rounded)
