"""Cells that a model does not see as they are: missing ones, and categories that it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sklearn.compose import ColumnTransformer

from ffmlp.files.tables import pandas
from ffmlp.files.tabular import MISSING_CATEGORY, TableModel

if TYPE_CHECKING:
    import pandas as pd

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


def substitutes(model: TableModel, row: pd.Series) -> tuple[Substitute, ...]:
    """Those of a row of features, for a model that ``ffmlp fit`` made; none are known of others."""
    prepared = getattr(model.estimator, "named_steps", {}).get("prepare")
    if not isinstance(prepared, ColumnTransformer):
        return ()
    return (*_numbers(model, prepared, row), *_categories(model, prepared, row))


def _numbers(model: TableModel, prepared: ColumnTransformer, row: pd.Series) -> Iterator[Substitute]:
    if model.numbers:
        medians = prepared.named_transformers_["numbers"].statistics_.tolist()
        for name, median in zip(model.numbers, medians, strict=True):
            if pandas().isna(row[name]):
                yield Substitute(name, None, median)


def _categories(model: TableModel, prepared: ColumnTransformer, row: pd.Series) -> Iterator[Substitute]:
    if model.categories:
        encoder = prepared.named_transformers_["categories"].named_steps["encode"]
        every = zip(model.categories, encoder.categories_, encoder.infrequent_categories_, strict=True)
        for name, known, rare in every:
            cell = None if pandas().isna(row[name]) else row[name]
            value = MISSING_CATEGORY if cell is None else cell
            if value not in known:
                yield Substitute(name, cell, None if rare is None else RARE)
            elif cell is None:
                is_rare = rare is not None and value in rare
                yield Substitute(name, cell, RARE if is_rare else MISSING_CATEGORY)
