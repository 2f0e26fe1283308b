"""The classes that a readout with trees predicts, where part of the work is enough to know them.

The readout is computed in single precision, and trees are read only until no others can change the
class. The rounding error is bounded, so only samples whose two most probable classes are closer than the
bound need all trees and double precision. Without this, ``ffmlp predict`` takes 1.38 to 1.49 times as
much processor time (500 000 rows of 20 columns, default model, `benchmarks/predict_file.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Indices, row_blocks
from ffmlp.network.hyperplanes import Hyperplanes

if TYPE_CHECKING:
    from ffmlp.network.readout import CorrectedReadoutStages, ReadoutStages

# Inputs and responses stay in the cache.
_ROWS_AT_ONCE = 1 << 13
# Where a larger share of the rows is in doubt, the rows after them are not tried.
_MOST_IN_DOUBT = 0.25
# Numbers beyond this may overflow.
_LARGEST_SINGLE = 1e30


def quick_classes(stages: CorrectedReadoutStages, planes: Hyperplanes, X: AnyFloats) -> Indices:
    """The argmax (n,) of ``stages.outputs(planes, X)``; -1 where it is in doubt or was not tried."""
    classes = np.full(len(X), -1)
    thresholds = planes.select(stages.trees.axes)
    if not stages.trees.can_decide or not (np.count_nonzero(thresholds.weights, axis=1) == 1).all():
        return classes
    of_mapped = replace(planes, gaussianisation=None)
    for rows in row_blocks(len(X), 1, _ROWS_AT_ONCE):
        # The error is bounded for each block of rows, because a far sample raises it.
        error = largest_error(stages, planes, X[rows])
        if error < _LARGEST_SINGLE:
            mapped = planes.mapped(X[rows])
            smooth = stages.evidence(of_mapped, mapped, np.float32)
            margin = _margin(stages, smooth, error)
            if margin < _LARGEST_SINGLE:
                compared = responses_of_thresholds(thresholds, mapped)
                classes[rows] = stages.trees.decide(compared, smooth, margin)
        if np.count_nonzero(classes[rows] < 0) > _MOST_IN_DOUBT * len(X[rows]):
            break
    return classes


def responses_of_thresholds(thresholds: Hyperplanes, mapped: AnyFloats) -> NDArray[np.float32]:
    """The responses of thresholds of one feature each, as the trees compare them.

    They have the bits of the product with all weights, because the others, zeros, add nothing.
    """
    features = np.abs(thresholds.weights).argmax(axis=1)
    weights = thresholds.weights[np.arange(len(features)), features]
    responses = np.empty((len(mapped), len(features)), np.float32)
    # Column by column, as features are mapped.
    with np.errstate(over="ignore"):
        for number, feature in enumerate(features):
            responses[:, number] = mapped[:, feature] * weights[number] + thresholds.biases[number]
    return responses


def largest_error(stages: ReadoutStages, planes: Hyperplanes, X: AnyFloats) -> float:
    """An upper bound of the rounding error of a readout's evidence in single precision.

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
    if not max(size, *largest) < _LARGEST_SINGLE or n_roundings * single.eps > 0.1:
        return np.inf
    share = n_roundings * float(single.eps) / 2
    return share / (1.0 - share) * 1.01 * size + too_small


def _margin(stages: CorrectedReadoutStages, smooth: NDArray[np.float32], error: float) -> float:
    """The lead in single precision that proves which output is the largest; infinite if none does.

    Each sum of readout and trees has the ``error`` of the readout and is rounded once for every tree
    and value; the bounds of trees and the comparison are rounded, too.
    """
    single, n_roundings = np.finfo(np.float32), len(stages.trees.roots) + 8
    size = float(np.abs(smooth).max(initial=0.0)) + error + 2.0 * stages.trees.bounds.largest
    share = n_roundings * float(single.eps) / 2
    if not size < _LARGEST_SINGLE or share > 0.1:
        return np.inf
    error += share / (1.0 - share) * 1.01 * size + n_roundings * float(single.tiny)
    return 2.0 * error + stages.distinct_lead(size)
