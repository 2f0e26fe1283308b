"""Text files, plain or compressed, as UTF-8: opened, and cut into blocks of rows."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ffmlp.tables.decoding import undecodable
from ffmlp.tables.quotes import is_open_after
from ffmlp.tables.tables import COMPRESSIONS, LocatedError, opener

# Bytes of the largest block.
_MOST_BYTES = 64 * 2**20
_CHARACTERS_AT_ONCE = 2**18


@contextmanager
def opened(source: Path, encoding: str, name: Path) -> Iterator[IO[bytes]]:
    """A text file as UTF-8 without a byte order mark; errors of reading it have its name and a place."""
    try:
        with opener(source)(source, "rb") as file:
            if encoding != "utf-8":
                yield io.BufferedReader(_Transcoded(file, encoding))
            else:
                if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                    file.seek(0)
                yield file
    except UnicodeError as error:
        with opener(source)(source, "rb") as file:
            raise LocatedError(f"{name}, {undecodable(file, encoding)}") from error
    except (ValueError, ImportError):
        raise
    except Exception as error:  # each format has its own errors
        if source.suffix.lower() not in COMPRESSIONS:
            raise
        raise LocatedError(f"{name} cannot be decompressed: {error}") from error


@contextmanager
def opened_text(source: Path, encoding: str, name: Path) -> Iterator[io.TextIOWrapper]:
    """The same as text, with its line endings as they are."""
    with opened(source, encoding, name) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        yield text


def blocks_of_rows(file: IO[bytes], n_rows: int, delimiter: str) -> Iterator[bytes]:
    """Blocks of about ``n_rows`` rows: as many bytes as if all lines were like the first.

    Each ends with a newline. A ValueError if quotes are unbalanced.
    """
    first = b"\n"
    while first and not first.strip():
        first = file.readline()
    n_bytes = min(n_rows * len(first), _MOST_BYTES)
    while first:
        lines = [first, file.read(max(0, n_bytes - len(first)))]
        if not (lines[1] or first).endswith(b"\n"):
            lines.append(file.readline())
        block = _ended(b"".join(lines))
        if is_open_after(block, delimiter):
            block += _rest_of_row(file, delimiter)
        yield block
        first = file.readline()


def _rest_of_row(file: IO[bytes], delimiter: str) -> bytes:
    """The lines up to the one that closes a quote."""
    lines: list[bytes] = []
    while not lines or is_open_after(lines[-1], delimiter, is_open=True):
        lines.append(file.readline())
        if not lines[-1]:
            raise ValueError("a quote is never closed.")
    return _ended(b"".join(lines))


def _ended(lines: bytes) -> bytes:
    return lines if lines.endswith(b"\n") else lines + b"\n"


class _Transcoded(io.RawIOBase):
    """The text of a file, encoded as UTF-8."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._text = io.TextIOWrapper(file, encoding, newline="")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next bytes."""
        encoded = self._rest or self._text.read(_CHARACTERS_AT_ONCE).encode()
        n_bytes = min(len(buffer), len(encoded))
        buffer[:n_bytes], self._rest = encoded[:n_bytes], encoded[n_bytes:]
        return n_bytes
