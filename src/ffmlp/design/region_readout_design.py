"""Regions beside a readout, where its evidence errs on samples that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.design.problem import Plan, Samples, UpperLayers
from ffmlp.design.progress import Progress
from ffmlp.design.region_trees import FEW_SAMPLES, Grown, grow_regions
from ffmlp.design.tree_growth import Ranks
from ffmlp.model.hyperplanes import NO_BLOB, Hyperplanes
from ffmlp.model.readout_stages import ReadoutStages
from ffmlp.model.region_readout_stages import RegionReadoutStages

if TYPE_CHECKING:
    from ffmlp.design.designs import Design

# Folds of few samples, for the evidence of networks that have not seen them.
_N_FOLDS = 5

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
    left_out = _cross_fitted(samples, plan, upper.left_out, rng, design)
    importance = samples.importance
    shares = np.bincount(samples.y, importance, len(samples.labels)) / importance.sum()
    ranks = _ranks(upper.hyperplanes.select(axes), samples.X, importance)
    grown = grow_regions(ranks, axes, samples.y, importance, shares, left_out, plan.max_regions)
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
    samples: Samples, plan: Plan, left_out: Floats, rng: np.random.RandomState, design: Designer
) -> Floats:
    """With few samples, the evidence of networks designed without them: their blobs count, too."""
    if len(samples.y) > FEW_SAMPLES:
        return left_out
    evidence = left_out.copy()
    fold = np.arange(len(samples.y)) % _N_FOLDS
    for number in range(_N_FOLDS):
        inside, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(np.unique(samples.y[inside])) < len(samples.labels):
            continue  # a class is missing
        network = design(samples.select(inside), replace(plan, max_regions=0), rng, Progress()).network
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
