"""Before stage 0: a monotone map of each feature that makes its distribution more Gaussian.

Blobs and linear discriminants assume Gaussian features. Skewed features, and features with a few extreme
values, are mapped towards their normal scores.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from ffmlp.arrays import AnyFloats, Floats
from ffmlp.inputs.features import Gaussianisation

N_KNOTS = 100
# A value this many robust standard deviations from the median is mapped to 0.7 times that.
REACH = 3.0
# Values closer to 0 than this are 0: the slope between two knots must be finite.
_TINY = 1e-280
# The interquartile range of a Gaussian, in standard deviations.
_GAUSSIAN_IQR = 1.349
# A range that is no float counts as the largest one.
_LARGEST = np.finfo(np.float64).max


def fit_gaussianisation(X: AnyFloats, weight: Floats) -> Gaussianisation:
    """The map to the mean of a feature's normal score and its robustly standardised value.

    Normal scores alone would lose the distances between values; with standardised values alone, extreme
    ones would dominate the covariances. Takes O(n log n) time per feature.
    """
    maps = [_scores_at_knots(np.asarray(column, np.float64), weight) for column in X.T]
    return Gaussianisation(tuple(knots for knots, _ in maps), tuple(scores for _, scores in maps))


def quantiles(values: Floats, weight: Floats, levels: Floats) -> Floats:
    """The smallest value at which the cumulative weight reaches each level.

    It is always one of the values, so that a value of weight 2 counts exactly as two values.
    """
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weight[order])
    reached = np.searchsorted(cumulated, levels * cumulated[-1] * (1 - 1e-12))
    return values[order[np.minimum(reached, len(order) - 1)]]


def _scores_at_knots(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    levels = (np.arange(N_KNOTS) + 0.5) / N_KNOTS
    at_levels = quantiles(values, weight, levels)
    at_levels = np.where(np.abs(at_levels) < _TINY, 0.0, at_levels)
    # Equal quantiles are one knot, whose normal score is the mean of theirs.
    knots, which = np.unique(at_levels, return_inverse=True)
    normal = np.bincount(which, ndtri(levels)) / np.bincount(which)
    median, low, high = at_levels[[N_KNOTS // 2, N_KNOTS // 4, 3 * N_KNOTS // 4]]
    with np.errstate(over="ignore"):  # limits make an overflow harmless
        spread = min(high - low, _LARGEST) / _GAUSSIAN_IQR
        if not spread > 0:  # more than half of the values are equal
            whole = min(knots[-1] - knots[0], _LARGEST)
            spread = whole / (2 * REACH) if len(knots) > 1 else 1.0
        robust = np.clip((knots - median) / spread, -100 * REACH, 100 * REACH)
    robust /= np.sqrt(1.0 + (robust / REACH) ** 2)
    return knots, 0.5 * (normal + robust)
