"""The classes of samples by a readout, in single precision where rounding cannot change them.

Single precision takes half the time of double precision. What it may be off by is known, so that only
samples whose two most probable classes are nearer to each other than that need double precision.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ffmlp.hyperplanes import Hyperplanes
from ffmlp.network import Network
from ffmlp.stages import ReadoutStages

# Numbers beyond this may overflow.
_LARGEST = 1e30
# A softmax keeps evidence apart that differs by more than this.
_SMALLEST = 1e-12
# Errors are bounded for some samples at a time, because a far one makes them larger.
_ROWS_AT_ONCE = 1 << 16
# Where more samples than this share need double precision, the rest of them has it at once.
_MOST_UNSURE = 0.25


def readout_classes(network: Network, stages: ReadoutStages, X: NDArray) -> NDArray[np.intp]:
    """The argmax (n,) of ``network.forward(X)``."""
    if len(X) <= network.hyperplanes.rows_per_product:
        return network.forward(X).argmax(axis=1)
    classes, worthwhile = np.empty(len(X), np.intp), True
    for start in range(0, len(X), _ROWS_AT_ONCE):
        block = X[start : start + _ROWS_AT_ONCE]
        some, unsure = classes[start : start + _ROWS_AT_ONCE], np.arange(len(block))
        if worthwhile:
            some[:], unsure = _classes(network, stages, block)
            worthwhile = len(unsure) <= _MOST_UNSURE * len(block)
        if len(unsure):
            some[unsure] = network.forward(block[unsure]).argmax(axis=1)
    return classes


def _classes(
    network: Network, stages: ReadoutStages, X: NDArray
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Classes by single precision, and the rows where double precision may have another one."""
    error = _largest_error(network.hyperplanes, stages, X)
    if not error < _LARGEST:
        return np.zeros(len(X), np.intp), np.arange(len(X))
    evidence = network.evidence(X, np.float32)
    classes = evidence.argmax(axis=1)
    second, first = np.partition(evidence, -2, axis=1)[:, -2:].T
    # Each of the two may be wrong by the error, and a softmax must not make them equal.
    return classes, np.flatnonzero(~(first - second > 3.0 * error))


def _largest_error(planes: Hyperplanes, stages: ReadoutStages, X: NDArray) -> float:
    """How far evidence in single precision is from that in double precision, at most.

    A term of the evidence, a product of a weight, another weight and a feature, is rounded m times on
    its way into the sum: that makes at most γ = mu / (1 - mu) of it, with u the rounding of one number.
    The sum of the absolute terms is bounded by the reach of the hyperplanes. What is too small for
    single precision is wrong by its smallest number instead. Infinite where numbers may overflow.
    """
    single = np.finfo(np.float32)
    extent, reach = planes.extent(X), planes.reach(X)
    weight = stages.temperature * (np.abs(stages.even) + np.abs(stages.odd))
    with np.errstate(over="ignore", invalid="ignore"):
        size = float((reach @ weight + stages.temperature * np.abs(stages.bias)).max())
        largest = [np.abs(part).max(initial=0.0) for part in (extent, reach, planes.weights, weight)]
        n_roundings = sum(planes.weights.shape) + 8
        too_small = n_roundings * weight.sum() * float(single.tiny) * np.prod(1.0 + np.array(largest))
    if not max(size, *largest) < _LARGEST or n_roundings * single.eps > 0.1:
        return np.inf
    share = n_roundings * float(single.eps) / 2
    return share / (1.0 - share) * 1.01 * size + too_small + _SMALLEST
