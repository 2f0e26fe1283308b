"""Stage 1: pairs of blobs become separating hyperplanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr
from sklearn.utils import check_X_y

from ffmlp.arrays import Floats, Indices, row_blocks, without_rounding
from ffmlp.design.mixtures import labelled_blobs
from ffmlp.design.scaling import Scaling
from ffmlp.inputs.gaussianise import quantiles
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes

# Pairs whose pooled covariances are held in memory at once, as a number of matrix entries (32 MB).
_ENTRIES_AT_ONCE = 1 << 22

# Samples that are drawn from mixtures at most; more would not fit into memory.
_MOST_DRAWN = 1e8

# The heteroscedastic search: its grid of positions, how many minima of the grid are refined, how often,
# and the finer positions around each, in steps of the grid before. The result errs by 1e-8 at most.
_GRID = np.linspace(-40.0, 40.0, 161)
_N_MINIMA = 3
_N_REFINEMENTS = 5
_FINER = np.linspace(-1.0, 1.0, 8)[1:-1]
# A smaller difference of two means counts as none, in standard deviations of the two blobs together.
_NO_DIFFERENCE = 1e-9


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
    thresholds = [
        values[values < largest] for values, largest in zip(candidates, Z.max(axis=0), strict=True)
    ]
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

    ``mass`` (C,) is the total weight of each class, ``class_weight`` (C,) the weight of one sample. A
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
        return np.divide(mean, spread, out=np.copysign(np.inf, mean), where=spread > 0)

    return share * ndtr(-side(i)) + (1.0 - share) * ndtr(side(j))


def heteroscedastic(blobs: Blobs, pairs: Indices) -> Hyperplanes:
    """The linear rule of least error between two Gaussians whose covariances differ, for each pair.

    It is LDA, the constant rule (zero weights: everything to the larger blob), or the best rule of the
    Anderson-Bahadur family, in this order where their errors are equal. The response is scaled to be the
    log-odds along w to first order at the boundary. Takes O(L·N³) time.
    """
    n_features = blobs.means.shape[1]
    blocks = row_blocks(len(pairs), n_features * max(n_features, len(_GRID)), _ENTRIES_AT_ONCE)
    family = reduce(Hyperplanes.joined, (_anderson_bahadur(blobs, pairs[some]) for some in blocks))
    i, j = pairs.T
    log_ratios = np.log(blobs.weights[i] / blobs.weights[j])
    constant = Hyperplanes(np.zeros((len(pairs), n_features)), log_ratios, pairs)
    return reduce(partial(_better, blobs), [lda(blobs, pairs), constant, family])


def _better(blobs: Blobs, kept: Hyperplanes, other: Hyperplanes) -> Hyperplanes:
    """The rule of less error for each pair; the first where the two differ by rounding error only."""
    error, less = error_probability(blobs, kept), error_probability(blobs, other)
    larger = np.maximum(error, less)
    better = without_rounding(np.divide(less, larger, out=np.ones_like(less), where=larger > 0)) < 1
    weights = np.where(better[:, None], other.weights, kept.weights)
    return Hyperplanes(weights, np.where(better, other.biases, kept.biases), kept.pairs)


def _rule_on_a_line(
    distance: Floats, spread_i: Floats, spread_j: Floats, share: Floats
) -> tuple[Floats, Floats, Floats]:
    """The threshold of least error between two Gaussians, the slope of the log-odds there, the error.

    The threshold is its distance from the second mean towards the first, which has this share.
    """
    balance = logit(share) + np.log(spread_j / spread_i)
    # The root of the quadratic equation of equal densities; 0 if one density is larger everywhere.
    square = distance**2 - 2 * (spread_i**2 - spread_j**2) * balance
    root = np.sqrt(np.maximum(square, 0.0))
    numerator = distance**2 - 2 * spread_i**2 * balance
    threshold = spread_j * numerator / (spread_j * distance + spread_i * root)
    wrong_i = ndtr((threshold - distance) / spread_i)
    error = share * wrong_i + (1.0 - share) * ndtr(-threshold / spread_j)
    return threshold, root / (spread_i * spread_j), error


def _anderson_bahadur(blobs: Blobs, pairs: Indices) -> Hyperplanes:
    """The rule of least error along ``w = (s Σ_i + t Σ_j)⁻¹(μ_i − μ_j)`` for some (s, t), for each pair.

    Where both covariances are diagonal, a component of w whose sign differs from that of μ_i − μ_j makes
    a worse rule than its opposite. So ``s Σ_i + t Σ_j`` has no negative eigenvalue at the optimum. Its
    eigenvalues are linear in those of Σ_i: each is a mean of the first and the last. Only the ratio of
    these two is searched, on a logarithmic scale, because the optimum may lie very near an end. The best
    threshold along w has a closed form.
    """
    i, j = pairs.T
    # Coordinates in which Σ_i is diagonal and Σ_i + Σ_j is the identity.
    both = blobs.covariances[i] + blobs.covariances[j]
    root = np.linalg.inv(np.linalg.cholesky(both))
    variance, rotation = np.linalg.eigh(root @ blobs.covariances[i] @ root.swapaxes(1, 2))
    basis = root.swapaxes(1, 2) @ rotation
    difference = np.einsum("ldk,ld->lk", basis, blobs.means[i] - blobs.means[j])
    # If the means do not differ along the first or the last axis, the optimum is a limit of the family.
    ends = difference[:, [0, -1]]
    difference[:, [0, -1]] = np.where(np.abs(ends) < _NO_DIFFERENCE, _NO_DIFFERENCE, ends)
    above = variance - variance[:, :1]
    between = np.divide(above, above[:, -1:], out=np.zeros_like(above), where=above[:, -1:] > 0)
    eps = np.finfo(np.float64).eps
    variance = np.clip(variance, eps, 1.0 - eps)
    variances = np.stack([variance, 1.0 - variance], axis=2)
    share = (blobs.weights[i] / (blobs.weights[i] + blobs.weights[j]))[:, None]
    share = np.clip(share, np.finfo(np.float64).tiny, 1.0 - eps)  # finite log-odds

    def rules(position: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Normals (L, A, N) and the rules along them; positions (L, A) are log-ratios of eigenvalues."""
        first, last = expit(-position)[:, :, None], expit(position)[:, :, None]
        eigenvalues = first * (1.0 - between)[:, None, :] + last * between[:, None, :]
        normals = difference[:, None, :] / eigenvalues
        spread_i, spread_j = np.moveaxis(np.sqrt(normals**2 @ variances), 2, 0)
        distance = (normals @ difference[:, :, None])[:, :, 0]
        return normals, *_rule_on_a_line(distance, spread_i, spread_j, share)

    normals, threshold, slope, _ = rules(_least(lambda position: rules(position)[-1]))
    weights = slope * np.einsum("ldk,lk->ld", basis, normals[:, 0])
    biases = -np.sum(weights * blobs.means[j], axis=1) - (slope * threshold)[:, 0]
    return Hyperplanes(weights, biases, pairs)


def _least(errors: Callable[[Floats], Floats]) -> Floats:
    """The position (L, 1) of least error: a grid, refined around its lowest minima.

    ``errors`` maps positions (L, A) to errors (L, A).
    """
    # Logarithms: the errors of distant blobs are tiny. Without rounding, a plateau is one minimum.
    error = without_rounding(np.log(np.maximum(errors(_GRID[None]), np.finfo(np.float64).tiny)))
    falls = np.diff(error, axis=1, prepend=np.inf) < 0
    rises = np.diff(error, axis=1, append=np.inf) >= 0
    lowest = np.argsort(np.where(falls & rises, error, np.inf), axis=1, kind="stable")[:, :_N_MINIMA]
    best, step = _GRID[lowest], _GRID[1] - _GRID[0]
    for _ in range(_N_REFINEMENTS):
        finer = best[:, :, None] + step * _FINER
        error = errors(finer.reshape(len(finer), -1)).reshape(finer.shape)
        best = np.take_along_axis(finer, error.argmin(axis=2)[:, :, None], axis=2)[:, :, 0]
        step *= _FINER[1] - _FINER[0]
    return np.take_along_axis(best, error.min(axis=2).argmin(axis=1)[:, None], axis=1)


DISCRIMINANTS = {"lda": lda, "heteroscedastic": heteroscedastic}


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
