"""Records of runs: frozen dataclasses as lines of a tidy CSV file, in a folder with one set of settings.

Files are written whole or not at all, so that an interrupted run can be resumed.
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
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        if list(reader.fieldnames or ()) != names:
            raise ValueError(f"{path} must have the columns {', '.join(names)}. Choose another folder.")
        return [_parsed(line, kind) for line in reader]


def _parsed(line: dict[str, str], kind: type[Any]) -> Any:
    values: dict[str, Any] = {}
    for field in fields(kind):
        text = line[field.name]
        if "str" in field.type:
            values[field.name] = text
        elif text == "":
            values[field.name] = None
        else:
            values[field.name] = int(text) if "int" in field.type else float(text)
    return kind(**values)
