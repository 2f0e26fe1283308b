"""Deterministic subsets of samples, independent of the order of the samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices

GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0


def evenly(n: int, at_most: int) -> Indices:
    """Up to ``at_most`` of the numbers below n, evenly spaced."""
    return np.unique(np.arange(at_most) * n // at_most)


def weighted_subsample(X: AnyFloats, y: Indices, weight: Floats, at_most: int) -> tuple[Indices, Floats]:
    """Distinct samples that represent all, and the weight that each of them represents.

    Samples are sorted by class and by a weighted sum of their features. One is taken at every step of
    the cumulative weight, so that a sample of weight 2 counts as two samples. If at most ``at_most``
    samples are distinct, all of these are taken. Takes O(n·(N + log n)) time.
    """
    order, first = _grouped(X, y)
    rows, mass = order[first], np.add.reduceat(weight[order], first)
    if len(rows) <= at_most:
        ascending = np.argsort(rows)
        return rows[ascending], mass[ascending]
    cumulated = np.cumsum(mass)
    steps = (np.arange(at_most) + 0.5) / at_most * cumulated[-1]
    taken = rows[np.minimum(np.searchsorted(cumulated, steps), len(rows) - 1)]
    rows, times = np.unique(taken, return_counts=True)
    return rows, times * (cumulated[-1] / at_most)


def changes(order: Indices, *columns: NDArray) -> Flags:
    """Whether each sample (n,), in the given order, differs from the previous one in some column."""
    new = np.zeros(len(order), bool)
    new[0] = True
    for column in columns:
        values = column[order]
        new[1:] |= values[1:] != values[:-1]
    return new


def _grouped(X: AnyFloats, y: Indices) -> tuple[Indices, Indices]:
    """An order by class and a sum of the features, equal samples adjacent; the start of each group."""
    place = np.zeros(len(X))
    with np.errstate(over="ignore", invalid="ignore"):  # any order will do
        # Column by column, because a matrix product might round equal rows differently. Features have
        # different factors, so that different samples seldom have the same sum.
        for feature, column in enumerate(X.T):
            place += (1.0 + feature * GOLDEN_RATIO % 1.0) * column
    place = np.nan_to_num(place)
    order = np.lexsort((place, y))
    new = changes(order, place, y)
    if not new.all() and (changes(order, *X.T) & ~new).any():
        order = np.lexsort((*X.T, place, y))
        new = changes(order, y, *X.T)
    return order, np.flatnonzero(new)
