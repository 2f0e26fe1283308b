"""From the rows of a table, wherever they are, to the samples that a design is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Flags, Floats, Indices, row_blocks
from ffmlp.design.mixtures import Mixture, fit_mixture
from ffmlp.design.problem import Samples
from ffmlp.inputs.columns import Columns, NumberColumn, Schema
from ffmlp.inputs.encoding import N_FOLDS, Census, Encoding, dealt_folds, hashed_folds
from ffmlp.inputs.imputation import ENTRIES_AT_ONCE, Imputation, conditional_deviations, gaps_of
from ffmlp.inputs.rows import (
    Drawn,
    Rows,
    S,
    SumOfFields,
    SumOverParts,
    drawn_below,
    evenly,
    lexicographic,
)
from ffmlp.network.blobs import Blobs

# Blobs, if each has so many samples.
N_BLOBS, _FEWEST_SAMPLES = 5, 20
_N_ROUNDS = 3
# Inputs, and samples that are read. The time grows with the cube of the former.
MAX_INPUTS, MAX_SAMPLES = 128, 5000
# The share of independent inputs in a covariance, and the variance that is added to each.
_INDEPENDENT, _LEAST_VARIANCE = 0.01, 1e-3
# The covariance of all blobs counts as so many samples of each, for each input.
_PRIOR_PER_INPUT = 2.0


def with_imputation(encoding: Encoding, rows: Rows, fold: Indices) -> Encoding:
    """An encoding that replaces missing numbers by blobs of these rows, if any lacks one."""
    cells = rows.cells
    if not np.isnan(cells.values[:, encoding.columns.is_number]).any():
        return encoding
    filled = np.nan_to_num(cells.values, nan=np.inf)
    order, first = lexicographic(rows.y, *filled.T)
    mass = np.add.reduceat(rows.weight[order], first)
    some = evenly(len(first), MAX_SAMPLES)
    chosen = order[first[some]]
    seen = np.asarray(encoding.incomplete(rows.select(chosen), fold[chosen]), np.float64)
    columns = replace(encoding.columns, imputation=fit_imputation(seen, mass[some]))
    return replace(encoding, columns=columns)


def fit_imputation(X: Floats, weight: Floats) -> Imputation | None:
    """Blobs of samples (n, N) with missing inputs; None if there are too many inputs.

    Takes O(n·(N² + m³)) time for n samples with m missing inputs each.
    """
    if X.shape[1] > MAX_INPUTS:
        return None
    missing = np.isnan(X)
    seen = np.where(missing, 0.0, weight[:, None])
    share = seen / np.maximum(seen.sum(axis=0), np.finfo(np.float64).tiny)
    values = np.where(missing, 0.0, X)
    least, most = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)  # NaN if all are missing
    # By rounding, the mean of equal values is another one: a column would vary where it is missing.
    centre = np.fmin(np.fmax(np.sum(share * values, axis=0), least), most)
    low, high = np.fmin(least, centre), np.fmax(most, centre)
    deviation = np.where(missing, 0.0, X - centre)
    largest = np.abs(deviation).max(axis=0)
    size = np.where(largest > 0, largest, 1.0)  # squares of large numbers would overflow
    scale = np.where(largest > 0, size * np.sqrt(np.sum(share * (deviation / size) ** 2, axis=0)), 1.0)
    mixture = _mixture(_completed(deviation / scale, missing, weight), weight)
    precisions = np.linalg.inv(mixture.covariances).astype(np.float64)
    precisions = 0.5 * (precisions + precisions.swapaxes(1, 2))
    log_weights = np.log(mixture.weights) + 0.5 * np.linalg.slogdet(precisions)[1]
    return Imputation(centre, scale, low, high, log_weights, mixture.means, precisions)


def _completed(Z: Floats, missing: Flags, weight: Floats) -> Floats:
    """Samples with conditional means for the missing inputs, which are 0, under one Gaussian."""
    n_inputs, share = Z.shape[1], weight / weight.sum()
    mean, completed = np.zeros(n_inputs), Z.copy()
    covariance: Floats = np.eye(n_inputs)
    incomplete = np.flatnonzero(missing.any(axis=1))
    for _ in range(_N_ROUNDS):
        precision = np.linalg.inv(covariance).astype(np.float64)
        hidden = np.zeros_like(covariance)
        for rows in row_blocks(len(incomplete), n_inputs**2, ENTRIES_AT_ONCE):
            chosen = incomplete[rows]
            deviation = np.where(missing[chosen], 0.0, Z[chosen] - mean)
            gaps = gaps_of(missing[chosen])
            deviations, _ = conditional_deviations(deviation, gaps, precision)
            for some, expected in zip(gaps, deviations, strict=True):
                completed[chosen[some.rows][:, None], some.inputs] = mean[some.inputs] + expected
                spread = np.linalg.inv(some.own(precision)) * share[chosen[some.rows], None, None]
                np.add.at(hidden, (some.inputs[:, :, None], some.inputs[:, None, :]), spread)
        mean = share @ completed
        deviation = completed - mean
        covariance = (deviation * share[:, None]).T @ deviation + hidden
        variances = np.diag(np.diag(covariance) + _LEAST_VARIANCE)
        covariance = (1.0 - _INDEPENDENT) * covariance + _INDEPENDENT * variances
    return completed


def _mixture(Z: Floats, weight: Floats) -> Mixture:
    """A mixture without empty blobs, whose covariances are shrunk towards their mean."""
    n_blobs = int(np.clip(weight.sum() // _FEWEST_SAMPLES, 1, N_BLOBS))
    # Blobs of missing inputs are a means to an end: they do not depend on the user's seed.
    mixture = fit_mixture(Z, weight, n_blobs, np.random.RandomState(0))
    filled = mixture.weights > 0.0
    mixture = Mixture(mixture.weights[filled], mixture.means[filled], mixture.covariances[filled])
    mass = mixture.weights[:, None, None] * weight.sum()
    pooled = np.tensordot(mixture.weights, mixture.covariances, axes=1)
    pooled += _LEAST_VARIANCE * np.eye(Z.shape[1])
    prior = _PRIOR_PER_INPUT * Z.shape[1]
    shrunk = (mass * mixture.covariances + prior * pooled) / (mass + prior)
    return Mixture(mixture.weights, mixture.means, shrunk)


@dataclass(frozen=True, eq=False)
class _Gathered(SumOfFields):
    """Representative rows and the census of a block of rows, a `Statistic`."""

    drawn: Drawn
    census: Census

    @classmethod
    def of(cls, n_classes: int, below: int | None, hold_all: bool, rows: Rows) -> _Gathered:
        drawn = Drawn.all_of(rows, n_classes) if hold_all else Drawn.of(rows, n_classes, below)
        return cls(drawn, Census.of(rows, hashed_folds(rows), n_classes))


@dataclass(frozen=True, eq=False)
class TrainingEncoding:
    """How rows become samples: the encoding of columns, the labels and weights of classes."""

    encoding: Encoding
    labels: NDArray
    class_weight: Floats

    def samples(self, rows: Rows, X: NDArray) -> Samples:
        """Rows as samples with these inputs (n, N)."""
        return Samples(X, rows.y, rows.weight, self.labels, self.class_weight, self.encoding.columns)

    def statistic_of(self, statistic: Callable[[Samples], S], rows: Rows) -> S:
        """The statistic of some rows as training samples."""
        return statistic(self.samples(rows, self.encoding.inputs(rows, hashed_folds(rows))))

    def total(self, sum_over_parts: SumOverParts, statistic: Callable[[Samples], S]) -> S:
        """The sum of a statistic over all rows of a table as training samples."""
        return sum_over_parts(partial(self.statistic_of, statistic))


def intake(
    sum_over_parts: SumOverParts,
    schema: Schema,
    labels: NDArray,
    class_weight: Floats,
    *,
    members: Indices | None = None,
    given: Blobs | None = None,
    n_rows: int | None = None,
) -> tuple[Samples, Samples]:
    """The samples that a design is made from, and the same samples as its network will see them.

    They stand for all rows, which are read once; twice if most of many are repeated.
    ``members`` (n,) are the blobs of the rows, if known; then all rows are held. ``given`` are the blobs
    themselves, if known: then columns, which are numbers, depend on these alone. ``n_rows`` is the
    number of rows, if known: then each part draws few.
    """
    n_classes = len(labels)
    hold_all, below = members is not None, drawn_below(n_rows, len(schema.names))
    gathered = sum_over_parts(partial(_Gathered.of, n_classes, below, hold_all))
    if gathered.drawn.holds_too_few(below):
        gathered = sum_over_parts(partial(_Gathered.of, n_classes, None, hold_all))
    drawn, census = gathered.drawn if hold_all else gathered.drawn.settled(), gathered.census
    rows = drawn.representative
    if drawn.complete:
        fold = dealt_folds(rows)
        census = Census.of(rows, fold, n_classes)
    else:
        fold = hashed_folds(rows)
    if given is None:
        encoding = with_imputation(Encoding.of(census, rows), rows, fold)
    else:
        parts = map(NumberColumn, schema.names, given.centre.tolist())
        encoding = Encoding(Columns(tuple(parts)), (None,) * len(schema.names))
    encoded = TrainingEncoding(encoding, labels, class_weight)
    samples = as_predicted = encoded.samples(rows, encoding.inputs(rows, fold))
    if not encoding.columns.are_inputs:
        as_predicted = encoded.samples(rows, encoding.inputs(rows, np.full(len(rows), N_FOLDS)))
    population = None if drawn.complete else partial(encoded.total, sum_over_parts)
    samples = replace(samples, members=members, given=given, population=population)
    return samples, as_predicted
