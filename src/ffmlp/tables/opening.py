"""Opening a data file of any type, or standard input."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from ffmlp.extras import require
from ffmlp.storage.whole_files import NO_SPACE, temporary_file
from ffmlp.tables.tables import COMPRESSIONS, PARQUET, TEXT_FILES, DataFile, Dialect, file_type

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
        kind, source = _checked_type(path), path
    if kind == PARQUET:
        from ffmlp.tables.parquet_tables import ParquetTable

        return ParquetTable(path, source, dialect)
    from ffmlp.tables.text_tables import TextTable

    return TextTable.of(path, dialect, TEXT_FILES[kind], source)


def _checked_type(path: Path) -> str:
    """The type of a file; an error if it is not a file, or of a type that is not known."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder. Give the name of a file.")
    kind = file_type(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist.")
    if not path.is_file():
        raise ValueError(f"{path} is not a regular file, so it cannot be read twice.")
    return kind


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
