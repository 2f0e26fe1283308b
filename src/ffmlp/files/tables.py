"""Data files as tables of named columns: CSV and TSV, plain or compressed, and Parquet.

Files are read in blocks, so that one which is larger than memory can be read as well. pandas does the
parsing; where it stumbles, the file is read again slowly to tell which line and column is wrong.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from ffmlp.files.decoding import undecodable

if TYPE_CHECKING:
    import pandas as pd

NUMBER, TEXT = "number", "text"
# "None" is not among them: it is the name of a class or category too often.
MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-NaN", "-nan",
    "NULL", "null", "Null",
)  # fmt: skip
# The csv module takes no more; by itself it would refuse cells that pandas reads.
_LONGEST_CELL = 2**31 - 1
DELIMITERS = ",;\t|"
KINDS_OF_FILES = ".csv, .tsv (also .gz, .bz2 or .xz) or .parquet"


@dataclass(frozen=True)
class Dialect:
    """How cells are written: tokens for a missing value beside `MISSING`, decimal mark and encoding."""

    missing: tuple[str, ...] = ()
    decimal: str = "."
    encoding: str = "utf-8"

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens of a missing value."""
        return MISSING + self.missing


class Table(Protocol):
    """A data file whose header has been read."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; empty for those that have none."""

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows whose columns have the type that their cells suggest, or text if told so."""

    def blocks(self, n_rows: int, kinds: Mapping[str, str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds: floats, or text with NaN for missing."""

    def place(self, row: int, column: str) -> str:
        """Where a cell is, in the words of a message; rows count from 0."""


def open_table(path: Path, dialect: Dialect = Dialect()) -> Table:  # noqa: B008  (it is frozen)
    """Read the header of a data file.

    Raises
    ------
    ValueError
        If there is none, or it is of no kind that can be read.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in COMPRESSIONS else "".join(suffixes[-1:])
    if kind in (".parquet", ".pq") and kind == suffixes[-1]:
        from ffmlp.files.parquet_tables import ParquetTable

        _check_file(path)
        return ParquetTable(path)
    if kind not in (".csv", ".tsv", ".tab", ".txt"):
        raise ValueError(f"{path}: a file of data must be {KINDS_OF_FILES}.")
    _check_file(path)
    return TextTable.of(path, dialect, "\t" if kind in (".tsv", ".tab") else None)


def check_names(path: Path, names: Sequence[str], line: str) -> None:
    """Refuse a header in which a name occurs twice, or all are numbers or empty."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name and name in seen:
            raise ValueError(f"{path}, {line}columns {seen[name]} and {number} are both named {name!r}.")
        seen[name] = number
    if not any(names):
        raise ValueError(f"{path}, {line}there are no names of columns.")
    if all(_is_number(name, Dialect()) for name in names):
        raise ValueError(
            f"{path}, {line}the first line must name the columns, but it has numbers only: "
            f"{', '.join(names[:4])}{', …' if len(names) > 4 else ''}."
        )


def pandas() -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError("data files need pandas: pip install 'ffmlp[cli]'") from error


def refuse_infinite(table: Table, block: pd.DataFrame, start: int) -> None:
    """Tell where a number is infinite, if one is."""
    numbers = block.select_dtypes("number")
    infinite = np.isinf(numbers.to_numpy())
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        place = table.place(start + int(row), str(numbers.columns[column]))
        raise ValueError(f"{place}: numbers must be finite, got {numbers.iat[row, column]}.")


@dataclass(frozen=True)
class TextTable:
    """A CSV or TSV file."""

    path: Path
    columns: tuple[str, ...]
    delimiter: str
    dialect: Dialect

    @classmethod
    def of(cls, path: Path, dialect: Dialect, delimiter: str | None) -> TextTable:
        """Read the header; a delimiter of None is the most frequent one in it."""
        with _readable(path, dialect.encoding), _opened(path, dialect) as file:
            first = next((line for line in file if line.strip()), None)
        if first is None:
            raise ValueError(f"{path} is empty.")
        if "\0" in first:
            with _opened_bytes(path) as binary:
                raise ValueError(f"{path}, {undecodable(binary, dialect.encoding)}")
        if delimiter is None:
            unquoted = "".join(first.split('"')[::2])
            delimiter = max(DELIMITERS, key=unquoted.count)
        with _readable(path, dialect.encoding), _opened(path, dialect) as file:
            _, header = next(_records(file, delimiter))
        names = tuple(name.strip() for name in header)
        check_names(path, names, "line 1: ")
        return cls(path, names, delimiter, dialect)

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows whose columns have the type that their cells suggest, or text if told so."""
        yield from self._parsed(n_rows, dict.fromkeys(texts, TEXT), dict.fromkeys(texts, str))

    def blocks(self, n_rows: int, kinds: Mapping[str, str]) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds: floats, or text with NaN for missing."""
        # Columns that nobody asked for are read as well: pandas would not see lines that are too long.
        types = {name: float if kinds.get(name) == NUMBER else str for name in self._named}
        start = 0
        texts = dict.fromkeys((name for name, kind in kinds.items() if kind == TEXT), object)
        for parsed in self._parsed(n_rows, kinds, types):
            block = parsed[list(kinds)].astype(texts)
            refuse_infinite(self, block, start)
            start += len(block)
            yield block

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """The line and the cells of each row, as they are written (needs no pandas)."""
        with self._text() as file:
            records = _records(file, self.delimiter)
            next(records)
            for line, cells in records:
                self._check_length(line, cells)
                yield line, cells[: len(self.columns)]

    def place(self, row: int, column: str) -> str:
        """File, line and column of a cell."""
        with self._text() as file:
            records = _records(file, self.delimiter)
            line = next(line for number, (line, _) in enumerate(records, start=-1) if number == row)
        return self.place_in_line(line, self.columns.index(column))

    def place_in_line(self, line: int, column: int) -> str:
        """The same; columns count from 0."""
        return f"{self.path}, line {line}, column {column + 1} ({self.columns[column]!r})"

    @contextmanager
    def _text(self) -> Iterator[io.TextIOWrapper]:
        with _readable(self.path, self.dialect.encoding), _opened(self.path, self.dialect) as file:
            yield file

    @cached_property
    def _named(self) -> list[str]:
        """A name for every column, also where the header has none."""
        return [name or f"\0{number}" for number, name in enumerate(self.columns)]

    def _parsed(
        self, n_rows: int, kinds: Mapping[str, str], types: Mapping[str, Any]
    ) -> Iterator[pd.DataFrame]:
        read_csv, errors = pandas().read_csv, pandas().errors
        checked = False
        try:
            with self._text() as file, warnings.catch_warnings():
                warnings.simplefilter("error", errors.ParserWarning)  # cells would get lost
                reader = read_csv(
                    file, sep=self.delimiter, header=0, names=self._named, index_col=False,
                    dtype=dict(types), keep_default_na=False, na_values=list(self.dialect.tokens),
                    decimal=self.dialect.decimal, skipinitialspace=True, chunksize=n_rows,
                    low_memory=False,
                )  # fmt: skip
                for block in reader:
                    # Lines that are too short end with missing cells.
                    if not checked and block.iloc[:, -1].isna().any():
                        self._complain(kinds, None)
                        checked = True
                    yield block
        except (errors.ParserError, errors.ParserWarning, UnicodeDecodeError, ValueError) as error:
            if isinstance(error, _LocatedError):
                raise
            # What pandas makes of Ctrl-C while it reads; errors of reading itself come through.
            if "Calling read(nbytes) on source failed" in str(error):
                raise KeyboardInterrupt from error
            self._complain(kinds, error)
            raise ValueError(f"{self.path} cannot be read: {error}") from error

    def _complain(self, kinds: Mapping[str, str], error: Exception | None) -> None:
        """Raise an error about the first line that is wrong, if there is one."""
        numbers = [column for column, name in enumerate(self.columns) if kinds.get(name) == NUMBER]
        if error is not None and "EOF inside string" in str(error):
            with self._text() as file:
                line = max(line for line, _ in _records(file, self.delimiter))
            raise _LocatedError(f"{self.path}, line {line}: a quote is opened and never closed.")
        for line, cells in self.lines():
            for column in numbers if error is not None else ():
                if not _is_number(cells[column], self.dialect):
                    self._refuse_number(line, column, cells[column])

    def _check_length(self, line: int, cells: list[str]) -> None:
        n_columns = len(self.columns)
        if len(cells) != n_columns and not (len(cells) == n_columns + 1 and not cells[-1]):
            raise _LocatedError(
                f"{self.path}, line {line}: the header has {n_columns} columns, this line has "
                f"{len(cells)}."
            )

    def _refuse_number(self, line: int, column: int, cell: str) -> NoReturn:
        raise _LocatedError(
            f"{self.place_in_line(line, column)}: a number is needed, got {cell!r}. If that stands for "
            f"a missing value, add --missing {cell!r}."
        )


class _LocatedError(ValueError):
    """An error that says already where it is."""


def _check_file(path: Path) -> None:
    if path.is_dir() or not path.exists():
        raise ValueError(f"{path}: {'this is a folder' if path.is_dir() else 'there is no such file'}.")
    if not path.is_file():
        raise ValueError(f"{path}: this is no ordinary file, which could be read more than once.")


COMPRESSIONS: dict[str, Callable[[Path, str], IO[bytes]]] = {
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".bz2": bz2.open,  # type: ignore[dict-item]
    ".xz": lzma.open,  # type: ignore[dict-item]
}


def _opened_bytes(path: Path) -> IO[bytes]:
    opener = COMPRESSIONS.get(path.suffix.lower())
    return path.open("rb") if opener is None else opener(path, "rb")


def _opened(path: Path, dialect: Dialect) -> io.TextIOWrapper:
    # The mark that some programs put first is no part of the first name.
    encoding = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    return io.TextIOWrapper(_opened_bytes(path), encoding, newline="")


@contextmanager
def _readable(path: Path, encoding: str) -> Iterator[None]:
    """Errors of decompressing and decoding as errors that say where they are."""
    try:
        yield
    except UnicodeError as error:
        with _opened_bytes(path) as file:
            raise _LocatedError(f"{path}, {undecodable(file, encoding)}") from error
    except (ValueError, ImportError):
        raise
    except Exception as error:  # each of the formats has errors of its own
        if path.suffix.lower() not in COMPRESSIONS:
            raise
        raise _LocatedError(f"{path} cannot be decompressed: {error}") from error


def _records(file: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line that each record begins in, and its cells; blank lines are none."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
    line = 1
    for cells in reader:
        if len(cells) > 1 or "".join(cells).strip():
            yield line, cells
        line = reader.line_num + 1


def _is_number(cell: str, dialect: Dialect) -> bool:
    """Whether a cell is a number or missing."""
    if cell.strip() in dialect.tokens:
        return True
    try:
        float(cell.replace(dialect.decimal, "."))
    except ValueError:
        return False
    return "_" not in cell and (dialect.decimal == "." or "." not in cell)
