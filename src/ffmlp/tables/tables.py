"""Data files as tables of named columns: CSV and TSV, plain or compressed, and Parquet.

Files are read in blocks, so that one which is larger than memory can be read as well.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.tables.blocks import Block

# What the cells of a column are: in names, no text stands for a missing value.
NUMBER, TEXT, NAME = "number", "text", "name"
# "None" is not among them: it is the name of a class or category too often.
MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-NaN", "-nan",
    "NULL", "null", "Null",
)  # fmt: skip
KINDS_OF_FILES = ".csv, .tsv (also .gz, .bz2 or .xz) or .parquet"
COMPRESSIONS: dict[str, Callable[[Path, str], IO[bytes]]] = {
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".bz2": bz2.open,  # type: ignore[dict-item]
    ".xz": lzma.open,  # type: ignore[dict-item]
}


@dataclass(frozen=True)
class Dialect:
    """How cells are written: tokens for a missing value beside `MISSING`, decimal mark and encoding."""

    missing: tuple[str, ...] = ()
    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"the decimal mark must be '.' or ',', got {self.decimal!r}.")

    @property
    def decoder(self) -> str:
        """The encoding, less the mark that some programs put first: it is no part of the first name."""
        return "utf-8-sig" if self.encoding == "utf-8" else self.encoding

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens of a missing value."""
        return MISSING + self.missing

    def number(self, cell: str) -> float:
        """The number that is written in a cell, NaN if it is missing.

        Raises
        ------
        ValueError
            If it is none of both.
        """
        if cell.lstrip(" ") in self.tokens:  # as pandas has it
            return float("nan")
        if "_" in cell or (self.decimal != "." and "." in cell):
            raise ValueError(f"{cell!r} is no number.")
        return float(cell.replace(self.decimal, "."))

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number or missing."""
        try:
            self.number(cell)
        except ValueError:
            return False
        return True

    def has_thousands(self, cell: str) -> bool:
        """Whether a cell is a number whose thousands are separated, such as 12,345.6."""
        mark, decimal = map(re.escape, (",", ".") if self.decimal == "." else (".", self.decimal))
        return bool(re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}({mark}\d{{3}})+({decimal}\d*)?", cell.strip()))

    @property
    def without_thousands(self) -> str:
        """What to do about them, in the words of a message."""
        also = "; only decimal commas need --decimal ','" if self.decimal == "." else ""
        return f"Separators of thousands must be removed{also}."


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

    def parts(
        self, n_rows: int, kinds: Mapping[str, str], id_column: str | None = None
    ) -> Iterator[Callable[[], Block]]:
        """Functions that give the blocks, of about so many rows, and may be called in any thread."""

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
        from ffmlp.tables.parquet_tables import ParquetTable

        _check_file(path)
        return ParquetTable(path, dialect)
    if kind not in (".csv", ".tsv", ".tab", ".txt"):
        raise ValueError(f"{path}: a file of data must be {KINDS_OF_FILES}.")
    from ffmlp.tables.text_tables import TextTable

    _check_file(path)
    return TextTable.of(path, dialect, "\t" if kind in (".tsv", ".tab") else None)


def with_ids(kinds: Mapping[str, str], id_column: str | None) -> dict[str, str]:
    """The kinds of all columns of a block."""
    return dict(kinds) if id_column is None else {**kinds, id_column: NAME}


def check_names(path: Path, names: Sequence[str], line: str) -> None:
    """Refuse a header in which a name occurs twice, or all are numbers or empty."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name and name in seen:
            raise ValueError(f"{path}, {line}columns {seen[name]} and {number} are both named {name!r}.")
        seen[name] = number
    if not any(names):
        raise ValueError(f"{path}, {line}there are no names of columns.")
    if all(Dialect().is_number(name) for name in names):
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


def _check_file(path: Path) -> None:
    if path.is_dir() or not path.exists():
        raise ValueError(f"{path}: {'this is a folder' if path.is_dir() else 'there is no such file'}.")
    if not path.is_file():
        raise ValueError(f"{path}: this is no ordinary file, which could be read more than once.")
