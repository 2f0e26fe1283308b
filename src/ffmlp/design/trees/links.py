"""The link from evidence to probabilities: a power of the evidence, divided by the sum of all."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from ffmlp.arrays import Floats, Indices

# Candidates for the floor, below which evidence makes no difference.
_FLOORS = 10.0 ** np.arange(-3.5, -0.9, 0.5)
# The penalty on the squared logarithm of the power, so that few samples leave it near 1.
_PENALTY = 10.0


def best_link(evidence: Floats, y: Indices, weight: Floats) -> tuple[float, float]:
    """Power and floor of ``P_c ∝ max(evidence_c, floor) ** power`` with the least penalised log-loss.

    ``evidence`` (n, C) is that of samples which have not been seen.
    """
    rows, share = np.arange(len(y)), weight / weight.sum()

    def loss(log_power: float, logs: Floats) -> float:
        scaled = np.exp(log_power) * logs
        losses = np.log(np.exp(scaled).sum(axis=1)) - scaled[rows, y]
        return float(share @ losses) + _PENALTY * log_power**2 / len(y)

    tried = []
    for floor in _FLOORS:
        logs = np.log(np.maximum(evidence, floor))
        logs -= logs.max(axis=1, keepdims=True)
        found = minimize_scalar(
            loss, args=(logs,), bounds=(-2.0, 3.0), method="bounded", options={"xatol": 0.02}
        )
        tried.append((found.fun, float(np.exp(found.x)), float(floor)))
    _, power, floor = min(tried)
    return power, floor
