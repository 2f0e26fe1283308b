"""Cells that a model does not see as they are: missing ones, and categories that it does not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.tables.blocks import Texts
from ffmlp.tables.tables import pandas
from ffmlp.tabular.preparation import MISSING_CATEGORY, Preparation

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.tabular.interface import Interface

RARE = "rare"


@dataclass(frozen=True)
class Substitute:
    """A cell, None if it was missing, and what was taken for it.

    ``taken`` is a number, the category of missing cells or `RARE`; None if the column tells nothing.
    """

    column: str
    cell: str | None
    taken: float | str | None

    def __str__(self) -> str:
        if isinstance(self.taken, float):
            return f"{self.column} was missing; the median {self.taken:.6g} was taken."
        if self.taken == MISSING_CATEGORY:
            return f"{self.column} was missing, which counts as a category of its own."
        what = "missing" if self.cell is None else f"{self.cell!r}, which the model does not know"
        taken = "none of its categories" if self.taken is None else "a rare category"
        return f"{self.column} was {what}; it counts as {taken}."


@dataclass(frozen=True)
class UnknownCategory:
    """How many cells of a column hold a category that the model does not know, and one of these."""

    column: str
    n_cells: int
    example: str

    def __str__(self) -> str:
        cells = "1 cell has" if self.n_cells == 1 else f"{self.n_cells} cells have"
        return f"{self.column}: {cells} a category unknown to the model, such as {self.example!r}."


def substitutes(model: Interface, row: pd.Series) -> tuple[Substitute, ...]:
    """Those of a row of features, for a model that ``ffmlp fit`` made; none are known of others."""
    if model.preparation is None:
        return ()
    return (*_numbers(model, model.preparation, row), *_categories(model, model.preparation, row))


def unknown_categories(model: Interface, columns: Sequence[Texts]) -> tuple[UnknownCategory, ...]:
    """Those in columns of categories, for a model that ``ffmlp fit`` made; none are known of others."""
    if model.preparation is None:
        return ()
    unknown = []
    for name, encoding, texts in zip(
        model.categories, model.preparation.encodings, columns, strict=True
    ):
        each = Texts(np.arange(len(texts.distinct)), texts.distinct)
        places = np.flatnonzero(encoding.places(each) < 0)
        if len(places):
            n_cells = int(np.isin(texts.places, places).sum())
            unknown.append(UnknownCategory(name, n_cells, texts.distinct[places[0]]))
    return tuple(unknown)


def summed(unknown: Iterable[UnknownCategory]) -> list[UnknownCategory]:
    """One of each column, from those of several blocks of rows."""
    of_columns: dict[str, UnknownCategory] = {}
    for part in unknown:
        before = of_columns.get(part.column, replace(part, n_cells=0))
        of_columns[part.column] = replace(before, n_cells=before.n_cells + part.n_cells)
    return list(of_columns.values())


def _numbers(model: Interface, preparation: Preparation, row: pd.Series) -> Iterator[Substitute]:
    for name, median in zip(model.numbers, preparation.medians.tolist(), strict=True):
        if pandas().isna(row[name]):
            yield Substitute(name, None, median)


def _categories(model: Interface, preparation: Preparation, row: pd.Series) -> Iterator[Substitute]:
    for name, encoding in zip(model.categories, preparation.encodings, strict=True):
        cell = None if pandas().isna(row[name]) else row[name]
        value = MISSING_CATEGORY if cell is None else cell
        if value not in encoding.known:
            yield Substitute(name, cell, RARE if encoding.rare else None)
        elif cell is None:
            yield Substitute(name, cell, RARE if value in encoding.rare else MISSING_CATEGORY)
