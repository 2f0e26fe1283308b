"""Opening data files: one of any type, standard input, or several as one table."""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ffmlp.extras import require
from ffmlp.storage.whole_files import NO_SPACE, temporary_file
from ffmlp.tables.tables import (
    COMPRESSIONS,
    PARQUET,
    TEXT,
    TEXT_FILES,
    DataFile,
    DataTable,
    Dialect,
    Kinds,
    file_type,
    is_table,
)
from ffmlp.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.arrays import Floats
    from ffmlp.inputs.columns import IndexedColumn
    from ffmlp.tables.blocks import Part


# A fit in memory takes several times the memory of the cells, most of it for copies of the rows.
LARGEST_SHARE = 0.1
# Cells of a section, and its fewest rows.
_CELLS_AT_ONCE, _FEWEST_ROWS = 4_000_000, 1000
# Limits of the group of processes, as containers set them (versions 2 and 1).
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def is_large(table: DataFile) -> bool:
    """Whether the cells of a table take more than a tenth of the memory, where that is known."""
    limit = memory_limit()
    return limit is not None and table.n_bytes > LARGEST_SHARE * limit


def sections_of(table: DataFile) -> Iterator[DataTable]:
    """The sections in which a large table is read, one at a time in each thread or worker."""
    return table.sections(max(_FEWEST_ROWS, _CELLS_AT_ONCE // len(table.columns)))


def memory_limit() -> int | None:
    """The bytes of memory that this process may use; None if the system does not say it."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in map(Path, _LIMITS):
        text = path.read_text().strip() if path.is_file() else ""
        limits += [int(text)] if text.isdecimal() else []  # the other text is max
    return min(limits)


STANDARD_INPUT = Path("-")
# The first bytes of files that are not plain text.
_PARQUET_BEGINNING = b"PAR1"
_COMPRESSED_BEGINNINGS = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz"}


def open_table(path: Path, dialect: Dialect = Dialect()) -> DataFile:  # noqa: B008  (it is frozen)
    """Read the header of a data file; a ValueError if that is not possible."""
    require("data files", "pyarrow")
    if path == STANDARD_INPUT:
        path, (kind, source) = Path("standard input"), _copied_input()
    else:
        if path.is_dir():
            raise ValueError(f"{path} is a folder. Give the name of a file.")
        kind, source = file_type(path), path
        if not path.exists():
            raise ValueError(f"{path} does not exist.")
        if not path.is_file():
            raise ValueError(f"{path} is not a regular file, so it cannot be read twice.")
    if kind == PARQUET:
        from ffmlp.tables.parquet_tables import ParquetTable

        return ParquetTable(path, source, dialect)
    from ffmlp.tables.text_tables import TextTable

    return TextTable.of(path, dialect, TEXT_FILES[kind], source)


def _copied_input() -> tuple[str, Path]:
    """The type of standard input, and a copy of it without compression, because files are read twice.

    Where that is possible, the copy has no name and disappears with the process, however that ends.
    """
    with ExitStack() as received:
        copy = _copied(sys.stdin.buffer, received)
        with copy.open("rb") as file:
            beginning = file.read(8)
        ends = (end for mark, end in _COMPRESSED_BEGINNINGS.items() if beginning.startswith(mark))
        end = next(ends, None)
        kept = ExitStack() if end else received.pop_all()
        atexit.register(kept.close)
        if end is not None:
            try:
                with COMPRESSIONS[end](copy, "rb") as content:
                    copy = _copied(content, kept)
            except ValueError:
                raise
            except Exception as error:  # each format has its own errors
                raise ValueError(f"standard input cannot be decompressed: {error}") from error
    return PARQUET if beginning.startswith(_PARQUET_BEGINNING) else ".csv", copy


def _copied(content: IO[bytes], files: ExitStack) -> Path:
    """A temporary file with this content, which is one of the open files."""
    folder = Path(tempfile.gettempdir())
    copy = files.enter_context(temporary_file(folder))
    try:
        with copy.open("wb") as file:
            shutil.copyfileobj(content, file)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        raise ValueError(
            f"standard input cannot be copied to {folder}: {error.strerror}. Name a folder with more "
            "space in TMPDIR, or give the name of a file."
        ) from error
    return copy


_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True)
class JoinedTable(DataFile):
    """Files with the same columns, one after the other, in the order of the first file."""

    path: Path
    columns: tuple[str, ...]
    dialect: Dialect
    files: tuple[DataFile, ...]

    @property
    def names(self) -> list[str]:
        """The names of all files."""
        return [name for file in self.files for name in file.names]

    @property
    def cell_types(self) -> dict[str, str]:
        """What columns hold, where a file says it."""
        return {name: word for file in self.files for name, word in file.cell_types.items()}

    @property
    def n_bytes(self) -> int:
        """The memory that all cells take, approximately."""
        return sum(file.n_bytes for file in self.files)

    @property
    def n_rows(self) -> int | None:
        """The number of rows of all files, where all say it."""
        each = [file.n_rows for file in self.files]
        known = [n_rows for n_rows in each if n_rows is not None]
        return sum(known) if len(known) == len(each) else None

    def sections(self, n_rows: int) -> Iterator[DataTable]:
        """Tables of about ``n_rows`` rows each; none has rows of two files."""
        return chain.from_iterable(file.sections(n_rows) for file in self.files)

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[dict[str, Floats | IndexedColumn]]:
        """The columns of blocks: numbers unless some cells are not, or texts."""
        return chain.from_iterable(file.inferred(n_rows, texts) for file in self.files)

    def blocks(self, n_rows: int, kinds: Kinds) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds; none has rows of two files."""
        return chain.from_iterable(file.blocks(n_rows, kinds) for file in self.files)

    def parts(self, n_rows: int, kinds: Kinds, kept: Sequence[str] = ()) -> Iterator[Part]:
        """Functions that return the blocks; any thread may call them."""
        return chain.from_iterable(file.parts(n_rows, kinds, kept) for file in self.files)

    def location(self, row: int, column: str) -> str:
        """File, row or line, and column of a cell."""
        for file in self.files:
            n_rows = sum(map(len, file.blocks(_ROWS_AT_ONCE, {column: TEXT})))
            if row < n_rows:
                return file.location(row, column)
            row -= n_rows
        raise IndexError(row)


def open_tables(given: Sequence[Path], dialect: Dialect = Dialect()) -> DataFile:  # noqa: B008
    """Read the headers of data files, which are one table if they are several."""
    if is_one_file(given):
        return open_table(given[0], dialect)
    paths = named_files(given)
    if STANDARD_INPUT in paths:
        raise ValueError("standard input (-) must be the only file.")
    counts = Counter(path.resolve() for path in paths)
    for path in paths:
        if (count := counts[path.resolve()]) > 1:
            raise ValueError(f"{path} is given {count} times. Give each file once.")
    files = tuple(open_table(path, dialect) for path in paths)
    _require_same_columns(files)
    others = "" if len(given) == 1 else f" and {counted(len(paths) - 1, 'other file')}"
    path = Path(f"{given[0] if len(given) == 1 else paths[0]}{others}")
    return JoinedTable(path, files[0].columns, dialect, files)


def is_one_file(given: Sequence[Path]) -> bool:
    """Whether this is the name of a file: not a pattern, a folder, or several names."""
    return len(given) == 1 and not given[0].is_dir() and not _is_pattern(given[0])


def named_files(given: Sequence[Path]) -> list[Path]:
    """The files that names, patterns and folders stand for; an error if one stands for none."""
    return [path for one in given for path in _expanded(one)]


def _is_pattern(path: Path) -> bool:
    return glob.has_magic(str(path)) and not path.exists()


def _expanded(path: Path) -> list[Path]:
    """The files that a pattern or a folder stands for, in the order of their names."""
    if path.is_dir():
        hidden = (".", "_")  # names that programs give to what is not data
        found = sorted(file for file in path.iterdir() if not file.name.startswith(hidden))
        found = [file for file in found if is_table(file) and file_type(file) == PARQUET]
        if not found:
            raise ValueError(
                f"{path} is a folder without Parquet files. For other files, give a pattern in quotes, "
                f"for example '{path / '*.csv'}'."
            )
        return found
    if not _is_pattern(path):
        return [path]
    # Hidden files do not match, as in a shell, but they do match with Path.glob.
    found = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207
    if not found:
        raise ValueError(f"no file matches {path}. Check the pattern and the folder.")
    return found


def _require_same_columns(files: Sequence[DataFile]) -> None:
    """Refuse files with different columns, in whatever order, or with columns of different types."""
    first, words = files[0], dict[str, tuple[str, Path]]()
    for file in files:
        missing = [name for name in first.columns if name not in file.columns]
        more = [name for name in file.columns if name not in first.columns]
        if missing or more:
            what = [f"lacks {listed(map(repr, missing))}"] if missing else []
            what += [f"also has {listed(map(repr, more))}"] if more else []
            raise ValueError(
                f"{file.path} {' and '.join(what)}, unlike {first.path}. All files must have the same "
                "columns."
            )
        for name, word in file.cell_types.items():
            before, where = words.setdefault(name, (word, file.path))
            if word != before:
                raise ValueError(
                    f"{file.path}: column {name!r} holds {word}, but {before} in {where}. Give it the "
                    "same type in all files."
                )
