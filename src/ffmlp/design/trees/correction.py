"""Trees that correct a readout where its evidence errs on samples that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.design.problem import Plan, Progress, Samples, UpperLayers
from ffmlp.design.trees.ensembles import (
    ROWS_OF_TREE,
    Ensemble,
    Forest,
    Sequences,
    TreeSamples,
    best_link,
)
from ffmlp.design.trees.growth import Ranks
from ffmlp.inputs.rows import appearances, evenly
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes
from ffmlp.network.readout import CorrectedReadoutStages, ReadoutStages
from ffmlp.network.trees import Trees

if TYPE_CHECKING:
    from ffmlp.design.designs import Design


# Trees on residuals and on classes, each. Few samples leave more to chance, so they get twice as many.
N_TREES = 80
FEW_SAMPLES = 600
# A node of fewer samples is not split, also if there are many samples in all.
_FEWEST_SAMPLES, _FEWEST_OF_MANY = 3, 5
_MOST_LEAVES = 1 << 14
# Folds of the samples that are judged: all, or a share of many.
N_FOLDS = 5
# A place of this share of the weight is divided among the folds.
_LARGE_SHARE = 0.02
MANY_SAMPLES, _N_FOLDS_OF_MANY, _JUDGED_SHARE, _MOST_JUDGED = 10_000, 2, 0.2, 20_000
_N_TREES_OF_MANY = 16
# Numbers of trees that sequences may have.
_ROUNDS = (20, 40, 80, 160)
# More regions must lower the left-out loss by this share.
_LEAST_GAIN = 0.002
# Up to this many regions, few trees of best splits are better than many of random ones.
_FEW_REGIONS, _FEW_TREES = 4000, 5
# Eigenvalues of the products of the parts below this share of the largest are raised to it.
_SMALLEST_EIGENVALUE = 1e-4


@dataclass(frozen=True, eq=False)
class Grown:
    """The weight of the readout beside the regions, the regions, and the link to probabilities."""

    weight: float
    trees: Trees
    power: float
    floor: float


def grow_trees(
    ranks: Ranks,
    axes: Indices,
    y: Indices,
    weight: Floats,
    shares: Floats,
    left_out: Floats,
    fold: Indices,
    max_leaves: float,
) -> Grown | None:
    """Regions for samples by their responses to the hyperplanes ``axes``; None if they are useless.

    ``left_out`` (n, C) is the evidence of the readout for samples that it has not seen, and ``fold`` is
    that of `dealt`. Samples are sorted by class and value. Trees have a seed of their own, so that the
    same samples give the same regions for any number of threads. Takes O(n·F·log n) time for each tree
    of up to `ROWS_OF_TREE`.
    """
    samples = TreeSamples(ranks, np.eye(len(shares))[y] - shares, left_out - shares, weight, fold)
    best = _Mix.of(samples, [])
    if len(y) > MANY_SAMPLES:
        best = _with_sequences(samples, best, max_leaves)
    best = _with_forests(samples, best, max_leaves)
    if not best.ensembles:
        return None
    trees = _joined(best, samples.ranks, axes)
    if trees is None:
        return None
    judged = samples.judged
    power, floor = best_link(shares + best.evidence, y[judged], weight[judged])
    return Grown(float(best.weights[0]), trees, power, floor)


def dealt(merged: Samples) -> tuple[Samples, Indices, Indices]:
    """Samples for trees, the merged sample that each one is, and the fold of each.

    Samples of the same place are left out together, whatever their class: with one of them left out, the
    others would make trees predict the wrong class there. A place of a large share of the weight is in
    every fold instead: left out whole, it would dominate the loss. With many samples, most are in no
    fold: all trees see them.
    """
    n = len(merged.y)
    if n > MANY_SAMPLES:
        fold, judged = np.full(n, -1), evenly(n, int(min(_JUDGED_SHARE * n, _MOST_JUDGED)))
        fold[judged] = np.arange(len(judged)) % _N_FOLDS_OF_MANY
        return merged, np.arange(n), fold
    place = appearances(merged.X)
    mass = np.bincount(place, merged.weight)
    frequent = (merged.weight >= N_FOLDS) & (mass >= _LARGE_SHARE * mass.sum())[place]
    copies = np.where(frequent, N_FOLDS, 1)
    rows = np.repeat(np.arange(n), copies)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
    fold = np.where(frequent[rows], number, place[rows] % N_FOLDS)
    unit = 8 * np.spacing(merged.weight.sum())  # of all weights, so that sums stay exact
    weight = np.round(merged.weight / copies / unit) * unit
    return replace(merged, weight=weight).select(rows), rows, fold


def _with_forests(samples: TreeSamples, best: _Mix, max_leaves: float) -> _Mix:
    """The best size of forests beside what there is; few regions are those of few best splits."""
    few, n = max_leaves < _FEW_REGIONS, len(samples.fold)
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
    for n_leaves in _sizes(min(most, largest)):
        mix = _Mix.of(samples, [*without.ensembles, *((forest, n_leaves) for forest in forests)])
        if mix.loss < (1.0 - _LEAST_GAIN) * best.loss:
            best = mix
    return best


def _with_sequences(samples: TreeSamples, best: _Mix, max_leaves: float) -> _Mix:
    """Sequences of as many rounds as lower the loss."""
    sequences = Sequences(samples)
    for n_rounds in _ROUNDS:
        sequences.go_on(n_rounds)
        mix = _Mix.of(samples, [(sequences, n_rounds)])
        if mix.n_leaves > max_leaves or mix.loss >= (1.0 - _LEAST_GAIN) * best.loss:
            break
        best = mix
    return best


def _sizes(most: int) -> Iterator[int]:
    """2, 4, 8, … and the largest size itself."""
    size = 2
    while size < most:
        yield size
        size *= 2
    yield max(most, 2)


@dataclass(frozen=True, eq=False)
class _Mix:
    """The weights of the evidence and of each ensemble's values, and their loss on left-out samples."""

    ensembles: list[tuple[Ensemble, int]]
    weights: Floats
    loss: float
    evidence: Floats

    @property
    def n_leaves(self) -> int:
        return sum(ensemble.n_leaves(size) for ensemble, size in self.ensembles)

    @classmethod
    def of(cls, samples: TreeSamples, ensembles: list[tuple[Ensemble, int]]) -> _Mix:
        judged = samples.judged
        parts, kinds = [(samples.smooth[judged], 0.0)], [-1]
        for ensemble, size in ensembles:
            parts.extend(ensemble.left_out(size))
            kinds.extend(range(ensemble.n_kinds) if ensemble.n_kinds > 1 else [-1])
        # Regions know the classes and the residuals of their samples. Each of the two is weighed beside
        # the evidence alone, and the weights are averaged, which is steadier than weighing both.
        weights, loss = np.zeros(len(parts)), 0.0
        for kind in (0, 1):
            some = [place for place, own in enumerate(kinds) if own in (-1, kind)]
            found, left = _least_squares(
                [parts[place] for place in some], samples.classes[judged], samples.weight[judged]
            )
            weights[some] += found / 2
            loss += left / 2
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
    own, _ = nnls((vectors * np.sqrt(values)).T, (vectors / np.sqrt(values)).T @ moments)
    loss = own @ products @ own - 2 * own @ moments + goal @ goal
    return own, float(loss / weight.sum())


def _joined(mix: _Mix, ranks: Ranks, axes: Indices) -> Trees | None:
    """The trees with a weight, cut to their first splits, as one table; None if there are none."""
    nodes, thresholds, children, roots, values = [], [], [], [], []
    n_nodes = n_leaves = 0
    place = 1
    for ensemble, size in mix.ensembles:
        weights = mix.weights[place : place + ensemble.n_kinds]
        place += ensemble.n_kinds
        if not weights.any():
            continue
        for tree, own in ensemble.weighted(size, weights):
            n_splits = len(own) // 2
            if not n_splits:
                continue
            # Nodes with children among those that are kept are splits.
            left = tree.left[: len(own)]
            inner = (left >= 0) & (left < len(own))
            number = np.where(inner, n_nodes + np.cumsum(inner) - 1, 0)
            number[~inner] = -1 - (n_leaves + np.arange(n_splits + 1))
            split = np.flatnonzero(inner)
            nodes.append(axes[tree.features[split]])
            thresholds.append(ranks.thresholds(tree, split))
            children.append(np.column_stack([number[left[split]], number[left[split] + 1]]))
            roots.append(n_nodes)
            values.append(own[~inner])
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


# Designs a network for samples and a plan.
Designer = Callable[[Samples, Plan, np.random.RandomState, Progress], "Design"]


def with_trees(
    samples: Samples,
    plan: Plan,
    upper: UpperLayers,
    rng: np.random.RandomState,
    progress: Progress,
    design: Designer,
) -> UpperLayers:
    """A readout with regions beside it; the readout itself if they would not help."""
    stages, axes = upper.stages, _axes(upper.hyperplanes)
    if not isinstance(stages, ReadoutStages) or upper.left_out is None or not len(axes):
        return upper
    few = len(samples.y) <= FEW_SAMPLES
    samples, rows, fold = dealt(samples)
    left_out = upper.left_out[rows]
    if few:
        left_out = _cross_fitted(samples, fold, plan, left_out, rng, design)
    importance = samples.importance
    shares = np.bincount(samples.y, importance, len(samples.labels)) / importance.sum()
    ranks = _ranks(upper.hyperplanes.select(axes), samples.X, importance)
    grown = grow_trees(ranks, axes, samples.y, importance, shares, left_out, fold, plan.max_leaves)
    if grown is None:
        progress.say("no regions: they would not lower the error on left-out samples")
        return upper
    progress.say(f"{len(grown.trees)} regions in {len(grown.trees.roots)} trees")
    return replace(upper, stages=_beside(grown, stages, shares))


def _axes(planes: Hyperplanes) -> Indices:
    """A threshold of each feature: regions are cut by half-spaces parallel to these."""
    thresholds = np.flatnonzero(planes.pairs[:, 0] == NO_BLOB)
    features = np.abs(planes.weights[thresholds]).argmax(axis=1)
    _, first = np.unique(features, return_index=True)
    return thresholds[first]


def _ranks(planes: Hyperplanes, X: AnyFloats, weight: Floats) -> Ranks:
    """The ranks of the responses, which trees compare in single precision."""
    h = np.empty((len(X), len(planes)), np.float32)
    for rows, block in planes.blocks(X):
        h[rows] = block
    return Ranks.of(h, weight)


def _cross_fitted(
    samples: Samples,
    fold: Indices,
    plan: Plan,
    left_out: Floats,
    rng: np.random.RandomState,
    design: Designer,
) -> Floats:
    """The evidence of networks designed without a fold: with few samples, their blobs count, too."""
    evidence = left_out.copy()
    for number in range(N_FOLDS):
        inside, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if not len(out) or len(np.unique(samples.y[inside])) < len(samples.labels):
            continue  # a class is missing
        others = samples.select(inside).merged()
        network = design(others, replace(plan, max_leaves=0), rng, Progress()).network
        stages = network.stages
        assert isinstance(stages, ReadoutStages)
        evidence[out] = stages.evidence(network.hyperplanes, samples.X[out]) / stages.temperature
    return evidence


def _beside(grown: Grown, stages: ReadoutStages, shares: Floats) -> CorrectedReadoutStages:
    """The readout, weighed, with the regions beside it."""
    return CorrectedReadoutStages(
        grown.weight * stages.even,
        grown.weight * stages.odd,
        shares + grown.weight * (stages.bias - shares),
        1.0,
        trees=grown.trees,
        power=grown.power,
        floor=grown.floor,
    )
