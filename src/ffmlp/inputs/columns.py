"""The columns of a table, and the inputs of a network that they become.

A table reaches a network as *cells*: a float for each row and column. The cell of a category is its
number in the column, `UNKNOWN` for a category that the column does not know. A missing cell is NaN.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import AnyFloats, Below, Flags, Floats, Indices, Shape, require_floats
from ffmlp.inputs.imputation import Imputation

# The cell of a category that a column does not know.
UNKNOWN = -1.0
# Categories that are listed by name in a sentence.
_MAX_LISTED = 4
# What else stands for booleans.
_BOOLEANS = {"1": "True", "0": "False"}
_WHOLE_NUMBER = re.compile(r"(-?\d+)\.0+")


@dataclass(frozen=True)
class Schema:
    """What the columns of a table are: their names, and the categories of each, None for numbers."""

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> Schema:
        """Columns of numbers."""
        return cls(tuple(names), (None,) * len(names))

    @property
    def are_numbers(self) -> bool:
        """Whether no column holds categories."""
        return all(known is None for known in self.categories)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells (n, M) of a table with these columns."""

    values: AnyFloats
    schema: Schema


@dataclass(frozen=True, eq=False)
class IndexedColumn:
    """A column as distinct values and the index of each cell among them, -1 if it is missing.

    pandas' categorical columns, Arrow's dictionaries and columns of text files have this form.
    """

    indices: NDArray[np.integer]
    distinct: Sequence[Any]

    def __len__(self) -> int:
        return len(self.indices)

    def cells(self, categories: Sequence[str]) -> Floats:
        """The cells of a column that has these categories."""
        return self.mapped(category_cells(categories, map(category_name, self.distinct)))

    def mapped(self, numbers: ArrayLike) -> Floats:
        """A number for each cell, given a number for each distinct value; NaN for missing cells."""
        return np.append(np.asarray(numbers, np.float64), np.nan)[self.indices]


def category_name(value: object) -> str:
    """The text that identifies a category, empty for a missing one.

    It is the same for a data frame, a CSV file and a Parquet file: without spaces around it, without the
    decimals of a whole number, which a column of integers gets with its first missing value, and with
    booleans as Python writes them.
    """
    # NA of pandas comes first: it does not say whether it equals itself.
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""
    text = str(value).strip(" ")
    if text.lower() in ("true", "false"):
        return text.capitalize()
    whole = _WHOLE_NUMBER.fullmatch(text)
    return text if whole is None else whole[1]


def category_cells(categories: Sequence[str], names: Iterable[str]) -> Floats:
    """The cell of each name, as `category_name` writes it, in a column that has these categories."""
    numbers: dict[str, float] = {name: number for number, name in enumerate(categories)}
    if numbers.keys() <= set(_BOOLEANS.values()):
        numbers |= {name: numbers[text] for name, text in _BOOLEANS.items() if text in numbers}
    numbers[""] = np.nan
    return np.array([numbers.get(name, UNKNOWN) for name in names], np.float64)


def share_rows(cells: AnyFloats, categories: Sequence[str]) -> Indices:
    """The row (n,) of each cell in a table of shares: categories, then missing and unknown ones."""
    known = len(categories)
    return np.where(np.isnan(cells), known, np.where(cells < 0, known + 1, cells)).astype(np.intp)


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers; ``fill`` replaces missing ones where there is no imputation.

    It is the median, or the mean of given blobs.
    """

    name: str
    fill: float

    n_inputs = 1

    def input_names(self, labels: NDArray) -> list[str]:
        """What the input is."""
        return [self.name]

    def inputs(self, cells: AnyFloats) -> AnyFloats:
        """The input (n, 1) of cells (n,)."""
        return cells[:, None]

    def value(self, cell: float) -> float | str:
        """What a cell holds."""
        return "missing" if np.isnan(cell) else float(cell)

    def near(self, inputs: Floats) -> str:
        """A point of the inputs as text."""
        return f"= {inputs[0]:.4g}"


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """A column of categories. The inputs of a category are shares of classes among its samples.

    ``shares`` (K + 2, S) has a row for each of the K ``categories``, one for missing cells and one for
    unknown categories; ``classes`` are the S classes whose shares they are.
    """

    name: str
    categories: Annotated[tuple[str, ...], Shape("k")]
    classes: Annotated[tuple[Annotated[int, Below("C")], ...], Shape("s")]
    shares: Annotated[Floats, Shape("k+2", "s")]

    def check(self) -> None:
        """Raise a ValueError unless each category has finite shares."""
        require_floats(f"column {self.name!r}", self.shares)
        if not len(self.classes) or len(set(self.categories)) < len(self.categories):
            raise ValueError(f"column {self.name!r} has no share, or a category twice")

    @property
    def n_inputs(self) -> int:
        """The number of inputs."""
        return len(self.classes)

    def input_names(self, labels: NDArray) -> list[str]:
        """What each input is."""
        return [f"share of {labels[label]} by {self.name}" for label in self.classes]

    @property
    def knows_missing(self) -> bool:
        """Whether training samples had missing cells; otherwise these count as unknown categories."""
        return bool((self.shares[-2] != self.shares[-1]).any())

    def rows(self, cells: AnyFloats) -> Indices:
        """The row of ``shares`` of each cell."""
        return share_rows(cells, self.categories)

    def inputs(self, cells: AnyFloats) -> Floats:
        """The inputs (n, n_inputs) of cells (n,)."""
        return self.shares.T.take(self.rows(cells), axis=1).T

    def value(self, cell: float) -> str:
        """What a cell holds."""
        return self._rows[int(self.rows(np.array([cell]))[0])]

    def near(self, inputs: Floats) -> str:
        """A point of the inputs as text."""
        seen = self.shares[: len(self.categories) + self.knows_missing]
        if not len(seen):
            return "of any category"
        return f"like {self._rows[int(np.argmin(np.sum((seen - inputs) ** 2, axis=1)))]}"

    def between(self, low: Floats, high: Floats) -> str:
        """The categories whose inputs lie between limits (n_inputs,), in words."""
        inside: Flags = np.all((self.shares > low) & (self.shares <= high), axis=1)
        inside[-2] &= self.knows_missing
        inside[-1] = False
        names = [name for name, is_inside in zip(self._rows, inside, strict=True) if is_inside]
        if len(names) > _MAX_LISTED:
            shown = ", ".join(names[: _MAX_LISTED - 1])
            return f"{self.name} is one of {len(names)} categories ({shown}, …)"
        return f"{self.name} is {' or '.join(names) or 'no known category'}"

    @property
    def _rows(self) -> list[str]:
        return [*self.categories, "missing", "unknown"]


@dataclass(frozen=True, eq=False)
class Columns:
    """All columns of a table, in order.

    ``imputation`` replaces missing numbers, if training samples had any and there are not too many
    inputs; otherwise the ``fill`` of each column does.
    """

    parts: Annotated[tuple[NumberColumn | CategoryColumn, ...], Shape("M")]
    imputation: Imputation | None = None

    def __len__(self) -> int:
        return len(self.parts)

    def check(self, n_inputs: int) -> None:
        """Raise a ValueError unless the columns become this number of finite inputs."""
        if len(self.owners) != n_inputs:
            raise ValueError(f"{len(self)} columns become {len(self.owners)} of {n_inputs} inputs")
        if len(set(self.names)) < len(self):
            raise ValueError("two columns have the same name")
        for part in self.parts:
            if isinstance(part, CategoryColumn):
                part.check()
        require_floats("what replaces missing numbers", self.fills)
        if self.imputation is not None:
            self.imputation.check()

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are computed again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(part.name for part in self.parts)

    @property
    def schema(self) -> Schema:
        """The columns without what a fit adds to them."""
        categories = (
            part.categories if isinstance(part, CategoryColumn) else None for part in self.parts
        )
        return Schema(self.names, tuple(categories))

    # Cached, because explanations ask for these once for each column.
    @cached_property
    def owners(self) -> Indices:
        """The column (N,) of each input."""
        return np.repeat(np.arange(len(self)), [part.n_inputs for part in self.parts])

    @cached_property
    def firsts(self) -> Indices:
        """The first input (M,) of each column."""
        return np.searchsorted(self.owners, np.arange(len(self)))

    @cached_property
    def is_number(self) -> Flags:
        """Whether each column (M,) is one of numbers."""
        return np.array([isinstance(part, NumberColumn) for part in self.parts], bool)

    @cached_property
    def are_inputs(self) -> bool:
        """Whether each column is one input, a number."""
        return bool(self.is_number.all())

    def input_names(self, labels: NDArray) -> tuple[str, ...]:
        """The name of each input."""
        return tuple(name for part in self.parts for name in part.input_names(labels))

    def inputs(self, cells: AnyFloats) -> AnyFloats:
        """The inputs (n, N) of cells (n, M); the cells themselves if they are complete numbers."""
        return self.completed(self.encoded(cells))

    def completed(self, X: AnyFloats) -> AnyFloats:
        """Inputs whose missing numbers, NaN, are replaced."""
        missing = np.isnan(X)
        if not missing.any():
            return X
        if self.imputation is not None:
            return self.imputation.filled(np.asarray(X, np.float64)).astype(X.dtype, copy=False)
        return np.where(missing, self.fills.astype(X.dtype), X)

    def encoded(self, cells: AnyFloats) -> AnyFloats:
        """The inputs before missing numbers are replaced."""
        if self.are_inputs:
            return cells
        # Column by column, as features are mapped.
        inputs = np.empty((sum(part.n_inputs for part in self.parts), len(cells)))
        for part, first, column in zip(self.parts, self.firsts, cells.T, strict=True):
            inputs[first : first + part.n_inputs] = part.inputs(column).T
        return inputs.T

    @property
    def fills(self) -> Floats:
        """What replaces a missing value of each input (N,), without an imputation."""
        fills = [part.fill if isinstance(part, NumberColumn) else 0.0 for part in self.parts]
        return np.repeat(np.array(fills, np.float64), [part.n_inputs for part in self.parts])

    def summed(self, values: Floats) -> Floats:
        """Values (…, N) of the inputs, added up for each column."""
        return np.add.reduceat(values, self.firsts, axis=-1)

    def changeable(self, cells: AnyFloats) -> NDArray[np.bool_]:
        """Whether each input (n, N) can change by a fraction: numbers that are not missing."""
        return (self.is_number & ~np.isnan(cells))[:, self.owners]

    def between(self, low: Floats, high: Floats) -> dict[int, str]:
        """The categories whose inputs lie between limits (N,), in words, for each column with limits."""
        limited, texts = np.isfinite(low) | np.isfinite(high), {}
        for number, (part, first) in enumerate(zip(self.parts, self.firsts, strict=True)):
            inputs = slice(first, first + part.n_inputs)
            if isinstance(part, CategoryColumn) and limited[inputs].any():
                texts[number] = part.between(low[inputs], high[inputs])
        return texts
