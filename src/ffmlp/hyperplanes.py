"""Stage 1: pairs of blobs become separating hyperplanes.

A hyperplane ``h(x) = w·x + b`` is positive on the side of the first blob of its pair and negative on
the side of the second. Two ReLU neurons, ``+h`` and ``-h``, carry it in layer l_1, so a single
hyperplane is the paper's one-layer two-neuron perceptron.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_X_y

from ffmlp.blobs import Blobs, Scaling, labelled_blobs

# A BLAS product may round differently with the shape of its operands. Every product over samples
# is therefore made with exactly this many rows (the last block is padded), so that a sample's
# response does not depend on the samples it is computed with.
ROWS_PER_PRODUCT = 256

# Pairs whose pooled covariances are held in memory at once, as a number of matrix entries (32 MB).
_ENTRIES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """L hyperplanes in the space of N features.

    Attributes
    ----------
    weights : ndarray of shape (L, N)
        Normal vectors.
    biases : ndarray of shape (L,)
        Offsets: hyperplane l is where ``weights[l] @ x + biases[l] == 0``.
    pairs : ndarray of shape (L, 2)
        The blobs that each hyperplane separates; the first lies on its positive side.
    """

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]
    pairs: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.biases)

    def select(self, kept: NDArray[np.intp]) -> Hyperplanes:
        """The hyperplanes with the given indices, in that order."""
        return Hyperplanes(self.weights[kept], self.biases[kept], self.pairs[kept])

    def unscaled(self, scaling: Scaling) -> Hyperplanes:
        """The same hyperplanes for features as they were before ``scaling``."""
        weights = self.weights / scaling.scale
        return Hyperplanes(weights, self.biases - weights @ scaling.mean, self.pairs)

    def blocks(self, X: NDArray[np.floating]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield ``(rows, h)`` with ``h = X[rows] @ weights.T + biases``, in constant memory."""
        buffer = np.zeros((ROWS_PER_PRODUCT, self.weights.shape[1]))
        transposed = np.ascontiguousarray(self.weights.T)
        for start in range(0, len(X), ROWS_PER_PRODUCT):
            block = X[start : start + ROWS_PER_PRODUCT]
            buffer[: len(block)] = block
            # Features near the largest float may overflow; the sign of an infinity is still right.
            with np.errstate(over="ignore", invalid="ignore"):
                h = buffer @ transposed
                h += self.biases
            yield slice(start, start + len(block)), h[: len(block)]

    def log_odds(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Signed responses ``h`` of shape (n, L): log-odds of a pair's first blob over its second."""
        h = np.empty((len(X), len(self)))
        for rows, block in self.blocks(X):
            h[rows] = block
        return h

    def responses(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Layer l_1 of shape (n, 2L): neurons l and L + l are the two sides of hyperplane l."""
        h = self.log_odds(X)
        return np.hstack([np.maximum(h, 0.0), np.maximum(-h, 0.0)])


def pairs_of_different_classes(blobs: Blobs) -> NDArray[np.intp]:
    """All pairs (i, j) of blobs, i < j, that belong to different classes, in lexicographic order."""
    first, second = np.triu_indices(len(blobs), k=1)
    different = blobs.classes[first] != blobs.classes[second]
    return np.column_stack([first[different], second[different]])


def lda(blobs: Blobs, pairs: NDArray[np.intp]) -> Hyperplanes:
    """Two-class linear discriminant analysis of each pair, in closed form from the blobs alone.

    ``w = Σ⁻¹(μ_i − μ_j)`` and ``b = −½(μ_i + μ_j)·w + log(n_i / n_j)`` with the pooled covariance
    ``Σ = (n_i Σ_i + n_j Σ_j) / (n_i + n_j)``. Costs O(L·N³) time.
    """
    n_features = blobs.means.shape[1]
    weights = np.empty((len(pairs), n_features))
    step = max(1, _ENTRIES_AT_ONCE // n_features**2)
    for start in range(0, len(pairs), step):
        i, j = pairs[start : start + step].T
        share = blobs.weights[i] / (blobs.weights[i] + blobs.weights[j])
        pooled = share[:, None, None] * blobs.covariances[i]
        pooled += (1.0 - share)[:, None, None] * blobs.covariances[j]
        difference = blobs.means[i] - blobs.means[j]
        weights[start : start + step] = np.linalg.solve(pooled, difference[:, :, None])[:, :, 0]
    i, j = pairs.T
    midpoints = 0.5 * (blobs.means[i] + blobs.means[j])
    biases = np.log(blobs.weights[i] / blobs.weights[j]) - np.sum(midpoints * weights, axis=1)
    return Hyperplanes(weights, biases, pairs)


Discriminant = Callable[[Blobs, NDArray[np.intp]], Hyperplanes]

DISCRIMINANTS: dict[str, Discriminant] = {"lda": lda}


def two_class_lda(X: ArrayLike, y: ArrayLike) -> Hyperplanes:
    """Two-class LDA as a one-layer two-neuron perceptron, the smallest FF-MLP (paper, Sec. II).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Labels of exactly two classes.

    Returns
    -------
    Hyperplanes
        One hyperplane, positive on the side of the class whose label sorts first. Its
        ``responses`` are the two ReLU neurons.

    Examples
    --------
    >>> from ffmlp import two_class_lda
    >>> plane = two_class_lda([[0.0], [2.0], [4.0], [6.0]], ["low", "low", "high", "high"])
    >>> plane.log_odds([[5.0], [3.0], [1.0]]).round(2).ravel()
    array([ 8.,  0., -8.])
    >>> plane.responses([[5.0], [1.0]]).round(2)
    array([[8., 0.],
           [0., 8.]])
    """
    samples, targets = check_X_y(X, y, dtype=np.float64)
    labels, targets = np.unique(targets, return_inverse=True)
    if len(labels) != 2:
        raise ValueError(
            f"two_class_lda needs samples of exactly 2 classes, got {len(labels)}: "
            f"{labels.tolist()[:10]}. Use FFMLPClassifier for more classes."
        )
    weight = np.ones(len(samples))
    scaling = Scaling.of(samples, weight)
    blobs = labelled_blobs(scaling.apply(samples), targets, targets, weight)
    return lda(blobs, np.array([[0, 1]])).unscaled(scaling)
