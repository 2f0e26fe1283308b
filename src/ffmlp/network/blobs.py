"""Gaussian blobs, which name the neurons of a network and give the units of its features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import Floats, Indices
from ffmlp.network.hyperplanes import Hyperplanes


@dataclass(frozen=True, eq=False)
class Blobs:
    """G Gaussian blobs, grouped by class.

    Attributes
    ----------
    classes : ndarray of shape (G,)
        The class of each blob, as an index into the classifier's ``classes_``.
    means : ndarray of shape (G, N)
    covariances : ndarray of shape (G, N, N), or (G, r, r) with axes
    weights : ndarray of shape (G,)
        The share of the training samples in each blob; the shares sum to one.
    axes : ndarray of shape (N, r) or None
        Axes of the covariances, if there are too many features for full covariances:
        ``axes @ covariances[g] @ axes.T`` is the covariance of the features.
    """

    classes: Indices
    means: Floats
    covariances: Floats
    weights: Floats
    axes: Floats | None = None

    def __repr__(self) -> str:
        n_blobs, n_features = self.means.shape
        return f"Blobs({n_blobs} blobs of {len(np.unique(self.classes))} classes, {n_features} features)"

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def centre(self) -> Floats:
        """The mean (N,) of each feature over all blobs, in the space of the blobs."""
        return self.weights @ self.means

    @property
    def feature_spreads(self) -> Floats:
        """The standard deviation (N,) of each feature over all blobs; 1 for a constant feature."""
        if self.axes is None:
            within = np.diagonal(self.covariances, axis1=1, axis2=2)
        else:
            within = np.stack([np.sum(self.axes @ own * self.axes, axis=1) for own in self.covariances])
        deviation = np.abs(self.means - self.centre)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.sqrt(self.weights @ (deviation**2 + within))
        # A square beyond the range of floats: the farthest blob is as far as one of them can be.
        spread = np.where(np.isfinite(spread), spread, deviation.max(axis=0))
        return np.where(spread > 0, spread, 1.0)


def feature_units(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """One standard deviation (N,) of each feature, in the user's units.

    For a gaussianised feature, half the range whose scores are within one deviation of the mean.
    """
    spread, scores = blobs.feature_spreads, planes.gaussianisation
    if scores is None:
        return spread
    low, high = scores.values(np.array([blobs.centre - spread, blobs.centre + spread]))
    # Halves have the same digits, and the difference of the largest ones is a float.
    whole = np.array([0.5 * knots[-1] - 0.5 * knots[0] for knots in scores.knots])
    half = np.where(high > low, 0.5 * high - 0.5 * low, whole)
    return np.where(half > 0, half, 1.0)
