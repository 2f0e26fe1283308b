"""Stage 0: every class becomes a mixture of Gaussian blobs, fitted by EM or many small ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, svd

from ffmlp.arrays import AnyFloats, Floats, Indices, row_blocks, without_rounding
from ffmlp.design.scaling import Scaling
from ffmlp.inputs.rows import SumOfFields
from ffmlp.network.blobs import Blobs

# Added to the variances of standardised features, so that no covariance is singular.
REGULARIZATION = 1e-6
# From this many samples per feature on, a covariance is not shrunk.
TRUSTED_SAMPLES_PER_FEATURE = 5.0
MAX_LLOYD_ITERATIONS = 30
MAX_EM_ITERATIONS = 100
# EM stops when the mean log-likelihood of a sample improves by less than this.
EM_TOLERANCE = 1e-3
# Entries of the (blob, sample, feature) arrays of one block (2 MB: they stay in the cache).
_BLOCK_ENTRIES = 1 << 18


@dataclass(frozen=True, eq=False)
class Mixture:
    """The k blobs of one class: shares (k,), means (k, N) and covariances (k, N, N)."""

    weights: Floats
    means: Floats
    covariances: Floats


@dataclass(frozen=True, eq=False)
class Moments(SumOfFields):
    """Sufficient statistics of k blobs, a `Statistic`.

    Deviations are taken from an origin (k, N) near the blobs' means, so that rounding errors do not
    dominate variances.
    """

    mass: Floats  # (k,)      sum of the samples' weights
    deviation: Floats  # (k, N)    sum of weight * (x - origin)
    product: Floats  # (k, N, N) sum of weight * (x - origin)(x - origin)'
    log_likelihood: float


def _moments(shifted: Floats, share: Floats, log_likelihood: float = 0.0) -> Moments:
    """Moments from deviations (k, n, N) and each blob's share of each sample (k, n)."""
    weighted = shifted * share[:, :, None]
    products = weighted.swapaxes(1, 2) @ shifted
    return Moments(share.sum(axis=1), weighted.sum(axis=1), products, log_likelihood)


def expectation(mixture: Mixture, X: Floats, weight: Floats) -> Moments:
    """E-step: the moments of samples X (n, N), each shared among the blobs by its posterior."""
    cholesky = np.linalg.cholesky(mixture.covariances)
    whitening = np.linalg.inv(cholesky)
    log_determinant = np.log(np.diagonal(cholesky, axis1=1, axis2=2)).sum(axis=1)
    with np.errstate(divide="ignore"):  # an empty blob has log-weight -inf and gets no sample
        constant = np.log(mixture.weights) - log_determinant
    constant -= 0.5 * X.shape[1] * np.log(2 * np.pi)

    shifted = X - mixture.means[:, None, :]
    white = shifted @ whitening.swapaxes(1, 2)
    log_joint = constant[:, None] - 0.5 * np.einsum("knd,knd->kn", white, white)
    largest = log_joint.max(axis=0)
    posterior = np.exp(log_joint - largest)
    total = posterior.sum(axis=0)
    posterior *= weight / total
    log_likelihood = float(weight @ (largest + np.log(total)))
    return _moments(shifted, posterior, log_likelihood)


def assignment(origin: Floats, X: Floats, weight: Floats, labels: Indices) -> Moments:
    """The moments of samples X (n, N), each of which belongs to the blob of its label."""
    share = np.where(labels == np.arange(len(origin))[:, None], weight, 0.0)
    return _moments(X - origin[:, None, :], share)


def maximization(moments: Moments, origin: Floats, regularization: float = REGULARIZATION) -> Mixture:
    """M-step: the mixture of greatest likelihood for the moments about an origin."""
    mass = np.maximum(moments.mass, np.finfo(np.float64).tiny)
    shift = moments.deviation / mass[:, None]
    covariances = moments.product / mass[:, None, None]
    covariances -= shift[:, :, None] * shift[:, None, :]
    diagonal = np.arange(shift.shape[1])
    covariances[:, diagonal, diagonal] += regularization
    return Mixture(moments.mass / moments.mass.sum(), origin + shift, covariances)


def summed(statistic: Callable[..., Moments], n_blobs: int, X: Floats, *others: NDArray) -> Moments:
    """Add up ``statistic(X, *others)`` over blocks of samples, in constant memory."""
    blocks = row_blocks(len(X), n_blobs * X.shape[1], _BLOCK_ENTRIES)
    return reduce(add, (statistic(X[block], *(other[block] for other in others)) for block in blocks))


def fit_mixture(X: Floats, weight: Floats, n_components: int, rng: np.random.RandomState) -> Mixture:
    """Fit a mixture to the samples of one class: k-means++ seeds, Lloyd's iterations, then EM.

    Takes O(k·d²·(n + d)) time per iteration, where d = min(n, N), and O(k·(n + N²)) memory. There are
    fewer than ``n_components`` blobs if there are fewer distinct samples.
    """
    order = _order_by_value(X, rng)
    X, weight = X[order], weight[order]
    means = lloyd(X, weight, seeds(X, weight, n_components, rng))
    labels = nearest(X, means)
    span = Span.of(X) if len(X) < X.shape[1] and len(means) > 1 else None
    if span is not None:
        X, means = span.coordinates(X), span.coordinates(means)
    moments = summed(partial(assignment, means), len(means), X, weight, labels)
    mixture = maximization(moments, means)
    if len(means) > 1:
        mixture = maximize_likelihood(X, weight, mixture)
    return mixture if span is None else span.mixture(mixture)


@dataclass(frozen=True, eq=False)
class Span:
    """The plane through n samples of N > n features: an origin (N,) and an orthonormal basis (N, n).

    Blobs of these samples have the variance `REGULARIZATION` across the plane, all of them alike. So
    EM within the plane shares the samples among the blobs as EM among all features does.
    """

    origin: Floats
    basis: Floats

    @classmethod
    def of(cls, X: Floats) -> Span:
        """The plane through samples (n, N)."""
        origin = X.mean(axis=0)
        return cls(origin, np.linalg.qr((X - origin).T)[0].astype(np.float64))

    def coordinates(self, X: Floats) -> Floats:
        """The coordinates (m, n) of points (m, N) in the plane."""
        return (X - self.origin) @ self.basis

    def mixture(self, within: Mixture) -> Mixture:
        """The mixture among all features that a mixture in the plane stands for."""
        n_features, n_axes = self.basis.shape
        inner = within.covariances - REGULARIZATION * np.eye(n_axes)
        covariances = self.basis @ inner @ self.basis.T + REGULARIZATION * np.eye(n_features)
        return Mixture(within.weights, self.origin + within.means @ self.basis.T, covariances)


def _order_by_value(X: Floats, rng: np.random.RandomState) -> Indices:
    """An order of the samples that depends on their values only.

    Repeated samples are adjacent in it, so that the draw of seeds depends neither on the order of the
    rows nor on whether a row of weight 2 is given once or twice.
    """
    # Column by column, because a matrix product might round equal rows differently.
    projection = np.zeros(len(X))
    directions = np.asarray(rng.standard_normal(X.shape[1]))
    for direction, column in zip(directions, X.T, strict=True):
        projection += direction * column
    return np.argsort(projection, kind="stable")


def maximize_likelihood(
    X: Floats,
    weight: Floats,
    mixture: Mixture,
    *,
    tolerance: float = EM_TOLERANCE,
    max_iterations: int = MAX_EM_ITERATIONS,
    regularization: float = REGULARIZATION,
) -> Mixture:
    """Expectation maximisation from a given start; the likelihood never decreases."""
    previous = -np.inf
    for _ in range(max_iterations):
        moments = summed(partial(expectation, mixture), len(mixture.means), X, weight)
        mixture = maximization(moments, mixture.means, regularization)
        likelihood = moments.log_likelihood / weight.sum()
        if abs(likelihood - previous) < tolerance:
            break
        previous = likelihood
    return mixture


def seeds(X: Floats, weight: Floats, n_seeds: int, rng: np.random.RandomState) -> Floats:
    """Greedy k-means++: samples far from each other, at most one per distinct sample."""

    def draw(mass: Floats, n_draws: int) -> Indices:
        cumulated = np.cumsum(mass)
        drawn = np.searchsorted(cumulated, rng.uniform(size=n_draws) * cumulated[-1], side="right")
        return np.minimum(drawn, np.flatnonzero(mass)[-1])

    def squared_distance(seed: Floats) -> Floats:
        shifted = X - seed
        return np.einsum("nd,nd->n", shifted, shifted)

    chosen = [X[draw(weight, 1)[0]]]
    closest = squared_distance(chosen[0])
    n_trials = 2 + int(np.log(n_seeds))
    while len(chosen) < n_seeds and closest.any():
        trials = draw(weight * closest, n_trials)
        distances = [np.minimum(closest, squared_distance(X[trial])) for trial in trials]
        best = _first_smallest(np.array([weight @ distance for distance in distances]) / weight.sum())
        chosen.append(X[trials[best]])
        closest = distances[int(best)]
    return np.array(chosen)


def nearest(X: Floats, means: Floats) -> Indices:
    """Index of the nearest mean of each sample; ties go to the lowest index."""
    return _first_smallest(np.sum(means**2, axis=1) - 2 * (X @ means.T))


def _first_smallest(distances: Floats) -> Indices:
    """Argmin over the last axis; rounding does not decide ties, which are common in discrete data."""
    return np.argmin(without_rounding(distances), axis=-1)


def lloyd(
    X: Floats, weight: Floats, means: Floats, max_iterations: int = MAX_LLOYD_ITERATIONS
) -> Floats:
    """Lloyd's k-means iterations from the given means."""
    labels = None
    for _ in range(max_iterations):
        previous, labels = labels, nearest(X, means)
        if previous is not None and np.array_equal(labels, previous):
            break
        member = np.where(labels[:, None] == np.arange(len(means)), weight[:, None], 0.0)
        mass = member.sum(axis=0)
        filled = mass > 0
        means = means.copy()
        means[filled] = (member.T @ X)[filled] / mass[filled, None]
    return means


def shrunk(covariances: Floats, mass: Floats) -> Floats:
    """Covariances of one class's blobs, shrunk towards the pooled covariance if samples are few.

    The shrinkage of a blob with fewer than `TRUSTED_SAMPLES_PER_FEATURE` · N samples is the share of
    these that is missing. The pooled covariance is shrunk likewise towards its diagonal, where the unit
    variance of the standardised features counts as one more sample: a feature that is constant within a
    few samples need not be constant.
    """
    n_features = covariances.shape[1]

    def shrinkage(n_samples: Floats) -> Floats:
        return np.maximum(0.0, 1.0 - n_samples / (TRUSTED_SAMPLES_PER_FEATURE * n_features))

    total = mass.sum()
    pooled = np.tensordot(mass / total, covariances, axes=1)
    diagonal = np.diag((total * np.diag(pooled) + 1.0) / (total + 1.0))
    pooled = (1.0 - shrinkage(total)) * pooled + shrinkage(total) * diagonal
    towards_pooled = shrinkage(mass)[:, None, None]
    return (1.0 - towards_pooled) * covariances + towards_pooled * pooled


def fitted_blobs(
    X: AnyFloats,
    y: Indices,
    weight: Floats,
    scaling: Scaling,
    n_components: Sequence[int],
    rng: np.random.RandomState,
    *,
    shrink: bool = True,
) -> Blobs:
    """Blobs of classes 0..C-1, ``n_components[c]`` of class c; one class is standardised at a time."""
    mixtures = []
    for label in np.unique(y).tolist():
        mine = y == label
        mixture = fit_mixture(scaling.apply(X[mine]), weight[mine], n_components[label], rng)
        mixtures.append((label, weight[mine].sum(), mixture))
    return collected(mixtures, shrink=shrink)


def labelled_blobs(
    X: AnyFloats, y: Indices, blob: Indices, weight: Floats, scaling: Scaling, *, shrink: bool = True
) -> Blobs:
    """Blobs with known members: ``blob`` (n,) is the blob of each sample; each is of one class only."""
    mixtures = []
    for label in np.unique(y):
        mine = y == label
        members, labels = np.unique(blob[mine], return_inverse=True)
        samples, mass = scaling.apply(X[mine]), weight[mine]
        rows = [np.flatnonzero(labels == member) for member in range(len(members))]
        origin = np.array([np.average(samples[some], axis=0, weights=mass[some]) for some in rows])
        moments = summed(partial(assignment, origin), len(members), samples, mass, labels)
        mixtures.append((int(label), mass.sum(), maximization(moments, origin)))
    return collected(mixtures, shrink=shrink)


def collected(mixtures: list[tuple[int, float, Mixture]], *, shrink: bool = True) -> Blobs:
    """Join the mixtures of the classes, given with class and total weight; empty blobs are dropped."""
    parts = []
    for label, total, mixture in mixtures:
        filled = mixture.weights > np.finfo(np.float64).eps
        mass, covariances = mixture.weights[filled] * total, mixture.covariances[filled]
        if shrink:
            covariances = shrunk(covariances, mass)
        parts.append((np.full(len(mass), label), mixture.means[filled], covariances, mass))
    classes, means, covariances, mass = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Blobs(classes, means, covariances, mass / mass.sum())


# Fewer samples would estimate a blob too poorly.
SAMPLES_PER_CELL = 6.0
# Added to the variances of standardised features: no blob is thinner than a tenth of their deviation.
# Features that are constant within a few samples, such as categories, would dominate the other features.
CELL_REGULARIZATION = 0.01
LLOYD_ITERATIONS = 5
# The number of small blobs for up to `_ROWS_OF_SMALL_DATA` samples, and how many more for twice as many.
# The time of least squares grows with the square of their number; the trees that correct a readout
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
    regularization = CELL_REGULARIZATION * np.eye(Z.shape[1])
    shares = np.array(masses) / weight.sum()
    return Mixture(shares, np.array(means), np.array(covariances) + regularization)
