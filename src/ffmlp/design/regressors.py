"""Regressors of a readout: the bends of its hyperplanes, and linear terms that span the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr

from ffmlp.arrays import Floats, Indices, row_blocks
from ffmlp.design.problem import Samples
from ffmlp.design.scaling import Scaling
from ffmlp.design.threads import in_threads
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes

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
class Products:
    """Weighted products of the columns of regressors; those of blocks of samples add up."""

    gram: Floats  # (p, p) of the columns with each other
    moments: Floats  # (p, C) of the columns with class indicators

    def __add__(self, other: Products) -> Products:
        return Products(self.gram + other.gram, self.moments + other.moments)


@dataclass(frozen=True, eq=False)
class Regressors:
    """The p columns ``([|h|, h[:, linear]] − mean) / scale`` of samples X, computed block by block.

    ``linear`` are hyperplanes whose h span those of all hyperplanes. ``units`` standardise the input of
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
        """Columns of the given mean and spread become those of mean 0 and spread 1."""
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
        """The results of an action for each part of the samples, in threads.

        An action reads blocks of a part: a slice of the samples, and their columns in reused memory.
        """
        n_columns = len(self.mean)

        def blocks(part: slice) -> Iterator[tuple[slice, NDArray]]:
            slices = list(row_blocks(part.stop - part.start, n_columns, _ENTRIES_PER_PRODUCT))
            memory = np.empty((slices[0].stop, n_columns), self.dtype)
            for some in slices:
                rows = slice(part.start + some.start, part.start + some.stop)
                yield rows, self.rows(rows, memory)

        parts = list(row_blocks(len(self.X), n_columns, _ENTRIES_PER_THREAD))
        return in_threads(lambda part: action(blocks(part)), parts)

    def products(self, samples: Samples) -> Products:
        """The products of the columns of samples, which may be others than those of the regressors."""
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
    """At most N hyperplanes whose normals span those of all.

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
