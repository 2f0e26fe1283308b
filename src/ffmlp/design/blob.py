"""Stages 2 and 3 of the blob design: one l_2 neuron per blob that still has a hyperplane."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import softmax

from ffmlp.arrays import Floats, Indices, without_rounding
from ffmlp.design.least_squares import best_temperature
from ffmlp.design.problem import Plan, Progress, Samples, UpperLayers
from ffmlp.design.region import occupied_regions, pruned
from ffmlp.inputs.rows import weighted_subsample
from ffmlp.network.blob import BlobStages
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes, softplus
from ffmlp.network.stages import votes

# The weight of a sample of unknown class, and the evidence of it that is looked at.
_DOUBT = 0.5
_MOST_ENTRIES = 1 << 18
# Temperatures that are tried between the two.
_N_TEMPERATURES = 16


def blob_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> UpperLayers:
    """One l_2 neuron per blob that has a hyperplane after pruning."""
    with progress.step("boundaries"):
        table = samples.total(partial(occupied_regions, planes))
        path, _ = pruned(table, samples.class_weight, plan, progress)
        planes = planes.select(path.kept)
    with progress.step("regions"):
        left, pairs = np.unique(planes.pairs, return_inverse=True)
        owners = blobs.classes[left]
        stages = BlobStages(pairs.reshape(-1, 2), left, owners, len(samples.labels), 1.0)
        progress.say(f"{len(left)} blobs after pruning")
    with progress.step("classes"):
        l_1 = softplus(planes.sides(planes.signed_responses(samples.X)))
        evidence = l_1 @ stages.weights[0].T
        temperature = _temperature(evidence, owners, samples)
    return UpperLayers(planes, path, replace(stages, temperature=temperature))


def _temperature(evidence: Floats, owners: Indices, samples: Samples) -> float:
    """The temperature of least log-loss with doubt, unless lower confidence costs training errors."""
    y, weight = samples.y, samples.importance
    sharp = best_temperature(evidence, owners, y, weight)
    doubtful = best_temperature(*_with_doubt(evidence, owners, samples))
    ascending = np.geomspace(min(doubtful, sharp), sharp, _N_TEMPERATURES)
    to_classes, wrong = votes(owners, len(samples.labels)).T, []
    for temperature in ascending:
        share = softmax(temperature * evidence, axis=1) @ to_classes
        wrong.append(weight @ (without_rounding(share).argmax(axis=1) != y))
    return float(ascending[int(np.argmax(np.array(wrong) <= wrong[-1]))])


def _with_doubt(
    evidence: Floats, owners: Indices, samples: Samples
) -> tuple[Floats, Indices, Indices, Floats]:
    """Half a sample more, whose place is anywhere among the samples and whose class is unknown.

    Without it, samples that are all classified correctly would allow any confidence. If there are many
    samples, blobs or classes, some samples stand for all places.
    """
    y, weight, labels = samples.y, samples.importance, np.unique(owners)
    most = max(1, _MOST_ENTRIES // (evidence.shape[1] * len(labels)))
    rows, mass = weighted_subsample(samples.X, y, weight, most)
    share = np.bincount(y, weight)
    doubt = _DOUBT * np.outer(share[labels] / share.sum(), mass / mass.sum())
    return (
        np.vstack([evidence, np.tile(evidence[rows], (len(labels), 1))]),
        owners,
        np.concatenate([y, np.repeat(labels, len(rows))]),
        np.concatenate([weight, doubt.ravel()]),
    )
