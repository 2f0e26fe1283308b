"""Blocks of rows as a model takes them: numbers, texts and ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.tables.tables import NUMBER, TEXT, Kinds, pandas

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Texts:
    """A text column: the index of each cell among the distinct texts, -1 for missing cells.

    Distinct texts are in order of appearance.
    """

    indices: NDArray[np.integer]
    distinct: Sequence[str]

    @classmethod
    def of(cls, cells: pd.Series) -> Texts:
        """From texts, with NaN for missing ones."""
        indices, distinct = pandas().factorize(cells)
        return cls(indices, distinct.tolist())

    def cells(self) -> NDArray[np.object_]:
        """The texts that `of` was given."""
        return np.array([*self.distinct, np.nan], object)[self.indices]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: numbers (n, k), a `Texts` for each text column, and the ids if there are any."""

    numbers: Floats
    texts: tuple[Texts, ...]
    ids: NDArray[np.object_] | None = None

    @classmethod
    def of(cls, frame: pd.DataFrame, kinds: Kinds, id_column: str | None = None) -> Block:
        """From the columns of a frame that are of the given kinds."""
        numbers = [name for name, kind in kinds.items() if kind == NUMBER]
        texts = [Texts.of(frame[name]) for name, kind in kinds.items() if kind == TEXT]
        ids = None if id_column is None else frame[id_column].to_numpy(object)
        return cls(frame[numbers].to_numpy(float), tuple(texts), ids)

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


def trimmed(cells: pd.Series, missing: set[str], strip: Callable[[str, str], str]) -> pd.Series:
    """Texts without the spaces that ``strip`` removes, NaN for those that are then ``missing``."""
    changed: dict[str, Any] = {}
    for text in cells.dropna().unique():
        rest = strip(text, " ")
        if rest in missing:
            changed[text] = np.nan
        elif rest != text:
            changed[text] = rest
    return cells.map(lambda text: changed.get(text, text)).astype(object) if changed else cells
