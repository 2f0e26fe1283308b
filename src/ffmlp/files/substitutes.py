"""Cells that a model does not see as they are: missing ones, and categories that it does not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from numpy.typing import NDArray
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


@dataclass(frozen=True)
class UnknownCategory:
    """How many cells of a column hold a category that the model does not know, and one of these."""

    column: str
    n_cells: int
    example: str

    def __str__(self) -> str:
        cells = "1 cell has" if self.n_cells == 1 else f"{self.n_cells} cells have"
        return f"{self.column}: {cells} a category unknown to the model, such as {self.example!r}."


def substitutes(model: TableModel, row: pd.Series) -> tuple[Substitute, ...]:
    """Those of a row of features, for a model that ``ffmlp fit`` made; none are known of others."""
    prepared = _prepared(model)
    return () if prepared is None else (*_numbers(model, prepared, row), *_categories(model, row))


def unknown_categories(model: TableModel, features: pd.DataFrame) -> tuple[UnknownCategory, ...]:
    """Those in some rows, for a model that ``ffmlp fit`` made; none are known of others."""
    return tuple(
        UnknownCategory(name, len(unknown), unknown.iloc[0])
        for name, known, _ in _encodings(model)
        if len(unknown := (cells := features[name].dropna())[~cells.isin(known)])
    )


def summed(unknown: Iterable[UnknownCategory]) -> list[UnknownCategory]:
    """One of each column, from those of several blocks of rows."""
    of_columns: dict[str, UnknownCategory] = {}
    for part in unknown:
        before = of_columns.get(part.column, replace(part, n_cells=0))
        of_columns[part.column] = replace(before, n_cells=before.n_cells + part.n_cells)
    return list(of_columns.values())


def _prepared(model: TableModel) -> ColumnTransformer | None:
    prepared = getattr(model.estimator, "named_steps", {}).get("prepare")
    return prepared if isinstance(prepared, ColumnTransformer) else None


def _encodings(model: TableModel) -> Iterator[tuple[str, NDArray, NDArray | None]]:
    """The name of each column of categories, those that the model knows, and the rare ones of them."""
    prepared = _prepared(model)
    if prepared is None or not model.categories:
        return
    encoder = prepared.named_transformers_["categories"].named_steps["encode"]
    yield from zip(model.categories, encoder.categories_, encoder.infrequent_categories_, strict=True)


def _numbers(model: TableModel, prepared: ColumnTransformer, row: pd.Series) -> Iterator[Substitute]:
    if model.numbers:
        medians = prepared.named_transformers_["numbers"].statistics_.tolist()
        for name, median in zip(model.numbers, medians, strict=True):
            if pandas().isna(row[name]):
                yield Substitute(name, None, median)


def _categories(model: TableModel, row: pd.Series) -> Iterator[Substitute]:
    for name, known, rare in _encodings(model):
        cell = None if pandas().isna(row[name]) else row[name]
        value = MISSING_CATEGORY if cell is None else cell
        if value not in known:
            yield Substitute(name, cell, None if rare is None else RARE)
        elif cell is None:
            is_rare = rare is not None and value in rare
            yield Substitute(name, cell, RARE if is_rare else MISSING_CATEGORY)
