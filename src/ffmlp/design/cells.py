"""Stage 0 with many small blobs: each class is cut into compact cells, one Gaussian blob each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd

from ffmlp.arrays import without_rounding
from ffmlp.design.blobs import Blobs, Floats, Mixture, collected, lloyd, nearest

# A blob of fewer samples says too little about where its class lies.
SAMPLES_PER_CELL = 6.0
# Added to the variances of standardised features: no blob is thinner than a tenth of their deviation.
# Features that do not vary within a few samples, categories above all, would rule all others.
REGULARIZATION = 0.01
LLOYD_ITERATIONS = 5


def cell_blobs(Z: Floats, y: NDArray[np.intp], weight: Floats, n_blobs: float) -> Blobs:
    """About ``n_blobs`` blobs in all, shared among the classes by their weight; no chance involved.

    Costs O(n·k·N) time for k cells in a class, and O(n·N²) for the covariances.
    """
    per_sample = min(n_blobs / weight.sum(), 1.0 / SAMPLES_PER_CELL)
    mixtures = []
    for label in np.unique(y):
        mine = y == label
        samples, mass = Z[mine], weight[mine]
        k = max(1, int(np.round(mass.sum() * per_sample)))
        means = lloyd(samples, mass, bisected(samples, mass, k), LLOYD_ITERATIONS)
        mixture = _mixture(samples, mass, nearest(samples, means))
        mixtures.append((int(label), mass.sum(), mixture))
    return collected(mixtures)


def principal_axes(Z: Floats, weight: Floats, n_axes: int) -> Floats:
    """Up to ``n_axes`` orthonormal directions, as columns, along which samples vary most."""
    if len(Z) < Z.shape[1]:
        _, _, axes = svd(np.sqrt(weight)[:, None] * Z, full_matrices=False)
        return axes[:n_axes].T
    _, axes = eigh((Z * weight[:, None]).T @ Z, driver="evd")
    return axes[:, -n_axes:]


def bisected(Z: Floats, weight: Floats, n_cells: int) -> Floats:
    """Means of up to ``n_cells`` cells: halves of halves, each cut at the mean of its widest feature.

    All cells are cut at once; of the last generation only those with the largest spread.
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
        divisible = np.argsort(-total, kind="stable")[: np.count_nonzero(total > 0)]
        divisible = divisible[: n_cells - n_made]
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


def _sums(values: Floats, weight: Floats, cell: NDArray[np.intp]) -> Floats:
    """Weighted sums (k, N) of the rows of each cell."""
    return np.column_stack([np.bincount(cell, weight * column) for column in values.T])


def _mixture(Z: Floats, weight: Floats, cell: NDArray[np.intp]) -> Mixture:
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
