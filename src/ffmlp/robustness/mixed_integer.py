"""Mixed-integer linear programmes, built piece by piece and solved by HiGHS through SciPy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeWarning, linprog
from scipy.sparse import csr_array

from ffmlp.arrays import Floats, Indices

# Variables should be of this order of magnitude, so that the absolute tolerances of HiGHS are small.
SIZE = 100.0
# The relative error of the least cost that HiGHS reports for variables of this size.
ERROR = 1e-7
_OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "mip_abs_gap": 1e-8,
}
_OPTIMAL, _TIMED_OUT, _INFEASIBLE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best values found, None if there are none, and a lower bound of the least cost.

    The bound is infinite if no values meet all requirements.
    """

    values: Floats | None
    bound: float


class Programme:
    """Minimise a linear cost of variables, some of them whole numbers, under linear requirements."""

    def __init__(self) -> None:
        self._low: list[float] = []
        self._high: list[float] = []
        self._cost: list[float] = []
        self._whole: list[bool] = []
        self._rows: list[tuple[Indices, Floats]] = []
        self._limits: list[float] = []

    def add(
        self, low: ArrayLike, high: ArrayLike, cost: ArrayLike = 0.0, whole: bool = False
    ) -> Indices:
        """Add variables between limits; returns their numbers."""
        lows, highs, costs = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(part, np.float64)) for part in (low, high, cost))
        )
        first = len(self._low)
        self._low += lows.tolist()
        self._high += highs.tolist()
        self._cost += costs.tolist()
        self._whole += [whole] * len(lows)
        return np.arange(first, first + len(lows))

    def at_most(self, limit: float, *terms: tuple[ArrayLike, ArrayLike]) -> None:
        """Require that the sum of variables times factors, given as pairs, is at most ``limit``."""
        variables, factors = [], []
        for some, values in terms:
            numbers = np.atleast_1d(some)
            variables.append(numbers)
            factors.append(np.broadcast_to(np.asarray(values, np.float64), numbers.shape))
        self._rows.append((np.concatenate(variables), np.concatenate(factors)))
        self._limits.append(float(limit))

    def solved(self, seconds: float, gap: float = 0.0) -> Outcome:
        """The least cost that HiGHS finds within a time limit, up to a relative gap."""
        lengths = [len(variables) for variables, _ in self._rows]
        places = np.repeat(np.arange(len(lengths)), lengths)
        variables, factors = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        table = csr_array((factors, (places, variables)), (len(lengths), len(self._low)))
        with warnings.catch_warnings():
            # SciPy warns that it passes some of the options to HiGHS as they are.
            warnings.simplefilter("ignore", OptimizeWarning)
            solved = linprog(
                self._cost, table, self._limits, bounds=np.column_stack([self._low, self._high]),
                integrality=np.array(self._whole, np.uint8), method="highs",
                options=_OPTIONS | {"time_limit": seconds, "mip_rel_gap": max(gap, ERROR / 10)},
            )  # fmt: skip
        if solved.status == _INFEASIBLE:
            return Outcome(None, np.inf)
        if solved.status not in (_OPTIMAL, _TIMED_OUT):
            return Outcome(None, -np.inf)
        bound = -np.inf
        if any(self._whole):
            bound = -np.inf if (proved := solved.get("mip_dual_bound")) is None else float(proved)
        elif solved.status == _OPTIMAL:
            bound = float(solved.fun)
        return Outcome(solved.x, bound if np.isfinite(bound) else -np.inf)
