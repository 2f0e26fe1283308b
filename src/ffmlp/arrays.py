"""Arrays of floats: their type, blocks of their rows, and comparison up to rounding error."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating]  # float32 or float64
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Numbers of order one that agree to this many decimals differ by rounding error only.
_TIE_DECIMALS = 9
# Entries of a table that are held in memory at once (64 MB).
_ENTRIES_AT_ONCE = 1 << 23


def without_rounding(values: Floats) -> Floats:
    """Values of order one, rounded so that those that differ by rounding error only are equal.

    Compare these where ties are possible: rounding errors depend on the machine and the order of rows.
    """
    with np.errstate(over="ignore"):  # on the way, decimals become digits before the point
        rounded = np.round(values, _TIE_DECIMALS)
    return np.where(np.isfinite(rounded), rounded, values)


def row_blocks(
    n_rows: int, entries_per_row: int, entries_at_once: int = _ENTRIES_AT_ONCE
) -> Iterator[slice]:
    """Slices of the rows of a table, each small enough to be held in memory."""
    step = max(1, entries_at_once // max(1, entries_per_row))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))
