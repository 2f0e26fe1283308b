"""Margins of hyperplanes in units that people know: standard deviations, and sums over features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, pinv

from ffmlp.arrays import Floats
from ffmlp.model.blobs import Blobs
from ffmlp.model.hyperplanes import NO_BLOB, Hyperplanes


def response_spreads(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """The standard deviation (L,) of each response.

    Within the two blobs that a hyperplane separates; over all samples for the threshold of a feature.
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


def crossings(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """Where each hyperplane is crossed on the way from its second blob to its first (L, N).

    The response of a sample x is ``weights · (x − crossing)``: a sum over the features. The threshold
    of a feature is crossed from the middle of all samples.
    """
    first, second = planes.pairs.T
    start, stop = blobs.means[second], blobs.means[first]
    alone = first == NO_BLOB
    start = np.where(alone[:, None], blobs.centre, start)
    way = np.where(alone[:, None], planes.weights, stop - start)
    rise = np.sum(planes.weights * way, axis=1)
    way = np.where((rise > 0)[:, None], way, planes.weights)
    rise = np.sum(planes.weights * way, axis=1)
    height = np.sum(planes.weights * start, axis=1) + planes.biases
    return start - np.divide(height, rise, out=np.zeros_like(rise), where=rise > 0)[:, None] * way


def nearest_blobs(blobs: Blobs, Z: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The blob (n,) of least Mahalanobis distance, and that distance squared."""
    # Along axes, where the covariances are given so; else feature by feature, each in its own unit.
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
