"""Ensembles of trees on left-out residuals, and the link from evidence to probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.optimize import minimize_scalar

from ffmlp.arrays import Floats, Indices
from ffmlp.design.trees.growth import MOST_CHANNELS, Ranks, Tree, integers

# Candidates for the floor, below which evidence makes no difference.
_FLOORS = 10.0 ** np.arange(-3.5, -0.9, 0.5)
# The penalty on the squared logarithm of the power, so that few samples leave it near 1.
_PENALTY = 10.0


def best_link(evidence: Floats, y: Indices, weight: Floats) -> tuple[float, float]:
    """Power and floor of ``P_c ∝ max(evidence_c, floor) ** power`` with the least penalised log-loss.

    ``evidence`` (n, C) is that of samples which have not been seen.
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
        found = minimize_scalar(
            loss, args=(logs,), bounds=(-2.0, 3.0), method="bounded", options={"xatol": 0.02}
        )
        tried.append((found.fun, float(np.exp(found.x)), float(floor)))
    _, power, floor = min(tried)
    return power, floor


# Samples that one tree of a forest sees, and that one sequence sees.
ROWS_OF_TREE, _ROWS_OF_SEQUENCE = 50_000, 100_000
# A sequence begins at a part of the evidence: least squares give it back what the trees do not need.
_START = 0.5
# Each tree of a sequence has so many leaves and a part of its values. The weight of some samples is
# added to each leaf, and a node of few samples is not split.
_LEAVES_OF_ROUND, _RATE, _PRIOR, _FEWEST_OF_ROUND = 128, 0.12, 5.0, 20


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

    def weighted(self, rows: Indices) -> Floats:
        """The weights, and the weighted classes and residuals (m, 1 + 2C), of some samples."""
        weight = self.weight[rows, None]
        return np.hstack([weight, weight * self.classes[rows], weight * self.targets(rows, 1.0)])

    def parts(self, number: int, most: int) -> tuple[Indices, Indices]:
        """Samples that tree ``number`` sees, and those of its fold. All trees together see every one."""
        inside = np.flatnonzero(self.fold != number % self.n_folds)
        out = np.flatnonzero(self.fold == number % self.n_folds)
        step = -(-len(inside) // most)
        return inside[number // self.n_folds % step :: step], out


class Ensemble(Protocol):
    """Trees that can be cut to a size, with ``n_kinds`` of values for left-out samples."""

    n_kinds: int

    def n_leaves(self, size: int) -> int:
        """The number of leaves of all trees."""
        ...

    def left_out(self, size: int) -> list[tuple[Floats, float]]:
        """The values (J, C) of judged samples for each kind of value, and their excess variance."""
        ...

    def weighted(self, size: int, weights: Floats) -> Iterator[tuple[Tree, Floats]]:
        """Each tree, and the values of its first nodes, for weights of each kind of value."""
        ...


def _basis(n_classes: int, rng: np.random.RandomState) -> Floats:
    """Axes (K, C) at right angles for targets that add up to 0: all C - 1, or 7 random ones of more."""
    basis = helmert(n_classes)
    if len(basis) < MOST_CHANNELS:
        return basis
    return np.linalg.qr(rng.normal(size=(len(basis), MOST_CHANNELS - 1)))[0].T @ basis


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees on one target, with the means (M, 2C) of classes and residuals in each of their nodes.

    ``found`` are judged samples, numbered in this order, and their leaves, tree by tree.
    """

    n_kinds = 2

    trees: list[Tree]
    means: list[Floats]
    found: list[tuple[Indices, NDArray[np.int32]]]
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
        place = np.cumsum(samples.fold >= 0) - 1

        def tree_of(number: int) -> tuple[Tree, Floats, tuple[Indices, NDArray[np.int32]]]:
            inside, out = samples.parts(number, ROWS_OF_TREE)
            rng = np.random.RandomState([seed, number])
            along = samples.targets(inside, part) @ _basis(samples.classes.shape[1], rng).T
            targets, _ = integers(samples.weight[inside], along)
            ranks = samples.ranks.select(inside)
            tree = Tree.grown(ranks, targets, most, rng.randint(1 << 31), random=random, fewest=fewest)
            sums = tree.sums(samples.weighted(inside))
            leaves = tree.leaves(samples.ranks.select(out))
            return tree.without_samples(), sums[:, 1:] / sums[:, :1], (place[out], leaves)

        grown = Parallel(require="sharedmem")(delayed(tree_of)(number) for number in range(n_trees))
        trees, means, found = (list(part) for part in zip(*grown, strict=True))
        return cls(trees, means, found, samples.weight[samples.judged])

    def n_leaves(self, size: int) -> int:
        """The number of leaves of trees of up to ``size`` leaves."""
        return sum(min(size, len(tree)) for tree in self.trees)

    def left_out(self, size: int) -> list[tuple[Floats, float]]:
        """Means over trees. Few left-out trees vary more than all: that variance is the excess."""
        total, squares = np.zeros((2, len(self.weight), self.means[0].shape[1]))
        count = np.zeros(len(self.weight))
        for tree, means, (samples, leaves) in zip(self.trees, self.means, self.found, strict=True):
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
    """Trees that grow one after the other on some samples, without those of one fold.

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
        self.found: dict[int, Floats] = {}  # that sum after some rounds

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
        self.found[n_rounds] = self._sum.copy()

    def _next_tree(self) -> tuple[Tree, Floats]:
        """A tree on what is left, and the sums of all targets in its nodes."""
        targets, many = self._targets, self._targets.shape[1] > MOST_CHANNELS
        if many:
            axes = _basis(len(self._basis.T), self._rng) @ self._basis.T
            targets = np.column_stack([targets[:, 0], np.rint(targets[:, 1:] @ axes.T)]).astype(np.int32)
        grow = partial(Tree.grown, self._ranks, targets, _LEAVES_OF_ROUND, fewest=_FEWEST_OF_ROUND)
        tree = grow(0, random=False, prior=_PRIOR)
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
        Parallel(require="sharedmem")(delayed(one.go_on)(n_rounds) for one in self._each)

    def n_leaves(self, size: int) -> int:
        """The number of leaves in so many rounds."""
        return sum(len(tree) for one in self._each for tree in one.trees[:size])

    def left_out(self, size: int) -> list[tuple[Floats, float]]:
        """The sum of the values of so many rounds; all trees are there, so that nothing is in excess."""
        place = np.cumsum(self._samples.fold >= 0) - 1
        values = np.empty((place[-1] + 1, self._samples.classes.shape[1]))
        for one in self._each:
            values[place[one.out]] = one.found[size]
        return [(values, 0.0)]

    def weighted(self, size: int, weights: Floats) -> Iterator[tuple[Tree, Floats]]:
        """Each tree of so many rounds, and the weighted values of its nodes."""
        for one in self._each:
            for tree, values in zip(one.trees[:size], one.values[:size], strict=True):
                yield tree, weights[0] * values / len(self._each)
