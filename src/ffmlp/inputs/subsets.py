"""Deterministic subsets of samples, independent of the order of the samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Floats, Indices

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


def lexicographic(*columns: NDArray) -> tuple[Indices, Indices]:
    """An order of the samples by the columns, the first one first; where groups of equal samples start.

    A column is read only for samples that are equal in all columns before it. Samples that are equal in
    all of them keep their order.
    """
    n_samples = len(columns[0])
    order, new = np.arange(n_samples), np.arange(n_samples) == 0
    for column in columns:
        tied = ~new
        tied[:-1] |= tied[1:]
        places = np.flatnonzero(tied)
        if not len(places):
            break
        values, is_first = column[order[places]], new[places]
        if not (is_first[1:] | (values[1:] == values[:-1])).all():
            by_value = np.lexsort((values, np.cumsum(is_first)))
            order[places], values = order[places[by_value]], values[by_value]
            new[places[1:]] |= values[1:] != values[:-1]
    return order, np.flatnonzero(new)


def group_numbers(order: Indices, first: Indices) -> Indices:
    """The number of each sample's group; ``order`` and ``first`` are those of `lexicographic`."""
    starts = np.zeros(len(order), np.intp)
    starts[first] = 1
    numbers = np.empty(len(order), np.intp)
    numbers[order] = np.cumsum(starts) - 1
    return numbers


def places(X: AnyFloats) -> Indices:
    """A number for each sample, the same for equal ones, in the order of their first appearance."""
    order, first = lexicographic(*X.T)
    return np.argsort(np.argsort(order[first]))[group_numbers(order, first)]


def _grouped(X: AnyFloats, y: Indices) -> tuple[Indices, Indices]:
    """An order by class and a sum of the features, equal samples adjacent; the start of each group."""
    place = np.zeros(len(X))
    with np.errstate(over="ignore", invalid="ignore"):  # any order will do
        # Column by column, because a matrix product might round equal rows differently. Features have
        # different factors, so that different samples seldom have the same sum.
        for feature, column in enumerate(X.T):
            place += (1.0 + feature * GOLDEN_RATIO % 1.0) * column
    return lexicographic(y, np.nan_to_num(place), *X.T)
