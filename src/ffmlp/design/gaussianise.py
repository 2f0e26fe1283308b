"""Before stage 0: a monotone map of each feature that makes its distribution more Gaussian.

Blobs and linear discriminants assume Gaussian features. Skewed features, and features with a few extreme
values, are drawn towards their normal scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ffmlp.arrays import Floats
from ffmlp.model.features import Gaussianisation

N_KNOTS = 100
# A value this many robust standard deviations from the median is drawn in to 0.7 times that.
REACH = 3.0
# Values nearer to 0 than this are 0: the slope between two knots must be a finite number.
_TINY = 1e-280
# The range between the quartiles of a Gaussian, in standard deviations.
_GAUSSIAN_QUARTILES = 1.349


def fit_gaussianisation(X: NDArray[np.floating], weight: Floats) -> Gaussianisation:
    """The map halfway between a feature's normal scores and its robustly standardised values.

    Normal scores alone would forget how far apart two values are; standardised values alone would let
    extreme ones dominate the covariances. Takes O(n log n) time for each feature.
    """
    maps = [_scores_at_knots(np.asarray(column, np.float64), weight) for column in X.T]
    return Gaussianisation(tuple(knots for knots, _ in maps), tuple(scores for _, scores in maps))


def quantiles(values: Floats, weight: Floats, levels: Floats) -> Floats:
    """The smallest value that reaches each level of the cumulated weight.

    Always one of the values, so that a value of weight 2 counts exactly as two values.
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
    spread = (high - low) / _GAUSSIAN_QUARTILES
    if not spread > 0:  # more than half of the values are equal
        spread = (knots[-1] - knots[0]) / (2 * REACH) if len(knots) > 1 else 1.0
    with np.errstate(over="ignore"):  # the clip makes an overflow harmless
        robust = np.clip((knots - median) / spread, -100 * REACH, 100 * REACH)
    robust /= np.sqrt(1.0 + (robust / REACH) ** 2)
    return knots, 0.5 * (normal + robust)
