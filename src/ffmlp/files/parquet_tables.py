"""Parquet files as tables (needs pyarrow)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ffmlp.files.tables import NUMBER, check_names, known

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file."""

    path: Path

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        names = tuple(self._file().schema_arrow.names)
        check_names(self.path, names, "")
        return names

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows whose columns have the type that they are stored with, or text if told so."""
        for block in self._blocks(n_rows, self.columns):
            yield block.assign(**{name: _texts(block[name]) for name in texts})

    def blocks(self, n_rows: int, kinds: Mapping[str, str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds: floats, or text with NaN for missing."""
        start = 0
        for block in self._blocks(n_rows, list(kinds)):
            for name, kind in kinds.items():
                if kind == NUMBER:
                    block[name] = self._numbers(block[name], start)
                else:
                    block[name] = _texts(block[name])
            start += len(block)
            yield block

    def parts(self, n_rows: int, kinds: Mapping[str, str]) -> Iterator[Callable[[], pd.DataFrame]]:
        """Functions that give the blocks, and may be called in any thread."""
        for block in self.blocks(n_rows, kinds):
            yield partial(known, block)

    def place(self, row: int, column: str) -> str:
        """File, row and column of a cell."""
        return f"{self.path}, row {row + 1}, column {self.columns.index(column) + 1} ({column!r})"

    def _file(self) -> Any:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError as error:
            raise ImportError(f"{self.path}: Parquet files need pyarrow: pip install pyarrow") from error
        try:
            return parquet.ParquetFile(self.path)
        except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
            raise ValueError(f"{self.path} cannot be read as Parquet: {error}") from error

    def _blocks(self, n_rows: int, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        file = self._file()
        try:
            for batch in file.iter_batches(n_rows, columns=list(columns)):
                block = batch.to_pandas()[list(columns)]
                for field in batch.schema:
                    if "binary" in str(field.type):  # how some programs store text
                        block[field.name] = block[field.name].map(_decoded, na_action="ignore")
                yield block
        except OSError as error:
            raise ValueError(f"{self.path} cannot be read as Parquet: {error}") from error

    def _numbers(self, column: pd.Series, start: int) -> pd.Series:
        try:
            numbers = column.astype(float)
        except (TypeError, ValueError):
            for row, value in enumerate(column, start=start):
                try:
                    float(value)
                except (TypeError, ValueError):
                    if value is not None and value == value:
                        place = self.place(row, str(column.name))
                        raise ValueError(f"{place}: a number is needed, got {value!r}.") from None
            numbers = column.map(lambda value: float("nan") if value is None else float(value))
        infinite = np.flatnonzero(np.isinf(numbers.to_numpy()))
        if len(infinite):
            place = self.place(start + int(infinite[0]), str(column.name))
            raise ValueError(f"{place}: numbers must be finite, got {numbers.iat[infinite[0]]}.")
        return numbers


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _texts(column: pd.Series) -> pd.Series:
    """The values as text; missing ones stay missing."""
    return column.astype(str).astype(object).mask(column.isna(), float("nan"))
