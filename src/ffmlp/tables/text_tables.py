"""CSV and TSV files as tables.

Arrow parses blocks of rows, in any thread. Where it fails, the file is read again, slowly, to find the
line and column of the error.
"""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.extras import imported
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.blocks import Block, Part, numbers_of, trimmed, values
from ffmlp.tables.tables import (
    COMPRESSIONS,
    NUMBER,
    TEXT,
    DataFile,
    Dialect,
    Kinds,
    LocatedError,
    check_names,
    split,
)
from ffmlp.tables.text_files import (
    blocks_of_rows,
    detected_delimiter,
    first_lines,
    measured,
    numbered_lines,
    opened,
    opened_text,
    records,
    without_leading_spaces,
)

# Bytes of text in a byte of a compressed file, and the most that are read in one piece.
_COMPRESSION, _MOST_BYTES_IN_ONE = 5, 2**30
# The kind of a column whose cells are copied.
_KEPT = "kept"


@dataclass(frozen=True)
class TextTable(DataFile):
    """A CSV or TSV file; its rows begin at byte ``start``.

    All rows may have a trailing delimiter, and so one cell more than there are columns. ``section`` are
    the first byte and the end of some rows of the file.
    """

    path: Path
    source: Path
    columns: tuple[str, ...]
    delimiter: str
    dialect: Dialect
    start: int
    n_cells: int
    section: tuple[int, int] | None = None

    @classmethod
    def of(
        cls, path: Path, dialect: Dialect, delimiter: str | None, source: Path | None = None
    ) -> TextTable:
        """Read the header; a delimiter of None is detected from it and the first rows."""
        source = source or path
        with opened_text(source, dialect.encoding, path) as text:
            first = first_lines(path, text)
            if not first:
                raise ValueError(f"{path} is empty.")
            if "\0" in first[0]:
                raise UnicodeError("zero bytes")  # reported with the likely encoding
            if delimiter is None:
                delimiter = detected_delimiter(path, first, dialect)
        with opened_text(source, dialect.encoding, path) as text:
            taken = [0]
            rows = records(path, measured(text, taken), delimiter)
            _, header = next(rows)
            start = taken[0]
            _, row = next(rows, (0, []))
        names = tuple(name.strip() for name in header)
        check_names(path, names, "line 1: ")
        n_cells = len(names) + (len(row) == len(names) + 1 and not row[-1])
        return cls(path, source, names, delimiter, dialect, start, n_cells)

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[dict[str, Floats | IndexedColumn]]:
        """The columns of blocks: numbers unless some cells are not, or texts."""
        kinds = {name: TEXT if name in texts else NUMBER for name in self.columns if name}
        with self._located({}):
            for lines in self._row_blocks(n_rows):
                columns = self._columns(lines, kinds)
                # Those that are texts once are read as texts at once.
                kinds |= {name: TEXT for name in kinds if isinstance(columns[name], IndexedColumn)}
                yield {name: self._without_missing(column) for name, column in columns.items()}

    def parts(self, n_rows: int, kinds: Kinds, kept: Sequence[str] = ()) -> Iterator[Part]:
        """Functions that return the blocks, of about ``n_rows`` rows; any thread may call them."""
        with self._located(kinds):
            for lines in self._row_blocks(n_rows):
                yield partial(self._block, lines, kinds, kept)

    @property
    def n_bytes(self) -> int:
        """The memory that all cells take: about as much as their text."""
        size = self.source.stat().st_size
        return size * _COMPRESSION if self._is_compressed else size

    @property
    def whole(self) -> TextTable:
        """The file of a section."""
        return replace(self, section=None)

    def sections(self, n_rows: int) -> Iterator[TextTable]:
        """Tables of about ``n_rows`` rows each. Compressed and transcoded files are not cut."""
        whole = replace(self, source=self.source.absolute())
        if self._is_compressed or self.dialect.encoding != "utf-8":
            if self.n_bytes > _MOST_BYTES_IN_ONE:
                why = "compressed" if self._is_compressed else f"in {self.dialect.encoding}"
                raise ValueError(
                    f"{self.path} is {why}, so that it can only be read in one piece, and takes about "
                    f"{self.n_bytes / 1e9:.1f} GB of memory. Write it as Parquet or as plain UTF-8."
                )
            yield whole
            return
        with opened(self.source, self.dialect.encoding, self.path) as file:
            file.read(self.start)
            begin = file.tell()
            for _ in blocks_of_rows(file, n_rows, self.delimiter):
                end = file.tell()
                yield replace(whole, section=(begin, end))
                begin = end

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """The line number and the cells of each row, as written (without Arrow)."""
        n_cells = None
        with self._records() as rows:
            for line, cells in itertools.islice(rows, 1, None):
                self._check_length(line, cells, n_cells)
                n_cells = len(cells)
                yield line, cells[: len(self.columns)]

    def location(self, row: int, column: str) -> str:
        """File, line and column of a cell."""
        with self._records() as rows:
            line, _ = next(itertools.islice(rows, row + 1, None))
        return self.location_in_line(line, self.columns.index(column))

    def location_in_line(self, line: int, column: int) -> str:
        """The same for a line number; columns count from 0."""
        return f"{self.path}, line {line}, column {column + 1} ({self.columns[column]!r})"

    @contextmanager
    def _records(self) -> Iterator[Iterator[tuple[int, list[str]]]]:
        with opened_text(self.source, self.dialect.encoding, self.path) as text:
            yield records(self.path, text, self.delimiter)

    def _row_blocks(self, n_rows: int) -> Iterator[bytes]:
        with opened(self.source, self.dialect.encoding, self.path) as file:
            if self.section is None:
                file.read(self.start)
                yield from blocks_of_rows(file, n_rows, self.delimiter)
            else:
                begin, end = self.section
                file.seek(begin)
                yield from blocks_of_rows(io.BytesIO(file.read(end - begin)), n_rows, self.delimiter)

    @property
    def _is_compressed(self) -> bool:
        return self.source.suffix.lower() in COMPRESSIONS

    def _block(self, lines: bytes, kinds: Kinds, kept: Sequence[str]) -> Block:
        numbers, texts = split(kinds)
        with self._located(kinds):
            columns = self._columns(lines, dict.fromkeys(kept, _KEPT) | dict(kinds))
            # A column that the model takes too is read again, as it is written.
            twice = self._columns(lines, {name: _KEPT for name in kept if name in kinds})
            cells = np.empty((len(numbers), len(next(iter(columns.values())))))
            for own, name in zip(cells, numbers, strict=True):
                column = columns[name]
                own[:] = (
                    numbers_of(column, self.dialect) if isinstance(column, IndexedColumn) else column
                )
            cells = self._without_missing(cells)
            if np.isinf(cells).any():
                raise ValueError("numbers must be finite")
        found = tuple(self._without_missing(columns[name]) for name in texts)
        return Block(cells.T, found, tuple((columns | twice)[name] for name in kept))

    def _without_missing(self, cells: Any) -> Any:
        """Texts or numbers without those that stand for missing values."""
        if isinstance(cells, IndexedColumn):
            return trimmed(cells, self.dialect.missing_texts)
        missing = self.dialect.missing_numbers
        return np.where(np.isin(cells, missing), np.nan, cells) if missing else cells

    def _columns(self, lines: bytes, kinds: Kinds) -> dict[str, Any]:
        """Columns by name, as they are written: floats, indexed texts, or an Arrow array of strings.

        Instead of floats, texts are returned where Arrow finds something else.
        """
        if not kinds:
            return {}
        if not lines.isascii():
            lines.decode()  # an error if it is not UTF-8
        lines = without_leading_spaces(lines, self.delimiter)
        pyarrow = imported("pyarrow", "data files")
        text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        type_of = {NUMBER: pyarrow.float64(), TEXT: text, _KEPT: pyarrow.string()}
        wanted = {name: type_of[kind] for name, kind in kinds.items()}
        try:
            table = self._parsed(lines, wanted)
        except pyarrow.ArrowInvalid:
            numbers = [name for name, kind in kinds.items() if kind == NUMBER]
            if not numbers:
                raise
            found = self._parsed(lines, wanted | dict.fromkeys(numbers))
            types = pyarrow.types  # of columns whose cells are all numbers or missing
            numeric = (types.is_null, types.is_integer, types.is_floating)
            odd = [name for name in numbers if not any(test(found[name].type) for test in numeric)]
            table = self._parsed(lines, wanted | dict.fromkeys(odd, text))
        return {name: _cells(table[name].combine_chunks()) for name in kinds}

    def _parsed(self, lines: bytes, types: Mapping[str, Any]) -> Any:
        """An Arrow table of the columns of these types; a type of None is inferred."""
        pyarrow, arrow_csv = (imported(name, "data files") for name in ("pyarrow", "pyarrow.csv"))
        every = [str(number) for number in range(self.n_cells)]
        place = {name: every[self.columns.index(name)] for name in types}
        extra = every[len(self.columns) :]
        if lines.startswith(codecs.BOM_UTF8):  # part of a cell: Arrow would drop it
            lines = codecs.BOM_UTF8 + lines
        known = {place[name]: own for name, own in types.items() if own is not None}
        table = arrow_csv.read_csv(
            pyarrow.py_buffer(lines),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(lines), column_names=every),
            arrow_csv.ParseOptions(delimiter=self.delimiter),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                include_columns=[*place.values(), *extra],
                column_types=known | dict.fromkeys(extra, pyarrow.string()),
                null_values=list(self.dialect.tokens),
                decimal_point=self.dialect.decimal,
            ),
        )
        if any(cell for name in extra for cell in table[name].to_pylist()):
            raise pyarrow.ArrowInvalid("a cell without a column")
        return table.select(list(place.values())).rename_columns(list(place))

    @contextmanager
    def _located(self, kinds: Kinds) -> Iterator[None]:
        """Report errors with their line and column."""
        try:
            yield
        except LocatedError:
            raise
        except ValueError as error:
            self._raise_located(kinds)
            raise ValueError(f"{self.path} cannot be read: {error}") from error

    def _raise_located(self, kinds: Kinds) -> None:
        """Raise an error for the first line that is wrong, too long, or has a wrong number, if any."""
        numbers = [column for column, name in enumerate(self.columns) if kinds.get(name) == NUMBER]
        for line, cells in self.lines():
            for column in numbers:
                cell, place = cells[column], self.location_in_line(line, column)
                if not self.dialect.is_number(cell):
                    remedy = self.dialect.remedy(cell)
                    raise LocatedError(f"{place}: expected a number, got {cell!r}. {remedy}")
                if np.isinf(self.dialect.number(cell)):
                    raise LocatedError(f"{place}: numbers must be finite, got {cell.strip()}.")
        with opened(self.source, self.dialect.encoding, self.path) as file:
            for _ in numbered_lines(file, self.path, "bytes"):  # Arrow ends lines at line feeds only
                pass

    def _check_length(self, line: int, cells: list[str], n_before: int | None) -> None:
        """Refuse a row of another length than the header; all rows may have a trailing delimiter."""
        place, n_columns, n_cells = f"{self.path}, line {line}", len(self.columns), len(cells)
        if n_cells != n_columns and not (n_cells == n_columns + 1 and not cells[-1]):
            raise LocatedError(f"{place}: the header has {n_columns} columns, this line has {n_cells}.")
        if n_before not in (None, n_cells):
            raise LocatedError(
                f"{place}: this line has {n_cells} cells, earlier lines have {n_before}. A trailing "
                "delimiter must be on every line or on none."
            )


def _cells(column: Any) -> Any:
    """Floats with NaN for missing ones, indexed texts, or the Arrow array itself if it has strings."""
    types = imported("pyarrow", "data files").types
    if types.is_dictionary(column.type):
        return IndexedColumn(values(column.indices, -1), column.dictionary.to_pylist())
    return values(column, np.nan) if types.is_floating(column.type) else column
