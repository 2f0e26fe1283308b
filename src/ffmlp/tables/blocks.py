"""Blocks of rows as a model takes them: numbers and texts, and cells that are only copied."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.tables.tables import NUMBER, Dialect, Kinds, pandas

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Texts:
    """A text column: the index of each cell among the distinct texts, -1 for missing cells.

    Distinct texts are in order of appearance.
    """

    indices: NDArray[np.integer]
    distinct: Sequence[str]

    def trimmed(self, missing: Collection[str]) -> Texts:
        """The same without spaces around texts; those that are then ``missing`` are missing."""
        distinct: dict[str, int] = {}
        trimmed = [text.strip(" ") for text in self.distinct]
        own = [-1 if text in missing else distinct.setdefault(text, len(distinct)) for text in trimmed]
        return Texts(np.array([*own, -1], np.int32)[self.indices], list(distinct))

    def numbers(self, dialect: Dialect) -> Floats:
        """The numbers that the texts are; a ValueError if one is not."""
        return np.array([*map(dialect.number, self.distinct), np.nan])[self.indices]

    def cells(self) -> NDArray[np.object_]:
        """The text of each cell, NaN if it is missing."""
        return np.array([*self.distinct, np.nan], object)[self.indices]

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: numbers (n, k), a `Texts` for each text column, Arrow strings for each kept one."""

    numbers: Floats
    texts: tuple[Texts, ...]
    kept: tuple[Any, ...] = ()

    def frame(self, numbers: Sequence[str], texts: Sequence[str]) -> pd.DataFrame:
        """A frame with these names for the numeric and the text columns."""
        columns = dict(zip(numbers, self.numbers.T, strict=True))
        for name, column in zip(texts, self.texts, strict=True):
            columns[name] = pandas().Series(column.cells(), dtype=object)
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
            joined = pandas().concat(rest, ignore_index=True)
            yield joined[:n_rows]
            rest = [joined[n_rows:]]
    if sum(map(len, rest)):
        yield pandas().concat(rest, ignore_index=True)


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
