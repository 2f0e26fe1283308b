"""Data frames and arrays as cells (`ffmlp.inputs.columns`): numbers, and numbers of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Floats
from ffmlp.inputs.columns import Cells, IndexedColumn, Schema, category_name

FROM_DTYPE = "from_dtype"
_DATES = (
    "column {!r} holds dates or times ({}). Replace it by numbers, such as the year, or leave it out."
)


def columns_of(X: Any) -> list[Any] | None:
    """The columns of a data frame or of an array of objects or texts; None for other arrays."""
    if hasattr(X, "__dask_graph__") and hasattr(X, "iloc"):
        raise TypeError(
            "a Dask data frame is not in memory. Pass X.compute(), or some of its rows; "
            "ffmlp.dask.FFMLPClassifier fits and predicts it where it is."
        )
    if hasattr(X, "iloc") and np.ndim(X) == 2:  # pandas
        counts = Counter(X.columns)
        repeated = next((name for name, count in counts.items() if count > 1), None)
        if repeated is not None:
            raise ValueError(
                f"X has {counts[repeated]} columns named {repeated!r}. Give each column a name of its "
                "own."
            )
        return [column for _, column in X.items()]
    if hasattr(X, "get_columns"):  # polars
        return list(X.get_columns())
    if isinstance(X, list | tuple):
        try:
            array = np.asarray(X)
        except ValueError:  # rows of different lengths, which scikit-learn reports
            return None
        # Beside texts, NumPy would make texts of all numbers.
        X = np.asarray(X, object) if array.dtype.kind in "US" else array
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUS":
        return list(X.T)
    return None


def plain_labels(y: Any) -> Any:
    """Labels with a type of NumPy: nullable types of pandas are converted if no label is missing.

    scikit-learn would make floats of such integers and booleans.
    """
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if plain is None or plain.kind not in "iub" or y.isna().any():
        return y
    return y.to_numpy(plain)


def is_numeric(column: Any) -> bool:
    """Whether NumPy converts a column as it is: its type is numeric."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf"


def training_cells(columns: list[Any], names: Sequence[str], categorical: Any) -> Cells:
    """The cells of columns; ``categorical`` is the parameter `categorical_features`."""
    kinds = column_kinds(columns, names, categorical)
    schema = Schema(tuple(names), tuple(kind.categories for kind in kinds))
    return Cells(table_cells(columns, schema), schema)


@dataclass(frozen=True)
class ColumnKind:
    """Whether a column holds categories, and their ``names``, a `Statistic`.

    The names of a column of numbers are None if they were not read.
    """

    is_categorical: bool
    names: frozenset[str] | None

    @classmethod
    def of_numbers(cls, values: AnyFloats) -> ColumnKind:
        """The kind of numbers. If all are missing, nothing contradicts categories in other rows."""
        return cls(False, frozenset() if np.isnan(values).all() else None)

    def __add__(self, other: ColumnKind) -> ColumnKind:
        kinds = self, other
        names = [kind.names for kind in kinds if kind.names is not None]
        if any(kind.is_categorical for kind in kinds) and len(names) < len(kinds):
            raise ValueError("it holds categories in some partitions and numbers in others.")
        return ColumnKind(
            self.is_categorical or other.is_categorical,
            frozenset().union(*names) if len(names) == len(kinds) else None,
        )

    @property
    def categories(self) -> tuple[str, ...] | None:
        """The categories in order; None for a column of numbers."""
        return tuple(sorted(self.names)) if self.is_categorical and self.names is not None else None


def column_kinds(columns: list[Any], names: Sequence[str], categorical: Any) -> tuple[ColumnKind, ...]:
    """The kind of each column; ``categorical`` is the parameter `categorical_features`."""
    chosen = chosen_columns(categorical, names)
    kinds = []
    for number, (column, name) in enumerate(zip(columns, names, strict=True)):
        is_categorical = _is_categorical(column) if chosen is None else number in chosen
        if not is_categorical and (chosen is not None or _kind(column) not in "OU"):
            kinds.append(ColumnKind.of_numbers(_numbers(column, name)))
            continue
        indexed = _indexed_categories(column, name) if is_categorical else _indexed(column)
        occurring = {indexed.distinct[index] for index in np.unique(indexed.indices) if index >= 0}
        kinds.append(ColumnKind(is_categorical, frozenset(map(category_name, occurring)) - {""}))
    return tuple(kinds)


def table_cells(columns: list[Any], schema: Schema) -> Floats:
    """The cells of columns that are what a schema says."""
    values = np.empty((len(columns), len(columns[0]) if columns else 0))
    for number, (column, name, categories) in enumerate(
        zip(columns, schema.names, schema.categories, strict=True)
    ):
        if categories is None:
            values[number] = _numbers(column, name)
        else:
            values[number] = _indexed_categories(column, name).cells(categories)
    return values.T


def chosen_columns(categorical: Any, names: Sequence[str]) -> set[int] | None:
    """The numbers of the categorical columns; None if their types decide."""
    if isinstance(categorical, str) and categorical == FROM_DTYPE:
        return None
    given: NDArray = np.asarray([] if categorical is None else categorical)
    wrong = ValueError(
        "categorical_features must be 'from_dtype', None, or names, positions or a mask of the "
        f"{len(names)} columns, got {categorical!r}."
    )
    if given.ndim != 1:
        raise wrong
    if given.dtype.kind == "b":
        if len(given) != len(names):
            raise wrong
        return set(np.flatnonzero(given).tolist())
    found = set()
    for item in given.tolist():
        if isinstance(item, str) and item in names:
            found.add(list(names).index(item))
        elif isinstance(item, int) and not isinstance(item, bool) and 0 <= item < len(names):
            found.add(item)
        else:
            raise ValueError(f"categorical_features names {item!r}. Columns: {list(names)[:10]}.")
    return found


def _is_categorical(column: Any) -> bool:
    """Whether a column holds categories, by its type or else by its cells."""
    kind = _kind(column)
    if kind == "O":
        # Booleans are not numbers.
        present = [value for value in _indexed(column).distinct if category_name(value)]
        return not all(
            isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in present
        )
    if kind == "U":
        return not all(map(_is_number, _indexed(column).distinct))
    return kind in ("b", "category")


def _kind(column: Any) -> str:
    """The kind of a NumPy type, or "category"; "M" for dates and times of any sort."""
    dtype = column.dtype
    if (hasattr(column, "cat") and hasattr(dtype, "categories")) or str(dtype) == "Categorical":
        return "category"
    if hasattr(dtype, "is_temporal"):  # polars
        kinds = {"is_temporal": "M", "is_numeric": "f"}
        kind = next((kind for test, kind in kinds.items() if getattr(dtype, test)()), "O")
        return "b" if str(dtype) == "Boolean" else kind
    if str(dtype).startswith("period"):
        return "M"
    # Texts of pandas are texts. In an array, they may be numbers beside other texts.
    texts = "O" if hasattr(column, "iloc") else "U"
    return texts if dtype.kind in "US" else str(dtype.kind)


def _indexed(column: Any) -> IndexedColumn:
    """The distinct values of a column, in order of appearance unless its type has them."""
    if hasattr(column, "iloc"):
        if _kind(column) == "category":
            return IndexedColumn(column.cat.codes.to_numpy(np.intp), column.cat.categories.tolist())
        try:
            indices, distinct = column.factorize()
            return IndexedColumn(indices, list(distinct))
        except TypeError:  # cells that cannot be hashed
            pass
    numbers: dict[Any, int] = {}
    cells = column.to_list() if hasattr(column, "to_list") else column.tolist()
    try:
        indices = [numbers.setdefault(cell, len(numbers)) for cell in cells]
    except TypeError as error:
        raise TypeError(
            f"{error}. The argument must be a table in which each cell is a string or a number."
        ) from error
    return IndexedColumn(np.array(indices, np.intp), list(numbers))


def _indexed_categories(column: Any, name: str) -> IndexedColumn:
    """The distinct values of a column of categories, which may not be dates."""
    indexed = _indexed(column)
    present = (value for value in indexed.distinct if category_name(value))
    if _kind(column) in "mM" or isinstance(next(present, None), date):
        raise ValueError(_DATES.format(name, column.dtype))
    return indexed


def _numbers(column: Any, name: str) -> Floats:
    """The cells as floats, NaN where they are missing."""
    kind = _kind(column)
    if kind in "mM":
        raise ValueError(_DATES.format(name, column.dtype))
    if kind in "iufb":
        if hasattr(column, "iloc"):
            values = column.to_numpy(np.float64, na_value=np.nan)
        else:
            values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column, np.float64)
    else:
        indexed = _indexed(column)
        values = indexed.mapped([_number(value, name, kind) for value in indexed.distinct])
    if np.isinf(values).any():
        raise ValueError(
            f"Input X contains infinity or a value too large for float64 in column {name!r}. Replace it "
            "by a number, or by NaN if it is missing."
        )
    return values


def _number(value: Any, name: str, kind: str) -> float:
    if not category_name(value):
        return np.nan
    if isinstance(value, Real | Decimal) or (kind == "U" and _is_number(value)):
        return float(value)
    raise ValueError(
        f"could not convert string to float: column {name!r} is numeric, but has {value!r}. Make it "
        "categorical when fitting (categorical_features), or NaN if it stands for a missing number."
    )


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return not category_name(text)
    return True
