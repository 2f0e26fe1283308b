"""Stage 1: pairs of blobs become separating hyperplanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.utils import check_X_y

from ffmlp.arrays import Floats, Indices, row_blocks, without_rounding
from ffmlp.design.blobs import labelled_blobs
from ffmlp.design.gaussianise import quantiles
from ffmlp.design.scaling import Scaling
from ffmlp.model.blobs import Blobs
from ffmlp.model.hyperplanes import NO_BLOB, Hyperplanes

# Pairs whose pooled covariances are held in memory at once, as a number of matrix entries (32 MB).
_ENTRIES_AT_ONCE = 1 << 22

# Samples that are drawn from mixtures at most; more would not fit into memory.
_MOST_DRAWN = 1e8

# Angles in a grid of the heteroscedastic search, and the number of times that the grid is refined.
_N_ANGLES = 32
_N_REFINEMENTS = 5


def all_pairs(blobs: Blobs) -> Indices:
    """All pairs (i, j) of blobs, i < j, in lexicographic order."""
    return np.column_stack(np.triu_indices(len(blobs), k=1))


def pairs_of_different_classes(blobs: Blobs) -> Indices:
    """All pairs (i, j) of blobs, i < j, that belong to different classes, in lexicographic order."""
    pairs = all_pairs(blobs)
    return pairs[blobs.classes[pairs[:, 0]] != blobs.classes[pairs[:, 1]]]


def pairs_of_neighbours(blobs: Blobs, n_neighbours: int) -> Indices:
    """Each blob with its nearest blobs of other classes: L grows linearly with G.

    Pairs (i, j), i < j, in lexicographic order. Takes O(G²·N) time and O(G²) memory.
    """
    squares = np.sum(blobs.means**2, axis=1)
    distance = squares[:, None] + squares - 2 * (blobs.means @ blobs.means.T)
    distance[blobs.classes[:, None] == blobs.classes] = np.inf
    # Rounding must not decide ties.
    near = np.argsort(without_rounding(distance), axis=1, kind="stable")[:, :n_neighbours]
    blob = np.repeat(np.arange(len(blobs)), near.shape[1])
    pairs = np.sort(np.column_stack([blob, near.ravel()]), axis=1)
    different = blobs.classes[pairs[:, 0]] != blobs.classes[pairs[:, 1]]
    return np.unique(pairs[different], axis=0)


def axis_thresholds(Z: Floats, weight: Floats, n_each: int) -> Hyperplanes:
    """Hyperplanes ``z_j = t`` at quantiles t of each feature that varies; they separate no blobs."""
    levels = np.arange(1, n_each + 1) / (n_each + 1)
    # A threshold at the largest value would have no sample above it.
    candidates = [np.unique(quantiles(values, weight, levels)) for values in Z.T]
    thresholds = [own[own < largest] for own, largest in zip(candidates, Z.max(axis=0), strict=True)]
    features = np.repeat(np.arange(Z.shape[1]), list(map(len, thresholds)))
    normals = np.zeros((len(features), Z.shape[1]))
    normals[np.arange(len(features)), features] = 1.0
    return Hyperplanes(normals, -np.concatenate(thresholds), np.full((len(features), 2), NO_BLOB))


def lda(blobs: Blobs, pairs: Indices) -> Hyperplanes:
    """Two-class linear discriminant analysis of each pair, in closed form from the blobs alone.

    ``w = Σ⁻¹(μ_i − μ_j)`` and ``b = −½(μ_i + μ_j)·w + log(n_i / n_j)`` with the pooled covariance
    ``Σ = (n_i Σ_i + n_j Σ_j) / (n_i + n_j)``. Takes O(L·N³) time.
    """
    n_features = blobs.means.shape[1]
    weights = np.empty((len(pairs), n_features))
    for some in row_blocks(len(pairs), n_features**2, _ENTRIES_AT_ONCE):
        i, j = pairs[some].T
        share = blobs.weights[i] / (blobs.weights[i] + blobs.weights[j])
        pooled = share[:, None, None] * blobs.covariances[i]
        pooled += (1.0 - share)[:, None, None] * blobs.covariances[j]
        difference = blobs.means[i] - blobs.means[j]
        weights[some] = np.linalg.solve(pooled, difference[:, :, None])[:, :, 0]
    i, j = pairs.T
    midpoints = 0.5 * (blobs.means[i] + blobs.means[j])
    biases = np.log(blobs.weights[i] / blobs.weights[j]) - np.sum(midpoints * weights, axis=1)
    return Hyperplanes(weights, biases, pairs)


def drawn_lda(
    blobs: Blobs,
    pairs_of: Callable[[Blobs], Indices],
    mass: Floats,
    class_weight: Floats,
    rng: np.random.RandomState,
) -> Hyperplanes:
    """Two-class LDA of the samples that are drawn from the two blobs of each pair, as in the paper.

    ``mass`` (C,) is the total weight of each class, ``class_weight`` (C,) that of one of its samples. A
    blob from which no sample is drawn has no hyperplane; every class has a blob that has one.
    """
    Z, members = drawn_samples(blobs, mass, rng)
    unscaled = Scaling(np.zeros(Z.shape[1]), np.ones(Z.shape[1]))
    classes, weight = blobs.classes[members], np.ones(len(members))
    drawn = labelled_blobs(Z, classes, members, weight, unscaled, shrink=False)
    drawn = replace(drawn, weights=drawn.weights * class_weight[drawn.classes])
    planes = lda(drawn, pairs_of(drawn))
    return replace(planes, pairs=np.unique(members)[planes.pairs])


def drawn_samples(blobs: Blobs, mass: Floats, rng: np.random.RandomState) -> tuple[Floats, Indices]:
    """Samples (n, N) drawn from the mixture of each class, and the blob (n,) of each.

    As many are drawn as the class has training samples, ``mass`` (C,), but at least one.
    """
    if mass.sum() > _MOST_DRAWN:
        raise ValueError(
            f'design="paper" draws as many samples as sample_weight adds up to, {mass.sum():.4g}. Scale '
            f"the weights down, to a sum of at most {_MOST_DRAWN:.0e}."
        )
    counts = np.zeros(len(blobs), np.intp)
    for label in np.unique(blobs.classes):
        mine = blobs.classes == label
        shares = blobs.weights[mine]
        counts[mine] = rng.multinomial(max(1, round(mass[label])), shares / shares.sum())
    members = np.repeat(np.arange(len(blobs)), counts)
    drawn = np.asarray(rng.standard_normal((len(members), blobs.means.shape[1])))
    for blob, root in enumerate(np.linalg.cholesky(blobs.covariances)):
        mine = members == blob
        drawn[mine] = blobs.means[blob] + drawn[mine] @ root.T
    return drawn, members


def error_probability(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """The probability (L,) that a sample of a pair's blobs is on the wrong side of their hyperplane."""
    i, j = planes.pairs.T
    share = blobs.weights[i] / (blobs.weights[i] + blobs.weights[j])

    def side(blob: Indices) -> Floats:
        """The mean response of each blob in standard deviations of the response."""
        mean = np.sum(planes.weights * blobs.means[blob], axis=1) + planes.biases
        variance = np.einsum("ld,lde,le->l", planes.weights, blobs.covariances[blob], planes.weights)
        spread = np.sqrt(variance)
        # A hyperplane of zero weights puts every sample on the side of its bias.
        return np.divide(mean, spread, out=np.sign(mean) * np.inf, where=spread > 0)

    return share * ndtr(-side(i)) + (1.0 - share) * ndtr(side(j))


def heteroscedastic(blobs: Blobs, pairs: Indices) -> Hyperplanes:
    """The linear rule of least error between two Gaussians whose covariances differ, for each pair.

    The rule belongs to the Anderson-Bahadur family ``w = (s Σ_i + t Σ_j)⁻¹(μ_i − μ_j)``,
    ``b = s w'Σ_i w − w·μ_i``, in which only the angle of (s, t) matters. After one simultaneous
    diagonalisation of the pair's covariances, each angle takes O(N) time. A grid that is refined around
    its best point searches the angles that keep the matrix positive definite. The response is scaled to
    be the log-odds along w to first order at the boundary. If LDA has a smaller error, LDA is kept.
    Takes O(L·N³) time.
    """
    linear = lda(blobs, pairs)
    n_features = blobs.means.shape[1]
    blocks = row_blocks(len(pairs), n_features * max(n_features, _N_ANGLES), _ENTRIES_AT_ONCE)
    optimal = reduce(Hyperplanes.joined, (_anderson_bahadur(blobs, pairs[some]) for some in blocks))
    error, least = error_probability(blobs, linear), error_probability(blobs, optimal)
    # With equal covariances, the two differ by rounding error only.
    better = without_rounding(np.divide(least, error, out=np.ones_like(error), where=error > 0)) < 1
    weights = np.where(better[:, None], optimal.weights, linear.weights)
    return Hyperplanes(weights, np.where(better, optimal.biases, linear.biases), pairs)


def _anderson_bahadur(blobs: Blobs, pairs: Indices) -> Hyperplanes:
    """The rule of least error in the Anderson-Bahadur family of each pair."""
    i, j = pairs.T
    # Coordinates in which Σ_j is the identity and Σ_i is diagonal, with eigenvalues λ (L, N).
    root = np.linalg.inv(np.linalg.cholesky(blobs.covariances[j]))
    eigenvalues, rotation = np.linalg.eigh(root @ blobs.covariances[i] @ root.swapaxes(1, 2))
    eigenvalues = np.maximum(eigenvalues, np.finfo(np.float64).tiny)
    basis = root.swapaxes(1, 2) @ rotation
    difference = np.einsum("ldk,ld->lk", basis, blobs.means[i] - blobs.means[j])
    share = (blobs.weights[i] / (blobs.weights[i] + blobs.weights[j]))[:, None]

    def errors(angle: Floats) -> Floats:
        """Error of the rules at some angles (L, A) of each pair."""
        s, t = np.cos(angle), np.sin(angle)
        scaled = difference[:, None, :] / (s[..., None] * eigenvalues[:, None, :] + t[..., None])
        spread_i = np.sqrt(np.sum(scaled**2 * eigenvalues[:, None, :], axis=2))
        spread_j = np.sqrt(np.sum(scaled**2, axis=2))
        return share * ndtr(-s * spread_i) + (1.0 - share) * ndtr(-t * spread_j)

    # s λ + t > 0 for every eigenvalue; the ends themselves make the matrix singular.
    low, high = -np.arctan(eigenvalues[:, 0]), np.pi - np.arctan(eigenvalues[:, -1])
    grid = np.linspace(0, 1, _N_ANGLES + 2)[1:-1]
    for _ in range(_N_REFINEMENTS):
        angles = low[:, None] + (high - low)[:, None] * grid
        best = angles[np.arange(len(pairs)), np.argmin(errors(angles), axis=1)]
        reach = (high - low) / (_N_ANGLES + 1)
        low, high = best - reach, best + reach
    s, t = np.cos(best), np.sin(best)
    scaled = difference / (s[:, None] * eigenvalues + t[:, None])
    weights = np.einsum("ldk,lk->ld", basis, scaled)
    biases = s * np.sum(scaled**2 * eigenvalues, axis=1) - np.sum(weights * blobs.means[i], axis=1)
    # d(log-odds)/d(w·x) at the boundary is s + t, which is positive at a minimum of the error.
    slope = np.where(s + t > 0, s + t, 1.0)
    return Hyperplanes(slope[:, None] * weights, slope * biases, pairs)


Discriminant = Callable[[Blobs, Indices], Hyperplanes]

DISCRIMINANTS: dict[str, Discriminant] = {"lda": lda, "heteroscedastic": heteroscedastic}


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
    >>> plane.log_odds([[5.0], [4.0], [1.0]]).round(2).ravel()
    array([ 8.,  4., -8.])
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
    blobs = labelled_blobs(samples, targets, targets, weight, scaling, shrink=False)
    return scaling.unscaled_planes(lda(blobs, np.array([[0, 1]])))
