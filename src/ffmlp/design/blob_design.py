"""Stages 2 and 3 of the blob design: one l_2 neuron per blob that still has a hyperplane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ffmlp.design.problem import Plan, Samples, UpperLayers
from ffmlp.design.progress import Progress
from ffmlp.design.readout import best_temperature
from ffmlp.design.region_design import pruned
from ffmlp.model.activations import softplus
from ffmlp.model.blob_stages import BlobStages
from ffmlp.model.blobs import Blobs
from ffmlp.model.hyperplanes import Hyperplanes


def blob_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> UpperLayers:
    """One l_2 neuron per blob that has a hyperplane after pruning."""
    with progress.step("boundaries"):
        path, _ = pruned(samples, plan, planes, progress)
        planes = planes.select(path.kept)
    with progress.step("regions"):
        left, pairs = np.unique(planes.pairs, return_inverse=True)
        owners = blobs.classes[left]
        stages = BlobStages(pairs.reshape(-1, 2), left, owners, len(samples.labels), 1.0)
        progress.say(f"{len(left)} blobs after pruning")
    with progress.step("classes"):
        l_1 = softplus(planes.sides(planes.signed_responses(samples.X)))
        evidence = l_1 @ stages.weights[0].T
        temperature = best_temperature(evidence, owners, samples.y, samples.importance)
    return UpperLayers(planes, path, replace(stages, temperature=temperature))
