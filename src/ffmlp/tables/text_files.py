"""Text files, plain or compressed, as UTF-8: opened, and cut into blocks of rows."""

from __future__ import annotations

import codecs
import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, AnyStr

from ffmlp.tables.decoding import undecodable
from ffmlp.tables.quotes import is_open_after
from ffmlp.tables.tables import COMPRESSIONS, LocatedError, opener

# Bytes of the largest block.
_MOST_BYTES = 64 * 2**20
_CHARACTERS_AT_ONCE = 2**18
# A row that is longer, in bytes or characters, is none: a file without line breaks, or an open quote.
LONGEST_ROW = 2**24


@contextmanager
def opened(source: Path, encoding: str, name: Path) -> Iterator[IO[bytes]]:
    """A text file as UTF-8 without a byte order mark; errors of reading it have its name and a place."""
    with _decompressed(source, name):
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


@contextmanager
def _decompressed(source: Path, name: Path) -> Iterator[None]:
    """Report a compressed file that is damaged."""
    try:
        yield
    except (ValueError, ImportError):
        raise
    except Exception as error:  # each format has its own errors
        if source.suffix.lower() not in COMPRESSIONS:
            raise
        raise LocatedError(f"{name} cannot be decompressed: {error}") from error


@contextmanager
def opened_text(source: Path, encoding: str, name: Path) -> Iterator[Iterator[str]]:
    """The lines of the same as text, with their endings as they are."""
    with opened(source, encoding, name) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        yield numbered_lines(text, name, "characters")


def numbered_lines(file: IO[AnyStr], name: Path, unit: str) -> Iterator[AnyStr]:
    """The lines of a file; an error with the number of one that is too long for a row."""
    for number in itertools.count(1):
        line = file.readline(LONGEST_ROW + 1)
        if len(line) > LONGEST_ROW:
            what = "A table has one line for each row, which ends with a line feed."
            raise LocatedError(f"{name}, line {number}: longer than {LONGEST_ROW} {unit}. {what}")
        if not line:
            return
        yield line


def blocks_of_rows(file: IO[bytes], n_rows: int, delimiter: str) -> Iterator[bytes]:
    """Blocks of about ``n_rows`` rows: as many bytes as if all lines were like the first.

    Each ends with a newline. A ValueError if quotes are unbalanced, or a row is too long.
    """
    first = b"\n"
    # A row of empty cells is not blank, although its delimiters may be tabs.
    while first and not first.strip() and delimiter.encode() not in first:
        first = _line(file)
    n_bytes = min(n_rows * len(first), _MOST_BYTES)
    while first:
        lines = [first, file.read(max(0, n_bytes - len(first)))]
        if not (lines[1] or first).endswith(b"\n"):
            lines.append(_line(file))
        block = _ended(b"".join(lines))
        if is_open_after(block, delimiter):
            block += _rest_of_row(file, delimiter)
        yield block
        first = _line(file)


def _rest_of_row(file: IO[bytes], delimiter: str) -> bytes:
    """The lines up to the one that closes a quote."""
    rest, is_open = bytearray(), True
    while is_open:
        line = _line(file)
        rest += line
        if not line or len(rest) > LONGEST_ROW:
            raise ValueError("a quote is never closed.")
        is_open = is_open_after(line, delimiter, is_open=True)
    return _ended(bytes(rest))


def _line(file: IO[bytes]) -> bytes:
    line = file.readline(LONGEST_ROW + 1)
    if len(line) > LONGEST_ROW:
        raise ValueError(f"a line is longer than {LONGEST_ROW} bytes.")
    return line


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
