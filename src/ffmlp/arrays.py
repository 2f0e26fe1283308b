"""Arrays: types and shapes, blocks of rows, comparison up to rounding, products on any machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating]  # float32 or float64
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
Counts = NDArray[np.integer | np.floating]


class Shape(tuple[str | int, ...]):
    """The shape of an array, or the length of a tuple, as an annotation of a field that is stored.

    Sizes have names. Capital letters are sizes of the whole model, the same in all of its parts: N
    inputs, M columns, L hyperplanes, G blobs, C classes and D neurons of layer l_2. Lower-case letters
    are sizes of one part. "k+2" is a sum, and "?" any size.
    """

    def __new__(cls, *sizes: str | int) -> Shape:
        """From the size of each dimension."""
        return super().__new__(cls, sizes)


@dataclass(frozen=True)
class Below:
    """Indices from ``least`` on, below the size of this name, as an annotation of a stored field."""

    size: str
    least: int = 0


# Numbers of order one that agree to this many decimals differ by rounding error only.
_TIE_DECIMALS = 9
# Entries of a table that are held in memory at once (64 MB).
_ENTRIES_AT_ONCE = 1 << 23
# BLAS kernels round whole tiles of columns alike in all rows. Narrow products are not affected.
_COLUMNS_PER_TILE, _FEWEST_COLUMNS = 8, 128


def without_rounding(values: Floats) -> Floats:
    """Values of order one, rounded so that those that differ by rounding error only are equal.

    Compare these where ties are possible: rounding errors depend on the machine and the order of rows.
    """
    with np.errstate(over="ignore"):  # on the way, decimals become digits before the point
        rounded = np.round(values, _TIE_DECIMALS)
    return np.where(np.isfinite(rounded), rounded, values)


def require_floats(name: str, *parts: NDArray) -> None:
    """Raise a ValueError unless arrays are finite numbers in double precision."""
    for part in parts:
        if part.dtype != np.float64 or not np.isfinite(part).all():
            raise ValueError(f"{name} must be finite numbers of type float64")


def row_blocks(
    n_rows: int, entries_per_row: int, entries_at_once: int = _ENTRIES_AT_ONCE
) -> Iterator[slice]:
    """Slices of the rows of a table, each small enough to be held in memory."""
    step = max(1, entries_at_once // max(1, entries_per_row))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def in_whole_tiles(factor: NDArray) -> NDArray:
    """The second factor of a product, padded by columns of zeros to whole tiles of a BLAS kernel.

    In the columns beyond the last whole tile, some kernels round a few rows unlike the others.
    """
    padded = np.zeros((len(factor), whole_tiles(factor.shape[1])), factor.dtype)
    padded[:, : factor.shape[1]] = factor
    return padded


def whole_tiles(n_columns: int) -> int:
    """The number of columns with those that pad them to whole tiles."""
    return n_columns if n_columns <= _FEWEST_COLUMNS else n_columns + -n_columns % _COLUMNS_PER_TILE
