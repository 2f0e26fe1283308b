"""Parquet files as tables (needs pyarrow).

A cell means what it would mean in a CSV file written by pandas, whatever else is in its block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import parquet, types

from ffmlp.arrays import Floats
from ffmlp.tables.blocks import Block, Part, trimmed
from ffmlp.tables.tables import NAME, NUMBER, Dialect, Kinds, check_names, with_ids

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
        with self._opened() as file:
            stored = file.schema_arrow.names
        names = tuple(name for name in stored if not _INDEX_WITHOUT_NAME.fullmatch(name))
        check_names(self.path, names, "")
        return names

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows; the type of a column is inferred unless it is one of ``texts``."""
        for _, columns in self._batches(n_rows, self.columns):
            readers = {name: self._texts if name in texts else self._inferred for name in columns}
            yield pd.DataFrame({name: read(columns[name]) for name, read in readers.items()})

    def blocks(self, n_rows: int, kinds: Kinds) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds: floats, or text with NaN for missing."""
        for start, columns in self._batches(n_rows, kinds):
            yield self._of_kinds(columns, start, kinds)

    def parts(self, n_rows: int, kinds: Kinds, id_column: str | None = None) -> Iterator[Part]:
        """Functions that return the blocks; any thread may call them."""
        for start, columns in self._batches(n_rows, with_ids(kinds, id_column)):
            yield partial(self._block, columns, start, kinds, id_column)

    def place(self, row: int, column: str) -> str:
        """File, row and column of a cell."""
        return f"{self.path}, row {row + 1}, column {self.columns.index(column) + 1} ({column!r})"

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            with parquet.ParquetFile(self.path) as file:
                yield file
        except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
            raise ValueError(f"{self.path} cannot be read as Parquet: {error}") from error

    def _batches(self, n_rows: int, names: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The columns of each block of rows, and the number of rows before it."""
        start = 0
        with self._opened() as file:
            for batch in file.iter_batches(n_rows, columns=list(names)):
                yield start, {name: _plain(batch[name]) for name in names}
                start += len(batch)

    def _block(self, columns: dict[str, Any], start: int, kinds: Kinds, id_column: str | None) -> Block:
        frame = self._of_kinds(columns, start, with_ids(kinds, id_column))
        return Block.of(frame, kinds, id_column)

    def _of_kinds(self, columns: dict[str, Any], start: int, kinds: Kinds) -> pd.DataFrame:
        cells: dict[str, Any] = {}
        for name, kind in kinds.items():
            if kind == NUMBER:
                cells[name] = self._finite(name, columns[name], start)
            else:
                cells[name] = _written(columns[name]) if kind == NAME else self._texts(columns[name])
        return pd.DataFrame(cells)

    def _finite(self, name: str, column: Any, start: int) -> Floats:
        """The numbers of a column, or an error with the first cell that is not a finite number."""
        try:
            numbers = self._numbers(column)
        except ValueError:
            for row, text in enumerate(self._texts(column), start=start):
                if text == text and not self.dialect.is_number(text):
                    problem = f"expected a number, got {text!r}. {self.dialect.remedy(text)}"
                    raise ValueError(f"{self.place(row, name)}: {problem}") from None
            raise
        infinite = np.flatnonzero(np.isinf(numbers)).tolist()
        if infinite:
            place = self.place(start + infinite[0], name)
            raise ValueError(f"{place}: numbers must be finite, got {numbers[infinite[0]]}.")
        return numbers

    def _inferred(self, column: Any) -> Any:
        """Dates, numbers (also those stored as text), or else text."""
        if types.is_timestamp(column.type):
            return column.to_pandas()
        if types.is_boolean(column.type):
            return self._texts(column)
        try:
            numbers = self._numbers(column)
        except ValueError:
            return self._texts(column)
        whole = types.is_integer(column.type) and not np.isnan(numbers).any()
        return column.to_numpy(zero_copy_only=False) if whole else numbers

    def _numbers(self, column: Any) -> Floats:
        """Numbers, NaN for missing ones; a ValueError if a cell is neither."""
        numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
        if any(is_of_type(column.type) for is_of_type in numeric):
            numbers = column.to_numpy(zero_copy_only=False).astype(float)
        else:
            texts = self._texts(column)
            values = {text: self.dialect.number(text) for text in texts.dropna().unique()}
            numbers = texts.map(values).to_numpy(float)
        return np.where(np.isin(numbers, self._missing_numbers), np.nan, numbers)

    def _texts(self, column: Any) -> pd.Series:
        """Texts without surrounding spaces, NaN for missing ones."""
        whole = [int(number) for number in self._missing_numbers if number.is_integer()]
        tokens = {*self.dialect.tokens, *map(str, whole), *(f"{number}.0" for number in whole)}
        return trimmed(_written(column), tokens, str.strip)

    @cached_property
    def _missing_numbers(self) -> list[float]:
        """The numbers that stand for missing values, however they are written, as in pandas."""
        others = replace(self.dialect, missing=())
        return [others.number(token) for token in self.dialect.missing if others.is_number(token)]


def _plain(column: Any) -> Any:
    """The values themselves of a dictionary-encoded column, such as a pandas categorical."""
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def _written(column: Any) -> pd.Series:
    """What pandas would write to a CSV file, with NaN for nulls."""
    missing = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if types.is_integer(column.type):
        column = column.cast("string")
    if types.is_string(column.type) or types.is_large_string(column.type):
        texts = column.to_numpy(zero_copy_only=False)
    elif types.is_floating(column.type):
        texts = column.to_numpy(zero_copy_only=False).astype(str)
    else:
        texts = [_text(value) for value in column.to_pandas().to_numpy(object)]
    cells = pd.Series(texts, dtype=object)
    cells[missing] = np.nan
    return cells


def _text(value: Any) -> str:
    if isinstance(value, bytes):  # some programs store text so
        return value.decode("utf-8", "backslashreplace")
    # Without a time, as in a column of days: the rest of the column is not known here.
    if isinstance(value, pd.Timestamp) and value.tzinfo is None and value == value.normalize():
        return str(value.date())
    return str(value)
