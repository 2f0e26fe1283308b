"""The classes of samples by a readout, in single precision where rounding cannot change them.

Single precision takes half the time of double precision. What it may be off by is known, so that only
samples whose two most probable classes are nearer to each other than that need double precision.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.model.hyperplanes import Hyperplanes

if TYPE_CHECKING:
    from ffmlp.model.readout_stages import ReadoutStages

# Fewer rows gain nothing.
FEWEST_ROWS = 2048
# Numbers beyond this may overflow.
_LARGEST_SINGLE = 1e30
# A softmax keeps evidence apart that differs by more than this.
_SMALLEST = 1e-12
# Errors are bounded for some samples at a time, because a far one makes them larger; a few come first.
_ROWS_AT_ONCE, _ROWS_TRIED = 1 << 16, 1 << 12
# Where more samples than this share need double precision, the rest of them has it at once.
_MOST_UNSURE = 0.25


def readout_classes(stages: ReadoutStages, planes: Hyperplanes, X: NDArray) -> NDArray[np.intp]:
    """The argmax (n,) of ``stages.outputs(planes, X)``."""
    if len(X) < FEWEST_ROWS:
        return stages.outputs(planes, X).argmax(axis=1)
    classes, unsure = np.empty(len(X), np.intp), []
    for start, stop in pairwise([0, *range(_ROWS_TRIED, len(X), _ROWS_AT_ONCE), len(X)]):
        classes[start:stop], some = _classes(stages, planes, X[start:stop])
        unsure.append(start + some)
        if len(some) > _MOST_UNSURE * (stop - start) and stop < len(X):
            classes[stop:] = stages.outputs(planes, X[stop:]).argmax(axis=1)
            break
    again = np.concatenate(unsure)
    if len(again):
        classes[again] = stages.outputs(planes, X[again]).argmax(axis=1)
    return classes


def _classes(
    stages: ReadoutStages, planes: Hyperplanes, X: NDArray
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Classes by single precision, and the rows where double precision may have another one."""
    error = _largest_error(stages, planes, X)
    if not error < _LARGEST_SINGLE:
        return np.zeros(len(X), np.intp), np.arange(len(X))
    # Classes come first because NumPy is slow to reduce many short rows.
    evidence = np.ascontiguousarray(stages.evidence(planes, X, np.float32).T)
    classes, first = evidence.argmax(axis=0), evidence.max(axis=0)
    evidence[classes, np.arange(len(X))] = -np.inf
    second = evidence.max(axis=0)
    # Each of the two may be wrong by the error, and a softmax must not make them equal.
    return classes, np.flatnonzero(~(first - second > 3.0 * error))


def _largest_error(stages: ReadoutStages, planes: Hyperplanes, X: NDArray) -> float:
    """How far evidence in single precision is from that in double precision, at most.

    A term e·w·x of the evidence is rounded m times on its way into the sum: with e, w and x themselves,
    each product and each partial sum of h and of the evidence. That makes at most γ = mu / (1 - mu) of
    it, with u the rounding of one number. The sum of the absolute terms is bounded by the reach of the
    hyperplanes. What is too small for single precision is wrong by its smallest normal number instead.
    Infinite where numbers may overflow.
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
    if not max(size, *largest) < _LARGEST_SINGLE or n_roundings * single.eps > 0.1:
        return np.inf
    share = n_roundings * float(single.eps) / 2
    return share / (1.0 - share) * 1.01 * size + too_small + _SMALLEST
