"""Rows of a data file on their way to a model: numbers, texts and ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.tables.tables import NUMBER, TEXT, pandas

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts, by the place of each among the distinct ones; -1 is that of missing ones.

    The distinct texts are in the order in which they come.
    """

    places: NDArray[np.integer]
    distinct: Sequence[str]

    @classmethod
    def of(cls, cells: pd.Series) -> Texts:
        """Texts, with NaN for missing ones."""
        places, distinct = pandas().factorize(cells)
        return cls(places, distinct.tolist())

    def cells(self) -> NDArray[np.object_]:
        """What `of` was given."""
        return np.array([*self.distinct, np.nan], object)[self.places]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: their columns of numbers (n, k) and of texts, and what they are called, if known."""

    numbers: NDArray[np.float64]
    texts: tuple[Texts, ...]
    ids: NDArray[np.object_] | None = None

    @classmethod
    def of(cls, frame: pd.DataFrame, kinds: Mapping[str, str], id_column: str | None = None) -> Block:
        """The columns of a frame that are of the given kinds."""
        numbers = [name for name, kind in kinds.items() if kind == NUMBER]
        texts = [Texts.of(frame[name]) for name, kind in kinds.items() if kind == TEXT]
        ids = None if id_column is None else frame[id_column].to_numpy(object)
        return cls(frame[numbers].to_numpy(float), tuple(texts), ids)

    def frame(self, numbers: Sequence[str], texts: Sequence[str]) -> pd.DataFrame:
        """A frame whose columns of numbers and of texts have these names."""
        columns = dict(zip(numbers, self.numbers.T, strict=True))
        for name, column in zip(texts, self.texts, strict=True):
            columns[name] = pandas().Series(column.cells(), dtype=object)
        return pandas().DataFrame(columns)

    def __len__(self) -> int:
        return len(self.numbers)
