"""Some of many samples, chosen without chance and whatever the order of the samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats

_GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0


def evenly(n: int, at_most: int) -> NDArray[np.intp]:
    """At most so many of the numbers below n, evenly spaced."""
    return np.unique(np.arange(at_most) * n // at_most)


def typical(
    X: NDArray[np.floating], y: NDArray[np.intp], weight: Floats, at_most: int
) -> tuple[NDArray[np.intp], Floats]:
    """Samples that stand for all, and the weight that each of them stands for.

    Samples are put in the order of their class and of a sum of their features; one at every step of
    the cumulated weight is taken, so that a sample of weight 2 counts as two samples do. Takes
    O(n·(N + log n)) time.
    """
    if len(X) <= at_most:
        return np.arange(len(X)), weight
    # No two features count alike in the sum: different samples seldom have the same.
    with np.errstate(over="ignore", invalid="ignore"):  # any order will do
        place = X @ (1.0 + np.arange(X.shape[1]) * _GOLDEN_RATIO % 1.0)
    order = np.lexsort((place, y))
    cumulated = np.cumsum(weight[order])
    steps = (np.arange(at_most) + 0.5) / at_most * cumulated[-1]
    taken = order[np.minimum(np.searchsorted(cumulated, steps), len(order) - 1)]
    rows, times = np.unique(taken, return_counts=True)
    return rows, times * (cumulated[-1] / at_most)
