"""Limits of a change: free features, bounds, units and norm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats, Indices
from ffmlp.inputs.columns import Columns

# Networks with more hyperplanes are too large for mixed-integer programmes.
MOST_BENDS = 100


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of changes: samples stay between ``low`` and ``high`` (n, N).

    ``scale`` (N,) are units; (n, N) if each sample has its own.
    """

    low: Floats
    high: Floats
    scale: Floats
    norm: float

    def rows(self, rows: Indices) -> Limits:
        """The limits of some of the samples."""
        return replace(self, low=self.low[rows], high=self.high[rows])


def checked_limits(
    columns: Columns,
    cells: Floats,
    samples: Floats,
    norm: float | str,
    scale: ArrayLike | None,
    frozen: Sequence[int | str],
    bounds: Mapping[int | str, tuple[float | None, float | None]] | None,
) -> Limits:
    """The limits of changes of the samples, the inputs of cells, or a ValueError.

    Numbers that are not missing may change; everything else stays.
    """
    names, firsts = columns.names, columns.firsts
    lengths = {2: 2.0, 1: 1.0, np.inf: np.inf, "inf": np.inf}
    if norm not in lengths:
        raise ValueError(f'norm must be 2, 1 or "inf", got {norm!r}.')
    unit = np.ones(len(names)) if scale is None else np.asarray(scale, np.float64)
    if unit.shape != (len(names),) or not (np.isfinite(unit) & (unit > 0)).all():
        raise ValueError(
            f"scale must be {len(names)} positive numbers, one for each feature, got {scale!r}."
        )
    low, high = np.full(samples.shape, -np.inf), np.full(samples.shape, np.inf)
    if not isinstance(bounds, Mapping | None):
        raise ValueError(f"bounds must be a mapping of feature to (low, high), got {bounds!r}.")
    for feature, limits in (bounds or {}).items():
        number = feature_number(names, feature)
        if not columns.is_number[number]:
            raise ValueError(
                f"feature {feature!r} is categorical. Bounds are for numbers: leave it out."
            )
        least, most = checked_bounds(feature, limits, cells[:, number])
        low[:, firsts[number]], high[:, firsts[number]] = least, most
    held = feature_numbers(names, "frozen", frozen)
    if held and {*np.flatnonzero(columns.is_number).tolist()} <= held:
        raise ValueError(
            "All features are frozen, so no change is possible. Leave at least one number free."
        )
    free = columns.changeable(cells)
    free[:, firsts[list(held)]] = False
    low, high = np.where(free, low, samples), np.where(free, high, samples)
    return Limits(low, high, unit[columns.owners], lengths[norm])


def checked_bounds(feature: int | str, limits: Any, cells: Floats) -> tuple[float, float]:
    """The bounds of a feature, which all samples that have it must keep."""
    is_pair = isinstance(limits, Sequence | np.ndarray) and len(limits) == 2
    if not is_pair or not all(limit is None or isinstance(limit, Real) for limit in limits):
        raise ValueError(
            f"bounds of feature {feature!r} must be (low, high), two numbers or None, got {limits!r}."
        )
    least, most = (
        float(default if limit is None else limit)
        for limit, default in zip(limits, (-np.inf, np.inf), strict=True)
    )
    if not least <= most:
        raise ValueError(f"bounds of feature {feature!r} must ascend, got {least:g} and {most:g}.")
    outside = (cells < least) | (cells > most)
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"bounds of feature {feature!r} exclude sample {row}: {cells[row]:g} is not between "
            f"{least:g} and {most:g}. Widen them to include all samples."
        )
    return least, most


def feature_numbers(names: Sequence[str], limit: str, features: Any) -> frozenset[int]:
    """The numbers of the features that a limit is about, given by number or name, or a ValueError."""
    listed: Any = [features] if isinstance(features, str | Integral) else features
    if not isinstance(listed, Iterable):
        raise ValueError(f"{limit} must be a sequence of features, got {features!r}.")
    return frozenset(feature_number(names, one) for one in listed)


def feature_number(names: Sequence[str], feature: int | str) -> int:
    """The number of a feature, given by number or name."""
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, Integral) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"Unknown feature {feature!r}. Features are 0 to {len(names) - 1}, named {list(names)[:10]}."
    )
