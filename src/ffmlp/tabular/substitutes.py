"""Cells that a model replaces: missing ones, and categories that it does not know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import CategoryColumn, Columns, category_name
from ffmlp.tables.blocks import Texts
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd

_UNKNOWN = "a category of fewer than 2 training rows"


@dataclass(frozen=True)
class Substitute:
    """A cell, None if it is missing, and the number that is used instead; None for categories.

    The number is an ``average``: "median", or "mean given the other columns".
    """

    column: str
    cell: str | None
    used: float | None
    average: str = ""

    def __str__(self) -> str:
        if self.used is not None:
            return f"{self.column} is missing: {self.used:.4g} is used, the {self.average}."
        what = "missing" if self.cell is None else f"{self.cell!r}, {_UNKNOWN}"
        return f"{self.column} is {what}: the class shares of all training rows are used."


@dataclass(frozen=True)
class UnknownCategories:
    """The number of cells in a column with a category that the model does not know, and an example."""

    column: str
    n_cells: int
    example: str

    def __str__(self) -> str:
        cells = counted(self.n_cells, "cell")
        return f"{self.column}: {cells} with {_UNKNOWN}, for example {self.example!r}."


def substitutes(table: Columns, row: pd.Series, inputs: Floats) -> tuple[Substitute, ...]:
    """The substitutes in a row of columns, which becomes the inputs of a network.

    Missing categories that were seen in training need none.
    """
    average = "median" if table.imputation is None else "mean given the other columns"
    found = []
    for part, first in zip(table.parts, table.firsts, strict=True):
        cell = row[part.name]
        name = category_name(cell)
        if isinstance(part, CategoryColumn):
            seen = part.knows_missing if not name else name in part.categories
            if not seen:
                found.append(Substitute(part.name, name or None, None))
        elif not name:
            found.append(Substitute(part.name, None, float(inputs[first]), average))
    return tuple(found)


def unknown_categories(table: Columns, columns: Sequence[Texts]) -> list[UnknownCategories]:
    """Those in the categorical columns; not known for a pipeline, which has no table."""
    found = []
    parts = [part for part in table.parts if isinstance(part, CategoryColumn)]
    for part, texts in zip(parts, columns, strict=False):
        known = {*part.categories, ""}
        unknown = [
            index for index, text in enumerate(texts.distinct) if category_name(text) not in known
        ]
        if unknown:
            n_cells = int(np.isin(texts.indices, unknown).sum())
            found.append(UnknownCategories(part.name, n_cells, texts.distinct[unknown[0]]))
    return found


def merged(unknown: Iterable[UnknownCategories]) -> list[UnknownCategories]:
    """Those of several blocks of rows, merged by column."""
    of_columns: dict[str, UnknownCategories] = {}
    for part in unknown:
        before = of_columns.get(part.column, replace(part, n_cells=0))
        of_columns[part.column] = replace(before, n_cells=before.n_cells + part.n_cells)
    return list(of_columns.values())
