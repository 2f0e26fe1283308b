"""Opening a data file of any type."""

from __future__ import annotations

from pathlib import Path

from ffmlp.extras import require
from ffmlp.tables.tables import PARQUET, TEXT_FILES, DataTable, Dialect, file_type


def open_table(path: Path, dialect: Dialect = Dialect()) -> DataTable:  # noqa: B008  (it is frozen)
    """Read the header of a data file; a ValueError if that is not possible."""
    kind = file_type(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist.")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "not a regular file, so it cannot be read twice"
        raise ValueError(f"{path} is {what}.")
    if kind == PARQUET:
        require("Parquet files", "pyarrow")
        from ffmlp.tables.parquet_tables import ParquetTable

        return ParquetTable(path, dialect)
    from ffmlp.tables.text_tables import TextTable

    return TextTable.of(path, dialect, TEXT_FILES[kind])
