"""How numbers are written in the tables of the report."""

from __future__ import annotations

from collections.abc import Sequence

from ffmlp.arrays import Floats
from ffmlp.reproduction.experiments import Run
from ffmlp.reproduction.paper import Row
from ffmlp.reproduction.verdicts import Comparison, values

SIGNIFICANT = "*"


def with_spread(ours: Floats, digits: int = 2) -> str:
    """Mean ± standard deviation, which a single run does not have."""
    if not len(ours):
        return "–"
    spread = f" ± {ours.std():.{digits}f}" if len(ours) > 1 else ""
    return f"{ours.mean():.{digits}f}{spread}"


def accuracy(runs: Sequence[Run], row: Row, method: str, name: str = "test_accuracy") -> str:
    """Accuracy in %, mean ± standard deviation."""
    return with_spread(100 * values(runs, row, method, name))


def change(made: Comparison) -> str:
    """A mean difference in points, marked if it is significant."""
    return f"{made.mean:+z.2f}" + (SIGNIFICANT if made.sign else "")


def duel(made: Comparison) -> list[str]:
    """A difference in points with its spread, the number of wins and the p-value."""
    wins = f"{made.n_wins} of {made.n_splits}"
    p_value = f"{made.p_value:.3f}" if made.p_value >= 0.001 else "< 0.001"
    return [f"{made.mean:+z.2f} ± {made.spread:.2f}", wins, p_value]


def milliseconds(seconds: float) -> str:
    """A time in ms, with more decimals the shorter it is."""
    ms = 1000 * seconds
    decimals = sum(ms < limit for limit in (100, 10, 1))
    return f"{ms:.{decimals}f}"
