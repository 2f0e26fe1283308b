"""Before stage 0: columns of a table become inputs.

A category becomes the shares of the classes among its samples. A share that includes a sample itself
tells its class: the more, the rarer the category. So the shares of rare categories are *cross-fitted*:
samples are dealt into folds, and a training sample gets the share of its category in the other folds.
Samples that are equal in all columns share a fold, whatever their class. Otherwise the other folds would
have the other class. Samples in memory are dealt out in the order of their values, so
that folds are alike, which matters if there are few. In blocks, the hash of a row decides its fold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, without_rounding
from ffmlp.inputs.columns import CategoryColumn, Columns, NumberColumn, share_rows
from ffmlp.inputs.gaussianise import quantiles
from ffmlp.inputs.rows import Hashes, Rows, appearances, lexicographic

N_FOLDS = 5
# The shares of all samples count as so many samples of each category.
PRIOR = 10.0
# Categories of so many samples are not cross-fitted: their shares would only differ between folds.
FREQUENT = 20
# A category has the shares of at most so many classes.
MAX_SHARES = 10
# A hash that no row has is not expected.
_NO_HASH = np.uint64(2**64 - 1)


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """The samples of each category of a column, a `Statistic`.

    ``counts`` (N_FOLDS, K + 2, C) are weights by fold, category and class; missing and unknown are
    categories. ``hashes`` (K + 2, N_FOLDS) are the smallest distinct ones of the rows of a category.
    """

    counts: Floats
    hashes: Hashes

    @classmethod
    def of(
        cls, column: AnyFloats, known: tuple[str, ...], rows: Rows, fold: Indices, n_classes: int
    ) -> CategoryCounts:
        """The counts of a column of some rows."""
        shape, row = (N_FOLDS, len(known) + 2, n_classes), share_rows(column, known)
        cell = (fold * shape[1] + row) * n_classes + rows.y
        counts = np.bincount(cell, rows.weight, int(np.prod(shape))).astype(np.float64).reshape(shape)
        return cls(counts, _smallest_hashes(row, rows.hashes, shape[1]))

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        n_rows = len(self.hashes)
        hashes = np.hstack([self.hashes, other.hashes]).ravel()
        row = np.repeat(np.arange(n_rows), 2 * N_FOLDS)
        there = hashes != _NO_HASH
        smallest = _smallest_hashes(row[there], hashes[there], n_rows)
        return CategoryCounts(self.counts + other.counts, smallest)


@dataclass(frozen=True, eq=False)
class Census:
    """The counts of each column of categories, None for numbers, a `Statistic`."""

    columns: tuple[CategoryCounts | None, ...]

    @classmethod
    def of(cls, rows: Rows, fold: Indices, n_classes: int) -> Census:
        """The census of some rows in these folds."""
        parts = zip(rows.cells.values.T, rows.cells.schema.categories, strict=True)
        return cls(
            tuple(
                None if known is None else CategoryCounts.of(column, known, rows, fold, n_classes)
                for column, known in parts
            )
        )

    def __add__(self, other: Census) -> Census:
        pairs = zip(self.columns, other.columns, strict=True)
        return Census(tuple(a if a is None or b is None else a + b for a, b in pairs))


@dataclass(frozen=True, eq=False)
class Encoding:
    """The columns of a table, and the inputs of training samples.

    ``shares`` (N_FOLDS + 1, K + 2, S) of a column of categories are those that samples of each fold see,
    and last those that a network sees; None for a column of numbers.
    """

    columns: Columns
    shares: tuple[Floats | None, ...]

    @classmethod
    def of(cls, census: Census, rows: Rows) -> Encoding:
        """The encoding of categories by the census of all rows, and of numbers by some rows.

        Takes O(n·M·(log n + C)) time with categories or missing numbers, O(n·M) without.
        """
        parts: list[NumberColumn | CategoryColumn] = []
        shares: list[Floats | None] = []
        schema = rows.cells.schema
        for name, column, known, counts in zip(
            schema.names, rows.cells.values.T, schema.categories, census.columns, strict=True
        ):
            if known is None or counts is None:
                parts.append(NumberColumn(name, _median(column, rows.weight)))
                shares.append(None)
            else:
                part, of_folds = _category_column(name, known, counts)
                parts.append(part)
                shares.append(of_folds)
        return cls(Columns(tuple(parts)), tuple(shares))

    def inputs(self, rows: Rows, fold: Indices) -> AnyFloats:
        """The inputs (n, N) of training samples in these folds; fold `N_FOLDS` is that of a network."""
        return self.columns.completed(self.incomplete(rows, fold))

    def incomplete(self, rows: Rows, fold: Indices) -> AnyFloats:
        """The inputs before missing numbers are replaced."""
        if self.columns.are_inputs:
            return rows.cells.values
        inputs = []
        for column, known, shares in zip(
            rows.cells.values.T, rows.cells.schema.categories, self.shares, strict=True
        ):
            if known is None or shares is None:
                inputs.append(column[:, None])
            else:
                inputs.append(shares[fold, share_rows(column, known)])
        return np.hstack(inputs)


def dealt_folds(rows: Rows) -> Indices:
    """The fold (n,) of each row, if all rows are held: distinct rows are dealt by class and value."""
    if rows.cells.schema.are_numbers:
        return np.zeros(len(rows), np.intp)
    filled = np.nan_to_num(rows.cells.values, nan=np.inf)
    order, _ = lexicographic(rows.y, *filled.T)
    fold = np.empty(len(rows), np.intp)
    fold[order] = appearances(filled[order]) % N_FOLDS
    return fold


def hashed_folds(rows: Rows) -> Indices:
    """The fold (n,) of each row of a block."""
    if rows.cells.schema.are_numbers:
        return np.zeros(len(rows), np.intp)
    return (rows.hashes % np.uint64(N_FOLDS)).astype(np.intp)


def _smallest_hashes(row: Indices, hashes: Hashes, n_rows: int) -> Hashes:
    """The smallest distinct hashes (n_rows, N_FOLDS) of each category."""
    order = np.lexsort((hashes, row))
    row, hashes = row[order], hashes[order]
    new = np.append(True, (row[1:] != row[:-1]) | (hashes[1:] != hashes[:-1]))[: len(row)]
    row, hashes = row[new], hashes[new]
    number = np.arange(len(row)) - np.searchsorted(row, row)
    found = np.full((n_rows, N_FOLDS), _NO_HASH)
    first = number < N_FOLDS
    found[row[first], number[first]] = hashes[first]
    return found


def _median(column: AnyFloats, weight: Floats) -> float:
    """The smallest number that half of the weight does not exceed; O(n) time if all weights are equal.

    0 if all numbers are missing.
    """
    present = ~np.isnan(column) & (weight > 0)
    values, weight = np.asarray(column[present], np.float64), weight[present]
    if not len(values):
        return 0.0
    if (weight == weight[0]).all():
        middle = (len(values) + 1) // 2 - 1
        return float(np.partition(values, middle)[middle])
    return float(quantiles(values, weight, np.array([0.5]))[0])


def _category_column(
    name: str, known: tuple[str, ...], found: CategoryCounts
) -> tuple[CategoryColumn, Floats]:
    """The column, and the shares (N_FOLDS + 1, K + 2, S) of each fold and of all samples."""
    total = found.counts.sum(axis=0)
    prior = total.sum(axis=0) / total.sum()
    mass, shares = total.sum(axis=1), _smoothed(total, prior)
    # A category of one sample is as good as unknown: the sample itself was given the shares of all.
    kept = np.append(mass[:-2] >= 2, [True, True])
    shares[~kept] = prior
    classes = _telling_classes(shares, mass)
    names = tuple(category for category, is_kept in zip(known, kept, strict=False) if is_kept)
    part = CategoryColumn(name, names, tuple(classes.tolist()), shares[kept][:, classes])
    fitted = _smoothed(total - found.counts, prior)
    fitted = np.where(_tells_nothing(found.hashes, mass)[:, None], shares, fitted)
    return part, np.concatenate([fitted, shares[None]])[:, :, classes]


def _tells_nothing(hashes: Hashes, mass: Floats) -> Flags:
    """Whether the share of a category tells little of the class of a single sample of it.

    Frequent categories need no cross-fitting. In a category of few distinct rows, each of several
    samples, the samples of a row cannot be told apart. Left out together, they would leave no share.
    """
    n_distinct = np.count_nonzero(hashes != _NO_HASH, axis=1)
    return (mass >= FREQUENT) | ((n_distinct < N_FOLDS) & (mass >= N_FOLDS * n_distinct))


def _smoothed(counts: Floats, prior: Floats) -> Floats:
    """Shares of the classes (…, C), where the shares of all count as `PRIOR` samples."""
    return (counts + PRIOR * prior) / (counts.sum(axis=-1, keepdims=True) + PRIOR)


def _telling_classes(shares: Floats, mass: Floats) -> Indices:
    """The classes whose shares tell the categories apart; the others follow from them."""
    occurring = mass > 0
    most = min(MAX_SHARES, shares.shape[1] - 1, max(int(occurring.sum()) - 1, 1))
    centred = shares[occurring] - np.average(shares, axis=0, weights=mass)
    spread = without_rounding(np.sqrt(mass[occurring, None]) * centred)
    # From the last class to the first: of two classes, the second one is usually the event.
    _, order = qr(spread[:, ::-1], mode="r", pivoting=True)
    return np.sort(shares.shape[1] - 1 - order[:most])
