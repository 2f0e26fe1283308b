"""Trees that correct a readout where its evidence errs on samples that it has not seen.

Forests and sequences of trees are judged on left-out samples. Least squares weigh them beside the
readout, and a link turns the sum into probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.optimize import minimize_scalar, nnls

from ffmlp.arrays import Floats, Indices
from ffmlp.design.problem import Progress, Samples, UpperLayers
from ffmlp.design.trees.growth import MOST_CHANNELS, Ranks, Tree, integers
from ffmlp.inputs.rows import appearances, evenly
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes
from ffmlp.network.readout import CorrectedReadoutStages, ReadoutStages
from ffmlp.network.trees import Trees

# Trees on residuals and on classes, each. Few samples leave more to chance, so they get twice as many.
N_TREES = 80
FEW_SAMPLES = 600
# A node of fewer samples is not split, also if there are many samples in all.
_FEWEST_SAMPLES, _FEWEST_OF_MANY = 3, 5
_MOST_LEAVES = 1 << 14
# Folds of the samples that are judged: all, or a share of many.
N_FOLDS = 5
# Equal samples of this share of the weight are divided among the folds.
_LARGE_SHARE = 0.02
MANY_SAMPLES, _N_FOLDS_OF_MANY, _JUDGED_SHARE, _MOST_JUDGED = 10_000, 2, 0.2, 20_000
_N_TREES_OF_MANY = 16
# Numbers of trees that sequences may have.
_ROUNDS = (20, 40, 80, 160)
# More leaves must lower the left-out loss by this share.
_LEAST_GAIN = 0.002
# Up to this many leaves, few trees of best splits are better than many of random ones.
_FEW_LEAVES, _FEW_TREES = 4000, 5
# Eigenvalues of the products of the parts below this share of the largest are raised to it.
_SMALLEST_EIGENVALUE = 1e-4
# Samples that one tree of a forest sees, and that one sequence sees.
ROWS_OF_TREE, _ROWS_OF_SEQUENCE = 50_000, 100_000
# A sequence begins at a part of the evidence: least squares give it back what the trees do not need.
_START = 0.5
# Each tree of a sequence has so many leaves and a part of its values. The weight of some samples is
# added to each leaf, and a node of few samples is not split.
_LEAVES_OF_ROUND, _RATE, _PRIOR, _FEWEST_OF_ROUND = 128, 0.12, 5.0, 20
# Candidates for the floor, below which evidence makes no difference.
_FLOORS = 10.0 ** np.arange(-3.5, -0.9, 0.5)
# The penalty on the squared logarithm of the power, so that few samples leave it near 1.
_PENALTY = 10.0


def dealt(merged: Samples) -> tuple[Samples, Indices, Indices]:
    """Samples for trees, the merged sample that each one is, and the fold of each.

    Samples of equal inputs are left out together, whatever their class: with one of them left out, the
    others would make trees predict the wrong class for it. Those of a large share of the weight are in
    every fold instead: left out together, they would dominate the loss. With many samples, most are in
    no fold: all trees see them.
    """
    n = len(merged.y)
    if n > MANY_SAMPLES:
        fold, judged = np.full(n, -1), evenly(n, int(min(_JUDGED_SHARE * n, _MOST_JUDGED)))
        fold[judged] = np.arange(len(judged)) % _N_FOLDS_OF_MANY
        return merged, np.arange(n), fold
    point = appearances(merged.X)
    mass = np.bincount(point, merged.weight)
    frequent = (merged.weight >= N_FOLDS) & (mass >= _LARGE_SHARE * mass.sum())[point]
    copies = np.where(frequent, N_FOLDS, 1)
    rows = np.repeat(np.arange(n), copies)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
    fold = np.where(frequent[rows], number, point[rows] % N_FOLDS)
    unit = 8 * np.spacing(merged.weight.sum())  # of all weights, so that sums stay exact
    weight = np.round(merged.weight / copies / unit) * unit
    return replace(merged, weight=weight).select(rows), rows, fold


@dataclass(frozen=True, eq=False)
class TreeSamples:
    """Samples as trees see them; classes and evidence are relative to the shares of the classes.

    ``smooth`` (n, C) is the left-out evidence of the readout. ``fold`` (n,) is -1 for samples that are
    not judged.
    """

    ranks: Ranks
    classes: Floats
    smooth: Floats
    weight: Floats
    fold: Indices

    def targets(self, rows: Indices, part: float) -> Floats:
        """What a part of the evidence leaves unexplained of some samples (m, C)."""
        return self.classes[rows] - part * self.smooth[rows]

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.fold.max()) + 1

    @property
    def judged(self) -> Indices:
        """The samples in folds, on which ensembles are judged."""
        return np.flatnonzero(self.fold >= 0)

    def parts(self, number: int, most: int) -> tuple[Indices, Indices]:
        """Samples that tree ``number`` sees, and its fold. All trees together see every sample."""
        inside = np.flatnonzero(self.fold != number % self.n_folds)
        out = np.flatnonzero(self.fold == number % self.n_folds)
        step = -(-len(inside) // most)
        return inside[number // self.n_folds % step :: step], out


def _basis(n_classes: int, rng: np.random.RandomState) -> Floats:
    """Axes (K, C) at right angles for targets that add up to 0: all C - 1, or 7 random ones of more."""
    basis = helmert(n_classes)
    if len(basis) < MOST_CHANNELS:
        return basis
    return np.linalg.qr(rng.normal(size=(len(basis), MOST_CHANNELS - 1)))[0].T @ basis


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on one target, with the means (M, 2C) of classes and residuals in each of their nodes.

    ``leaves`` are judged samples, numbered in this order, and the leaf of each, tree by tree.
    """

    n_kinds = 2

    trees: list[Tree]
    means: list[Floats]
    leaves: list[tuple[Indices, NDArray[np.int32]]]
    weight: Floats

    @classmethod
    def grown(
        cls,
        samples: TreeSamples,
        part: float,
        n_trees: int,
        most: int,
        fewest: int,
        *,
        random: bool,
        seed: int,
    ) -> Forest:
        """Trees on what a part of the evidence leaves unexplained, each without the samples of its fold.

        Nodes of fewer samples than ``fewest`` are not split.
        """
        number_judged = np.cumsum(samples.fold >= 0) - 1

        def tree_of(number: int) -> tuple[Tree, Floats, tuple[Indices, NDArray[np.int32]]]:
            inside, out = samples.parts(number, ROWS_OF_TREE)
            rng = np.random.RandomState([seed, number])
            along = samples.targets(inside, part) @ _basis(samples.classes.shape[1], rng).T
            targets, _ = integers(samples.weight[inside], along)
            ranks = samples.ranks.select(inside)
            tree = Tree.grown(ranks, targets, most, rng.randint(1 << 31), random=random, fewest=fewest)
            weight, residuals = samples.weight[inside, None], samples.targets(inside, 1.0)
            sums = tree.sums(np.hstack([weight, weight * samples.classes[inside], weight * residuals]))
            leaves = tree.leaves(samples.ranks.select(out))
            return tree.without_samples(), sums[:, 1:] / sums[:, :1], (number_judged[out], leaves)

        grown = Parallel(require="sharedmem")(delayed(tree_of)(number) for number in range(n_trees))
        trees, means, leaves = (list(part) for part in zip(*grown, strict=True))
        return cls(trees, means, leaves, samples.weight[samples.judged])

    def n_leaves(self, size: int) -> int:
        """The number of leaves of trees of up to ``size`` leaves."""
        return sum(min(size, len(tree)) for tree in self.trees)

    def left_out(self, size: int) -> list[tuple[Floats, float]]:
        """Means over trees. Few left-out trees vary more than all: that variance is the excess."""
        total, squares = np.zeros((2, len(self.weight), self.means[0].shape[1]))
        count = np.zeros(len(self.weight))
        for tree, means, (samples, leaves) in zip(self.trees, self.means, self.leaves, strict=True):
            values = means[tree.pruned(leaves, size)]
            total[samples] += values
            squares[samples] += values**2
            count[samples] += 1
        seen = np.maximum(count, 1)[:, None]
        mean = total / seen
        variance = np.maximum(squares / seen - mean**2, 0.0) * seen / np.maximum(seen - 1, 1)
        excess = self.weight @ (variance * (1.0 / seen - 1.0 / len(self.trees)))
        kinds = np.hsplit(np.arange(mean.shape[1]), 2)
        return [(mean[:, kind], float(excess[kind].sum())) for kind in kinds]

    def weighted(self, size: int, weights: Floats) -> Iterator[tuple[Tree, Floats]]:
        """Each tree, and the weighted means of classes and residuals in its first nodes."""
        for tree, means in zip(self.trees, self.means, strict=True):
            classes, residuals = np.hsplit(means[: 2 * min(size, len(tree)) - 1], 2)
            yield tree, (weights[0] * classes + weights[1] * residuals) / len(self.trees)


class _Sequence:
    """Trees that grow one after the other on some samples, without one fold.

    ``targets`` (n, 1 + K) are integers: the weight, and what is still unexplained along K axes.
    """

    def __init__(self, samples: TreeSamples, number: int) -> None:
        inside, self.out = samples.parts(number, _ROWS_OF_SEQUENCE)
        self._ranks, self._ranks_out = samples.ranks.select(inside), samples.ranks.select(self.out)
        self._basis = helmert(samples.classes.shape[1])
        along = samples.targets(inside, _START) @ self._basis.T
        weight = samples.weight[inside]
        # The sum of squares falls with each tree, so that no sum along any axis can exceed this one.
        bound = np.sqrt(weight.sum() * (weight @ along**2).sum())
        self._targets, self._unit = integers(weight, along, bound)
        self._rng = np.random.RandomState(number)
        self.trees: list[Tree] = []
        self.values: list[Floats] = []
        self._sum = np.zeros((len(self.out), len(self._basis.T)))  # of left-out samples
        self.sums: dict[int, Floats] = {}  # by the number of rounds

    def go_on(self, n_rounds: int) -> None:
        """Grow trees until there are ``n_rounds``."""
        while len(self.trees) < n_rounds:
            tree, totals = self._next_tree()
            prior = _PRIOR * totals[0, 0] / len(self._targets)
            values = _RATE * totals[:, 1:] / (totals[:, :1] + prior)
            tree.subtract(values, self._targets)
            values = self._unit * values @ self._basis
            self.trees.append(tree.without_samples())
            self.values.append(values)
            self._sum += values[tree.leaves(self._ranks_out)]
        self.sums[n_rounds] = self._sum.copy()

    def _next_tree(self) -> tuple[Tree, Floats]:
        """A tree on what is left, and the sums of all targets in its nodes."""
        targets, many = self._targets, self._targets.shape[1] > MOST_CHANNELS
        if many:
            axes = _basis(len(self._basis.T), self._rng) @ self._basis.T
            targets = np.column_stack([targets[:, 0], np.rint(targets[:, 1:] @ axes.T)]).astype(np.int32)
        most, fewest = _LEAVES_OF_ROUND, _FEWEST_OF_ROUND
        tree = Tree.grown(self._ranks, targets, most, 0, random=False, fewest=fewest, prior=_PRIOR)
        if many:
            return tree, tree.sums(self._targets.astype(np.float64))
        return tree, tree.totals.astype(np.float64)


class Sequences:
    """One sequence of trees for each fold that is left out."""

    n_kinds = 1

    def __init__(self, samples: TreeSamples) -> None:
        self._samples = samples
        self._each = [_Sequence(samples, number) for number in range(samples.n_folds)]

    def go_on(self, n_rounds: int) -> None:
        """Grow trees until each sequence has ``n_rounds``."""
        Parallel(require="sharedmem")(delayed(each.go_on)(n_rounds) for each in self._each)

    def n_leaves(self, size: int) -> int:
        """The number of leaves in so many rounds."""
        return sum(len(tree) for sequence in self._each for tree in sequence.trees[:size])

    def left_out(self, size: int) -> list[tuple[Floats, float]]:
        """The sum of the values of so many rounds; all trees are there, so that nothing is in excess."""
        number_judged = np.cumsum(self._samples.fold >= 0) - 1
        values = np.empty((number_judged[-1] + 1, self._samples.classes.shape[1]))
        for sequence in self._each:
            values[number_judged[sequence.out]] = sequence.sums[size]
        return [(values, 0.0)]

    def weighted(self, size: int, weights: Floats) -> Iterator[tuple[Tree, Floats]]:
        """Each tree of so many rounds, and the weighted values of its nodes."""
        for sequence in self._each:
            for tree, values in zip(sequence.trees[:size], sequence.values[:size], strict=True):
                yield tree, weights[0] * values / len(self._each)


# Trees that can be cut to a size; they have `n_kinds` of values for left-out samples.
Ensemble = Forest | Sequences


def grow_trees(samples: TreeSamples, axes: Indices, max_leaves: float) -> tuple[Mix, Trees | None]:
    """The best mix of readout and trees on the responses to the hyperplanes ``axes``, and its trees.

    Samples are sorted by class and value. Each tree has its seed, so that the same samples give the same
    trees for any number of threads. Takes O(n·F·log n) time for each tree of up to `ROWS_OF_TREE`
    samples.
    """
    best = Mix.of(samples, [])
    if len(samples.fold) > MANY_SAMPLES:
        best = _with_sequences(samples, best, max_leaves)
    best = _with_forests(samples, best, max_leaves)
    return best, _joined(best, samples.ranks, axes)


def _with_forests(samples: TreeSamples, best: Mix, max_leaves: float) -> Mix:
    """The best size of forests beside the mix so far; few leaves are the result of best splits."""
    few, n = max_leaves < _FEW_LEAVES, len(samples.fold)
    n_trees, fewest = N_TREES * (2 if n <= FEW_SAMPLES else 1), _FEWEST_SAMPLES
    parts = [1.0, 0.0]  # of the evidence: trees on residuals, and trees on classes
    if few:
        n_trees, parts = _FEW_TREES, [1.0]
    elif n > MANY_SAMPLES:
        n_trees, fewest = max(_N_TREES_OF_MANY, -(-n // ROWS_OF_TREE) * samples.n_folds), _FEWEST_OF_MANY
        parts = [0.5]
    most = int(min(_MOST_LEAVES, (max_leaves - best.n_leaves) / (n_trees * len(parts))))
    if most < 2:
        return best
    forests = [
        Forest.grown(samples, part, n_trees, most, fewest, random=not few, seed=seed)
        for seed, part in enumerate(parts)
    ]
    without, largest = best, max(len(tree) for forest in forests for tree in forest.trees)
    most = max(min(most, largest), 2)
    for n_leaves in [*(1 << n for n in range(1, (most - 1).bit_length())), most]:
        mix = Mix.of(samples, [*without.ensembles, *((forest, n_leaves) for forest in forests)])
        if mix.loss < (1.0 - _LEAST_GAIN) * best.loss:
            best = mix
    return best


def _with_sequences(samples: TreeSamples, best: Mix, max_leaves: float) -> Mix:
    """Sequences of as many rounds as lower the loss."""
    sequences = Sequences(samples)
    for n_rounds in _ROUNDS:
        sequences.go_on(n_rounds)
        mix = Mix.of(samples, [(sequences, n_rounds)])
        if mix.n_leaves > max_leaves or mix.loss >= (1.0 - _LEAST_GAIN) * best.loss:
            break
        best = mix
    return best


@dataclass(frozen=True, eq=False)
class Mix:
    """The weights of the evidence and of each ensemble's values, and their loss on left-out samples."""

    ensembles: list[tuple[Ensemble, int]]
    weights: Floats
    loss: float
    evidence: Floats

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all ensembles."""
        return sum(ensemble.n_leaves(size) for ensemble, size in self.ensembles)

    @classmethod
    def of(cls, samples: TreeSamples, ensembles: list[tuple[Ensemble, int]]) -> Mix:
        """The mix of the readout with ensembles of these sizes."""
        judged = samples.judged
        parts, kinds = [(samples.smooth[judged], 0.0)], [-1]
        for ensemble, size in ensembles:
            parts.extend(ensemble.left_out(size))
            kinds.extend(range(ensemble.n_kinds) if ensemble.n_kinds > 1 else [-1])
        # Leaves know the classes and the residuals of their samples. Each of the two is weighed beside
        # the evidence alone, and the weights are averaged, which is steadier than weighing both.
        weights, loss = np.zeros(len(parts)), 0.0
        for kind in (0, 1):
            some = [number for number, other in enumerate(kinds) if other in (-1, kind)]
            some_weights, some_loss = _least_squares(
                [parts[number] for number in some], samples.classes[judged], samples.weight[judged]
            )
            weights[some] += some_weights / 2
            loss += some_loss / 2
        evidence = np.tensordot(weights, np.array([part for part, _ in parts]), axes=1)
        return cls(ensembles, weights, loss, evidence)


def _least_squares(
    parts: list[tuple[Floats, float]], target: Floats, weight: Floats
) -> tuple[Floats, float]:
    """Nonnegative weights of the parts (n, C) and the mean squared error that they leave."""
    root = np.sqrt(weight)[:, None]
    columns = np.array([(root * part).ravel() for part, _ in parts])
    goal = (root * target).ravel()
    products, moments = columns @ columns.T, columns @ goal
    products[np.diag_indices(len(parts))] -= [excess for _, excess in parts]
    values, vectors = np.linalg.eigh(products)
    values = np.maximum(values, max(_SMALLEST_EIGENVALUE * values[-1], np.finfo(np.float64).tiny))
    weights, _ = nnls((vectors * np.sqrt(values)).T, (vectors / np.sqrt(values)).T @ moments)
    loss = weights @ products @ weights - 2 * weights @ moments + goal @ goal
    return weights, float(loss / weight.sum())


def _joined(mix: Mix, ranks: Ranks, axes: Indices) -> Trees | None:
    """The trees with a weight, cut to their first splits, as one table; None if there are none."""
    nodes, thresholds, children, roots, values = [], [], [], [], []
    n_nodes = n_leaves = 0
    n_weights = 1
    for ensemble, size in mix.ensembles:
        weights = mix.weights[n_weights : n_weights + ensemble.n_kinds]
        n_weights += ensemble.n_kinds
        if not weights.any():
            continue
        for tree, node_values in ensemble.weighted(size, weights):
            n_splits = len(node_values) // 2
            if not n_splits:
                continue
            # Nodes with children among those that are kept are splits.
            left = tree.left[: len(node_values)]
            inner = (left >= 0) & (left < len(node_values))
            number = np.where(inner, n_nodes + np.cumsum(inner) - 1, 0)
            number[~inner] = -1 - (n_leaves + np.arange(n_splits + 1))
            split = np.flatnonzero(inner)
            nodes.append(axes[tree.features[split]])
            thresholds.append(ranks.thresholds(tree, split))
            children.append(np.column_stack([number[left[split]], number[left[split] + 1]]))
            roots.append(n_nodes)
            values.append(node_values[~inner])
            n_nodes += n_splits
            n_leaves += n_splits + 1
    if not roots:
        return None
    return Trees(
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(thresholds),
        np.concatenate(children).astype(np.int32),
        np.array(roots, np.int32),
        np.concatenate(values),
    )


def best_link(evidence: Floats, y: Indices, weight: Floats) -> tuple[float, float]:
    """Power and floor of ``P_c ∝ max(evidence_c, floor) ** power`` with the least penalised log-loss.

    ``evidence`` (n, C) is for samples that have not been seen.
    """
    rows, share = np.arange(len(y)), weight / weight.sum()

    def loss(log_power: float, logs: Floats) -> float:
        scaled = np.exp(log_power) * logs
        losses = np.log(np.exp(scaled).sum(axis=1)) - scaled[rows, y]
        return float(share @ losses) + _PENALTY * log_power**2 / len(y)

    tried = []
    for floor in _FLOORS:
        logs = np.log(np.maximum(evidence, floor))
        logs -= logs.max(axis=1, keepdims=True)
        least = minimize_scalar(
            loss, args=(logs,), bounds=(-2.0, 3.0), method="bounded", options={"xatol": 0.02}
        )
        tried.append((least.fun, float(np.exp(least.x)), float(floor)))
    _, power, floor = min(tried)
    return power, floor


def tree_axes(planes: Hyperplanes) -> Indices:
    """A threshold of each feature that varies: splits of trees are half-spaces parallel to these."""
    thresholds = np.flatnonzero(planes.pairs[:, 0] == NO_BLOB)
    features = np.abs(planes.weights[thresholds]).argmax(axis=1)
    _, first = np.unique(features, return_index=True)
    return thresholds[first]


def with_trees(
    upper: UpperLayers,
    axes: Indices,
    samples: Samples,
    fold: Indices,
    left_out: Floats,
    max_leaves: float,
    progress: Progress,
) -> UpperLayers:
    """A readout with trees beside it; the readout itself if they would not help.

    ``samples`` and ``fold`` are from `dealt`. ``left_out`` (n, C) is the evidence of the readout for
    each of these samples, fitted without it.
    """
    stages, y, importance = upper.stages, samples.y, samples.importance
    assert isinstance(stages, ReadoutStages)
    shares = np.bincount(y, importance, len(samples.labels)) / importance.sum()
    h = np.empty((len(y), len(axes)), np.float32)  # trees compare responses in single precision
    for rows, block in upper.hyperplanes.select(axes).blocks(samples.X):
        h[rows] = block
    classes = np.eye(len(shares))[y] - shares
    seen = TreeSamples(Ranks.of(h, importance), classes, left_out - shares, importance, fold)
    mix, trees = grow_trees(seen, axes, max_leaves)
    if trees is None:
        progress.say("no trees: they would not lower the error on left-out samples")
        return upper
    progress.say(f"{len(trees)} leaves of {len(trees.roots)} trees")
    power, floor = best_link(shares + mix.evidence, y[seen.judged], importance[seen.judged])
    weight = float(mix.weights[0])
    corrected = CorrectedReadoutStages(
        weight * stages.even,
        weight * stages.odd,
        shares + weight * (stages.bias - shares),
        1.0,
        trees=trees,
        power=power,
        floor=floor,
    )
    return replace(upper, stages=corrected)
