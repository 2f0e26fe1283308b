"""Files and folders that are written atomically: each is whole, or it is not there."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# Errors of writing, which do not name the file.
NO_SPACE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# On Linux, a file without a name disappears with its process, however that ends.
_NAMELESS = getattr(os, "O_TMPFILE", None)
# Where it is found nevertheless.
_DESCRIPTORS = "/proc/"
# How the names of other temporary files and folders begin.
_HIDDEN = ".ffmlp-"
# Seconds after which one that no process holds is abandoned: enough to take hold of a new one.
_PATIENCE = 60.0
# Arguments of renameat2: names are relative to the working folder; both must exist and change places.
_HERE, _EXCHANGE = -100, 2


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
    mask = os.umask(0o077)  # the permissions that new files do not get; to read it is to set it
    os.umask(mask)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask
    with _errors_about(path), temporary_file(path.parent) as temporary:
        yield temporary
        temporary.chmod(mode)  # before, only the owner had access
        _publish(temporary, path, replace)


@contextmanager
def _errors_about(path: Path) -> Iterator[None]:
    """Errors that name a temporary file, or none because the disk is full, name this one instead."""
    try:
        yield
    except OSError as error:
        name = str(error.filename)
        if error.errno in NO_SPACE or _HIDDEN in name or name.startswith(_DESCRIPTORS):
            raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from error
        raise


@contextmanager
def errors_about_standard_output() -> Iterator[None]:
    """Errors of what is printed, which name no file, name standard output."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            raise OSError(error.errno, os.strerror(error.errno), "standard output") from error
        raise


@contextmanager
def whole_folder(path: Path, replace: bool = True) -> Iterator[Path]:
    """A temporary folder that becomes ``path`` on success and is removed on failure.

    Unless ``replace`` is set, an existing one is an error, also if it is made in the meantime. One that
    is replaced keeps its permissions, and so do files of the same names in it.
    """
    _remove_abandoned(path.parent)
    made = _hidden(path.parent, partial(Path.mkdir, mode=0o700))
    with _errors_about(path), made as temporary, _in_use(temporary):
        new = temporary / "new"
        new.mkdir()
        yield new
        if replace and path.is_dir():  # until it is moved, only the owner has access
            _take_permissions(new, path)
        try:
            new.rename(path)  # one with files in it is not replaced
        except OSError:
            if not path.exists():
                raise
            if not replace:
                raise _made_meanwhile(path) from None
            if not _exchanged(new, path):
                old = temporary / "old"
                path.rename(old)
                try:
                    new.rename(path)
                except BaseException:
                    old.rename(path)
                    raise


def _take_permissions(new: Path, old: Path) -> None:
    """Give a folder, and files that are in both, the permissions of another one.

    Its owner keeps all of them: it must be possible to move it, or to remove it after an error.
    """
    for file in new.iterdir():
        with suppress(FileNotFoundError):
            file.chmod((old / file.name).stat(follow_symlinks=False).st_mode & 0o777)
    new.chmod(stat.S_IMODE(old.stat().st_mode) | stat.S_IRWXU)


def _exchanged(first: Path, second: Path) -> bool:
    """Whether two folders have changed places, in one step, which only Linux can do."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    names = os.fsencode(first), os.fsencode(second)
    return rename is not None and rename(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0


@contextmanager
def temporary_file(folder: Path) -> Iterator[Path]:
    """An empty file that has no name, if the file system can make one, else a hidden one.

    Other processes can open it while this one runs.
    """
    _remove_abandoned(folder)
    try:
        if _NAMELESS is None:
            raise OSError(errno.EOPNOTSUPP)
        descriptor = os.open(folder, _NAMELESS | os.O_RDWR, 0o600)
    except OSError:
        with _hidden(folder, partial(Path.touch, mode=0o600)) as temporary, _in_use(temporary):
            yield temporary
    else:
        try:
            yield Path(_DESCRIPTORS, "self").resolve() / "fd" / str(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _hidden(folder: Path, make: Callable[[Path], object]) -> Iterator[Path]:
    """A hidden name for what ``make`` makes there; it is removed at the end, unless it was moved."""
    temporary = folder / f"{_HIDDEN}{os.urandom(8).hex()}"
    try:
        make(temporary)
        yield temporary
    finally:
        try:
            _remove(temporary)
        except BaseException:  # a signal
            _remove(temporary)
            raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _in_use(path: Path) -> Iterator[None]:
    """Hold a lock, where the file system has locks; it ends with its process."""
    with ExitStack() as held:
        with suppress(OSError):
            held.callback(os.close, _lock(path))
        yield


def _lock(path: Path) -> int:
    """A descriptor that locks a file or folder; an OSError if another one does, or if none can."""
    if sys.platform == "win32":
        raise OSError(errno.EOPNOTSUPP)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _remove_abandoned(folder: Path) -> None:
    """Remove what processes have left that could not end by themselves.

    A folder that holds another one, out of the way of a new one, is the only copy of it and stays.
    """
    for path in folder.glob(f"{_HIDDEN}*"):
        with suppress(OSError):
            is_young = time.time() - path.stat().st_mtime < _PATIENCE
            if is_young or (path / "old").exists():
                continue
            descriptor = _lock(path)
            try:
                _remove(path)
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
        with _hidden(path.parent, partial(_link, temporary)) as hidden:
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
