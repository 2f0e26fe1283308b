"""Least squares of the classes on layer l_1, in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr
from scipy.optimize import brentq
from threadpoolctl import threadpool_info

from ffmlp.arrays import Floats, Indices, row_blocks, without_rounding
from ffmlp.design.problem import Samples
from ffmlp.design.scaling import Scaling
from ffmlp.inputs.rows import SumOfFields, weighted_subsample
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes

# Each thread holds a block in memory.
_MOST_THREADS = 8


T = TypeVar("T")

# Entries of all rows that are held in memory (64 MB), of the rows that a thread is given at once, of a
# product, and of a part of it that stays in the cache.
_ENTRIES_AT_ONCE, _ENTRIES_PER_THREAD = 1 << 23, 1 << 24
_ENTRIES_PER_PRODUCT, _ENTRIES_IN_CACHE = 1 << 21, 1 << 17
# Single precision is enough for responses up to this many standard deviations.
_MOST_DEVIATIONS = 1e4
# A regressor that varies by less than this, in log-odds or standard deviations, or by less than a share
# of its largest terms (the second one in single precision), varies by rounding error only. Its weight
# would be huge.
_LEAST_SPREAD, _LEAST_SHARE, _LEAST_SINGLE_SHARE = 1e-9, 1e-14, 1e-6
# An eigenvalue below this share of the largest one counts as 0.
_SMALLEST_EIGENVALUE = 1e-10


@dataclass(frozen=True, eq=False)
class Products(SumOfFields):
    """Weighted products of the columns of regressors over a block of samples, a `Statistic`."""

    gram: Floats  # (p, p) of the columns with each other
    moments: Floats  # (p, C) of the columns with class indicators


@dataclass(frozen=True, eq=False)
class Regressors:
    """The p columns ``([|h|, h[:, linear]] − mean) / scale`` of samples X, computed block by block.

    ``linear`` are hyperplanes whose h span the h of all hyperplanes. ``units`` standardise the input of
    the hyperplanes. Columns with a spread below ``least`` (p,) vary by rounding error only.
    """

    planes: Hyperplanes
    linear: Indices
    X: NDArray
    units: Scaling
    least: Floats
    mean: Floats
    scale: Floats
    dtype: type[np.floating] = np.float64
    whole: Floats | None = None  # all rows, if they fit in memory

    @classmethod
    def of(cls, planes: Hyperplanes, samples: Samples, some: Indices, mass: Floats) -> Regressors:
        """Columns of mean 0 and variance 1, if they fit in memory; else nearly so.

        Many columns are standardised by ``some`` samples that represent all. If single precision has
        enough digits, it is used, unless products are sums over a population, whose rounding errors
        depend on its blocks.
        """
        X, weight = samples.X, samples.importance
        linear = spanning(planes)
        n_columns = len(planes) + len(linear)
        reach = planes.reach(X)
        least = np.maximum(_LEAST_SPREAD, _LEAST_SHARE * np.concatenate([reach, reach[linear]]))
        units = Scaling.of(planes.mapped(X[some]), mass)
        raw = cls(planes, linear, X, units, least, np.zeros(n_columns), np.ones(n_columns))
        held = samples.population is None
        if held and (len(X) < n_columns or len(X) * n_columns <= _ENTRIES_AT_ONCE):
            whole = raw.of_few() if len(X) < X.shape[1] else raw.rows(slice(None))
            return replace(raw, whole=whole).standardised(*mean_and_spread(whole, weight))
        regressors = raw.standardised(*mean_and_spread(raw.rows(some), mass))
        ends = units.apply(planes.mapped(np.stack([X.min(axis=0), X.max(axis=0)])))
        reach = np.append(np.abs(ends).max(axis=0), 1.0) @ np.abs(regressors.factor)
        if not held or reach.max() > _MOST_DEVIATIONS:
            return regressors
        least = np.maximum(least, _LEAST_SINGLE_SHARE * reach * regressors.scale)
        return replace(regressors, dtype=np.float32, least=least)

    def standardised(self, mean: Floats, spread: Floats) -> Regressors:
        """The regressors with columns of this mean and spread standardised to mean 0 and spread 1."""
        scale = np.where(self.scale * spread > self.least, spread, 1.0)
        if self.whole is not None:
            self.whole[:] -= mean
            self.whole[:] /= scale
        return replace(self, mean=self.mean + self.scale * mean, scale=self.scale * scale)

    @cached_property
    def factor(self) -> NDArray:
        """The factor (N + 1, p) of a sample in `units` and a 1: bends are its absolute values."""
        planes = self.units.standardised_planes(self.planes)
        n_bends, n_inputs = planes.weights.shape
        # Filled in place: with thousands of inputs, copies take longer than the products.
        factor = np.empty((n_inputs + 1, len(self.mean)))
        factor[:-1, :n_bends], factor[-1, :n_bends] = planes.weights.T, planes.biases
        factor[:, n_bends:] = factor[:, self.linear]
        factor[-1, n_bends:] -= self.mean[n_bends:]
        factor /= self.scale
        return factor.astype(self.dtype, copy=False)

    def rows(self, rows: slice | Indices, out: NDArray | None = None) -> NDArray:
        """The columns of some samples; their memory may be given, with at least as many rows."""
        if self.whole is not None:
            return self.whole[rows]
        Z = self.units.apply(self.planes.mapped(self.X[rows]))
        inputs = np.ones((len(Z), Z.shape[1] + 1), self.dtype)
        inputs[:, :-1] = Z
        columns = np.empty((len(Z), len(self.mean)), self.dtype) if out is None else out[: len(Z)]
        n_bends = len(self.planes)
        middle = (self.mean / self.scale)[:n_bends].astype(self.dtype)
        for part in row_blocks(len(Z), len(self.mean), _ENTRIES_IN_CACHE):
            bends = np.matmul(inputs[part], self.factor, out=columns[part])[:, :n_bends]
            np.abs(bends, out=bends)
            bends -= middle
        return columns

    def of_few(self) -> Floats:
        """The columns of fewer samples than inputs, of mean 0 and scale 1, without their `factor`.

        A threshold reads one input. With thousands of inputs, zeros would take most of the time.
        """
        planes = self.planes
        X, is_threshold = planes.mapped(self.X), planes.pairs[:, 0] == NO_BLOB
        thresholds, others = np.flatnonzero(is_threshold), np.flatnonzero(~is_threshold)
        features = _features(planes, thresholds)
        h = np.empty((len(X), len(planes)))
        h[:, thresholds] = X[:, features] * planes.weights[thresholds, features]
        h[:, thresholds] += planes.biases[thresholds]
        rest = self.units.standardised_planes(planes.select(others))
        h[:, others] = self.units.apply(X) @ rest.weights.T + rest.biases
        return np.hstack([np.abs(h), h[:, self.linear]])

    def part_by_part(self, action: Callable[[Iterator[tuple[slice, NDArray]]], T]) -> Iterator[T]:
        """The results of an action for each part of the samples, in order.

        An action reads blocks of a part: a slice of the samples, and their columns in reused memory.
        There are as many threads as OpenMP may use: ``OMP_NUM_THREADS`` and threadpoolctl limit them.
        NumPy releases the lock in matrix products. These should have one thread each: threads of a
        product wait for each other, threads of parts do not.
        """
        n_columns = len(self.mean)

        def blocks(part: slice) -> Iterator[tuple[slice, NDArray]]:
            slices = list(row_blocks(part.stop - part.start, n_columns, _ENTRIES_PER_PRODUCT))
            memory = np.empty((slices[0].stop, n_columns), self.dtype)
            for some in slices:
                rows = slice(part.start + some.start, part.start + some.stop)
                yield rows, self.rows(rows, memory)

        parts = list(row_blocks(len(self.X), n_columns, _ENTRIES_PER_THREAD))
        if len(parts) < 2:
            yield from (action(blocks(part)) for part in parts)
            return
        allowed = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
        with ThreadPoolExecutor(min(max(allowed, default=1), len(parts), _MOST_THREADS)) as pool:
            yield from pool.map(lambda part: action(blocks(part)), parts)

    def products(self, samples: Samples) -> Products:
        """The products of the columns of any samples, not only of the regressors' samples."""
        if samples.X is not self.X:
            return replace(self, X=samples.X).products(samples)
        y, weight = samples.y, samples.importance
        n_columns, n_classes = len(self.mean), len(samples.labels)

        def summed(blocks: Iterator[tuple[slice, NDArray]]) -> Products:
            gram, moments = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_classes))
            products = np.empty((n_columns, n_columns), self.dtype)
            for rows, block in blocks:
                targets = np.eye(n_classes, dtype=self.dtype)[y[rows]]
                if (weight[rows] != 1.0).any():
                    root = np.sqrt(weight[rows, None]).astype(self.dtype)
                    block, targets = block * root, targets * root
                gram += np.matmul(block.T, block, out=products)
                moments += block.T @ targets
            return Products(gram, moments)

        return reduce(add, self.part_by_part(summed))

    def principal_axes(
        self, samples: Samples, shares: Floats
    ) -> tuple[Regressors, Floats, Floats, Floats]:
        """Columns of mean 0 and variance 1, and the principal axes of their weighted Gram matrix.

        These are positive eigenvalues (r,), eigenvectors (p, r) and moments: weighted products (r, C) of
        the columns along the eigenvectors with the class indicators minus their ``shares``. With fewer
        samples than columns, the smaller matrix of products of rows gives the same.
        """
        weight, regressors = samples.importance, self
        total, few = weight.sum(), samples.population is None and len(self.X) < len(self.mean)
        if few:
            root = np.sqrt(weight)[:, None]
            wide = self.rows(slice(None)) * root
            gram = wide @ wide.T
        else:
            without_samples = self if samples.population is None else replace(self, X=self.X[:0])
            products = samples.total(without_samples.products)
            gram, sums = products.gram, products.moments
            mean = sums.sum(axis=1) / total
            gram -= total * np.outer(mean, mean)
            sums -= total * np.outer(mean, shares)
            if self.whole is None:
                regressors = self.standardised(mean, np.sqrt(np.maximum(np.diag(gram), 0.0) / total))
                relative = self.scale / regressors.scale
                gram *= np.outer(relative, relative)
                sums *= relative[:, None]
        values, vectors = eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
        positive = values > _SMALLEST_EIGENVALUE * values[-1]
        values, vectors = values[positive], vectors[:, positive]
        if not few:
            return regressors, values, vectors, vectors.T @ sums
        lengths = np.sqrt(values)
        # The eigenvectors are less precise for small eigenvalues. The moments do not use them.
        targets = np.eye(len(shares))[samples.y] - shares
        moments = lengths[:, None] * (vectors.T @ (root * targets))
        return regressors, values, wide.T @ (vectors / lengths), moments


def mean_and_spread(columns: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The weighted mean and standard deviation of each column."""
    share = weight / weight.sum()
    mean = share @ columns
    return mean, np.sqrt(share @ np.square(columns - mean))


def _features(planes: Hyperplanes, thresholds: Indices) -> Indices:
    """The only feature of each threshold, without a copy of all weights."""
    return (planes.weights != 0).argmax(axis=1)[thresholds]


def spanning(planes: Hyperplanes) -> Indices:
    """At most N hyperplanes whose normals span all normals.

    For a feature with thresholds, this is its middle one, which is the easiest to read. For the other
    features, these are the pivots of a QR decomposition.
    """
    is_threshold = planes.pairs[:, 0] == NO_BLOB
    thresholds = np.flatnonzero(is_threshold)
    features = _features(planes, thresholds)
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


# Candidates for the ridge, the penalty on squared weights of regressors of unit variance, per sample.
RIDGES = 10.0 ** np.arange(-3.0, 2.1, 0.5)
# Samples that are left out, one by one, to choose ridge and temperature.
MAX_LEFT_OUT = 1000
# Leverages are clipped to this: a sample of leverage 1 determines its own prediction.
_LARGEST_LEVERAGE = 0.999
# With more samples for each regressor, leaving one out changes next to nothing.
_SAMPLES_PER_REGRESSOR = 20
# Evidence this far below any other adds nothing to a sum of exponentials.
_FAR = 1e300
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


def fit_readout(planes: Hyperplanes, samples: Samples, *, leave_out: bool = False) -> Readout:
    """Least squares from the l_1 responses to class indicators, with the ridge of least LOO error.

    One eigendecomposition serves all ridges: O(n·p² + p³) time for p = L + N regressors. With
    ``leave_out``, the evidence for each sample is also computed without it.
    """
    X, y, weight, n_classes = samples.X, samples.y, samples.importance, len(samples.labels)
    total = weight.sum()
    shares = np.bincount(y, weight, n_classes) / total
    left_out, mass = weighted_subsample(X, y, weight, MAX_LEFT_OUT)
    # Rotated regressors T have T'WT = diag(eigenvalues): every ridge is a scaling of their weights.
    regressors = Regressors.of(planes, samples, left_out, mass)
    regressors, eigenvalues, rotation, moments = regressors.principal_axes(samples, shares)

    truth, targets = y[left_out], np.eye(n_classes)[y[left_out]]
    rotated = regressors.rows(left_out) @ rotation
    squares, errors, evidence = rotated**2, [], []
    for ridge in RIDGES * total:
        shrinkage = 1.0 / (eigenvalues + ridge)
        leverage = np.minimum(squares @ shrinkage + 1.0 / total, _LARGEST_LEVERAGE)
        residual = targets - shares - rotated @ (shrinkage[:, None] * moments)
        residual /= (1.0 - leverage)[:, None]
        errors.append(mass @ np.sum(residual**2, axis=1))
        evidence.append(targets - residual)
    best = int(np.argmin(without_rounding(np.array(errors) / total)))
    shrinkage = 1.0 / (eigenvalues + RIDGES[best] * total)
    coefficients = rotation @ (moments * shrinkage[:, None])
    each = None
    if leave_out:
        half = rotation * np.sqrt(shrinkage)
        each = _left_out_evidence(regressors, half, coefficients, samples, shares)
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
    regressors: Regressors, half: Floats, coefficients: Floats, samples: Samples, shares: Floats
) -> Floats:
    """The evidence (n, C) for each sample, fitted without it; where leverages are tiny, with it.

    ``half @ half.T`` is the inverse of the Gram matrix with the ridge.
    """
    y, weight = samples.y, samples.importance
    tiny = samples.population is not None or len(y) > _SAMPLES_PER_REGRESSOR * len(half)
    half, coefficients = half.astype(regressors.dtype), coefficients.astype(regressors.dtype)
    evidence = np.empty((len(y), len(shares)))

    def fill(blocks: Iterator[tuple[slice, NDArray]]) -> None:
        for rows, block in blocks:
            evidence[rows] = shares + block @ coefficients
            if tiny:
                continue
            rotated = block @ half
            leverage = weight[rows] * (np.einsum("ij,ij->i", rotated, rotated) + 1.0 / weight.sum())
            leverage = np.minimum(leverage, _LARGEST_LEVERAGE)[:, None]
            target = np.eye(len(shares))[y[rows]]
            evidence[rows] = target - (target - evidence[rows]) / (1.0 - leverage)

    list(regressors.part_by_part(fill))
    return evidence


def best_temperature(evidence: Floats, owners: Indices, y: Indices, weight: Floats) -> float:
    """The factor of the evidence (n, m) whose softmax has the least log-loss for the labels y.

    ``owners`` (m,) is the class that each column supports.
    """
    supported = np.isin(y, owners)  # pruning may leave a class without a neuron
    y, weight = y[supported], weight[supported]
    evidence = np.ascontiguousarray(evidence[supported].T)  # (m, n): sums of few rows are fast
    supporting = np.where(owners[:, None] == y, evidence, -_FAR)
    # Both sums of exponentials are relative to their largest term, so that they cannot overflow.
    largest, largest_supporting = evidence.max(axis=0), supporting.max(axis=0)
    evidence, supporting = evidence - largest, supporting - largest_supporting
    share = weight / weight.sum()
    behind = float(share @ (largest - largest_supporting))

    def mean(exponents: Floats) -> float:
        masses = np.exp(exponents)
        return float(share @ (np.einsum("mn,mn->n", masses, exponents) / masses.sum(axis=0)))

    def slope(log_factor: float) -> float:
        """Of the mean log-loss. Its root is more precise than the location of the least loss."""
        factor = np.exp(log_factor)
        return mean(factor * evidence) - mean(factor * supporting) + factor * behind + _LEAST_GAIN

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        sums, supporting_sums = (np.exp(factor * part).sum(axis=0) for part in (evidence, supporting))
        return float(share @ np.log(sums / supporting_sums)) + factor * behind + _LEAST_GAIN * log_factor

    # Classes of several columns may have several minima.
    tried = _LOG_TEMPERATURES
    best = int(np.argmin([loss(log_factor) for log_factor in tried]))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    is_inside = slope(low) < 0 < slope(high)
    return float(np.exp(brentq(slope, low, high) if is_inside else tried[best]))
