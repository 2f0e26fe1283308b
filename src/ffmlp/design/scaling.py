"""Standardisation of features; blobs and hyperplanes of standardised and of original features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ffmlp.arrays import AnyFloats, Floats
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes

# A feature that varies less counts as constant: weights per unit of it would overflow.
_SMALLEST_SPREAD = 1e-290


@dataclass(frozen=True, eq=False)
class Scaling:
    """Standardisation of features: subtract ``mean``, divide by ``scale``."""

    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, X: AnyFloats, weight: Floats) -> Scaling:
        """The weighted mean and standard deviation of each feature; constant features have scale 1."""
        share = weight / weight.sum()
        largest = np.max(np.abs(X), axis=0).astype(np.float64)
        # Features are scaled to unit size first: squares of 1e200 would overflow.
        size = np.where(largest > 0, largest, 1.0)
        deviation = X / size
        mean = share @ deviation
        deviation -= mean
        deviation *= deviation
        scale = np.sqrt(share @ deviation)
        # The spread of a constant feature may be a rounding error instead of 0.
        one_value = X.min(axis=0) == X.max(axis=0)
        constant = one_value | (scale * size < _SMALLEST_SPREAD)
        # The mean of equal values may be rounded, too: of 1e300, by 1e284.
        mean = np.where(one_value, X[0], mean * size)
        return cls(mean, np.where(constant, 1.0, scale * size))

    def apply(self, X: AnyFloats) -> Floats:
        """The standardised features, in float64."""
        Z = X - self.mean
        Z /= self.scale
        return Z

    def standardised_planes(self, planes: Hyperplanes) -> Hyperplanes:
        """The same hyperplanes for standardised features."""
        weights = planes.weights * self.scale
        return replace(planes, weights=weights, biases=planes.biases + planes.weights @ self.mean)

    def standardised_blobs(self, blobs: Blobs) -> Blobs:
        """The same blobs, with full covariances, for standardised features."""
        covariances = blobs.covariances / self.scale / self.scale[:, None]
        return replace(blobs, means=(blobs.means - self.mean) / self.scale, covariances=covariances)

    def unscaled_planes(self, planes: Hyperplanes) -> Hyperplanes:
        """Hyperplanes of standardised features, for the original features."""
        weights = planes.weights / self.scale
        return replace(planes, weights=weights, biases=planes.biases - weights @ self.mean)

    def unscaled_blobs(self, blobs: Blobs) -> Blobs:
        """Blobs of standardised features, for the original features."""
        means = blobs.means * self.scale + self.mean
        if blobs.axes is not None:
            return replace(blobs, means=means, axes=blobs.axes * self.scale[:, None])
        with np.errstate(over="ignore"):  # variances of features around 1e200 are infinite, zeros stay
            units, scaled = np.multiply.outer(self.scale, self.scale), np.zeros_like(blobs.covariances)
            covariances = np.multiply(blobs.covariances, units, out=scaled, where=blobs.covariances != 0)
        return replace(blobs, means=means, covariances=covariances)
