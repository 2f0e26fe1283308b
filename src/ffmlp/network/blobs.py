"""Gaussian blobs, which name neurons and give units, and how far samples are from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ffmlp.arrays import AnyFloats, Below, Flags, Floats, Indices, Shape, require_floats, row_blocks
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

    classes: Annotated[Indices, Shape("G"), Below("C")]
    means: Annotated[Floats, Shape("G", "N")]
    covariances: Annotated[Floats, Shape("G", "r", "r")]
    weights: Annotated[Floats, Shape("G")]
    axes: Annotated[Floats, Shape("N", "r")] | None = None

    def __repr__(self) -> str:
        n_blobs, n_features = self.means.shape
        return f"Blobs({n_blobs} blobs of {len(np.unique(self.classes))} classes, {n_features} features)"

    def __len__(self) -> int:
        return len(self.weights)

    def check(self) -> None:
        """Raise a ValueError unless each blob has samples and a covariance of all features."""
        if not (self.weights > 0.0).all():
            raise ValueError("the share of a blob is not positive")
        if self.axes is None and self.covariances.shape[1] != self.means.shape[1]:
            raise ValueError("the covariances of the blobs are not of all features")

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


# Where samples repeat, all lie in the centres of blobs, up to rounding.
_LEAST_THRESHOLD = 1e-6
# The score of samples that are farther away than a float can say.
FARTHEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Familiarity:
    """How familiar samples are to a classifier.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        The distance to the nearest blob, in standard deviations within blobs, as the root of the mean
        square over all directions. Small is familiar.
    threshold : float
        The score above which a sample is unfamiliar.
    keep : float
        The share of training samples up to the threshold, each measured without itself in its blob.
    familiar : ndarray of bool, shape (n,)
    nearest : ndarray of shape (n,)
        The nearest blob of each sample, as an index into ``blobs_``.
    unseen : ndarray of bool, shape (n,), or None
        Whether a sample is in a region without training samples; None if the design has no such regions.
    """

    scores: Floats
    threshold: float
    keep: float
    familiar: Flags
    nearest: Indices
    unseen: Flags | None = None

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        few = int(np.sum(~self.familiar))
        return (
            f"Familiarity({few} of {len(self)} samples unfamiliar: more than {self.threshold:.3g} "
            f"standard deviations from all blobs, as {1.0 - self.keep:.2%} of the training samples)"
        )


@dataclass(frozen=True, eq=False)
class FamiliarSpace:
    """The blobs of a network as points in a space where each of them has about unit spread.

    The ``axes`` lead from the input of the hyperplanes to this space, where the means of the blobs are
    the ``centres``. ``units`` are a standard deviation of each feature in the user's units, and of its
    scores. ``quantiles`` of the training samples' scores are at evenly spaced levels from 0 to 1.
    """

    axes: Annotated[Floats, Shape("N", "r")]
    centres: Annotated[Floats, Shape("G", "r")]
    units: Annotated[Floats, Shape(2, "N")]
    quantiles: Annotated[Floats, Shape("q")]

    def check(self) -> None:
        """Raise a ValueError unless the space has finite scores."""
        require_floats("the space of familiar samples", *vars(self).values())
        if not (self.units > 0.0).all() or not (np.diff(self.quantiles) >= 0.0).all():
            raise ValueError("units must be positive, and quantiles must ascend")
        if not self.quantiles.size or not self.axes.size:
            raise ValueError("the space of familiar samples is empty")

    def measured(self, planes: Hyperplanes, X: AnyFloats) -> tuple[Indices, Floats]:
        """The nearest blob (n,) of validated inputs (n, N), and the score (n,)."""
        nearest, scores = np.empty(len(X), np.intp), np.empty(len(X))
        with np.errstate(over="ignore"):
            squares = np.sum(self.centres**2, axis=1)
        for rows in row_blocks(len(X), len(self.centres) + 3 * X.shape[1]):
            with np.errstate(over="ignore", invalid="ignore"):
                places = self._mapped(planes, np.asarray(X[rows], np.float64)) @ self.axes
                away = squares - 2.0 * places @ self.centres.T
                nearest[rows] = away.argmin(axis=1)
                gaps = places - self.centres[nearest[rows]]
                scores[rows] = np.sqrt(np.mean(gaps**2, axis=1))
        return nearest, np.nan_to_num(scores, nan=FARTHEST, posinf=FARTHEST)

    def familiarity(self, planes: Hyperplanes, X: AnyFloats, keep: float) -> Familiarity:
        """How familiar validated inputs (n, N) are; a share ``keep`` of the training samples is."""
        if not 0.0 < keep <= 1.0:
            raise ValueError(f"keep must be above 0 and at most 1, got {keep!r}.")
        level = np.interp(keep, np.linspace(0.0, 1.0, len(self.quantiles)), self.quantiles)
        threshold = max(float(level), _LEAST_THRESHOLD)
        nearest, scores = self.measured(planes, X)
        return Familiarity(scores, threshold, keep, scores <= threshold, nearest)

    def _mapped(self, planes: Hyperplanes, X: Floats) -> Floats:
        """The input of the hyperplanes; beyond the outermost knots of a feature, it goes on to rise.

        A logarithm, because features that need a map have samples that are far away.
        """
        if planes.gaussianisation is None:
            return X
        low, high = np.array([knots[[0, -1]] for knots in planes.gaussianisation.knots]).T
        beyond = (X - np.clip(X, low, high)) / self.units[0]
        return planes.mapped(X) + self.units[1] * np.sign(beyond) * np.log1p(np.abs(beyond))
