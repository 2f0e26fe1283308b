"""The classes that a readout predicts, in single precision where rounding cannot change them.

Single precision takes half the time of double precision. Its rounding error is bounded, so only samples
whose two most probable classes are closer than the bound need double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Indices
from ffmlp.network.hyperplanes import Hyperplanes

if TYPE_CHECKING:
    from ffmlp.network.readout import ReadoutStages

# Fewer rows gain nothing.
FEWEST_ROWS = 2048
# Numbers beyond this may overflow.
LARGEST_SINGLE = 1e30
# Evidence that differs by more than this stays distinct after a softmax.
_SMALLEST = 1e-12
# The error is bounded for each block of rows, because a far sample raises it. The first block is small.
_ROWS_AT_ONCE, _ROWS_TRIED = 1 << 16, 1 << 12
# If a larger share of a block needs double precision, all rows after it use double precision.
_MOST_UNSURE = 0.25


def readout_classes(stages: ReadoutStages, planes: Hyperplanes, X: NDArray) -> Indices:
    """The argmax (n,) of ``stages.outputs(planes, X)``."""
    return classes_where_sure(
        X, lambda rows: _classes(stages, planes, rows), lambda rows: stages.outputs(planes, rows)
    )


def classes_where_sure(
    X: NDArray,
    quick: Callable[[NDArray], tuple[Indices, Indices]],
    outputs: Callable[[NDArray], NDArray],
) -> Indices:
    """The argmax (n,) of the outputs of rows, computed only where a quick way is not sure.

    The quick way returns the classes of some rows, and which of these rows it is not sure of.
    """
    if len(X) < FEWEST_ROWS:
        return outputs(X).argmax(axis=1)
    classes, unsure = np.empty(len(X), np.intp), []
    for start, stop in pairwise([0, *range(_ROWS_TRIED, len(X), _ROWS_AT_ONCE), len(X)]):
        classes[start:stop], some = quick(X[start:stop])
        unsure.append(start + some)
        if len(some) > _MOST_UNSURE * (stop - start) and stop < len(X):
            classes[stop:] = outputs(X[stop:]).argmax(axis=1)
            break
    again = np.concatenate(unsure)
    if len(again):
        classes[again] = outputs(X[again]).argmax(axis=1)
    return classes


def _classes(stages: ReadoutStages, planes: Hyperplanes, X: NDArray) -> tuple[Indices, Indices]:
    """Classes in single precision, and the rows where double precision may give another class."""
    error = largest_error(stages, planes, X)
    if not error < LARGEST_SINGLE:
        return none_sure(X)
    # Transposed, because NumPy is slow to reduce many short rows.
    evidence = np.ascontiguousarray(stages.evidence(planes, X, np.float32).T)
    classes, first = evidence.argmax(axis=0), evidence.max(axis=0)
    evidence[classes, np.arange(len(X))] = -np.inf
    second = evidence.max(axis=0)
    # Each of the two may be wrong by the error, and a softmax must not make them equal.
    return classes, np.flatnonzero(~(first - second > 3.0 * error))


def none_sure(X: NDArray) -> tuple[Indices, Indices]:
    """The answer of a quick way that is sure of no row."""
    return np.zeros(len(X), np.intp), np.arange(len(X))


def largest_error(stages: ReadoutStages, planes: Hyperplanes, X: NDArray) -> float:
    """An upper bound of the rounding error of the evidence in single precision.

    A term e·w·x of the evidence is rounded m times: e, w and x themselves, each product, and each
    partial sum of h and of the evidence. Its relative error is at most γ = mu / (1 - mu), where u is the
    unit roundoff. The reach of the hyperplanes bounds the sum of the absolute terms. A number that
    underflows has an error of at most the smallest normal number. The bound is infinite where numbers
    may overflow.
    """
    single = np.finfo(np.float32)
    extent, reach = planes.extent(X), planes.reach(X)
    weight = stages.temperature * (np.abs(stages.even) + np.abs(stages.odd))
    with np.errstate(over="ignore", invalid="ignore"):
        size = float((reach @ weight + stages.temperature * np.abs(stages.bias)).max())
        largest = [np.abs(part).max(initial=0.0) for part in (extent, reach, planes.weights, weight)]
        n_roundings = sum(planes.weights.shape) + 8
        amplified = n_roundings * weight.sum() * np.prod(1.0 + np.array(largest))
        too_small = float(single.tiny) * (amplified + reach.sum())
    if not max(size, *largest) < LARGEST_SINGLE or n_roundings * single.eps > 0.1:
        return np.inf
    share = n_roundings * float(single.eps) / 2
    return share / (1.0 - share) * 1.01 * size + too_small + _SMALLEST
