"""Stage 0 with many small blobs: each class is cut into compact cells, one Gaussian blob each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh, svd

from ffmlp.arrays import Floats, Indices, without_rounding
from ffmlp.design.blobs import Mixture, collected, lloyd, nearest
from ffmlp.network.blobs import Blobs

# Fewer samples would estimate a blob too poorly.
SAMPLES_PER_CELL = 6.0
# Added to the variances of standardised features: no blob is thinner than a tenth of their deviation.
# Features that are constant within a few samples, such as categories, would dominate the other features.
REGULARIZATION = 0.01
LLOYD_ITERATIONS = 5
# The number of small blobs for up to `_ROWS_OF_SMALL_DATA` samples, and how many more for twice as many.
# The time of least squares grows with the square of their number; the regions beside a readout
# make better use of many samples.
N_SMALL_BLOBS = 130
_ROWS_OF_SMALL_DATA = 3000
_BLOBS_PER_DOUBLING = 4
# With more features, small blobs are separated along principal axes only: the full covariance of a blob
# would be estimated from far fewer samples than it has entries, and all of them would not fit in memory.
_MAX_AXES = 100


def small_blobs(Z: Floats, y: Indices, weight: Floats) -> Blobs:
    """Small blobs, more of them for more samples; with many features, along principal axes."""
    doublings = np.log2(max(1.0, weight.sum() / _ROWS_OF_SMALL_DATA))
    n_blobs = N_SMALL_BLOBS + _BLOBS_PER_DOUBLING * doublings
    if Z.shape[1] <= _MAX_AXES:
        return cell_blobs(Z, y, weight, n_blobs)
    axes = principal_axes(Z, weight, _MAX_AXES)
    along = cell_blobs(Z @ axes, y, weight, n_blobs)
    return replace(along, means=along.means @ axes.T, axes=axes)


def cell_blobs(Z: Floats, y: Indices, weight: Floats, n_blobs: float) -> Blobs:
    """About ``n_blobs`` blobs in total, distributed over the classes by their weight. Deterministic.

    Takes O(n·k·N) time for k cells in a class, and O(n·N²) for the covariances.
    """
    per_sample = min(n_blobs / weight.sum(), 1.0 / SAMPLES_PER_CELL)
    mixtures = []
    for label in np.unique(y):
        mine = y == label
        samples, mass = Z[mine], weight[mine]
        k = max(1, int(np.round(mass.sum() * per_sample)))
        means = lloyd(samples, mass, bisected(samples, mass, k), LLOYD_ITERATIONS)
        mixtures.append((int(label), mass.sum(), _mixture(samples, mass, nearest(samples, means))))
    return collected(mixtures)


def principal_axes(Z: Floats, weight: Floats, n_axes: int) -> Floats:
    """Up to ``n_axes`` orthonormal directions, as columns, along which samples vary most."""
    if len(Z) < Z.shape[1]:
        _, _, axes = svd(np.sqrt(weight)[:, None] * Z, full_matrices=False)
        return axes[:n_axes].T
    _, axes = eigh((Z * weight[:, None]).T @ Z, driver="evd")
    return axes[:, -n_axes:]


def bisected(Z: Floats, weight: Floats, n_cells: int) -> Floats:
    """Means of up to ``n_cells`` cells, by repeated bisection at the mean of a cell's widest feature.

    All cells are bisected at once; in the last round, only those with the largest spread.
    """
    cell = np.zeros(len(Z), np.intp)
    n_made = 1
    while True:
        mass = np.bincount(cell, weight)
        means = _sums(Z, weight, cell) / mass[:, None]
        spread = _sums((Z - means[cell]) ** 2, weight, cell)
        if n_made == n_cells:
            return means
        widest = np.argmax(without_rounding(spread / spread.max(initial=1.0)), axis=1)
        total = without_rounding(spread.sum(axis=1) / max(spread.sum(), 1.0))
        n_divisible = min(np.count_nonzero(total > 0), n_cells - n_made)
        divisible = np.argsort(-total, kind="stable")[:n_divisible]
        if not len(divisible):
            return means
        value = Z[np.arange(len(Z)), widest[cell]]
        # In discrete data the mean may be one of the values.
        above = without_rounding(value - means[cell, widest[cell]]) > 0
        new = np.full(n_made, -1)
        new[divisible] = n_made + np.arange(len(divisible))
        cell = np.where(above & (new[cell] >= 0), new[cell], cell)
        filled, cell = np.unique(cell, return_inverse=True)
        if len(filled) == n_made:  # rounding left one side of every cut empty
            return means
        n_made = len(filled)


def _sums(values: Floats, weight: Floats, cell: Indices) -> Floats:
    """Weighted sums (k, N) of the rows of each cell."""
    return np.column_stack([np.bincount(cell, weight * column) for column in values.T])


def _mixture(Z: Floats, weight: Floats, cell: Indices) -> Mixture:
    """The mean, covariance and share of the samples in each cell that is not empty."""
    order = np.argsort(cell, kind="stable")
    bounds = np.flatnonzero(np.diff(cell[order])) + 1
    masses, means, covariances = [], [], []
    for rows in np.split(order, bounds):
        mass = weight[rows].sum()
        mean = weight[rows] @ Z[rows] / mass
        deviation = Z[rows] - mean
        masses.append(mass)
        means.append(mean)
        covariances.append((deviation * weight[rows, None]).T @ deviation / mass)
    regularization = REGULARIZATION * np.eye(Z.shape[1])
    shares = np.array(masses) / weight.sum()
    return Mixture(shares, np.array(means), np.array(covariances) + regularization)
