"""From samples and a plan to a network: the stages one after the other.

Stages 0 and 1 are the same for every design: blobs, then hyperplanes between them. What layer l_2 is
made of, and how l_out reads it, is where the designs differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ffmlp.design.blobs import Blobs, Floats, Scaling, fitted_blobs, labelled_blobs
from ffmlp.design.cells import cell_blobs, principal_axes
from ffmlp.design.discriminants import (
    DISCRIMINANTS,
    axis_thresholds,
    pairs_of_different_classes,
    pairs_of_neighbours,
)
from ffmlp.design.optimal_pruning import prune_optimally
from ffmlp.design.progress import Progress
from ffmlp.design.pruning import PruningPath, prune
from ffmlp.design.readout import Readout, best_temperature, fit_readout
from ffmlp.design.readout_pruning import prune_readout
from ffmlp.design.small_readout import fit_small_readout
from ffmlp.design.subsets import changes
from ffmlp.model.features import Gaussianisation
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.network import Network
from ffmlp.model.regions import Regions, sign_codes, tabulate
from ffmlp.model.stages import ACTIVATIONS, BlobStages, ReadoutStages, RegionStages, Stages

# Small blobs in all, for up to `_ROWS_OF_SMALL_DATA` samples. Beyond, they grow with the cube root of n,
# and fall with its square root from `_ROWS_OF_LARGE_DATA` on: the least squares take no longer then.
N_SMALL_BLOBS = 130
_ROWS_OF_SMALL_DATA = 3000
_ROWS_OF_LARGE_DATA = 100_000
N_NEIGHBOURS = 5
# Thresholds of each feature; fewer where they would outnumber the other hyperplanes.
MAX_THRESHOLDS_OF_EACH_FEATURE = 16
_MAX_THRESHOLDS = 200
# Small blobs of more features are told apart along their principal axes only: a covariance of every
# blob would be estimated from far fewer samples than it has entries, and would not fit into memory.
_MAX_AXES = 100
# Hyperplanes that cut out regions are moved by this much, so that a sample on one of them has this
# response and lies on its positive side: rounding does not decide.
_LEAST_RESPONSE = 1e-9


@dataclass(frozen=True, eq=False)
class Samples:
    """Validated training samples.

    ``weight`` (n,) says how often a sample counts, ``class_weight`` (C,) how much a sample of a class
    matters; ``members`` (n,) is the blob of each sample where that is known.
    """

    X: NDArray[np.floating]
    y: NDArray[np.intp]
    weight: Floats
    labels: NDArray
    class_weight: Floats
    feature_names: tuple[str, ...]
    members: NDArray[np.intp] | None = None

    @property
    def importance(self) -> Floats:
        """What the mistakes on each sample cost (n,)."""
        return self.weight * self.class_weight[self.y]

    def select(self, rows: NDArray) -> Samples:
        """Some of the samples; the classes stay as they are."""
        members = None if self.members is None else self.members[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], weight=self.weight[rows], members=members)

    def reweighted(self, weight: Floats) -> Samples:
        """The samples whose new weight is not 0."""
        return replace(self, weight=weight).select(weight > 0)

    def merged(self) -> Samples:
        """Each distinct sample once, with the weight of all equal ones, in the order of class and value.

        However the samples were given, this gives the same to the last bit.
        """
        group = self.y if self.members is None else self.members
        order = np.lexsort((*self.X.T[::-1], group, self.y))
        first = np.flatnonzero(changes(order, group, *self.X.T))
        distinct = self.select(order[first])
        weight = np.add.reduceat(self.weight[order], first)
        return replace(distinct, X=np.ascontiguousarray(distinct.X), weight=weight)


@dataclass(frozen=True)
class Plan:
    """Everything that is chosen before a network is designed.

    ``n_components`` is the number of blobs of each class, None for many small blobs, each separated
    from its neighbours only.
    """

    design: str
    gaussianise: bool
    discriminant: str
    n_components: tuple[int, ...] | None
    error_threshold: float | None
    pruning: str = "greedy"
    time_limit: float = 60.0
    penalty: float = 1000.0
    max_neurons: int | None = None

    @property
    def chooses_greedily(self) -> bool:
        """Whether hyperplanes of a readout are taken one by one: rounding may decide what is taken."""
        return self.max_neurons is not None or (
            self.design == "readout" and self.error_threshold is not None
        )

    def max_half_spaces(self, n_classes: int) -> float:
        """How many neurons l_1 of the readout design may have, beside two for each class."""
        return np.inf if self.max_neurons is None else self.max_neurons - 2 * n_classes


@dataclass(frozen=True, eq=False)
class Design:
    """What the stages have made; ``regions`` is None where the design has none."""

    blobs: Blobs
    hyperplanes: Hyperplanes
    pruning_path: PruningPath
    regions: Regions | None
    network: Network


@dataclass(frozen=True, eq=False)
class _Upper:
    """What a design makes of the hyperplanes: those that stay, and the layers above them."""

    hyperplanes: Hyperplanes
    pruning_path: PruningPath
    regions: Regions | None
    stages: Stages


def design_network(
    samples: Samples, plan: Plan, rng: np.random.RandomState, progress: Progress
) -> Design:
    """The stages of the paper, one after the other, with layers l_2 and l_out as the plan has them."""
    if plan.chooses_greedily:
        samples = samples.merged()
    with progress.step("gmm"):
        gaussianisation = Gaussianisation.of(samples.X, samples.weight) if plan.gaussianise else None
        scores = samples.X if gaussianisation is None else gaussianisation.apply(samples.X)
        scaling = Scaling.of(scores, samples.weight)
        blobs = _blobs(scores, samples, plan, scaling, rng)
        progress.say(f"{len(blobs)} blobs in {len(samples.labels)} classes")

    with progress.step("boundaries"):
        planes = _hyperplanes(blobs, plan, samples)
        if plan.design == "readout":
            n_each = max(1, min(MAX_THRESHOLDS_OF_EACH_FEATURE, _MAX_THRESHOLDS // scores.shape[1]))
            planes = axis_thresholds(scaling.apply(scores), samples.weight, n_each).joined(planes)
        else:  # codes are read
            planes = replace(planes, biases=planes.biases + _LEAST_RESPONSE)
        planes = replace(planes.unscaled(scaling), gaussianisation=gaussianisation)

    upper = DESIGNS[plan.design](samples, plan, blobs, planes, progress)
    network = Network(
        upper.hyperplanes, upper.stages, samples.labels, blobs.classes, samples.feature_names
    )
    progress.say("network of {} → {} → {} → {} neurons".format(*network.layer_sizes))
    return Design(blobs.unscaled(scaling), upper.hyperplanes, upper.pruning_path, upper.regions, network)


def _blobs(
    scores: NDArray[np.floating],
    samples: Samples,
    plan: Plan,
    scaling: Scaling,
    rng: np.random.RandomState,
) -> Blobs:
    """Stage 0, in standardised features; a class counts as much as its samples matter."""
    y, weight = samples.y, samples.weight
    if samples.members is not None:
        blobs = labelled_blobs(scores, y, samples.members, weight, scaling)
    elif plan.n_components is None:
        blobs = _small_blobs(scaling.apply(scores), y, weight)
    else:
        blobs = fitted_blobs(scores, y, weight, scaling, np.array(plan.n_components), rng)
        _warn_of_missing_blobs(blobs, samples, plan.n_components)
    shares = blobs.weights * samples.class_weight[blobs.classes]
    return replace(blobs, weights=shares / shares.sum())


def _small_blobs(Z: Floats, y: NDArray[np.intp], weight: Floats) -> Blobs:
    n_samples = weight.sum()
    growth = max(1.0, n_samples / _ROWS_OF_SMALL_DATA) ** (1 / 3)
    growth *= min(1.0, _ROWS_OF_LARGE_DATA / n_samples) ** (5 / 6)
    if Z.shape[1] <= _MAX_AXES:
        return cell_blobs(Z, y, weight, N_SMALL_BLOBS * growth)
    axes = principal_axes(Z, weight, _MAX_AXES)
    return cell_blobs(Z @ axes, y, weight, N_SMALL_BLOBS * growth).lifted(axes)


def _hyperplanes(blobs: Blobs, plan: Plan, samples: Samples) -> Hyperplanes:
    """Stage 1, in standardised features."""
    separate = DISCRIMINANTS[plan.discriminant]
    if plan.n_components is not None or samples.members is not None:
        return separate(blobs, pairs_of_different_classes(blobs))
    pairs = pairs_of_neighbours(blobs, N_NEIGHBOURS)
    if blobs.axes is None:
        return separate(blobs, pairs)
    # Axes are orthonormal, so blobs and normals are taken to them and back by products.
    along = separate(replace(blobs, means=blobs.means @ blobs.axes, axes=None), pairs)
    return replace(along, weights=along.weights @ blobs.axes.T)


def _pruned(
    samples: Samples, plan: Plan, planes: Hyperplanes, progress: Progress
) -> tuple[PruningPath, Regions]:
    """The hyperplanes that the threshold keeps, and the regions that all of them cut out."""
    codes = sign_codes(planes, samples.X)
    weight = None if (samples.weight == 1.0).all() else samples.weight
    regions = tabulate(codes, len(planes), samples.y, len(samples.labels), weight)
    if (samples.class_weight != 1.0).any():  # sums of weights are exact, those of products are not
        regions = replace(regions, counts=regions.counts * samples.class_weight)
    progress.say(f"{len(planes)} hyperplanes cut out {len(regions)} occupied regions")
    # A threshold of 0 allows no deletion: no error rate is below it.
    threshold = 0.0 if plan.error_threshold is None else plan.error_threshold
    if plan.pruning == "greedy":
        return prune(regions, threshold, progress.deletion), regions
    path = prune_optimally(regions, threshold, plan.time_limit)
    progress.say(f"{len(path.kept)} hyperplanes left, at least {path.proved_minimum} are needed")
    return path, regions


def _region_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> _Upper:
    """The paper's: one l_2 neuron for each occupied region."""
    with progress.step("boundaries"):
        path, regions = _pruned(samples, plan, planes, progress)
    with progress.step("regions"):
        regions = regions.select(path.kept)
        progress.say(f"{len(regions)} regions after pruning")
    with progress.step("classes"):
        stages = RegionStages(regions.codes, regions.classes, len(samples.labels), plan.penalty)
    return _Upper(planes.select(path.kept), path, regions, stages)


def _blob_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> _Upper:
    """One l_2 neuron for each blob that a hyperplane is left to."""
    with progress.step("boundaries"):
        path, _ = _pruned(samples, plan, planes, progress)
        planes = planes.select(path.kept)
    with progress.step("regions"):
        left, pairs = np.unique(planes.pairs, return_inverse=True)
        owners = blobs.classes[left]
        stages = BlobStages(pairs.reshape(-1, 2), left, owners, len(samples.labels), 1.0)
        progress.say(f"{len(left)} blobs after pruning")
    with progress.step("classes"):
        l_1 = ACTIVATIONS[stages.activations[0]](planes.sides(planes.log_odds(samples.X)))
        evidence = l_1 @ stages.weights[0].T
        temperature = best_temperature(evidence, owners, samples.y, samples.importance)
    return _Upper(planes, path, None, replace(stages, temperature=temperature))


def _readout_design(
    samples: Samples, plan: Plan, blobs: Blobs, planes: Hyperplanes, progress: Progress
) -> _Upper:
    """One l_2 neuron for the evidence of each class."""
    n_classes = len(samples.labels)
    data = samples.X, samples.y, samples.importance, n_classes
    path = None
    if plan.error_threshold is not None:
        with progress.step("boundaries"):
            path = prune_readout(planes, *data, plan.error_threshold)
            planes = planes.select(path.kept)
            progress.say(f"{len(planes)} hyperplanes left")
    with progress.step("regions"):
        readout = fit_readout(planes, *data)
        progress.say(f"ridge {readout.ridge:.2g}, leave-one-out error {readout.error_rate:.2%}")
    if path is None or not len(path.deleted):
        path = PruningPath(np.zeros(0, np.intp), np.zeros(0), readout.error_rate, np.arange(len(planes)))
    n_allowed = plan.max_half_spaces(n_classes)
    if 2 * len(planes) > n_allowed:
        return _small_readout_design(samples, planes, readout, path, int(n_allowed), progress)
    with progress.step("classes"):
        stages = ReadoutStages(readout.even, readout.odd, readout.bias, readout.temperature)
    return _Upper(planes, path, None, stages)


def _small_readout_design(
    samples: Samples,
    planes: Hyperplanes,
    readout: Readout,
    path: PruningPath,
    n_neurons: int,
    progress: Progress,
) -> _Upper:
    """Few half-spaces that do what the readout of all hyperplanes does."""
    with progress.step("regions"):
        small = fit_small_readout(planes, readout, samples.X, samples.y, samples.importance, n_neurons)
        progress.say(f"{len(small.kept)} half-spaces, training error {small.error_rate:.2%}")
    with progress.step("classes"):
        half = 0.5 * small.weights
        stages = ReadoutStages(half, half, small.bias, 1.0, one_sided=True)
    kept = path.kept[small.kept]
    deleted = np.concatenate([path.deleted, np.setdiff1d(path.kept, kept)])
    path = PruningPath(deleted, np.full(len(deleted), small.error_rate), np.nan, kept)
    return _Upper(small.hyperplanes, path, None, stages)


DESIGNS: dict[str, Callable[[Samples, Plan, Blobs, Hyperplanes, Progress], _Upper]] = {
    "region": _region_design,
    "blob": _blob_design,
    "readout": _readout_design,
}


def _warn_of_missing_blobs(blobs: Blobs, samples: Samples, wanted: tuple[int, ...]) -> None:
    made = np.bincount(blobs.classes, minlength=len(samples.labels))
    for label in np.unique(samples.y):
        if made[label] < wanted[label]:
            name = samples.labels.tolist()[label]
            warnings.warn(
                f"class {name!r} has too few distinct samples for {wanted[label]} Gaussian blobs: it "
                f"gets {made[label]}.",
                UserWarning,
                stacklevel=6,
            )
