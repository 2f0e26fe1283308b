"""Files and folders that are written atomically: each is whole, or it is not there."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Errors of writing, which do not name the file.
_NO_SPACE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# On Linux, a file without a name disappears with its process, however that ends.
_NAMELESS = getattr(os, "O_TMPFILE", None)


def write_whole(path: Path, content: bytes, replace: bool = True) -> None:
    """Write a file atomically; unless ``replace`` is set, an existing one is an error."""
    with whole_file(path, replace) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_file(path: Path, replace: bool = True) -> Iterator[Path]:
    """A temporary file that becomes ``path`` on success and is removed on failure.

    Unless ``replace`` is set, an existing file is an error, also if it is made in the meantime. One that
    is replaced keeps its permissions.
    """
    if path.exists() and not path.is_file():  # a device would be replaced by a file
        raise ValueError(f"{path} is not a regular file. Choose another name.")
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    try:
        with _temporary(path.parent) as temporary:
            yield temporary
            temporary.chmod(mode)  # before, only the owner had access
            _publish(temporary, path, replace)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


@contextmanager
def whole_folder(path: Path, replace: bool = True) -> Iterator[Path]:
    """A temporary folder that becomes ``path`` on success and is removed on failure.

    Unless ``replace`` is set, an existing one is an error, also if it is made in the meantime.
    """
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    old = temporary / "old"  # beside the new one, so that both are moved, not copied
    new = temporary / "new"
    try:
        new.mkdir()
        yield new
        if path.exists() and not replace:
            raise _made_meanwhile(path)
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


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A file that has no name, if the file system can make one, else a hidden name."""
    try:
        if _NAMELESS is None:
            raise OSError(errno.EOPNOTSUPP)
        descriptor = os.open(folder, _NAMELESS | os.O_RDWR, 0o600)
    except OSError:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".ffmlp-")
        os.close(descriptor)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)
    else:
        try:
            yield Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)


def _publish(temporary: Path, path: Path, replace: bool) -> None:
    """Give a temporary file its name."""
    if not replace:
        try:
            _link(temporary, path)
        except FileExistsError:
            raise _made_meanwhile(path) from None
    elif temporary.parent == path.parent:
        temporary.replace(path)
    else:
        hidden = path.parent / f".ffmlp-{os.urandom(4).hex()}"
        _link(temporary, hidden)
        hidden.replace(path)


def _made_meanwhile(path: Path) -> ValueError:
    return ValueError(
        f"{path} was made by another command in the meantime. Choose another name, or add --force to "
        "overwrite it."
    )


def _link(temporary: Path, path: Path) -> None:
    """A name for a file that has none or a hidden one; a FileExistsError if the name is taken."""
    if temporary.parent == path.parent:
        path.hardlink_to(temporary)
        return
    # Only with a folder, Python follows the link in /proc.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(temporary, path, src_dir_fd=folder)
    finally:
        os.close(folder)


def _umask() -> int:
    """The permissions that new files do not get; the only way to read it is to set it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
