"""Where a network has seen training samples: distances to blobs, and how far training samples were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, row_blocks
from ffmlp.network.hyperplanes import Hyperplanes

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

    Attributes
    ----------
    axes : ndarray of shape (N, r)
        From the input of the hyperplanes to this space.
    centres : ndarray of shape (G, r)
        The means of the blobs.
    units : ndarray of shape (2, N)
        A standard deviation of each feature in the user's units, and of its scores.
    quantiles : ndarray of shape (Q,)
        Of the scores of training samples, at evenly spaced levels from 0 to 1.
    """

    axes: Floats
    centres: Floats
    units: Floats
    quantiles: Floats

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

    def threshold(self, keep: float) -> float:
        """The score up to which a share of the training samples is."""
        if not 0.0 < keep <= 1.0:
            raise ValueError(f"keep must be above 0 and at most 1, got {keep!r}.")
        level = np.interp(keep, np.linspace(0.0, 1.0, len(self.quantiles)), self.quantiles)
        return max(float(level), _LEAST_THRESHOLD)

    def familiarity(self, planes: Hyperplanes, X: AnyFloats, keep: float) -> Familiarity:
        """How familiar validated inputs (n, N) are."""
        threshold = self.threshold(keep)
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
