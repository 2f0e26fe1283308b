"""Lines of plain numbers, parsed by compiled code.

It takes a third of the time of pandas, which need not even be imported. Lines with anything else than
numbers and empty cells are left to pandas, which reads them or stumbles over what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

try:
    from ffmlp.files import _plain_numbers as compiled
except ImportError:  # there was no compiler where this was installed
    compiled = None  # type: ignore[assignment]


def plain_numbers(
    lines: bytes, delimiter: str, decimal: str, columns: Sequence[str], wanted: Sequence[str]
) -> NDArray[np.float64] | None:
    """The wanted columns (n, k) of lines, with NaN for empty cells; None if pandas has to read them."""
    if compiled is None or delimiter == decimal:
        return None
    order = {name: place for place, name in enumerate(wanted)}
    places = np.array([order.get(name, -1) for name in columns], np.int32)
    numbers = np.empty((len(wanted), lines.count(b"\n")))
    is_plain = compiled.read_columns(lines, delimiter, decimal, places, numbers)
    return numbers.T if is_plain else None
