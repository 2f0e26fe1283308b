"""Parquet files as tables (needs pyarrow).

A cell means what it would mean in a CSV file written by pandas, whatever else is in its block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.extras import imported
from ffmlp.tables.blocks import Block
from ffmlp.tables.tables import NAME, NUMBER, Dialect, check_names, pandas, with_ids

if TYPE_CHECKING:
    import pandas as pd

# What pandas calls an index without a name: it labels rows and is not data.
_INDEX_WITHOUT_NAME = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file."""

    path: Path
    dialect: Dialect

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The column names, among them that of a pandas index if it has one."""
        stored = self._file().schema_arrow.names
        names = tuple(name for name in stored if not _INDEX_WITHOUT_NAME.fullmatch(name))
        check_names(self.path, names, "")
        return names

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows; the type of a column is inferred unless it is one of ``texts``."""
        for _, batch in self._batches(n_rows, self.columns):
            yield _frame(
                {
                    name: _texts(_plain(batch[name]), self.dialect)
                    if name in texts
                    else _inferred(_plain(batch[name]), self.dialect)
                    for name in self.columns
                }
            )

    def blocks(self, n_rows: int, kinds: Mapping[str, str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds: floats, or text with NaN for missing."""
        for start, batch in self._batches(n_rows, list(kinds)):
            yield self._of_kinds(batch, start, kinds)

    def parts(
        self, n_rows: int, kinds: Mapping[str, str], id_column: str | None = None
    ) -> Iterator[Callable[[], Block]]:
        """Functions that return the blocks; any thread may call them."""
        for start, batch in self._batches(n_rows, list(with_ids(kinds, id_column))):
            yield partial(self._block, batch, start, kinds, id_column)

    def place(self, row: int, column: str) -> str:
        """File, row and column of a cell."""
        return f"{self.path}, row {row + 1}, column {self.columns.index(column) + 1} ({column!r})"

    def _file(self) -> Any:
        parquet = imported("pyarrow.parquet", "Parquet files")
        try:
            return parquet.ParquetFile(self.path)
        except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
            raise ValueError(f"{self.path} cannot be read as Parquet: {error}") from error

    def _batches(self, n_rows: int, columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Blocks of rows, each with the number of rows before it."""
        file, start = self._file(), 0
        try:
            for batch in file.iter_batches(n_rows, columns=list(columns)):
                yield start, batch
                start += len(batch)
        except (OSError, ValueError) as error:
            raise ValueError(f"{self.path} cannot be read as Parquet: {error}") from error

    def _block(self, batch: Any, start: int, kinds: Mapping[str, str], id_column: str | None) -> Block:
        return Block.of(self._of_kinds(batch, start, with_ids(kinds, id_column)), kinds, id_column)

    def _of_kinds(self, batch: Any, start: int, kinds: Mapping[str, str]) -> pd.DataFrame:
        cells: dict[str, Any] = {}
        for name, kind in kinds.items():
            column = _plain(batch[name])
            if kind == NUMBER:
                cells[name] = self._numbers(name, column, start)
            else:
                cells[name] = _written(column) if kind == NAME else _texts(column, self.dialect)
        return _frame(cells)

    def _numbers(self, name: str, column: Any, start: int) -> Floats:
        """The numbers of a column, or an error with the first cell that is not a finite number."""
        try:
            numbers = _numbers(column, self.dialect)
        except ValueError:
            texts = enumerate(_texts(column, self.dialect), start=start)
            row, text = next(
                (row, text) for row, text in texts if text == text and not self.dialect.is_number(text)
            )
            raise ValueError(
                f"{self.place(row, name)}: expected a number, got {text!r}. {self.dialect.remedy(text)}"
            ) from None
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            place = self.place(start + int(infinite[0]), name)
            raise ValueError(f"{place}: numbers must be finite, got {numbers[infinite[0]]}.")
        return numbers


def _frame(cells: Mapping[str, Any]) -> pd.DataFrame:
    """A frame of arrays; by itself, pandas would change the type of text columns."""
    series = pandas().Series
    return pandas().DataFrame(
        {name: series(values, dtype=values.dtype) for name, values in cells.items()}
    )


def _plain(column: Any) -> Any:
    """The values themselves of a dictionary-encoded column, such as a pandas categorical."""
    return column.dictionary_decode() if _types().is_dictionary(column.type) else column


def _inferred(column: Any, dialect: Dialect) -> Any:
    """Dates, numbers (also those stored as text), or else text."""
    if _types().is_timestamp(column.type):
        return column.to_pandas().array
    if _types().is_boolean(column.type):
        return _texts(column, dialect)
    try:
        numbers = _numbers(column, dialect)
    except ValueError:
        return _texts(column, dialect)
    whole = _types().is_integer(column.type) and not np.isnan(numbers).any()
    return column.to_numpy(zero_copy_only=False) if whole else numbers


def _numbers(column: Any, dialect: Dialect) -> Floats:
    """Numbers, NaN for missing ones.

    Raises
    ------
    ValueError
        If a cell is neither.
    """
    if _is_numeric(column.type) or _types().is_boolean(column.type):
        numbers = column.to_numpy(zero_copy_only=False).astype(float)
    else:
        texts = _texts(column, dialect)
        values = {text: dialect.number(text) for text in _distinct(texts)}
        numbers = np.array([values.get(text, np.nan) for text in texts], float)
    numbers[np.isin(numbers, _missing_numbers(dialect))] = np.nan
    return numbers


def _texts(column: Any, dialect: Dialect) -> NDArray[np.object_]:
    """Texts without surrounding spaces, NaN for missing ones."""
    written = _written(column)
    whole = [int(number) for number in _missing_numbers(dialect) if number.is_integer()]
    tokens = {*dialect.tokens, *map(str, whole), *(f"{number}.0" for number in whole)}  # as pandas does
    changed: dict[str, Any] = {}
    for text in _distinct(written):
        trimmed = text.strip(" ")
        if trimmed in tokens:
            changed[text] = np.nan
        elif trimmed != text:
            changed[text] = trimmed
    if not changed:
        return written
    return _objects([changed.get(text, text) for text in written])


def _written(column: Any) -> NDArray[np.object_]:
    """What pandas would write to a CSV file, with NaN for nulls."""
    if _types().is_floating(column.type):
        numbers = column.to_numpy(zero_copy_only=False)
        return np.where(np.isnan(numbers), np.nan, numbers.astype(str).astype(object))
    if _types().is_integer(column.type):
        column = column.cast("string")
    if _types().is_string(column.type) or _types().is_large_string(column.type):
        texts = column.to_numpy(zero_copy_only=False)
    else:
        texts = _objects([_text(value) for value in column.to_pandas().to_numpy(object)])
    return np.where(column.is_null().to_numpy(zero_copy_only=False), np.nan, texts)


def _text(value: Any) -> str:
    if isinstance(value, bytes):  # some programs store text so
        return value.decode("utf-8", "backslashreplace")
    # Without a time, as in a column of days: the rest of the column is not known here.
    if isinstance(value, pandas().Timestamp) and value.tzinfo is None and value == value.normalize():
        return str(value.date())
    return str(value)


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    return np.fromiter(values, object, len(values))


def _distinct(texts: NDArray[np.object_]) -> list[str]:
    return pandas().Series(texts, dtype=object).dropna().unique().tolist()


def _missing_numbers(dialect: Dialect) -> list[float]:
    """The numbers that stand for missing values."""
    others = replace(dialect, missing=())
    return [others.number(token) for token in dialect.missing if others.is_number(token)]


def _is_numeric(kind: Any) -> bool:
    types = _types()
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _types() -> Any:
    return imported("pyarrow", "Parquet files").types
