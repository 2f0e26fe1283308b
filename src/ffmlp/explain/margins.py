"""Spreads of responses, and the nearest blob of a sample."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, pinv

from ffmlp.arrays import Floats, Indices
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes


def response_spreads(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """The standard deviation (L,) of each response.

    It is taken within the two blobs that a hyperplane separates; for the threshold of a feature, over
    all samples.
    """
    variance = np.sum((planes.weights * blobs.feature_spreads) ** 2, axis=1)
    within = np.zeros(planes.pairs.shape)
    for place, blob in enumerate(planes.pairs.T):
        for number in np.unique(blob[blob != NO_BLOB]):
            mine = blob == number
            normals = planes.weights[mine] if blobs.axes is None else planes.weights[mine] @ blobs.axes
            within[mine, place] = np.sum(normals @ blobs.covariances[number] * normals, axis=1)
    share = blobs.weights[planes.pairs]
    share = share / share.sum(axis=1, keepdims=True)
    pooled = np.sum(share * within, axis=1)
    variance = np.where(planes.pairs[:, 0] == NO_BLOB, variance, pooled)
    return np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0)


def nearest_blobs(blobs: Blobs, Z: Floats) -> tuple[Indices, Floats]:
    """The blob (n,) of least Mahalanobis distance, and that distance squared."""
    # In the axes of the covariances, if there are any; otherwise in standardised features.
    scale = blobs.feature_spreads if blobs.axes is None else np.ones(blobs.axes.shape[1])
    coordinates = np.diag(1.0 / scale) if blobs.axes is None else pinv(blobs.axes).T
    nearest = np.zeros(len(Z), np.intp)
    least = np.full(len(Z), np.inf)
    for number in range(len(blobs)):
        factor = cho_factor(blobs.covariances[number] / np.outer(scale, scale))
        deviation = (Z - blobs.means[number]) @ coordinates
        squared = np.sum(deviation * cho_solve(factor, deviation.T).T, axis=1)
        closer = squared < least
        nearest[closer], least[closer] = number, squared[closer]
    return nearest, least
