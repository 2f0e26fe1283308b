"""Stages 2 and 3 read out of layer l_1 by least squares, in closed form.

The two neurons of a hyperplane are ``max(h, 0)`` and ``max(-h, 0)``. Their sum is ``|h|``, and their
difference is ``h``. The h of all hyperplanes lie in the space of affine functions, of N + 1 dimensions.
The 2L neurons therefore span no more than the L bends ``|h|`` and the h of N hyperplanes. Least squares
has these L + N regressors instead of 2L.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr
from scipy.optimize import brentq

from ffmlp.arrays import Floats, Indices, row_blocks, without_rounding
from ffmlp.design.subsets import weighted_subsample
from ffmlp.model.hyperplanes import NO_BLOB, Hyperplanes

# Candidates for the ridge, the penalty on squared weights of regressors of unit variance, per sample.
RIDGES = 10.0 ** np.arange(-3.0, 2.1, 0.5)
# Samples that are left out, one by one, to choose ridge and temperature.
MAX_LEFT_OUT = 1000
# Rows of regressors held in memory at once, as a number of entries (128 MB).
_ENTRIES_AT_ONCE = 1 << 24
# A regressor that varies by less than this, in log-odds or standard deviations, or by less than a share
# of its largest terms, varies by rounding error only. Its weight would be huge.
_LEAST_SPREAD, _LEAST_SHARE = 1e-9, 1e-14
# Leverages are clipped to this: a sample of leverage 1 determines its own prediction.
_LARGEST_LEVERAGE = 0.999
# With more samples for each regressor, leaving one out changes next to nothing.
_SAMPLES_PER_REGRESSOR = 20
# Evidence this far below any other adds nothing to a sum of exponentials.
_FAR = 1e300
# An eigenvalue below this share of the largest one counts as 0.
_SMALLEST_EIGENVALUE = 1e-10
# The range of the logarithm of the temperature, and the least decrease of the log-loss per unit of it:
# without misclassified samples, the log-loss would decrease forever.
_LOG_TEMPERATURES, _LEAST_GAIN = np.linspace(-5.0, 5.0, 11), 1e-9


@dataclass(frozen=True, eq=False)
class Readout:
    """Evidence for each class: ``|h| @ even + h @ odd + bias``, from the responses h (n, L)."""

    even: Floats  # (L, C) weights of the sum of a hyperplane's two neurons
    odd: Floats  # (L, C) weights of their difference
    bias: Floats  # (C,)
    ridge: float  # the penalty of `RIDGES` with the least leave-one-out error
    temperature: float  # the factor of the evidence that makes its softmax a probability
    error_rate: float  # by leaving one out
    left_out: Floats | None = None  # (n, C) the evidence for each sample, fitted without it


def fit_readout(
    planes: Hyperplanes,
    X: NDArray,
    y: Indices,
    weight: Floats,
    n_classes: int,
    *,
    leave_out: bool = False,
) -> Readout:
    """Least squares from the l_1 responses to class indicators, with the ridge of least LOO error.

    One eigendecomposition serves all ridges: O(n·p² + p³) time for p = L + N regressors. With
    ``leave_out``, the evidence for each sample is also computed without it.
    """
    total = weight.sum()
    regressors = _Regressors.of(planes, X).standardised(weight / total)
    targets = np.eye(n_classes)[y]
    shares = weight @ targets / total
    # Rotated regressors T have T'WT = diag(eigenvalues): every ridge is a scaling of their weights.
    eigenvalues, rotation, moments = regressors.principal_axes(weight, targets - shares)

    left_out, mass = weighted_subsample(X, y, weight, MAX_LEFT_OUT)
    truth = y[left_out]
    rotated = regressors.rows(left_out) @ rotation
    squares, errors, evidence = rotated**2, [], []
    for ridge in RIDGES * total:
        shrinkage = 1.0 / (eigenvalues + ridge)
        leverage = np.minimum(squares @ shrinkage + 1.0 / total, _LARGEST_LEVERAGE)
        residual = targets[left_out] - shares - rotated @ (shrinkage[:, None] * moments)
        residual /= (1.0 - leverage)[:, None]
        errors.append(mass @ np.sum(residual**2, axis=1))
        evidence.append(targets[left_out] - residual)
    best = int(np.argmin(without_rounding(np.array(errors) / total)))
    shrinkage = 1.0 / (eigenvalues + RIDGES[best] * total)
    coefficients = rotation @ (moments * shrinkage[:, None])
    each = None
    if leave_out:
        each = _left_out_evidence(regressors, rotation, shrinkage, coefficients, targets, shares, weight)
    coefficients /= regressors.scale[:, None]

    odd = np.zeros((len(planes), n_classes))
    odd[regressors.linear] = coefficients[len(planes) :]
    return Readout(
        even=coefficients[: len(planes)],
        odd=odd,
        bias=shares - regressors.mean @ coefficients,
        ridge=float(RIDGES[best]),
        temperature=best_temperature(evidence[best], np.arange(n_classes), truth, mass),
        error_rate=float(mass @ (evidence[best].argmax(axis=1) != truth) / mass.sum()),
        left_out=each,
    )


def _left_out_evidence(
    regressors: _Regressors,
    rotation: Floats,
    shrinkage: Floats,
    coefficients: Floats,
    targets: Floats,
    shares: Floats,
    weight: Floats,
) -> Floats:
    """The evidence (n, C) for each sample, fitted without it; where leverages are tiny, with it."""
    tiny = len(targets) > _SAMPLES_PER_REGRESSOR * len(rotation)
    half = rotation * np.sqrt(shrinkage)
    evidence = np.empty_like(targets)
    for rows, block in regressors.blocks():
        fitted = shares + block @ coefficients
        if not tiny:
            rotated = block @ half
            leverage = weight[rows] * (np.einsum("ij,ij->i", rotated, rotated) + 1.0 / weight.sum())
            leverage = np.minimum(leverage, _LARGEST_LEVERAGE)[:, None]
            fitted = targets[rows] - (targets[rows] - fitted) / (1.0 - leverage)
        evidence[rows] = fitted
    return evidence


def best_temperature(evidence: Floats, owners: Indices, y: Indices, weight: Floats) -> float:
    """The factor of the evidence (n, m) whose softmax has the least log-loss for the labels y.

    ``owners`` (m,) is the class that each column supports.
    """
    supported = np.isin(y, owners)  # pruning may leave a class without a neuron
    y, weight = y[supported], weight[supported]
    evidence = np.ascontiguousarray(evidence[supported].T)  # (m, n): sums of few rows are fast
    own = np.where(owners[:, None] == y, evidence, -_FAR)
    # Both sums of exponentials are relative to their largest term, so that they cannot overflow.
    largest, largest_own = evidence.max(axis=0), own.max(axis=0)
    evidence, own = evidence - largest, own - largest_own
    share = weight / weight.sum()
    behind = float(share @ (largest - largest_own))

    def mean(exponents: Floats) -> float:
        masses = np.exp(exponents)
        return float(share @ (np.einsum("mn,mn->n", masses, exponents) / masses.sum(axis=0)))

    def slope(log_factor: float) -> float:
        """Of the mean log-loss. Its root is more precise than the location of the least loss."""
        factor = np.exp(log_factor)
        return mean(factor * evidence) - mean(factor * own) + factor * behind + _LEAST_GAIN

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        sums, own_sums = (np.exp(factor * part).sum(axis=0) for part in (evidence, own))
        return float(share @ np.log(sums / own_sums)) + factor * behind + _LEAST_GAIN * log_factor

    # Classes of several columns may have several minima.
    tried = _LOG_TEMPERATURES
    best = int(np.argmin([loss(log_factor) for log_factor in tried]))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    is_inside = slope(low) < 0 < slope(high)
    return float(np.exp(brentq(slope, low, high) if is_inside else tried[best]))


@dataclass(frozen=True, eq=False)
class _Regressors:
    """The p columns ``([|h|, h[:, linear]] − mean) / scale`` of samples X, computed block by block.

    ``linear`` are hyperplanes whose h span those of all hyperplanes.
    """

    planes: Hyperplanes
    linear: Indices
    X: NDArray
    mean: Floats
    scale: Floats
    whole: Floats | None = None  # all rows, if they fit in memory

    @classmethod
    def of(cls, planes: Hyperplanes, X: NDArray) -> _Regressors:
        linear = _spanning(planes)
        n_columns = len(planes) + len(linear)
        regressors = cls(planes, linear, X, np.zeros(n_columns), np.ones(n_columns))
        if len(X) * n_columns > _ENTRIES_AT_ONCE:
            return regressors
        return replace(regressors, whole=regressors.rows(slice(None)))

    def rows(self, rows: slice | Indices) -> Floats:
        if self.whole is not None:
            return self.whole[rows]
        h = self.planes.signed_responses(self.X[rows])
        columns = np.empty((len(h), len(self.mean)))
        columns[:, len(self.planes) :] = h[:, self.linear]
        np.abs(h, out=columns[:, : len(self.planes)])
        columns -= self.mean
        columns /= self.scale
        return columns

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        for rows in row_blocks(len(self.X), len(self.mean), _ENTRIES_AT_ONCE):
            yield rows, self.rows(rows)

    def standardised(self, share: Floats) -> _Regressors:
        """Columns of weighted mean 0 and variance 1; constant ones are 0."""
        mean = np.sum([share[rows] @ block for rows, block in self.blocks()], axis=0)
        squares = [share[rows] @ np.square(block - mean) for rows, block in self.blocks()]
        scale = np.sqrt(np.sum(squares, axis=0))
        reach = self.planes.reach(self.X)
        rounding = _LEAST_SHARE * np.concatenate([reach, reach[self.linear]])
        scale = np.where(scale > np.maximum(_LEAST_SPREAD, rounding), scale, 1.0)
        if self.whole is not None:
            self.whole[:] -= mean
            self.whole[:] /= scale
        return replace(self, mean=mean, scale=scale)

    def principal_axes(self, weight: Floats, others: Floats) -> tuple[Floats, Floats, Floats]:
        """Positive eigenvalues (r,) and eigenvectors (p, r) of the weighted Gram matrix, and moments.

        Moments are weighted products (r, C) of the columns along the eigenvectors with other columns
        (n, C). With fewer samples than columns, the smaller matrix of products of rows gives the same.
        """
        root = np.sqrt(weight)[:, None]
        few = len(self.X) < len(self.mean)
        if few:
            wide = self.rows(slice(None)) * root
            gram = wide @ wide.T
        else:
            gram = np.zeros((len(self.mean), len(self.mean)))
            sums = np.zeros((len(self.mean), others.shape[1]))
            for rows, block in self.blocks():
                sums += block.T @ (weight[rows, None] * others[rows])
                weighted = block if (weight[rows] == 1.0).all() else block * root[rows]
                gram += weighted.T @ weighted
        values, vectors = eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
        positive = values > _SMALLEST_EIGENVALUE * values[-1]
        values, vectors = values[positive], vectors[:, positive]
        if not few:
            return values, vectors, vectors.T @ sums
        lengths = np.sqrt(values)
        # The eigenvectors are less precise for small eigenvalues. The moments do not use them.
        return values, wide.T @ (vectors / lengths), lengths[:, None] * (vectors.T @ (root * others))


def _spanning(planes: Hyperplanes) -> Indices:
    """At most N hyperplanes whose normals span those of all.

    For a feature with thresholds, this is its middle one, which is the easiest to read. For the other
    features, these are the pivots of a QR decomposition.
    """
    is_threshold = planes.pairs[:, 0] == NO_BLOB
    thresholds = np.flatnonzero(is_threshold)
    features = np.abs(planes.weights[thresholds]).argmax(axis=1)
    spanned, first, count = np.unique(features, return_index=True, return_counts=True)
    chosen = thresholds[first + count // 2]
    rest = np.delete(planes.weights[~is_threshold], spanned, axis=1)
    rest = rest[:, rest.any(axis=0)]
    if not rest.size:
        return chosen
    rest = rest / np.abs(rest).max(axis=0)
    length = np.linalg.norm(rest, axis=1)
    # Rounding would choose among normals of equal length, so earlier ones are made slightly longer.
    length = np.where(length > 0, length, 1.0) * (1.0 + 1e-6 * np.linspace(0.0, 1.0, len(length)))
    normals = (rest / length[:, None]).T
    _, triangle, order = qr(normals, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(triangle))
    pivots = order[: np.count_nonzero(diagonal > 1e-10 * diagonal[0])]
    return np.sort(np.concatenate([chosen, np.flatnonzero(~is_threshold)[pivots]]))
