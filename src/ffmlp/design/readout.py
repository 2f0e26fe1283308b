"""Stages 2 and 3 read out of layer l_1 by least squares, in closed form.

The two neurons of a hyperplane are ``max(h, 0)`` and ``max(-h, 0)``. Their sum is ``|h|``, and their
difference is ``h``. The h of all hyperplanes lie in the space of affine functions, of N + 1 dimensions.
The 2L neurons therefore span no more than the L bends ``|h|`` and the h of N hyperplanes. Least squares
has these L + N regressors instead of 2L.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ffmlp.arrays import Floats, Indices, without_rounding
from ffmlp.design.problem import Samples
from ffmlp.design.regressors import Regressors
from ffmlp.inputs.subsets import weighted_subsample
from ffmlp.network.hyperplanes import Hyperplanes

# Candidates for the ridge, the penalty on squared weights of regressors of unit variance, per sample.
RIDGES = 10.0 ** np.arange(-3.0, 2.1, 0.5)
# Samples that are left out, one by one, to choose ridge and temperature.
MAX_LEFT_OUT = 1000
# Leverages are clipped to this: a sample of leverage 1 determines its own prediction.
_LARGEST_LEVERAGE = 0.999
# With more samples for each regressor, leaving one out changes next to nothing.
_SAMPLES_PER_REGRESSOR = 20
# Evidence this far below any other adds nothing to a sum of exponentials.
_FAR = 1e300
# The range of the logarithm of the temperature, and the least decrease of the log-loss per unit of it:
# without misclassified samples, the log-loss would decrease forever.
_LOG_TEMPERATURES, _LEAST_GAIN = np.linspace(-5.0, 5.0, 11), 1e-9


@dataclass(frozen=True, eq=False)
class Readout:
    """Evidence for each class: ``|h| @ even + h @ odd + bias``, from the responses h (n, L)."""

    even: Floats  # (L, C) weights of the sum of a hyperplane's two neurons
    odd: Floats  # (L, C) weights of their difference
    bias: Floats  # (C,)
    ridge: float  # the penalty of `RIDGES` with the least leave-one-out error
    temperature: float  # the factor of the evidence that makes its softmax a probability
    error_rate: float  # by leaving one out
    left_out: Floats | None = None  # (n, C) the evidence for each sample, fitted without it


def fit_readout(planes: Hyperplanes, samples: Samples, *, leave_out: bool = False) -> Readout:
    """Least squares from the l_1 responses to class indicators, with the ridge of least LOO error.

    One eigendecomposition serves all ridges: O(n·p² + p³) time for p = L + N regressors. With
    ``leave_out``, the evidence for each sample is also computed without it.
    """
    X, y, weight, n_classes = samples.X, samples.y, samples.importance, len(samples.labels)
    total = weight.sum()
    shares = np.bincount(y, weight, n_classes) / total
    left_out, mass = weighted_subsample(X, y, weight, MAX_LEFT_OUT)
    # Rotated regressors T have T'WT = diag(eigenvalues): every ridge is a scaling of their weights.
    regressors = Regressors.of(planes, samples, left_out, mass)
    regressors, eigenvalues, rotation, moments = regressors.principal_axes(samples, shares)

    truth, targets = y[left_out], np.eye(n_classes)[y[left_out]]
    rotated = regressors.rows(left_out) @ rotation
    squares, errors, evidence = rotated**2, [], []
    for ridge in RIDGES * total:
        shrinkage = 1.0 / (eigenvalues + ridge)
        leverage = np.minimum(squares @ shrinkage + 1.0 / total, _LARGEST_LEVERAGE)
        residual = targets - shares - rotated @ (shrinkage[:, None] * moments)
        residual /= (1.0 - leverage)[:, None]
        errors.append(mass @ np.sum(residual**2, axis=1))
        evidence.append(targets - residual)
    best = int(np.argmin(without_rounding(np.array(errors) / total)))
    shrinkage = 1.0 / (eigenvalues + RIDGES[best] * total)
    coefficients = rotation @ (moments * shrinkage[:, None])
    each = None
    if leave_out:
        half = rotation * np.sqrt(shrinkage)
        each = _left_out_evidence(regressors, half, coefficients, samples, shares)
    coefficients /= regressors.scale[:, None]

    odd = np.zeros((len(planes), n_classes))
    odd[regressors.linear] = coefficients[len(planes) :]
    return Readout(
        even=coefficients[: len(planes)],
        odd=odd,
        bias=shares - regressors.mean @ coefficients,
        ridge=float(RIDGES[best]),
        temperature=best_temperature(evidence[best], np.arange(n_classes), truth, mass),
        error_rate=float(mass @ (evidence[best].argmax(axis=1) != truth) / mass.sum()),
        left_out=each,
    )


def _left_out_evidence(
    regressors: Regressors, half: Floats, coefficients: Floats, samples: Samples, shares: Floats
) -> Floats:
    """The evidence (n, C) for each sample, fitted without it; where leverages are tiny, with it.

    ``half @ half.T`` is the inverse of the Gram matrix with the ridge.
    """
    y, weight = samples.y, samples.importance
    tiny = samples.population is not None or len(y) > _SAMPLES_PER_REGRESSOR * len(half)
    half, coefficients = half.astype(regressors.dtype), coefficients.astype(regressors.dtype)
    evidence = np.empty((len(y), len(shares)))

    def fill(blocks: Iterator[tuple[slice, NDArray]]) -> None:
        for rows, block in blocks:
            evidence[rows] = shares + block @ coefficients
            if tiny:
                continue
            rotated = block @ half
            leverage = weight[rows] * (np.einsum("ij,ij->i", rotated, rotated) + 1.0 / weight.sum())
            leverage = np.minimum(leverage, _LARGEST_LEVERAGE)[:, None]
            target = np.eye(len(shares))[y[rows]]
            evidence[rows] = target - (target - evidence[rows]) / (1.0 - leverage)

    list(regressors.part_by_part(fill))
    return evidence


def best_temperature(evidence: Floats, owners: Indices, y: Indices, weight: Floats) -> float:
    """The factor of the evidence (n, m) whose softmax has the least log-loss for the labels y.

    ``owners`` (m,) is the class that each column supports.
    """
    supported = np.isin(y, owners)  # pruning may leave a class without a neuron
    y, weight = y[supported], weight[supported]
    evidence = np.ascontiguousarray(evidence[supported].T)  # (m, n): sums of few rows are fast
    own = np.where(owners[:, None] == y, evidence, -_FAR)
    # Both sums of exponentials are relative to their largest term, so that they cannot overflow.
    largest, largest_own = evidence.max(axis=0), own.max(axis=0)
    evidence, own = evidence - largest, own - largest_own
    share = weight / weight.sum()
    behind = float(share @ (largest - largest_own))

    def mean(exponents: Floats) -> float:
        masses = np.exp(exponents)
        return float(share @ (np.einsum("mn,mn->n", masses, exponents) / masses.sum(axis=0)))

    def slope(log_factor: float) -> float:
        """Of the mean log-loss. Its root is more precise than the location of the least loss."""
        factor = np.exp(log_factor)
        return mean(factor * evidence) - mean(factor * own) + factor * behind + _LEAST_GAIN

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        sums, own_sums = (np.exp(factor * part).sum(axis=0) for part in (evidence, own))
        return float(share @ np.log(sums / own_sums)) + factor * behind + _LEAST_GAIN * log_factor

    # Classes of several columns may have several minima.
    tried = _LOG_TEMPERATURES
    best = int(np.argmin([loss(log_factor) for log_factor in tried]))
    low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    is_inside = slope(low) < 0 < slope(high)
    return float(np.exp(brentq(slope, low, high) if is_inside else tried[best]))
