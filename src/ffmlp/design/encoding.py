"""Before stage 0: columns of a table become inputs.

A category becomes the shares of the classes among its samples. A share that includes a sample itself
tells its class: the more, the rarer the category. So the shares of rare categories are *cross-fitted*:
samples are dealt into folds, and the share of a training sample's category is that in the other folds.
Samples that are equal in all columns share a fold, whatever their class. Otherwise the other folds would
have the other class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, without_rounding
from ffmlp.design.gaussianise import quantiles
from ffmlp.design.imputation import MAX_SAMPLES, fit_imputation
from ffmlp.design.subsets import evenly, lexicographic, places
from ffmlp.model.columns import CategoryColumn, Cells, Columns, NumberColumn

N_FOLDS = 5
# The shares of all samples count as so many samples of each category.
PRIOR = 10.0
# Categories of so many samples are not cross-fitted: their shares would only differ between folds.
FREQUENT = 50
# The shares of a category are those of at most so many classes.
MAX_SHARES = 10


def encoded(
    cells: Cells, names: Sequence[str], y: Indices, weight: Floats, labels: NDArray
) -> tuple[Columns, AnyFloats]:
    """The columns, and the inputs (n, N) of the training samples.

    Takes O(n·M·(log n + C)) time with categories or missing numbers, O(n·M) without.
    """
    fills = [_median(column, weight) for column in cells.values.T]
    missing = np.isnan(cells.values).any()
    if all(known is None for known in cells.categories) and not missing:
        return Columns(tuple(map(NumberColumn, names, fills))), cells.values
    filled = np.nan_to_num(cells.values, nan=np.inf)
    order, first = lexicographic(y, *filled.T)
    # Sorted by class and value, so that folds are alike and the order of the samples does not matter.
    place = np.empty(len(y), np.intp)
    place[order] = places(filled[order])
    parts: list[NumberColumn | CategoryColumn] = []
    inputs = []
    for name, fill, column, known in zip(names, fills, cells.values.T, cells.categories, strict=True):
        if known is None:
            parts.append(NumberColumn(name, fill))
            inputs.append(column[:, None])
        else:
            part, shares = _category_column(name, column, known, y, weight, len(labels), place)
            parts.append(part)
            inputs.append(shares)
    columns, X = Columns(tuple(parts)), np.hstack(inputs)
    if np.isnan(X).any():
        mass = np.add.reduceat(weight[order], first)
        some = evenly(len(first), MAX_SAMPLES)
        seen = np.asarray(X[order[first[some]]], np.float64)
        columns = replace(columns, imputation=fit_imputation(seen, mass[some]))
        X = columns.completed(X)
    return columns, X


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
    name: str,
    column: Floats,
    known: tuple[str, ...],
    y: Indices,
    weight: Floats,
    n_classes: int,
    place: Indices,
) -> tuple[CategoryColumn, Floats]:
    """The column, and its cross-fitted inputs for the training samples."""
    n_rows, fold = len(known) + 2, place % N_FOLDS
    row = CategoryColumn(name, known, (), np.empty((n_rows, 0))).rows(column)
    counts = np.bincount((fold * n_rows + row) * n_classes + y, weight, N_FOLDS * n_rows * n_classes)
    counts = counts.reshape(N_FOLDS, n_rows, n_classes)
    total = counts.sum(axis=0)
    prior = total.sum(axis=0) / total.sum()
    mass, shares = total.sum(axis=1), _smoothed(total, prior)
    # A category of one sample is as good as unknown: the sample itself was given the shares of all.
    kept = np.append(mass[:-2] >= 2, [True, True])
    shares[~kept] = prior
    classes = _telling_classes(shares, mass)
    names = tuple(category for category, is_kept in zip(known, kept, strict=False) if is_kept)
    part = CategoryColumn(name, names, tuple(classes.tolist()), shares[kept][:, classes])
    fitted = _smoothed(total[row] - counts[fold, row], prior)
    own = _tells_nothing(row, place, mass)[row][:, None]
    return part, np.where(own, shares[row], fitted)[:, classes]


def _tells_nothing(row: Indices, place: Indices, mass: Floats) -> Flags:
    """Whether the share of a category tells little of the class of a single sample of it.

    Frequent categories need no cross-fitting. In a category of few places, each of several samples, the
    samples of a place cannot be told apart. Left out together, they would leave no share at all.
    """
    pairs = np.unique(np.column_stack([row, place]), axis=0)
    n_places = np.bincount(pairs[:, 0], minlength=len(mass))
    return (mass >= FREQUENT) | ((n_places < N_FOLDS) & (mass >= N_FOLDS * n_places))


def _smoothed(counts: Floats, prior: Floats) -> Floats:
    """Shares of the classes (K, C), where the shares of all count as `PRIOR` samples."""
    return (counts + PRIOR * prior) / (counts.sum(axis=1, keepdims=True) + PRIOR)


def _telling_classes(shares: Floats, mass: Floats) -> Indices:
    """The classes whose shares tell the categories apart; the others follow from them."""
    occurring = mass > 0
    most = min(MAX_SHARES, shares.shape[1] - 1, max(int(occurring.sum()) - 1, 1))
    centred = shares[occurring] - np.average(shares, axis=0, weights=mass)
    spread = without_rounding(np.sqrt(mass[occurring, None]) * centred)
    # From the last class to the first: of two classes, the second one is usually the event.
    _, order = qr(spread[:, ::-1], mode="r", pivoting=True)
    return np.sort(shares.shape[1] - 1 - order[:most])
