"""Parquet files as tables.

A cell means what it would mean in a CSV file written by pandas, whatever else is in its block.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet, types

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.blocks import Block, Part, numbers_of, trimmed, values
from ffmlp.tables.tables import DataFile, Dialect, Kinds, LocatedError, check_names, split
from ffmlp.tables.text_files import LONGEST_ROW

# What pandas calls an index without a name: it labels rows and is not data.
_INDEX_WITHOUT_NAME = re.compile(r"__index_level_\d+__")
_NUMERIC = (types.is_integer, types.is_floating, types.is_decimal)
# What columns hold, in words, and the tests of their types; the first that fits counts.
_WORDS = {
    "": (types.is_null,),
    "numbers": _NUMERIC,
    "booleans": (types.is_boolean,),
    "dates or times": (types.is_temporal,),
}
_BYTES_OF_A_CELL = 8
# Bytes of the texts of a block. To know how many rows these are, a few are read first, then more.
_MOST_BYTES, _FIRST_ROWS, _GROWTH = 2**25, 4, 128


@dataclass(frozen=True)
class ParquetTable(DataFile):
    """A Parquet file; ``rows`` are the first row and the end of a section of it."""

    path: Path
    source: Path
    dialect: Dialect
    rows: tuple[int, int] | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column names, and the name of a pandas index if it has one."""
        with self._opened() as file:
            stored = file.schema_arrow.names
        names = tuple(name for name in stored if not _INDEX_WITHOUT_NAME.fullmatch(name))
        check_names(self.path, names, "")
        return names

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[dict[str, Floats | IndexedColumn]]:
        """The columns of blocks: numbers unless some cells are not, or texts."""
        for start, columns in self._batches(n_rows, self.columns):
            found = {}
            for name, column in columns.items():
                with self._located(), self._decoded(name, column, start):
                    found[name] = self._texts(column) if name in texts else self._inferred(column)
            yield found

    def parts(self, n_rows: int, kinds: Kinds, kept: Sequence[str] = ()) -> Iterator[Part]:
        """Functions that return the blocks; any thread may call them."""
        for start, columns in self._batches(n_rows, [*dict.fromkeys((*kinds, *kept))]):
            yield partial(self._block, columns, start, kinds, kept)

    @property
    def cell_types(self) -> dict[str, str]:
        """What columns hold; a column of None says nothing."""
        with self._opened() as file:
            schema = file.schema_arrow
        return {name: word for name in self.columns if (word := _word(schema.field(name).type))}

    @property
    def n_bytes(self) -> int:
        """The memory that all cells take: 8 bytes each, or the size of the file without compression."""
        with self._opened() as file:
            metadata = file.metadata
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        n_cells = metadata.num_rows * len(self.columns)
        return max(_BYTES_OF_A_CELL * n_cells, sum(group.total_byte_size for group in groups))

    @property
    def n_rows(self) -> int:
        """The number of rows of the file."""
        with self._opened() as file:
            return file.metadata.num_rows

    @property
    def whole(self) -> ParquetTable:
        """The file of a section."""
        return replace(self, rows=None)

    def sections(self, n_rows: int) -> Iterator[ParquetTable]:
        """Tables of at most ``n_rows`` rows: some row groups, or an equal part of a larger one."""
        with self._opened() as file:
            cuts = _cuts(_ends(file.metadata).tolist(), n_rows)
        for rows in itertools.pairwise(cuts):
            yield replace(self, source=self.source.absolute(), rows=rows)

    def location(self, row: int, column: str) -> str:
        """File, row and column of a cell."""
        return f"{self.path}, row {row + 1}, column {self.columns.index(column) + 1} ({column!r})"

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file, whose pages must have their checksums, if it has any, and its groups all rows."""
        with self._located(), parquet.ParquetFile(self.source, page_checksum_verification=True) as file:
            n_rows, in_groups = file.metadata.num_rows, int(_ends(file.metadata)[-1:].sum())
            if n_rows != in_groups:
                raise ValueError(
                    f"it says that it has {n_rows} rows, but its row groups have {in_groups}"
                )
            yield file

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Report what cannot be read in one line, with the name of the file."""
        try:
            yield
        except LocatedError:
            raise
        except (OSError, ValueError, OverflowError, pyarrow.ArrowException) as error:
            what = str(error).partition("\n")[0]
            raise LocatedError(f"{self.path} cannot be read as Parquet: {what}") from error

    @contextmanager
    def _decoded(self, name: str, column: Any, start: int) -> Iterator[None]:
        """Report the first cell of a column that is not text, if there is one."""
        try:
            yield
        except ValueError:
            if types.is_string(column.type) or types.is_large_string(column.type):
                content = column.cast(pyarrow.large_string()).view(pyarrow.large_binary())
                for row, cell in enumerate(content.to_pylist(), start=start):
                    if cell is not None and cell.decode(errors="ignore").encode() != cell:
                        problem = f"not valid UTF-8, got {cell!r}. Write the column as text in UTF-8."
                        raise LocatedError(f"{self.location(row, name)}: {problem}") from None
            raise

    def _batches(self, n_rows: int, names: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The columns of each block of rows, and the number of rows before it.

        Blocks have ``n_rows`` rows, or fewer where texts are so long that these would take too much
        memory: a file of a kilobyte may have gigabytes of them.
        """
        with self._opened() as file:
            start, end = self.rows or (0, file.metadata.num_rows)
            schema = file.schema_arrow  # made anew each time
            long = [name for name in names if not _is_small(schema.field(name).type)]
            size = self._first_size(file, start, end, n_rows, long) if long else n_rows
            while start < end:
                for batch in _rows(file, start, end, size, names):
                    columns = {name: _plain(batch[name]) for name in names}
                    fitting = self._fitting(start, {name: columns[name] for name in long})
                    yield start, columns
                    start += len(batch)
                    if fitting is not None and 2 * fitting < size:
                        size = fitting  # not for less: Arrow begins again with the row group
                        break
                else:  # no rows are left, whatever the file says
                    return

    def _first_size(self, file: Any, start: int, end: int, n_rows: int, long: Sequence[str]) -> int:
        """The rows of a block, by the texts of a few rows, then of more."""
        size = min(n_rows, _FIRST_ROWS)
        while size < n_rows:
            batch = next(_rows(file, start, end, size, long), None)
            if batch is None or len(batch) == end - start:
                break
            fitting = self._fitting(start, {name: _plain(batch[name]) for name in long}) or n_rows
            if fitting <= size:
                return fitting
            size = min(n_rows, fitting, _GROWTH * size)
        return size

    def _fitting(self, start: int, columns: dict[str, Any]) -> int | None:
        """How many such rows fit into a block, None for any number; an error if a cell is too long."""
        n_bytes = n_rows = 0
        for name, column in columns.items():
            n_rows, n_bytes = len(column), n_bytes + column.nbytes
            if column.nbytes > LONGEST_ROW and (row := _too_long(column)) is not None:
                place = self.location(start + row, name)
                raise LocatedError(f"{place}: longer than {LONGEST_ROW} bytes.")
        return max(1, _MOST_BYTES * n_rows // n_bytes) if n_bytes else None

    def _block(self, columns: dict[str, Any], start: int, kinds: Kinds, kept: Sequence[str]) -> Block:
        numbers, texts = split(kinds)
        with self._located():
            cells = np.empty((len(numbers), len(next(iter(columns.values())))))
            for own, name in zip(cells, numbers, strict=True):
                with self._decoded(name, columns[name], start):
                    own[:] = self._finite(name, columns[name], start)
            found, copied = [], []
            for name in texts:
                with self._decoded(name, columns[name], start):
                    found.append(self._texts(columns[name]))
            for name in kept:
                with self._decoded(name, columns[name], start):
                    copied.append(_strings(columns[name]))
            return Block(cells.T, tuple(found), tuple(copied))

    def _finite(self, name: str, column: Any, start: int) -> Floats:
        """The numbers of a column, or an error with the first cell that is not a finite number."""
        try:
            numbers = self._numbers(column)
        except ValueError:
            texts = self._texts(column)
            wrong = [i for i, text in enumerate(texts.distinct) if not self.dialect.is_number(text)]
            first = int(np.argmax(np.isin(texts.indices, wrong)))
            text = texts.distinct[texts.indices[first]]
            problem = f"expected a number, got {text!r}. {self.dialect.remedy(text)}"
            raise LocatedError(f"{self.location(start + first, name)}: {problem}") from None
        infinite = np.flatnonzero(np.isinf(numbers)).tolist()
        if infinite:
            place = self.location(start + infinite[0], name)
            raise LocatedError(f"{place}: numbers must be finite, got {numbers[infinite[0]]}.")
        return numbers

    def _inferred(self, column: Any) -> Floats | IndexedColumn:
        """Numbers (also those stored as text), or else texts."""
        if types.is_boolean(column.type):
            return self._texts(column)
        try:
            return self._numbers(column)
        except ValueError:
            return self._texts(column)

    def _numbers(self, column: Any) -> Floats:
        """Numbers, NaN for missing ones; a ValueError if a cell is neither."""
        if not any(is_of_type(column.type) for is_of_type in (*_NUMERIC, types.is_boolean)):
            return numbers_of(self._texts(column), self.dialect)
        if types.is_decimal(column.type):  # the nearest floats
            column = column.cast(pyarrow.string())
        numbers = values(column.cast(pyarrow.float64(), safe=False), np.nan)
        missing = self.dialect.missing_numbers
        return np.where(np.isin(numbers, missing), np.nan, numbers) if missing else numbers

    def _texts(self, column: Any) -> IndexedColumn:
        encoded, texts = _encoded(column)
        indexed = IndexedColumn(values(encoded.indices, -1), texts)
        return trimmed(indexed, self.dialect.missing_texts)


def _rows(file: Any, first: int, end: int, n_rows: int, names: Sequence[str]) -> Iterator[Any]:
    """Arrow's batches of ``n_rows`` rows at most, from the first row to the end."""
    ends = _ends(file.metadata)
    starts = np.append(0, ends[:-1])
    groups = np.flatnonzero((starts < end) & (ends > first)).tolist()
    start = int(starts[groups[0]]) if groups else 0
    for batch in file.iter_batches(n_rows, row_groups=groups, columns=list(names)):
        skipped = max(0, first - start)
        own = batch.slice(skipped, max(0, end - start - skipped))
        if len(own):
            yield own
        start += len(batch)


def _is_small(arrow_type: Any) -> bool:
    """Whether all cells of this type take the same few bytes."""
    tests = (types.is_primitive, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(arrow_type) for test in tests)


def _too_long(column: Any) -> int | None:
    """The first text that is longer than a row of a text file may be, if any."""
    kinds: tuple[tuple[type[np.integer], tuple[Any, ...]], ...] = (
        (np.int32, (types.is_string, types.is_binary)),
        (np.int64, (types.is_large_string, types.is_large_binary)),
    )
    for kind, tests in kinds:
        if any(test(column.type) for test in tests):
            ends = np.frombuffer(column.buffers()[1], kind)[column.offset :][: len(column) + 1]
            return next(iter(np.flatnonzero(np.diff(ends) > LONGEST_ROW).tolist()), None)
    return None


def _ends(metadata: Any) -> NDArray[np.int64]:
    """The number of rows up to the end of each row group."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return np.cumsum([group.num_rows for group in groups], dtype=np.int64)


def _cuts(ends: list[int], n_rows: int) -> list[int]:
    """Where to cut a file so that no part has more than ``n_rows`` rows, between row groups if possible.

    Examples
    --------
    >>> from ffmlp.tables.parquet_tables import _cuts
    >>> _cuts([4, 8, 12, 32], n_rows=10)
    [0, 8, 12, 22, 32]
    """
    cuts = [0]
    for first, end in itertools.pairwise([0, *ends]):
        if end - cuts[-1] <= n_rows:
            continue
        if cuts[-1] < first:
            cuts.append(first)
        n_parts = -(-(end - first) // n_rows)
        cuts += [first + number * (end - first) // n_parts for number in range(1, n_parts)]
    return cuts if cuts[-1:] == ends[-1:] else [*cuts, *ends[-1:]]


def _word(arrow_type: Any) -> str:
    """What a column of this type holds, in words."""
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    found = (word for word, tests in _WORDS.items() if any(test(arrow_type) for test in tests))
    return next(found, "texts")


def _plain(column: Any) -> Any:
    """The values themselves of a dictionary-encoded column, such as a pandas categorical."""
    if types.is_null(column.type):  # pandas writes a column of None so
        return column.cast("string")
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def _strings(column: Any) -> Any:
    """What pandas would write to a CSV file, as an Arrow array of strings."""
    if types.is_string(column.type):
        column.validate(full=True)  # that it is UTF-8
        return column
    encoded, texts = _encoded(column)
    texts = ["" if types.is_floating(column.type) and text == "nan" else text for text in texts]
    content = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, content)], dtype=np.int32)
    # Of buffers: to make an array of a list, Arrow would import pandas.
    buffers = map(pyarrow.py_buffer, (ends, b"".join(content)))
    distinct = pyarrow.StringArray.from_buffers(len(texts), *buffers)
    return pyarrow.DictionaryArray.from_arrays(encoded.indices, distinct).dictionary_decode()


def _encoded(column: Any) -> tuple[Any, list[str]]:
    """A column by its distinct values, and what pandas would write for each of them."""
    if types.is_nested(column.type):  # Arrow does not find the distinct ones
        column = pyarrow.array(
            [None if cell is None else str(np.array(cell)) for cell in column.to_pylist()]
        )
    if types.is_timestamp(column.type):  # nanoseconds would need pandas
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary
    if types.is_floating(distinct.type):
        texts = values(distinct, np.nan).astype(str).tolist()
    else:
        texts = [_text(value) for value in distinct.to_pylist()]
    return encoded, texts


def _text(value: Any) -> str:
    if isinstance(value, bytes):  # some programs store text so
        return value.decode("utf-8", "backslashreplace")
    # Without a time, as in a column of days: the rest of the column is not known here.
    if isinstance(value, datetime.datetime) and value.tzinfo is None and value.time() == datetime.time():
        return str(value.date())
    return str(value)
