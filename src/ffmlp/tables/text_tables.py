"""CSV and TSV files as tables.

Blocks can be parsed in parallel, by compiled code where lines are plain and by pandas elsewhere. Where
pandas fails, the file is read again, slowly, to find the line and column of the error.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ffmlp.tables.blocks import Block, Part, trimmed
from ffmlp.tables.plain_lines import n_delimiters, plain_block
from ffmlp.tables.quotes import is_open_after, opened_in
from ffmlp.tables.tables import NAME, NUMBER, TEXT, Dialect, Kinds, check_names, pandas, with_ids
from ffmlp.tables.text_files import LocatedError, blocks_of_lines, end_of_header, opened, opened_bytes

if TYPE_CHECKING:
    import pandas as pd

_DELIMITERS = ",;\t|"
# The lines that a delimiter must split into equally many cells.
_FIRST_LINES = 20
_SPACE, _LF, _CR = b" \n\r"
# The most that the csv module can be set to; its default refuses cells that pandas reads.
_LONGEST_CELL = 2**31 - 1


@dataclass(frozen=True)
class TextTable:
    """A CSV or TSV file."""

    path: Path
    columns: tuple[str, ...]
    delimiter: str
    dialect: Dialect

    @classmethod
    def of(cls, path: Path, dialect: Dialect, delimiter: str | None) -> TextTable:
        """Read the header; a delimiter of None is detected from it and the first rows."""
        with opened(path, dialect) as file:
            first = list(itertools.islice(filter(str.strip, file), _FIRST_LINES))
            if not first:
                raise ValueError(f"{path} is empty.")
            if "\0" in first[0]:
                raise UnicodeError("zero bytes")  # reported with the likely encoding
            if delimiter is None:
                delimiter = _delimiter(path, first, dialect)
            file.seek(0)
            _, header = next(_records(path, file, delimiter))
        names = tuple(name.strip() for name in header)
        check_names(path, names, "line 1: ")
        return cls(path, names, delimiter, dialect)

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows; the type of a column is inferred unless it is one of ``texts``."""
        with opened(self.path, self.dialect) as file:
            kinds = dict.fromkeys(texts, TEXT)
            yield from self._parsed(file, 0, n_rows, kinds, dict.fromkeys(texts, str))

    def blocks(self, n_rows: int, kinds: Kinds) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds: floats, or text with NaN for missing."""
        with opened(self.path, self.dialect) as file:
            yield from self._rows(file, 0, n_rows, kinds)

    def parts(self, n_rows: int, kinds: Kinds, id_column: str | None = None) -> Iterator[Part]:
        """Functions that return the blocks, of about ``n_rows`` rows; any thread may call them.

        They parse lines, up to the first quote that is not closed on its line. From there on a row may
        span several lines, and its end is known only once all rows before it are parsed.
        """
        with opened_bytes(self.path, self.dialect) as file:
            start = end_of_header(file) if self.dialect.encoding == "utf-8" else None
            header = 0 if start is None else None
            if start is not None:
                for lines in blocks_of_lines(file, n_rows):
                    if not self._are_rows(lines):
                        break
                    start += len(lines)
                    yield partial(self._of_lines, lines, kinds, id_column)
                else:
                    return
            file.seek(start or 0)
            text = io.TextIOWrapper(file, self.dialect.decoder, newline="")
            for frame in self._rows(text, header, n_rows, with_ids(kinds, id_column)):
                yield partial(Block.of, frame, kinds, id_column)

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """The line number and the cells of each row, as written (without pandas)."""
        n_cells = None
        with opened(self.path, self.dialect) as file:
            for line, cells in itertools.islice(_records(self.path, file, self.delimiter), 1, None):
                self._check_length(line, cells, n_cells)
                n_cells = len(cells)
                yield line, cells[: len(self.columns)]

    def place(self, row: int, column: str) -> str:
        """File, line and column of a cell."""
        with opened(self.path, self.dialect) as file:
            records = _records(self.path, file, self.delimiter)
            line = next(line for number, (line, _) in enumerate(records, start=-1) if number == row)
        return self.place_in_line(line, self.columns.index(column))

    def place_in_line(self, line: int, column: int) -> str:
        """The same for a line number; columns count from 0."""
        return f"{self.path}, line {line}, column {column + 1} ({self.columns[column]!r})"

    @cached_property
    def _named(self) -> list[str]:
        """A name for every column, even where the header has none."""
        return [name or f"\0{number}" for number, name in enumerate(self.columns)]

    def _rows(
        self, file: IO[str], header: int | None, n_rows: int, kinds: Kinds
    ) -> Iterator[pd.DataFrame]:
        for parsed in self._parsed(file, header, n_rows, kinds, self._types(kinds)):
            yield self._of_kinds(parsed, kinds)

    def _parsed(
        self, file: IO[str], header: int | None, n_rows: int, kinds: Kinds, types: dict[str, type]
    ) -> Iterator[pd.DataFrame]:
        with self._located(kinds), warnings.catch_warnings():
            warnings.simplefilter("error", pandas().errors.ParserWarning)  # cells would get lost
            options = {**self._options(kinds), "chunksize": n_rows, "skipinitialspace": True}
            watched = _Watched(file, self)
            for block in pandas().read_csv(watched, header=header, dtype=types, **options):
                self._check_last(block, kinds)
                yield block

    def _are_rows(self, lines: bytes) -> bool:
        """Whether each line is a row; pandas does not mind a first line that is too long."""
        first = lines[: lines.find(b"\n") + 1]
        return (
            lines.endswith(b"\n")
            and n_delimiters(first, self.delimiter) == len(self.columns) - 1
            and (b'"' not in lines or n_delimiters(lines, self.delimiter) is not None)
            and (b"\r" not in lines or lines.count(b"\r") == lines.count(b"\r\n"))
        )

    def _of_lines(self, lines: bytes, kinds: Kinds, id_column: str | None) -> Block:
        block = plain_block(lines, self.delimiter, self.dialect, self.columns, kinds, id_column)
        if block is not None:
            return block
        all_kinds = with_ids(kinds, id_column)
        with self._located(all_kinds):
            parsed = self._numbers_and_texts(lines, all_kinds)
            # pandas accepts a first line that is too long, in each chunk that it reads.
            if n_delimiters(lines, self.delimiter) != len(parsed) * (len(self.columns) - 1):
                self.check_lengths()
            self._check_last(parsed, all_kinds)
            return Block.of(self._of_kinds(parsed, all_kinds), kinds, id_column)

    def _numbers_and_texts(self, lines: bytes, kinds: Kinds) -> pd.DataFrame:
        """Cells as numbers and texts; pandas is faster when it infers the numbers itself."""
        types = self._types(kinds)
        # Skipping spaces costs pandas a fifth of its time, and so does a large buffer.
        options = {**self._options(kinds), "skipinitialspace": b" " in lines, "low_memory": True}
        read = partial(pandas().read_csv, header=None, **options)
        texts = {name: kind for name, kind in types.items() if kind is str}
        parsed: pd.DataFrame = read(io.BytesIO(lines), dtype=texts)
        found = {name: parsed[name].dtype.kind for name in types if name not in texts}
        if not set(found.values()) <= {"f", "i"}:
            return read(io.BytesIO(lines), dtype=types)
        integers = {name: float for name, kind in found.items() if kind == "i"}
        return parsed.astype(integers) if integers else parsed

    def _types(self, kinds: Kinds) -> dict[str, type]:
        # All columns are read: otherwise, pandas would not see lines that are too long.
        return {name: float if kinds.get(name) == NUMBER else str for name in self._named}

    def _options(self, kinds: Kinds) -> dict[str, Any]:
        """The arguments of `pandas.read_csv`."""
        tokens: Any = list(self.dialect.tokens)
        if NAME in kinds.values():
            tokens = {name: tokens for name in self._named if kinds.get(name) != NAME}
        return {
            "sep": self.delimiter, "names": self._named, "index_col": False, "low_memory": False,
            "keep_default_na": False, "na_values": tokens, "decimal": self.dialect.decimal,
        }  # fmt: skip

    def _of_kinds(self, parsed: pd.DataFrame, kinds: Kinds) -> pd.DataFrame:
        chosen, texts = parsed[list(kinds)], [name for name, kind in kinds.items() if kind != NUMBER]
        if texts:
            chosen = chosen.astype(dict.fromkeys(texts, object))
        for name, kind in kinds.items():
            if kind == NUMBER and np.isinf(chosen[name].to_numpy()).any():
                self._raise_located(kinds)
            if kind == TEXT:
                # pandas drops leading spaces itself.
                chosen[name] = trimmed(chosen[name], {*self.dialect.tokens}, str.rstrip)
        return chosen

    def _check_last(self, block: pd.DataFrame, kinds: Kinds) -> None:
        """Check the lengths if the last cell of a row is missing: the line may be too short."""
        last = block.iloc[:, -1]
        if (last == "" if kinds.get(self._named[-1]) == NAME else last.isna()).any():
            self.check_lengths()

    def check_lengths(self) -> None:
        """Refuse rows of different lengths; the file is read for it once."""
        _ = self._lengths

    @cached_property
    def _lengths(self) -> None:
        self._raise_located({})

    @contextmanager
    def _located(self, kinds: Kinds) -> Iterator[None]:
        """Report parse errors with their line and column."""
        try:
            yield
        except (ValueError, Warning) as error:
            if isinstance(error, LocatedError):
                raise
            # This is how pandas reports Ctrl-C while it reads; read errors are passed on as they are.
            if "Calling read(nbytes) on source failed" in str(error):
                raise KeyboardInterrupt from error
            self._raise_located(kinds)
            raise ValueError(f"{self.path} cannot be read: {error}") from error

    def _raise_located(self, kinds: Kinds) -> None:
        """Raise an error for the first line of a wrong length or with a wrong number, if any."""
        numbers = [column for column, name in enumerate(self.columns) if kinds.get(name) == NUMBER]
        for line, cells in self.lines():
            for column in numbers:
                self._check_number(line, column, cells[column])

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

    def _check_number(self, line: int, column: int, cell: str) -> None:
        if not self.dialect.is_number(cell):
            problem = f"expected a number, got {cell!r}. {self.dialect.remedy(cell)}"
        elif np.isinf(self.dialect.number(cell)):
            problem = f"numbers must be finite, got {cell.strip()}."
        else:
            return
        raise LocatedError(f"{self.place_in_line(line, column)}: {problem}")


class _Watched:
    """Text on its way to pandas, checked for unbalanced quotes, which pandas reads without an error."""

    def __init__(self, file: IO[str], table: TextTable) -> None:
        self._file = file
        self._table = table
        self._rest: list[str] = []
        self._is_open = False

    def __iter__(self) -> Iterator[str]:  # pandas takes an object with it for a file
        return iter(self._file)

    def read(self, size: int = -1) -> str:
        """The next characters; the whole lines among them are checked."""
        text = self._file.read(size)
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        if end or not text:
            self._look("".join([*self._rest, text[:end] or "\n"]))
            self._rest = []
        self._rest.append(text[end:])
        return text

    def _look(self, lines: str) -> None:
        delimiter = self._table.delimiter
        letters = np.frombuffer(f"\n{lines}\n".encode(), np.uint8)
        ends = (letters == _LF) | (letters == _CR)
        marks = letters == ord(delimiter)
        if '"' in lines:
            self._is_open = is_open_after(lines, delimiter, self._is_open, letters, ends | marks)
        # The regular expression takes ten times as long, and few lines end so.
        some = (ends[1:] & (marks | (letters == _SPACE))[:-1]).any()
        if some and re.search(rf"{re.escape(delimiter)} *[\r\n]", lines):
            self._table.check_lengths()


def _delimiter(path: Path, lines: Sequence[str], dialect: Dialect) -> str:
    """The delimiter that splits the first lines into equally many cells, or the most frequent one."""
    unquoted = "".join(lines[0].split('"')[::2])
    # Commas come last: they may be decimal marks.
    alike = [mark for mark in reversed(_DELIMITERS) if _splits_alike(path, lines, mark)]
    if len(alike) > 1 and dialect.decimal in alike:
        alike.remove(dialect.decimal)
    return max(alike or _DELIMITERS, key=unquoted.count)


def _splits_alike(path: Path, lines: Sequence[str], delimiter: str) -> bool:
    try:
        (_, header), *records = _records(path, lines, delimiter)
    except LocatedError:
        return False
    # All rows may have a trailing delimiter.
    lengths = {len(cells) - (not cells[-1] and len(cells) == len(header) + 1) for _, cells in records}
    return len(header) > 1 and lengths <= {len(header)}


def _records(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The first line and the cells of each record; blank lines are skipped."""
    csv.field_size_limit(_LONGEST_CELL)
    start = 0

    def checked() -> Iterator[str]:
        nonlocal start
        since = None  # the line of a quote that is still open
        for number, line in enumerate(lines, start=1):
            if since is None:
                if not line.strip(" \t\r\n") and delimiter not in line:
                    continue
                start = number
            if '"' in line:
                try:
                    since = opened_in(line, delimiter, number, since)
                except ValueError as error:
                    raise LocatedError(f"{path}, {error}") from None
            yield line
        if since is not None:
            raise LocatedError(f"{path}, line {since}: a quote is opened but never closed.")

    for cells in csv.reader(checked(), delimiter=delimiter, skipinitialspace=True):
        yield start, cells
