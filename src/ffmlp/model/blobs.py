"""Gaussian blobs: what the neurons of a network are named after, and the units of its features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.model.hyperplanes import Hyperplanes


@dataclass(frozen=True, eq=False)
class Blobs:
    """G Gaussian blobs, those of one class next to each other.

    Attributes
    ----------
    classes : ndarray of shape (G,)
        The class of each blob, as an index into the classifier's ``classes_``.
    means : ndarray of shape (G, N)
    covariances : ndarray of shape (G, N, N), or (G, r, r) with axes
    weights : ndarray of shape (G,)
        The share of the training samples that each blob stands for; they sum to one.
    axes : ndarray of shape (N, r) or None
        Axes in which the covariances are given where there are too many features for covariances of
        their own: ``axes @ covariances[g] @ axes.T`` is that of the features.
    """

    classes: NDArray[np.intp]
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
        """The mean (N,) of each feature over all blobs, in the space that they live in."""
        return self.weights @ self.means

    @property
    def feature_spreads(self) -> Floats:
        """The standard deviation (N,) of each feature over all blobs; 1 where it does not vary."""
        if self.axes is None:
            within = np.diagonal(self.covariances, axis1=1, axis2=2)
        else:
            within = np.stack([np.sum(self.axes @ own * self.axes, axis=1) for own in self.covariances])
        variance = self.weights @ ((self.means - self.centre) ** 2 + within)
        return np.where(variance > 0, np.sqrt(variance), 1.0)


def feature_units(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """What counts as one standard deviation (N,) of each feature, in the user's units.

    Of a gaussianised feature, half the range that is one deviation of its score to either side.
    """
    spread, scores = blobs.feature_spreads, planes.gaussianisation
    if scores is None:
        return spread
    low, high = scores.values(np.array([blobs.centre - spread, blobs.centre + spread]))
    whole = np.array([knots[-1] - knots[0] for knots in scores.knots])
    half = 0.5 * np.where(high > low, high - low, whole)
    return np.where(half > 0, half, 1.0)
