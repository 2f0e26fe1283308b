"""Regions beside a readout, where its evidence errs on samples that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.design.problem import Plan, Samples, UpperLayers
from ffmlp.design.progress import Progress
from ffmlp.design.trees.region_trees import FEW_SAMPLES, N_FOLDS, Grown, dealt, grow_regions
from ffmlp.design.trees.tree_growth import Ranks
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes
from ffmlp.network.readout_stages import ReadoutStages
from ffmlp.network.region_readout_stages import RegionReadoutStages

if TYPE_CHECKING:
    from ffmlp.design.designs import Design

# Designs a network for samples and a plan.
Designer = Callable[[Samples, Plan, np.random.RandomState, Progress], "Design"]


def with_regions(
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
    grown = grow_regions(ranks, axes, samples.y, importance, shares, left_out, fold, plan.max_regions)
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
        network = design(others, replace(plan, max_regions=0), rng, Progress()).network
        stages = network.stages
        assert isinstance(stages, ReadoutStages)
        evidence[out] = stages.evidence(network.hyperplanes, samples.X[out]) / stages.temperature
    return evidence


def _beside(grown: Grown, stages: ReadoutStages, shares: Floats) -> RegionReadoutStages:
    """The readout, weighed, with the regions beside it."""
    return RegionReadoutStages(
        grown.weight * stages.even,
        grown.weight * stages.odd,
        shares + grown.weight * (stages.bias - shares),
        1.0,
        trees=grown.trees,
        power=grown.power,
        floor=grown.floor,
    )
