"""Records of runs: frozen dataclasses as lines of a tidy CSV file, in a folder with one set of settings.

Files are written atomically, so that an interrupted run can be resumed.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from ffmlp.storage.whole_files import write_whole

Record = TypeVar("Record")


def claim(folder: Path, settings: Any) -> None:
    """Create the folder for these settings (a dataclass), or refuse one that has others."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a folder. Choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    path, wanted = folder / "settings.json", json.dumps(asdict(settings), indent=2) + "\n"
    if not path.exists():
        write_whole(path, wanted.encode())
    elif path.read_text(encoding="utf-8") != wanted:
        raise ValueError(
            f"{folder} holds runs with other settings (see {path.name}). Choose another folder."
        )


def write_records(path: Path, records: Sequence[Any], kind: type[Any]) -> None:
    """Records of one dataclass as a tidy CSV file, one line each; None is an empty cell."""
    text = io.StringIO()
    names = [field.name for field in fields(kind)]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(record, name) for name in names] for record in records)
    write_whole(path, text.getvalue().encode())


def read_records(path: Path, kind: type[Record]) -> list[Record]:
    """The records that `write_records` wrote."""
    columns = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    if lines[:1] != [list(columns)]:
        raise ValueError(f"{path} must have the columns {', '.join(columns)}. Choose another folder.")
    return [kind(*map(_parsed, line, columns.values())) for line in lines[1:]]


def _parsed(text: str, kind: str) -> Any:
    """A cell, for an annotation; all but texts may be missing."""
    if "str" in kind:
        return text
    if text == "":
        return None
    return int(text) if "int" in kind else float(text)
