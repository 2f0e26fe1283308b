"""Several data files as one table: those that a pattern or a folder names."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ffmlp.tables.opening import STANDARD_INPUT, open_table
from ffmlp.tables.tables import PARQUET, TEXT, DataFile, DataTable, Dialect, Kinds, file_type, is_table
from ffmlp.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.arrays import Floats
    from ffmlp.tables.blocks import Part, Texts

_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True)
class JoinedTable:
    """Files with the same columns, one after the other; ``path`` is what messages call them."""

    path: Path
    files: tuple[DataFile, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names, in the order of the first file."""
        return self.files[0].columns

    @property
    def dialect(self) -> Dialect:
        """How cells are written, alike in all files."""
        return self.files[0].dialect

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

    @property
    def whole(self) -> JoinedTable:
        """All files."""
        return self

    def sections(self, n_rows: int) -> Iterator[DataTable]:
        """Tables of about ``n_rows`` rows each; none has rows of two files."""
        return chain.from_iterable(file.sections(n_rows) for file in self.files)

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[dict[str, Floats | Texts]]:
        """The columns of blocks: numbers unless some cells are not, or texts."""
        return chain.from_iterable(file.inferred(n_rows, texts) for file in self.files)

    def blocks(self, n_rows: int, kinds: Kinds) -> Iterator[pd.DataFrame]:
        """Blocks of rows with the columns of the given kinds; none has rows of two files."""
        return chain.from_iterable(file.blocks(n_rows, kinds) for file in self.files)

    def parts(self, n_rows: int, kinds: Kinds, kept: Sequence[str] = ()) -> Iterator[Part]:
        """Functions that return the blocks; any thread may call them."""
        return chain.from_iterable(file.parts(n_rows, kinds, kept) for file in self.files)

    def place(self, row: int, column: str) -> str:
        """File, row or line, and column of a cell."""
        for file in self.files:
            n_rows = sum(map(len, file.blocks(_ROWS_AT_ONCE, {column: TEXT})))
            if row < n_rows:
                return file.place(row, column)
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
    return JoinedTable(Path(f"{given[0] if len(given) == 1 else paths[0]}{others}"), files)


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
    # Hidden files do not match, as in a shell; those of Path.glob do.
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
