"""After the stages: where the training samples were, so that others can be compared with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from ffmlp.arrays import Floats
from ffmlp.design.problem import Samples
from ffmlp.design.scaling import Scaling
from ffmlp.inputs.gaussianise import quantiles
from ffmlp.network.blobs import Blobs, feature_units
from ffmlp.network.familiarity import FARTHEST, FamiliarSpace
from ffmlp.network.hyperplanes import Hyperplanes

# Training samples that are measured, and quantiles of their scores that are kept.
MAX_SAMPLES = 20_000
_N_QUANTILES = 1001
# No blob is thinner than a tenth of a feature's deviation, as in the design of small blobs.
_LEAST_VARIANCE = 0.01


def familiar_space(blobs: Blobs, planes: Hyperplanes, samples: Samples) -> FamiliarSpace:
    """The space in which the pooled covariance of the blobs is the identity. Deterministic.

    One covariance for all blobs: that of a small one depends too much on its few samples, so that others
    of the same kind would seem far away. Takes O(n·G·N) time.
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
