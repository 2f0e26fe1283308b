"""Cells that a model replaces: missing ones, and categories that it has not seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.tables.blocks import Texts
from ffmlp.tables.tables import pandas
from ffmlp.tabular.preparation import MISSING_CATEGORY
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.tabular.interface import Interface

RARE = "rare"


@dataclass(frozen=True)
class Substitute:
    """A cell, None if it is missing, and what the model uses instead.

    ``used`` is a number, the category of missing cells or `RARE`; None if no category matches.
    """

    column: str
    cell: str | None
    used: float | str | None

    def __str__(self) -> str:
        if isinstance(self.used, float):
            return f"{self.column} is missing: the median {self.used:.6g} is used."
        if self.used == MISSING_CATEGORY:
            return f"{self.column} is missing, which is a category of its own."
        what = "missing" if self.cell is None else f"{self.cell!r}, an unseen category"
        used = "matches none of the categories" if self.used is None else "is treated as a rare category"
        return f"{self.column} is {what}: it {used}."


@dataclass(frozen=True)
class UnseenCategories:
    """The number of cells in a column with a category that the model has not seen, and an example."""

    column: str
    n_cells: int
    example: str

    def __str__(self) -> str:
        cells = counted(self.n_cells, "cell")
        return f"{self.column}: {cells} with an unseen category, for example {self.example!r}."


def substitutes(model: Interface, row: pd.Series) -> tuple[Substitute, ...]:
    """Those in a row of features; known only for models made by ``ffmlp fit``."""
    if model.preparation is None:
        return ()
    numbers = zip(model.numbers, model.preparation.medians.tolist(), strict=True)
    found = [Substitute(name, None, median) for name, median in numbers if pandas().isna(row[name])]
    for name, encoding in zip(model.categories, model.preparation.encodings, strict=True):
        cell = None if pandas().isna(row[name]) else row[name]
        value = MISSING_CATEGORY if cell is None else cell
        if value not in encoding.known:
            found.append(Substitute(name, cell, RARE if encoding.rare else None))
        elif cell is None:
            found.append(Substitute(name, cell, RARE if value in encoding.rare else MISSING_CATEGORY))
    return tuple(found)


def unseen_categories(model: Interface, columns: Sequence[Texts]) -> list[UnseenCategories]:
    """Those in the categorical columns; known only for models made by ``ffmlp fit``."""
    if model.preparation is None:
        return []
    found, encodings = [], model.preparation.encodings
    for name, encoding, texts in zip(model.categories, encodings, columns, strict=True):
        known = {*encoding.known}
        unseen = [index for index, text in enumerate(texts.distinct) if text not in known]
        if unseen:
            n_cells = int(np.isin(texts.indices, unseen).sum())
            found.append(UnseenCategories(name, n_cells, texts.distinct[unseen[0]]))
    return found


def merged(unseen: Iterable[UnseenCategories]) -> list[UnseenCategories]:
    """Those of several blocks of rows, merged by column."""
    of_columns: dict[str, UnseenCategories] = {}
    for part in unseen:
        before = of_columns.get(part.column, replace(part, n_cells=0))
        of_columns[part.column] = replace(before, n_cells=before.n_cells + part.n_cells)
    return list(of_columns.values())
