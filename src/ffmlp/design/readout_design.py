"""Stages 2 and 3 of the readout design: the evidence of each class, by least squares."""

from __future__ import annotations

import numpy as np

from ffmlp.design.problem import Plan, Samples, UpperLayers
from ffmlp.design.progress import Progress
from ffmlp.design.pruning import PruningPath
from ffmlp.design.readout import Readout, fit_readout
from ffmlp.design.readout_pruning import prune_readout
from ffmlp.design.small_readout import fit_small_readout
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.readout_stages import ReadoutStages


def readout_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> UpperLayers:
    """One l_2 neuron per class: its evidence."""
    n_classes = len(samples.labels)
    path = None
    if plan.error_threshold is not None:
        with progress.step("boundaries"):
            data = samples.X, samples.y, samples.importance, n_classes
            path = prune_readout(planes, *data, plan.error_threshold)
            planes = planes.select(path.kept)
            progress.say(f"{len(planes)} hyperplanes left")
    with progress.step("regions"):
        readout = fit_readout(planes, samples, leave_out=plan.max_regions > 0)
        progress.say(f"ridge {readout.ridge:.2g}, leave-one-out error {readout.error_rate:.2%}")
    if path is None or not len(path.deleted):
        path = PruningPath(np.zeros(0, np.intp), np.zeros(0), readout.error_rate, np.arange(len(planes)))
    n_allowed = plan.max_half_spaces(n_classes)
    if 2 * len(planes) > n_allowed:
        return _small_readout_design(samples, planes, readout, path, int(n_allowed), progress)
    with progress.step("classes"):
        stages = ReadoutStages(readout.even, readout.odd, readout.bias, readout.temperature)
    return UpperLayers(planes, path, stages, readout.left_out)


def _small_readout_design(
    samples: Samples,
    planes: Hyperplanes,
    readout: Readout,
    path: PruningPath,
    n_neurons: int,
    progress: Progress,
) -> UpperLayers:
    """Few half-spaces that approximate the readout of all hyperplanes."""
    with progress.step("regions"):
        small = fit_small_readout(planes, readout, samples.X, samples.y, samples.importance, n_neurons)
        progress.say(f"{len(small.kept)} half-spaces, training error {small.error_rate:.2%}")
    with progress.step("classes"):
        half = 0.5 * small.weights
        stages = ReadoutStages(half, half, small.bias, 1.0, one_sided=True)
    kept = path.kept[small.kept]
    deleted = np.concatenate([path.deleted, np.setdiff1d(path.kept, kept)])
    path = PruningPath(deleted, np.full(len(deleted), small.error_rate), np.nan, kept)
    return UpperLayers(small.hyperplanes, path, stages)
