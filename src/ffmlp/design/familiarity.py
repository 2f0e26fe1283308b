"""After the stages: where the training samples were, so that others can be compared with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from ffmlp.arrays import Floats
from ffmlp.design.gaussianise import quantiles
from ffmlp.design.problem import Samples
from ffmlp.model.blobs import Blobs, feature_units
from ffmlp.model.familiarity import FamiliarSpace
from ffmlp.model.hyperplanes import Hyperplanes

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
    units = np.stack([feature_units(blobs, planes), blobs.feature_spreads])
    axes = _whitening(blobs, samples.weight.sum())
    space = FamiliarSpace(axes, blobs.means @ axes, units, np.zeros(1))
    seen = samples.thinned(MAX_SAMPLES)
    nearest, scores = space.measured(planes, seen.X)
    # Without the sample itself, the mean of its blob would be farther away.
    counts = np.maximum(np.bincount(nearest, seen.weight, len(blobs)), 2.0)[nearest]
    levels = np.linspace(0.0, 1.0, _N_QUANTILES)
    left_out = quantiles(scores * (counts / (counts - 1.0)), seen.weight, levels)
    return replace(space, quantiles=left_out)


def _whitening(blobs: Blobs, n_samples: float) -> Floats:
    """Axes (N, r) along which samples vary by about one within blobs.

    The fewer samples there are for each axis, the more the variances are shrunk towards their mean:
    those along some axes are too small by chance, and other samples would seem far away.
    """
    covariance = np.einsum("g,gij->ij", blobs.weights, blobs.covariances)
    scale = blobs.feature_spreads if blobs.axes is None else np.ones(blobs.axes.shape[1])
    variances, directions = eigh(covariance / np.outer(scale, scale))
    least = _LEAST_VARIANCE * (1.0 if blobs.axes is None else variances.max())
    variances = variances + len(variances) / n_samples * variances.mean()
    axes = directions / np.sqrt(np.maximum(variances, least)) / scale[:, None]
    return axes if blobs.axes is None else np.linalg.pinv(blobs.axes).T @ axes
