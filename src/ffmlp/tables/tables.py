"""Data files as tables of named columns: CSV and TSV, plain or compressed, and Parquet.

Files are read in blocks of rows, so they may be larger than memory.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ffmlp.extras import imported

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.arrays import Floats
    from ffmlp.inputs.columns import IndexedColumn
    from ffmlp.tables.blocks import Part

# What the cells of a column are.
NUMBER, TEXT = "number", "text"
Kinds = Mapping[str, str]  # of columns by name
# "None" is not one of them: too often it is the name of a class or category.
MISSING = (
    "", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-NaN", "-nan",
    "NULL", "null", "Null",
)  # fmt: skip
# Text files by the end of their name; a delimiter of None is detected when such a file is read.
TEXT_FILES = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
COMPRESSIONS: dict[str, Callable[[Path, str], IO[bytes]]] = {
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".bz2": bz2.open,  # type: ignore[dict-item]
    ".xz": lzma.open,  # type: ignore[dict-item]
}
PARQUET = ".parquet"
DECIMAL_COMMAS = "For decimal commas, add --decimal ','."


@dataclass(frozen=True)
class Dialect:
    """How cells are written: tokens for missing values besides `MISSING`, decimal mark and encoding."""

    missing: tuple[str, ...] = ()
    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"the decimal mark must be '.' or ',', got {self.decimal!r}.")

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """All tokens for missing values."""
        return MISSING + self.missing

    @cached_property
    def missing_numbers(self) -> tuple[float, ...]:
        """The numbers that stand for missing values, however they are written."""
        others = replace(self, missing=())
        return tuple(others.number(token) for token in self.missing if others.is_number(token))

    @cached_property
    def missing_texts(self) -> frozenset[str]:
        """The texts that stand for missing values, among them whole numbers with and without ``.0``."""
        whole = [int(number) for number in self.missing_numbers if number.is_integer()]
        return frozenset((*self.tokens, *map(str, whole), *(f"{number}.0" for number in whole)))

    def number(self, cell: str) -> float:
        """The number in a cell, NaN if it is missing; a ValueError if it is neither."""
        if cell.lstrip(" ") in self.tokens:
            return float("nan")
        if "_" in cell or (self.decimal != "." and "." in cell):
            raise ValueError(f"{cell!r} is not a number.")
        number = float(cell.replace(self.decimal, "."))
        return float("nan") if number in self.missing_numbers else number

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number or missing."""
        try:
            self.number(cell)
        except ValueError:
            return False
        return True

    def has_decimal_comma(self, cell: str) -> bool:
        """Whether a cell is a number with a decimal comma, such as 1,5."""
        return "," in cell and replace(self, decimal=",").is_number(cell)

    def has_thousands(self, cell: str) -> bool:
        """Whether a cell is a number with thousands separators, such as 12,345.6."""
        mark, decimal = map(re.escape, (",", ".") if self.decimal == "." else (".", self.decimal))
        return bool(re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}({mark}\d{{3}})+({decimal}\d*)?", cell.strip()))

    def remedy(self, cell: str) -> str:
        """What to do about a cell that should be a number."""
        if self.has_thousands(cell):
            also = f" {DECIMAL_COMMAS}" if self.decimal == "." else ""
            return f"Remove the thousands separators.{also}"
        if self.has_decimal_comma(cell):
            return DECIMAL_COMMAS
        return f"If it stands for a missing value, add --missing {cell!r}."


class LocatedError(ValueError):
    """An error whose message already has the place in the file."""


class DataTable(Protocol):
    """A data file whose header has been read.

    ``path`` is its name in messages, ``columns`` are the column names (empty for columns without one),
    and ``dialect`` is how its cells are written.
    """

    path: Path
    columns: tuple[str, ...]
    dialect: Dialect

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[dict[str, Floats | IndexedColumn]]:
        """The columns of blocks of about ``n_rows`` rows: numbers unless some cells are not, or texts.

        Columns of ``texts`` are texts in any case.
        """

    def blocks(self, n_rows: int, kinds: Kinds) -> Iterator[pd.DataFrame]:
        """Blocks of ``n_rows`` rows with the columns of the given kinds: floats, or text or NaN."""
        numbers, texts = split(kinds)
        rest: list[pd.DataFrame] = []
        for part in self.parts(n_rows, kinds):
            rest.append(part().frame(numbers, texts)[list(kinds)])
            while sum(map(len, rest)) >= n_rows:
                frame = joined(rest)
                yield frame[:n_rows]
                rest = [frame[n_rows:]]
        if sum(map(len, rest)):
            yield joined(rest)

    def parts(self, n_rows: int, kinds: Kinds, kept: Sequence[str] = ()) -> Iterator[Part]:
        """Functions that return the blocks, of about ``n_rows`` rows; any thread may call them.

        The cells of ``kept`` columns are texts as they are written; none of them stands for missing.
        """

    def location(self, row: int, column: str) -> str:
        """Where a cell is, for messages; rows count from 0, in a section from its file's first row."""

    @property
    def whole(self) -> DataTable:
        """The file that this is a section of; a table that is no section is whole."""
        return self


class DataFile(DataTable, Protocol):
    """A data file as it is, which can be cut into sections of rows."""

    @property
    def names(self) -> list[str]:
        """The names of all its files."""
        return [str(self.path)]

    @property
    def cell_types(self) -> dict[str, str]:
        """What the cells of columns are, in words, where the file says it."""
        return {}

    @property
    def n_bytes(self) -> int:
        """The memory that all its cells take, approximately."""

    @property
    def n_rows(self) -> int | None:
        """The number of its rows, where the file says it."""
        return None

    def sections(self, n_rows: int) -> Iterator[DataTable]:
        """Tables of about ``n_rows`` successive rows each, which can be read wherever the file is."""


def opener(path: Path) -> Callable[[Path, str], IO[bytes]]:
    """How to open a file that is compressed as this name says."""
    return COMPRESSIONS.get(path.suffix.lower(), Path.open)


def file_type(path: Path) -> str:
    """`PARQUET` or a key of `TEXT_FILES`, by the end of a file's name; an error if it is neither."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] in ([PARQUET], [".pq"]):
        return PARQUET
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in TEXT_FILES:
        raise ValueError(
            f"{path}: unknown file type. Use .csv, .tsv (also with .gz, .bz2 or .xz) or .parquet."
        )
    return suffixes[-1]


def is_table(path: Path) -> bool:
    """Whether a file is a data file, by its name."""
    try:
        file_type(path)
    except ValueError:
        return False
    return True


def check_names(path: Path, names: Sequence[str], line: str) -> None:
    """Refuse a header with a repeated name, without names, or with numbers only."""
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name and name in seen:
            raise ValueError(f"{path}, {line}columns {seen[name]} and {number} are both named {name!r}.")
        seen[name] = number
    if not any(names):
        raise ValueError(f"{path}, {line}the columns have no names.")
    if all(Dialect().is_number(name) for name in names):
        raise ValueError(
            f"{path}, {line}the column names are all numbers: {', '.join(names[:4])}"
            f"{', …' if len(names) > 4 else ''}. Add a header with names."
        )


def pandas() -> Any:
    """The module, imported when it is needed."""
    return imported("pandas", "data files")


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The rows of frames of the same columns; their categories are united, which pandas does not do."""
    columns = {}
    for name in frames[0]:
        parts = [frame[name] for frame in frames]
        if frames[0].dtypes[name] == "category":
            columns[name] = pandas().Series(pandas().api.types.union_categoricals(parts))
        else:
            columns[name] = pandas().concat(parts, ignore_index=True)
    return pandas().DataFrame(columns)


def split(kinds: Kinds) -> tuple[list[str], list[str]]:
    """The names of the numeric and of the text columns."""
    numbers = [name for name, kind in kinds.items() if kind == NUMBER]
    return numbers, [name for name in kinds if name not in numbers]
