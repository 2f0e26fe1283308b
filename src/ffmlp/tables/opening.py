"""Opening a data file of any type, or standard input."""

from __future__ import annotations

import atexit
import shutil
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile

from ffmlp.extras import require
from ffmlp.tables.tables import PARQUET, TEXT_FILES, DataFile, Dialect, file_type

STANDARD_INPUT = Path("-")
# The first bytes of files that are not plain text, and how the name of such a file ends.
_BEGINNINGS = {b"PAR1": PARQUET, b"\x1f\x8b": ".csv.gz", b"BZh": ".csv.bz2", b"\xfd7zXZ": ".csv.xz"}


def open_table(path: Path, dialect: Dialect = Dialect()) -> DataFile:  # noqa: B008  (it is frozen)
    """Read the header of a data file; a ValueError if that is not possible."""
    require("data files", "pyarrow")
    source = path
    if path == STANDARD_INPUT:
        path, source = Path("standard input"), _copied_input()
    if source.is_dir():
        raise ValueError(f"{path} is a folder. Give the name of a file.")
    kind = file_type(source)
    if not source.exists():
        raise ValueError(f"{path} does not exist.")
    if not source.is_file():
        raise ValueError(f"{path} is not a regular file, so it cannot be read twice.")
    if kind == PARQUET:
        from ffmlp.tables.parquet_tables import ParquetTable

        return ParquetTable(path, source, dialect)
    from ffmlp.tables.text_tables import TextTable

    return TextTable.of(path, dialect, TEXT_FILES[kind], source)


def _copied_input() -> Path:
    """A copy of standard input, because files are read twice; it is removed at the end."""
    beginning = sys.stdin.buffer.read(8)
    ends = (end for mark, end in _BEGINNINGS.items() if beginning.startswith(mark))
    with NamedTemporaryFile(prefix="ffmlp-", suffix=next(ends, ".csv"), delete=False) as file:
        atexit.register(Path(file.name).unlink, missing_ok=True)
        file.write(beginning)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Path(file.name)
