"""Before stage 0: columns of a table become inputs.

A category becomes the shares of the classes among its samples. A share that includes a sample itself
tells its class: the more, the rarer the category. So the shares of rare categories are *cross-fitted*:
samples are dealt into folds, and the share of a training sample's category is that in the other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from ffmlp.arrays import AnyFloats, Floats, Indices, without_rounding
from ffmlp.design.gaussianise import quantiles
from ffmlp.design.imputation import MAX_SAMPLES, fit_imputation
from ffmlp.design.subsets import evenly, group_numbers, lexicographic
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
    order, first = lexicographic(y, *np.nan_to_num(cells.values, nan=np.inf).T)
    # Equal samples share a fold. The order of the samples does not matter.
    fold = group_numbers(order, first) % N_FOLDS
    parts: list[NumberColumn | CategoryColumn] = []
    inputs = []
    for name, fill, column, known in zip(names, fills, cells.values.T, cells.categories, strict=True):
        if known is None:
            parts.append(NumberColumn(name, fill))
            inputs.append(column[:, None])
        else:
            part, shares = _category_column(name, column, known, y, weight, len(labels), fold)
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
    fold: Indices,
) -> tuple[CategoryColumn, Floats]:
    """The column, and its cross-fitted inputs for the training samples."""
    n_rows = len(known) + 2
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
    fitted = np.stack([_smoothed(total - own, prior) for own in counts])[fold, row]
    return part, np.where((mass >= FREQUENT)[row][:, None], shares[row], fitted)[:, classes]


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
