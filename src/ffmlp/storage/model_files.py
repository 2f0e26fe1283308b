"""The frame of a model file: one line with version, checksum and length, then the content.

The line is ``ffmlp model <version> <SHA-256> <length>``. The content is read by `ffmlp.storage.schema`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ffmlp.storage.whole_files import write_whole

# Increases when older versions of the package cannot read the files of a new one.
FORMAT_VERSION = 2
_MAGIC = b"ffmlp model "
_LONGEST_HEADER = 200


@dataclass(frozen=True)
class Content:
    """What follows the first line of a model file, and the version of its format."""

    version: int
    payload: bytes


def write_model(path: Path, payload: bytes, replace: bool = True) -> None:
    """Write a model file atomically; unless ``replace`` is set, an existing file is an error."""
    checksum = hashlib.sha256(payload).hexdigest()
    header = _MAGIC + f"{FORMAT_VERSION} {checksum} {len(payload)}\n".encode()
    write_whole(path, header + payload, replace)


def is_json(source: Path) -> bool:
    """Whether a file begins as JSON does."""
    if not source.is_file():
        return False
    with source.open("rb") as file:
        return file.read(1) == b"{"


def read_content(source: Path) -> Content:
    """The content of a model file, or a ValueError that says what is wrong with the file."""
    if source.exists() and not source.is_file():  # a device may have no end
        kind = "a folder" if source.is_dir() else "not a regular file"
        raise ValueError(f"{source} is {kind}. Name a model file.")
    content = source.read_bytes()
    if not content:
        raise ValueError(f"{source} is empty. Save the model again.")
    header, _, _ = content[:_LONGEST_HEADER].partition(b"\n")
    words = header.removeprefix(_MAGIC).decode("ascii", "replace").split(" ")
    if not header.startswith(_MAGIC) or not words[0].isdecimal():
        raise ValueError(f"{source} is not a model file. ffmlp fit and ffmlp.save write model files.")
    version = int(words[0])
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{source} has format version {version}; this version of ffmlp reads up to "
            f"{FORMAT_VERSION}. Install a newer version."
        )
    if version < 1 or len(words) != 3 or not words[2].isdecimal():
        raise ValueError(f"{source} was changed or truncated: its first line is damaged.")
    payload = content[len(header) + 1 :]
    if len(payload) != int(words[2]):
        raise ValueError(
            f"{source} was truncated or extended: {words[2]} bytes were written after its first line, "
            f"but it has {len(payload)}."
        )
    if hashlib.sha256(payload).hexdigest() != words[1]:
        raise ValueError(f"{source} was changed after it was saved: its checksum does not match.")
    return Content(version, payload)


@contextmanager
def usable(source: object) -> Iterator[None]:
    """Any error in the block means that the content of a model file is not a model: say so."""
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"{source} does not hold a usable model ({type(error).__name__}: {error}). Save it again."
        ) from error
