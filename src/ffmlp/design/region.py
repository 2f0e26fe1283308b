"""Stages 2 and 3 of the region and paper designs: each occupied region votes for its majority class."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ffmlp.arrays import Floats
from ffmlp.design.problem import Plan, Progress, Samples, UpperLayers
from ffmlp.design.pruning import PruningPath, prune, prune_optimally
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.region import PaperStages, Regions, RegionStages, sign_codes, tabulate

# The two read the same layers: one has a rule for unseen regions, the other is the bare network.
_STAGES = {"region": RegionStages, "paper": PaperStages}


def region_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> UpperLayers:
    """The paper's design: one l_2 neuron per occupied region."""
    with progress.step("boundaries"):
        table = samples.total(partial(occupied_regions, planes))
        path, regions = pruned(table, samples.class_weight, plan, progress)
    return replace(region_layers(path, regions, plan, planes, progress), table=table)


def region_layers(
    path: PruningPath, regions: Regions, plan: Plan, planes: Hyperplanes, progress: Progress
) -> UpperLayers:
    """Stages 2 and 3 from the regions before pruning, which is all that they read."""
    with progress.step("regions"):
        regions = regions.select(path.kept)
        progress.say(f"{len(regions)} regions after pruning")
    with progress.step("classes"):
        stages = _STAGES[plan.design](regions, plan.penalty)
    return UpperLayers(planes.select(path.kept), path, stages)


def occupied_regions(planes: Hyperplanes, samples: Samples) -> Regions:
    """The regions between hyperplanes that a block of samples occupies; addable."""
    weight = None if (samples.weight == 1.0).all() else samples.weight
    codes = sign_codes(planes, samples.X)
    return tabulate(codes, len(planes), samples.y, len(samples.labels), weight)


def pruned(
    table: Regions, class_weight: Floats, plan: Plan, progress: Progress
) -> tuple[PruningPath, Regions]:
    """The pruning path by the plan's threshold, and the occupied regions before it, by class weights."""
    regions = table
    if (class_weight != 1.0).any():  # sums of weights are exact, sums of products are not
        regions = replace(regions, counts=regions.counts * class_weight)
    progress.say(f"{regions.codes.shape[1]} hyperplanes, {len(regions)} occupied regions")
    # A threshold of 0 allows no deletion, because no error rate is below it.
    threshold = 0.0 if plan.error_threshold is None else plan.error_threshold
    if plan.pruning == "greedy":

        def report(n_left: int, error_rate: float) -> None:
            progress.say(f"{n_left} hyperplanes left, training error {100 * error_rate:.2f} %")

        return prune(regions, threshold, report), regions
    path = prune_optimally(regions, threshold, plan.time_limit)
    progress.say(f"{len(path.kept)} hyperplanes left, at least {path.proved_minimum} are needed")
    return path, regions
