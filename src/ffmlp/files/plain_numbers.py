"""Lines of plain numbers, parsed by compiled code.

It takes a third of the time of pandas, which need not even be imported. Names of rows, and columns that
are not wanted, may be texts. Where a number is neither plain nor missing, or a line has another length,
pandas has to read the lines, or to stumble over what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ffmlp.files.tables import Block

try:
    from ffmlp.files import _plain_numbers as compiled
except ImportError:  # there was no compiler where this was installed
    compiled = None  # type: ignore[assignment]

# The places of columns that are not wanted, and of the one with names; those of numbers count from 0.
_NOWHERE, _NAMES = -1, -2


def plain_block(
    lines: bytes,
    delimiter: str,
    decimal: str,
    columns: Sequence[str],
    features: Sequence[str],
    id_column: str | None,
) -> Block | None:
    """The features in lines, with NaN for empty cells, and names; None if pandas has to read them."""
    if compiled is None or delimiter == decimal:
        return None
    place = {name: number for number, name in enumerate(features)} | {id_column: _NAMES}
    places = np.array([place.get(name, _NOWHERE) for name in columns], np.int32)
    n_rows = lines.count(b"\n")
    numbers = np.empty((len(features), n_rows))
    bounds = np.empty((0 if id_column is None else 2, n_rows), np.int64)
    if not compiled.read_columns(lines, delimiter, decimal, places, numbers, bounds):
        return None
    if id_column is None:
        return Block(numbers.T, None)
    ids = np.empty(n_rows, object)
    try:
        ids[:] = compiled.cut(lines, bounds)
    except UnicodeDecodeError:
        return None
    return Block(numbers.T, ids)
