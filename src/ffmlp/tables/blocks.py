"""Blocks of rows as a model takes them: numbers and texts, and cells that are only copied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.tables import Dialect, pandas

if TYPE_CHECKING:
    import pandas as pd


def trimmed(column: IndexedColumn, missing: Collection[str]) -> IndexedColumn:
    """A column of texts without spaces around them; those that are then ``missing`` are missing."""
    distinct: dict[str, int] = {}
    texts = [text.strip(" ") for text in column.distinct]
    indices = [-1 if text in missing else distinct.setdefault(text, len(distinct)) for text in texts]
    return IndexedColumn(np.array([*indices, -1], np.int32)[column.indices], list(distinct))


def numbers_of(column: IndexedColumn, dialect: Dialect) -> Floats:
    """The numbers that texts are; a ValueError if one is not."""
    return column.mapped([dialect.number(text) for text in column.distinct])


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: numbers (n, k), indexed columns of texts, Arrow strings for kept columns."""

    numbers: Floats
    texts: tuple[IndexedColumn, ...]
    kept: tuple[Any, ...] = ()

    def frame(self, numbers: Sequence[str], texts: Sequence[str]) -> pd.DataFrame:
        """A frame with these names for the numeric and the text columns."""
        columns = dict(zip(numbers, self.numbers.T, strict=True))
        for name, column in zip(texts, self.texts, strict=True):
            categories = pandas().Index(column.distinct, dtype=str)  # also if there are none
            columns[name] = pandas().Categorical.from_codes(column.indices, categories)
        return pandas().DataFrame(columns)

    def __len__(self) -> int:
        return len(self.numbers)


# A function that returns a block.
Part = Callable[[], Block]


def values(array: Any, missing: float) -> NDArray:
    """The values of an Arrow array of numbers; its own `to_numpy` would import pandas."""
    if not len(array):
        return np.empty(0, array.type.to_pandas_dtype())
    own, (valid, content) = slice(array.offset, array.offset + len(array)), array.buffers()
    found = np.frombuffer(content, array.type.to_pandas_dtype())[own]
    if not array.null_count:
        return found
    is_valid = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[own]
    return np.where(is_valid, found, found.dtype.type(missing))
