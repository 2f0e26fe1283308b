"""Arrays of floats: their type, blocks of their rows, and their order where numbers are nearly equal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Numbers of the order of one that differ by less are equal but for rounding.
_TIE_DECIMALS = 9
# Entries of a table that is held in memory at once (64 MB).
_ENTRIES_AT_ONCE = 1 << 23


def without_rounding(values: Floats) -> Floats:
    """Values of the order of one, rounded so that the order of a summation cannot part equal ones.

    Compare these where a tie is possible: rounding errors differ between machines and orders of rows.
    """
    return np.round(values, _TIE_DECIMALS)


def row_blocks(
    n_rows: int, entries_per_row: int, entries_at_once: int = _ENTRIES_AT_ONCE
) -> Iterator[slice]:
    """Slices of the rows of a table, each small enough to be held in memory."""
    step = max(1, entries_at_once // max(1, entries_per_row))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))
