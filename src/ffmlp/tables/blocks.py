"""Blocks of rows as a model takes them: numbers and texts, and cells that are only copied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.tables import NUMBER, Dialect, Kinds, pandas

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


def frames(parts: Iterable[Part], n_rows: int, kinds: Kinds) -> Iterator[pd.DataFrame]:
    """The rows of parts with columns of these kinds, in frames of ``n_rows`` rows."""
    numbers, texts = split(kinds)
    rest: list[pd.DataFrame] = []
    for part in parts:
        rest.append(part().frame(numbers, texts)[list(kinds)])
        while sum(map(len, rest)) >= n_rows:
            frame = joined(rest)
            yield frame[:n_rows]
            rest = [frame[n_rows:]]
    if sum(map(len, rest)):
        yield joined(rest)


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of frames of the same columns; their categories are united, which pandas does not do."""
    columns = {}
    for name in frames[0]:
        parts = [frame[name] for frame in frames]
        if frames[0].dtypes[name] == "category":
            columns[name] = pandas().Series(pandas().api.types.union_categoricals(parts))
        else:
            columns[name] = pandas().concat(parts, ignore_index=True)
    return pandas().DataFrame(columns)


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


def split(kinds: Kinds) -> tuple[list[str], list[str]]:
    """The names of the numeric and of the text columns."""
    numbers = [name for name, kind in kinds.items() if kind == NUMBER]
    return numbers, [name for name in kinds if name not in numbers]
