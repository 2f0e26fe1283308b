"""A pruned readout: forward selection of the hyperplanes that explain the classes best.

A hyperplane has two regressors, its bend ``|h|`` and its ``h``. The one that lowers the squared error
most is taken next. The other regressors and the classes are made orthogonal to it, so that each
hyperplane is judged by what it adds. With orthogonal regressors, leave-one-out errors take no more time.
"""

from __future__ import annotations

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices, without_rounding
from ffmlp.design.pruning import PruningPath
from ffmlp.inputs.subsets import weighted_subsample
from ffmlp.network.hyperplanes import Hyperplanes

# With more samples, hyperplanes are selected by a subsample.
MAX_SAMPLES = 3000
# If this many hyperplanes do not reach the error threshold, all are kept.
MAX_TAKEN = 150
# A regressor of unit variance whose remaining variance is below this is left out.
_SMALLEST_VARIANCE = 1e-4
_LARGEST_LEVERAGE = 0.999


def prune_readout(
    planes: Hyperplanes, X: AnyFloats, y: Indices, weight: Floats, n_classes: int, error_threshold: float
) -> PruningPath:
    """Keep the first hyperplanes taken whose leave-one-out error rate is below a threshold.

    Takes O(n·L) time for each hyperplane taken. The path deletes the others all at once, so that every
    deletion has the final error rate. The error rate of all hyperplanes is not known.
    """
    rows, mass = weighted_subsample(X, y, weight, MAX_SAMPLES)
    taken, rates = _path(planes.signed_responses(X[rows]), y[rows], mass, n_classes, error_threshold)
    if rates[-1] >= error_threshold:
        return PruningPath(np.zeros(0, np.intp), np.zeros(0), np.nan, np.arange(len(planes)))
    kept = np.sort(taken)
    deleted = np.setdiff1d(np.arange(len(planes)), kept)
    return PruningPath(deleted, np.full(len(deleted), rates[-1]), np.nan, kept)


def _path(
    h: Floats, y: Indices, weight: Floats, n_classes: int, error_threshold: float
) -> tuple[Indices, list[float]]:
    """Hyperplanes in the order they are taken; the leave-one-out error rate after each."""
    root = np.sqrt(weight / weight.mean())[:, None]
    targets = np.eye(n_classes)[y]
    residual = root * (targets - weight @ targets / weight.sum())
    bends, lines = (_standardised(columns, weight, root) for columns in (np.abs(h), h))
    leverage = np.full(len(y), 1.0 / weight.sum())
    taken: list[int] = []
    rates: list[float] = []
    while len(taken) < min(h.shape[1], MAX_TAKEN) and (not rates or rates[-1] >= error_threshold):
        gain = _gains(bends, lines, residual)
        gain[taken] = -1.0
        best = int(np.argmax(without_rounding(gain / gain.max()) if gain.max() > 0 else gain))
        taken.append(best)
        axes, triangle = np.linalg.qr(np.column_stack([bends[:, best], lines[:, best]]))
        axes = axes[:, np.diag(triangle) ** 2 > _SMALLEST_VARIANCE * len(y)]
        for columns in (residual, bends, lines):
            columns -= axes @ (axes.T @ columns)
        leverage += np.sum((axes / root) ** 2, axis=1) * (len(y) / weight.sum())
        left_out = residual / root / (1.0 - np.minimum(leverage, _LARGEST_LEVERAGE))[:, None]
        wrong = (targets - left_out).argmax(axis=1) != y
        rates.append(float(weight @ wrong / weight.sum()))
    return np.array(taken), rates


def _standardised(columns: Floats, weight: Floats, root: Floats) -> Floats:
    """Columns of weighted mean 0 and variance 1 (0 if constant), times the root of the weights."""
    share = weight / weight.sum()
    columns = columns - share @ columns
    scale = np.sqrt(share @ columns**2)
    return root * columns / np.where(scale > 0, scale, 1.0)


def _gains(bends: Floats, lines: Floats, residual: Floats) -> Floats:
    """The part (L,) of the squared residual that each pair of regressors explains."""
    ridge = _SMALLEST_VARIANCE * len(residual)
    a, b = np.sum(bends**2, axis=0) + ridge, np.sum(lines**2, axis=0) + ridge
    mixed = np.sum(bends * lines, axis=0)
    with_bend, with_line = bends.T @ residual, lines.T @ residual
    explained = b[:, None] * with_bend**2 + a[:, None] * with_line**2
    explained -= 2 * mixed[:, None] * with_bend * with_line
    return explained.sum(axis=1) / (a * b - mixed**2)
