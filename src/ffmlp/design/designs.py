"""From samples and a plan to a network: the stages one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.design.blob import blob_design
from ffmlp.design.lda import (
    DISCRIMINANTS,
    all_pairs,
    axis_thresholds,
    drawn_lda,
    lda,
    pairs_of_different_classes,
    pairs_of_neighbours,
)
from ffmlp.design.mixtures import fitted_blobs, labelled_blobs, small_blobs
from ffmlp.design.problem import Plan, Progress, Samples, UpperLayers
from ffmlp.design.pruning import PruningPath
from ffmlp.design.readout import readout_design
from ffmlp.design.region import region_design
from ffmlp.design.scaling import Scaling
from ffmlp.design.trees.correction import FEW_SAMPLES, N_FOLDS, dealt, tree_axes, with_trees
from ffmlp.inputs.columns import Columns
from ffmlp.inputs.features import Gaussianisation, mapped_features
from ffmlp.inputs.gaussianise import fit_gaussianisation, quantiles
from ffmlp.network.blobs import FARTHEST, Blobs, FamiliarSpace, feature_units
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.readout import ReadoutStages
from ffmlp.network.region import Regions

# Many small blobs, and maps and thresholds of features beside them, are made from this many samples.
MAX_SAMPLES_OF_SMALL_BLOBS = 20_000
N_NEIGHBOURS = 5
# Thresholds of each feature; fewer if they would outnumber the other hyperplanes.
MAX_THRESHOLDS_OF_EACH_FEATURE = 16
_MAX_THRESHOLDS = 200
# Hyperplanes whose signs are read are moved by this much. A sample on one of them then has this response
# and lies on its positive side, so that rounding does not decide.
_LEAST_RESPONSE = 1e-9

# Stages 2 and 3.
DESIGNS: dict[str, Callable[[Samples, Plan, Blobs, Hyperplanes, Progress], UpperLayers]] = {
    "paper": region_design,
    "region": region_design,
    "blob": blob_design,
    "readout": readout_design,
}


@dataclass(frozen=True, eq=False)
class Design:
    """The result of all stages.

    ``hyperplanes`` are the hyperplanes before pruning, ``table`` the regions between them that samples
    occupy, for designs that depend on these alone.
    """

    blobs: Blobs
    pruning_path: PruningPath
    network: Network
    hyperplanes: Hyperplanes
    table: Regions | None

    @classmethod
    def of(
        cls, blobs: Blobs, planes: Hyperplanes, upper: UpperLayers, labels: NDArray, columns: Columns
    ) -> Design:
        """The network of blobs, hyperplanes before pruning, and the layers above them."""
        names = columns.input_names(labels)
        network = Network(upper.hyperplanes, upper.stages, labels, blobs.classes, names, columns)
        return cls(blobs, upper.pruning_path, network, planes, upper.table)


def design_network(
    samples: Samples, plan: Plan, rng: np.random.RandomState, progress: Progress
) -> Design:
    """Stages 0 to 3 of the paper, then trees that correct a readout. Samples of a readout are merged."""
    blobs, planes, upper = _stages(samples, plan, rng, progress)
    left_out, axes = upper.left_out, tree_axes(upper.hyperplanes)
    if left_out is not None and len(axes):
        with progress.step("trees"):
            parts, rows, fold = dealt(samples)
            left_out = left_out[rows]
            if len(samples.y) <= FEW_SAMPLES:
                left_out = _cross_fitted(parts, fold, plan, left_out, rng)
            upper = with_trees(upper, axes, parts, fold, left_out, plan.max_leaves, progress)
    design = Design.of(blobs, planes, upper, samples.labels, samples.columns)
    progress.say("network of {} → {} → {} → {} neurons".format(*design.network.layer_sizes))
    return design


def _stages(
    samples: Samples, plan: Plan, rng: np.random.RandomState, progress: Progress
) -> tuple[Blobs, Hyperplanes, UpperLayers]:
    """Blobs, the hyperplanes between them, and the layers above, which keep some of these."""
    with progress.step("gmm"):
        features = _Features.of(samples, plan)
        scaled = _stage_0(features, plan, rng)
        unscaled = features.scaling.unscaled_blobs
        blobs = unscaled(scaled) if samples.given is None else samples.given
        progress.say(f"{len(blobs)} blobs in {len(samples.labels)} classes")
    with progress.step("boundaries"):
        planes = _stage_1(features, scaled, samples, plan, rng)
    return blobs, planes, DESIGNS[plan.design](samples, plan, blobs, planes, progress)


@dataclass(frozen=True, eq=False)
class _Features:
    """Features before stage 0: mapped towards Gaussians or not, and how they are standardised.

    ``samples`` are those that blobs are made from, ``scores`` (n, N) their mapped features.
    """

    samples: Samples
    gaussianisation: Gaussianisation | None
    scores: AnyFloats
    scaling: Scaling

    @classmethod
    def of(cls, samples: Samples, plan: Plan) -> _Features:
        has_small_blobs = plan.n_components is None and not samples.have_blobs
        seen = samples.thinned(MAX_SAMPLES_OF_SMALL_BLOBS) if has_small_blobs else samples
        gaussianisation = fit_gaussianisation(seen.X, seen.weight) if plan.gaussianise else None
        scores = mapped_features(seen.X, gaussianisation)
        scaling, given = Scaling.of(scores, seen.weight), samples.given
        if given is not None:
            scaling = Scaling(given.centre, given.feature_spreads)
        return cls(seen, gaussianisation, scores, scaling)


def _stage_0(features: _Features, plan: Plan, rng: np.random.RandomState) -> Blobs:
    """Blobs in standardised features; their shares include class weights."""
    samples, scores, scaling = features.samples, features.scores, features.scaling
    y, weight = samples.y, samples.weight
    if samples.given is not None:
        return scaling.standardised_blobs(samples.given)
    if samples.members is not None:
        blobs = labelled_blobs(scores, y, samples.members, weight, scaling, shrink=plan.shrink)
    elif plan.n_components is None:
        blobs = small_blobs(scaling.apply(scores), y, weight)
    else:
        blobs = fitted_blobs(scores, y, weight, scaling, plan.n_components, rng, shrink=plan.shrink)
        _warn_of_missing_blobs(blobs, samples, plan.n_components)
    shares = blobs.weights * samples.class_weight[blobs.classes]
    return replace(blobs, weights=shares / shares.sum())


def _stage_1(
    features: _Features, blobs: Blobs, samples: Samples, plan: Plan, rng: np.random.RandomState
) -> Hyperplanes:
    """Hyperplanes between standardised blobs, for the features of the samples."""
    scores, scaling = features.scores, features.scaling
    planes = _between(blobs, plan, samples, rng)
    if samples.given is None:
        # A constant feature could have a weight by rounding, or by chance if samples are drawn:
        # the large product of 1e15 would take the last digits of responses.
        varies = scores.min(axis=0) < scores.max(axis=0)
        planes = replace(planes, weights=planes.weights * varies)
    if plan.design == "readout":
        n_each = max(1, min(MAX_THRESHOLDS_OF_EACH_FEATURE, _MAX_THRESHOLDS // scores.shape[1]))
        thresholds = axis_thresholds(scaling.apply(scores), features.samples.weight, n_each)
        planes = thresholds.joined(planes)
    # Signs are read. The paper does not move its hyperplanes and does not need to: LDA of drawn samples
    # is random, so that no training sample lies on a hyperplane.
    elif plan.design != "paper":
        planes = replace(planes, biases=planes.biases + _LEAST_RESPONSE)
    return replace(scaling.unscaled_planes(planes), gaussianisation=features.gaussianisation)


def _between(blobs: Blobs, plan: Plan, samples: Samples, rng: np.random.RandomState) -> Hyperplanes:
    """A hyperplane between each pair of blobs, in standardised features."""
    pairs_of = all_pairs if plan.all_pairs else pairs_of_different_classes
    if plan.discriminant == "drawn_lda" and not samples.have_blobs:
        mass = np.bincount(samples.y, samples.weight, len(samples.labels)).astype(np.float64)
        return drawn_lda(blobs, pairs_of, mass, samples.class_weight, rng)
    # Known blobs are not a mixture to draw from: this is the LDA of their samples.
    separate = DISCRIMINANTS.get(plan.discriminant, lda)
    if plan.n_components is not None or samples.have_blobs:
        return separate(blobs, pairs_of(blobs))
    pairs = pairs_of_neighbours(blobs, N_NEIGHBOURS)
    if blobs.axes is None:
        return separate(blobs, pairs)
    # Axes are orthonormal, so products map means to the axes and normals back to the features.
    along = separate(replace(blobs, means=blobs.means @ blobs.axes, axes=None), pairs)
    return replace(along, weights=along.weights @ blobs.axes.T)


def _cross_fitted(
    samples: Samples, fold: Indices, plan: Plan, left_out: Floats, rng: np.random.RandomState
) -> Floats:
    """The evidence of readouts designed without a fold: with few samples, their blobs count, too."""
    evidence = left_out.copy()
    for number in range(N_FOLDS):
        inside, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if not len(out) or len(np.unique(samples.y[inside])) < len(samples.labels):
            continue  # a class is missing
        others = samples.select(inside).merged()
        _, _, upper = _stages(others, replace(plan, max_leaves=0), rng, Progress())
        assert isinstance(upper.stages, ReadoutStages)
        unscaled = upper.stages.evidence(upper.hyperplanes, samples.X[out])
        evidence[out] = unscaled / upper.stages.temperature
    return evidence


def _warn_of_missing_blobs(blobs: Blobs, samples: Samples, wanted: tuple[int, ...]) -> None:
    made = np.bincount(blobs.classes, minlength=len(samples.labels))
    for label in np.unique(samples.y):
        if made[label] < wanted[label]:
            name = samples.labels.tolist()[label]
            warnings.warn(
                f"Class {name!r} has too few distinct samples for {wanted[label]} Gaussian blobs; it "
                f"gets {made[label]}.",
                UserWarning,
                stacklevel=7,
            )


# Training samples that are measured, and quantiles of their scores that are kept.
MAX_SAMPLES = 20_000
_N_QUANTILES = 1001
# No blob is thinner than a tenth of a feature's deviation, as in the design of small blobs.
_LEAST_VARIANCE = 0.01


def familiar_space(blobs: Blobs, planes: Hyperplanes, samples: Samples) -> FamiliarSpace:
    """The space in which the pooled covariance of the blobs is the identity. Deterministic.

    One covariance for all blobs: the covariance of a small blob depends too much on its few samples, so
    that others of the same kind would seem far away. Takes O(n·G·N) time.
    """
    seen = samples.thinned(MAX_SAMPLES)
    scale = Scaling.of(planes.mapped(seen.X), seen.weight).scale
    axes = _whitening(blobs, scale, samples.weight.sum())
    # Only maps of features need units: they are constant beyond their outermost knots.
    units = np.stack(
        [scale, scale] if planes.gaussianisation is None else [feature_units(blobs, planes), scale]
    )
    with np.errstate(over="ignore", invalid="ignore"):
        centres = np.nan_to_num(blobs.means @ axes)
    space = FamiliarSpace(axes, centres, units, np.zeros(1))
    nearest, scores = space.measured(planes, seen.X)
    # Without the sample itself, the mean of its blob would be farther away.
    counts = np.maximum(np.bincount(nearest, seen.weight, len(blobs)), 2.0)[nearest]
    levels = np.linspace(0.0, 1.0, _N_QUANTILES)
    with np.errstate(over="ignore"):
        left_out = np.minimum(scores * (counts / (counts - 1.0)), FARTHEST)
    return replace(space, quantiles=quantiles(left_out, seen.weight, levels))


def _whitening(blobs: Blobs, scale: Floats, n_samples: float) -> Floats:
    """Axes (N, r) along which samples vary by about one within blobs.

    The fewer samples there are for each axis, the more the variances are shrunk towards their mean:
    those along some axes are too small by chance, and other samples would seem far away.
    """
    scale = scale if blobs.axes is None else np.ones(blobs.axes.shape[1])
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        covariance = np.tensordot(blobs.weights, blobs.covariances, 1) / scale / scale[:, None]
    if not np.isfinite(covariance).all():  # the variances of features around 1e200 are infinite
        covariance = np.eye(len(scale))
    variances, directions = eigh(covariance)
    variances = variances + len(variances) / n_samples * variances.mean()
    least = _LEAST_VARIANCE * (1.0 if blobs.axes is None else variances.max())
    axes = directions / np.sqrt(np.maximum(variances, least)) / scale[:, None]
    return axes if blobs.axes is None else np.linalg.pinv(blobs.axes).T @ axes
