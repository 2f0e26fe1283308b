"""Lines of plain cells, parsed by compiled code.

It takes a third to a half of the time of pandas, which need not even be imported. What is not plain
(text among numbers, a space before a cell, a line of another length) is left to pandas.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ffmlp.tables.blocks import Block, Texts
from ffmlp.tables.tables import NUMBER, TEXT, Dialect, Kinds

try:
    from ffmlp.tables import _plain_lines as compiled
except ImportError:  # installed without a compiler
    compiled = None  # type: ignore[assignment]

# The place of a column that is not read. Places of numbers count up from 0, those of texts down from -2.
_NOWHERE, _FIRST_TEXT = -1, -2


def n_delimiters(lines: bytes, delimiter: str) -> int | None:
    """The number of delimiters outside of quotes.

    None if it is unknown: a quote does not open a cell, or is not closed on its line.
    """
    if b'"' not in lines:
        return int(np.count_nonzero(np.frombuffer(lines, np.uint8) == ord(delimiter)))
    count = -1 if compiled is None else compiled.count_delimiters(lines, delimiter)
    return None if count < 0 else count


def plain_block(
    lines: bytes,
    delimiter: str,
    dialect: Dialect,
    columns: Sequence[str],
    kinds: Kinds,
    id_column: str | None,
) -> Block | None:
    """The columns of the given kinds, from lines that are rows; None if pandas has to read them."""
    if compiled is None or delimiter == dialect.decimal or not _is_utf8(lines):
        return None
    # pandas compares the values of such tokens, 1_000 included, with all numbers.
    if any(Dialect().is_number(token.replace("_", "")) for token in dialect.missing):
        return None
    numbers = [name for name, kind in kinds.items() if kind == NUMBER]
    texts = [name for name, kind in kinds.items() if kind == TEXT]
    names = [] if id_column is None else [id_column]
    place = {name: number for number, name in enumerate(numbers)}
    place |= {name: _FIRST_TEXT - number for number, name in enumerate(texts + names)}
    places = np.array([place.get(name, _NOWHERE) for name in columns], np.int32)
    n_rows = compiled.count_lines(lines)
    values = np.empty((len(numbers), n_rows))
    bounds = np.empty((len(texts + names), 2, n_rows), np.int64)
    if not n_rows or not compiled.read_columns(
        lines, delimiter, dialect.decimal, places, n_rows, values, bounds
    ):
        return None
    ids = np.fromiter(compiled.cut(lines, bounds[-1]), object, n_rows) if names else None
    cells = [_texts(lines, own, dialect.tokens) for own in bounds[: len(texts)]]
    found = tuple(column for column in cells if column is not None)
    return Block(values.T, found, ids) if len(found) == len(texts) else None


def _texts(lines: bytes, bounds: NDArray[np.int64], missing: Collection[str]) -> Texts | None:
    """Texts without trailing spaces; None if there are too many distinct ones."""
    indices = np.empty(bounds.shape[1], np.int32)
    written = compiled.distinct(lines, bounds, indices)
    if written is None:
        return None
    distinct: dict[str, int] = {}
    trimmed = [text.rstrip(" ") for text in written]
    index = [-1 if text in missing else distinct.setdefault(text, len(distinct)) for text in trimmed]
    return Texts(np.array(index, np.int32)[indices], list(distinct))


def _is_utf8(lines: bytes) -> bool:
    try:
        return lines.isascii() or bool(lines.decode())
    except UnicodeDecodeError:
        return False
