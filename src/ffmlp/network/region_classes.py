"""The classes that a readout with trees predicts, where part of the work is enough to know them.

The readout is computed in single precision, and trees are read only until no others can change the
class. The rounding error is bounded, so only samples whose two most probable classes are closer than the
bound need all trees and double precision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Indices, row_blocks
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.single_precision import LARGEST_SINGLE, classes_where_sure, largest_error, none_sure

if TYPE_CHECKING:
    from ffmlp.network.readout import CorrectedReadoutStages

# Inputs and responses stay in the cache.
_ROWS_AT_ONCE = 1 << 13


def corrected_classes(stages: CorrectedReadoutStages, planes: Hyperplanes, X: AnyFloats) -> Indices:
    """The argmax (n,) of ``stages.outputs(planes, X)``."""
    return classes_where_sure(
        X, lambda rows: _classes(stages, planes, rows), lambda rows: stages.outputs(planes, rows)
    )


def _classes(
    stages: CorrectedReadoutStages, planes: Hyperplanes, X: AnyFloats
) -> tuple[Indices, Indices]:
    """Classes, and the rows where the outputs may give another one."""
    thresholds = planes.select(stages.trees.axes)
    if not stages.trees.can_decide or not (np.count_nonzero(thresholds.weights, axis=1) == 1).all():
        return none_sure(X)
    error = largest_error(stages, planes, X)
    if not error < LARGEST_SINGLE:
        return none_sure(X)
    classes = np.empty(len(X), np.intp)
    of_mapped = replace(planes, gaussianisation=None)
    for rows in row_blocks(len(X), 1, _ROWS_AT_ONCE):
        mapped = planes.mapped(X[rows])
        smooth = stages.evidence(of_mapped, mapped, np.float32)
        margin = _margin(stages, smooth, error)
        if margin < LARGEST_SINGLE:
            classes[rows] = stages.trees.decide(_compared(thresholds, mapped), smooth, margin)
        else:
            classes[rows] = -1
    return classes, np.flatnonzero(classes < 0)


def _compared(thresholds: Hyperplanes, mapped: AnyFloats) -> NDArray[np.float32]:
    """The responses of thresholds of one feature each, as the trees compare them.

    They have the bits of the product with all weights, because the others, zeros, add nothing.
    """
    features = np.abs(thresholds.weights).argmax(axis=1)
    weights = thresholds.weights[np.arange(len(features)), features]
    responses = np.empty((len(mapped), len(features)), np.float32)
    # Column by column, as features are mapped.
    with np.errstate(over="ignore"):
        for place, feature in enumerate(features):
            responses[:, place] = mapped[:, feature] * weights[place] + thresholds.biases[place]
    return responses


def _margin(stages: CorrectedReadoutStages, smooth: NDArray[np.float32], error: float) -> float:
    """The lead in single precision that proves which output is the largest; infinite if none does.

    Each sum of readout and trees has the ``error`` of the readout and is rounded once for every tree
    and value; the other roundings are those of the bounds of trees and of the comparison.
    """
    single, n_roundings = np.finfo(np.float32), len(stages.trees.roots) + 8
    size = float(np.abs(smooth).max(initial=0.0)) + error + 2.0 * stages.trees.bounds.largest
    share = n_roundings * float(single.eps) / 2
    if not size < LARGEST_SINGLE or share > 0.1:
        return np.inf
    error += share / (1.0 - share) * 1.01 * size + n_roundings * float(single.tiny)
    return 2.0 * error + stages.distinct_lead(size)
