"""Files and folders that are written atomically."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file that replaces ``path`` on success and is removed on failure."""
    if path.exists() and not path.is_file():  # a device would be replaced by a file
        raise ValueError(f"{path} is not a regular file. Choose another name.")
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp gives access to the owner only
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that replaces ``path`` on success and is removed on failure."""
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    old = temporary / "old"  # beside the new one, so that both are moved, not copied
    new = temporary / "new"
    try:
        new.mkdir()
        yield new
        if path.exists():
            path.replace(old)
        try:
            new.replace(path)
        except BaseException:
            if old.exists():
                old.replace(path)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    """The permissions that new files do not get; the only way to read it is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
