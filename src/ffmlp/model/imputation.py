"""Missing inputs: their conditional means under Gaussian blobs, given the other inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import Flags, Floats, Indices, row_blocks

# Inputs count as at most so many units away from the centre, so that squares stay finite.
FARTHEST = 1e15
# Entries of the matrices that are solved at once (32 MB).
ENTRIES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Imputation:
    """G Gaussian blobs of all N inputs, of samples of all classes together.

    Under one blob, the most probable values of the missing inputs are their conditional means. Those of
    all blobs are averaged, each with the density of the sample that it completes.

    Attributes
    ----------
    centre, scale : ndarray of shape (N,)
        The origin and the unit of each input, for ``means`` and ``precisions``.
    low, high : ndarray of shape (N,)
        The range of the training samples, which imputed values do not leave.
    log_weights : ndarray of shape (G,)
        The logarithm of each blob's density at its mean.
    means : ndarray of shape (G, N)
    precisions : ndarray of shape (G, N, N)
        The inverses of the covariances.
    """

    centre: Floats
    scale: Floats
    low: Floats
    high: Floats
    log_weights: Floats
    means: Floats
    precisions: Floats

    def filled(self, X: Floats) -> Floats:
        """Samples (n, N) whose missing inputs, NaN, are replaced.

        Takes O(G·(N² + m³)) time for a sample with m missing inputs.
        """
        filled = X.copy()
        incomplete = np.flatnonzero(np.isnan(X).any(axis=1))
        for rows in row_blocks(len(incomplete), X.shape[1] ** 2, ENTRIES_AT_ONCE):
            chosen = incomplete[rows]
            filled[chosen] = self._completed(X[chosen])
        return filled

    def _completed(self, X: Floats) -> Floats:
        missing = np.isnan(X)
        with np.errstate(over="ignore"):
            Z = np.clip((X - self.centre) / self.scale, -FARTHEST, FARTHEST)
        Z[missing] = 0.0
        densities, completed = [], []
        for log_weight, mean, precision in zip(
            self.log_weights, self.means, self.precisions, strict=True
        ):
            deviation = completed_deviations(Z - mean, missing, precision)
            squares = _products(deviation, precision) * deviation
            densities.append(log_weight - 0.5 * squares.sum(axis=1))
            completed.append(mean + deviation)
        share = np.exp(np.array(densities) - np.max(densities, axis=0))
        share /= share.sum(axis=0)
        values = np.einsum("gn,gnd->nd", share, np.array(completed)) * self.scale + self.centre
        return np.where(missing, np.clip(values, self.low, self.high), X)


def completed_deviations(deviation: Floats, missing: Flags, precision: Floats) -> Floats:
    """Deviations (n, N) from a mean, where the missing ones have their conditional means."""
    completed = np.where(missing, 0.0, deviation)
    goal = -_products(completed, precision)
    for rows, gaps, own in missing_blocks(missing, precision):
        solution = np.linalg.solve(own, goal[rows[:, None], gaps][:, :, None])
        completed[rows[:, None], gaps] = solution[:, :, 0]
    return completed


def _products(rows: Floats, matrix: Floats) -> Floats:
    """The product of rows with a matrix; unlike BLAS, rounded alike whatever the other rows are."""
    return np.einsum("nd,de->ne", rows, matrix)


def missing_blocks(missing: Flags, precision: Floats) -> Iterator[tuple[Indices, Indices, Floats]]:
    """Samples (k,) with m missing inputs each, these inputs (k, m) and their precision (k, m, m)."""
    counts = missing.sum(axis=1)
    for number in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == number)
        gaps = np.nonzero(missing[rows])[1].reshape(-1, number)
        yield rows, gaps, precision[gaps[:, :, None], gaps[:, None, :]]
