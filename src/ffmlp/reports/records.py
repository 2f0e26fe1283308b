"""Frozen dataclasses as lines of a tidy CSV file, in a folder that belongs to one set of settings.

Files are written whole or not at all, so that whatever is interrupted can go on where it stopped.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

Record = TypeVar("Record")


def claim(folder: Path, settings: Any) -> None:
    """Make the folder one of these settings (a dataclass), or refuse it."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder to write to.")
    folder.mkdir(parents=True, exist_ok=True)
    path, wanted = folder / "settings.json", json.dumps(asdict(settings), indent=2) + "\n"
    if not path.exists():
        write_whole(path, wanted.encode())
    elif path.read_text(encoding="utf-8") != wanted:
        raise ValueError(
            f"{folder} holds runs with other settings (see {path.name}). Choose another folder."
        )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write to, which becomes ``path`` if all goes well and vanishes if not."""
    if path.exists() and not path.is_file():  # a device would be no device any more
        raise ValueError(f"{path} is no ordinary file: name another one to write to.")
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # temporary files are for their owner only
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Which permissions new files do not get; it can be read by setting it only."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


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
