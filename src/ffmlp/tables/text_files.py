"""Text files, plain or compressed: opened in their encoding, read in blocks of lines."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ffmlp.tables.decoding import undecodable
from ffmlp.tables.tables import COMPRESSIONS, Dialect, opener

# Bytes of the largest block and of the longest line that are read as one.
_MOST_BYTES = 64 * 2**20
_LONGEST_LINE = 2**20


class LocatedError(ValueError):
    """An error whose message already has the place in the file."""


@contextmanager
def opened(path: Path, dialect: Dialect) -> Iterator[io.TextIOWrapper]:
    """A text file, with its line endings as they are; errors of reading it have their place."""
    with opened_bytes(path, dialect) as file:
        yield io.TextIOWrapper(file, dialect.decoder, newline="")


def end_of_header(file: IO[bytes]) -> int | None:
    """Where the rows of a file begin, if the header is one line."""
    line = b"\n"
    while line and not line.strip():
        line = file.readline(_LONGEST_LINE)
    alone = line.endswith(b"\n") and line.count(b'"') % 2 == 0 and b"\r" not in line.rstrip(b"\r\n")
    return file.tell() if alone else None


def blocks_of_lines(file: IO[bytes], n_rows: int) -> Iterator[bytes]:
    """Blocks of about ``n_rows`` lines or fewer: as many bytes as if all lines were like the first.

    Each ends with a newline, except the last one and those whose last line is very long.
    """
    start = file.tell()
    n_bytes = min(n_rows * len(file.readline(_LONGEST_LINE)), _MOST_BYTES)
    file.seek(start)
    if n_bytes and isinstance(file, io.BufferedReader):
        n_bytes = even_share(os.fstat(file.fileno()).st_size - start, n_bytes)
    while block := _whole_lines(file, n_bytes):
        yield block


def even_share(total: int, most: int) -> int:
    """A block size at which 1, 2, 4 or 8 threads get equally many blocks and finish together."""
    n_blocks = -(-total // most)
    n_blocks = 1 << (n_blocks - 1).bit_length() if n_blocks <= 8 else -(-n_blocks // 8) * 8
    return -(-total // n_blocks)


def _whole_lines(file: IO[bytes], n_bytes: int) -> bytes:
    """The next bytes, up to the end of the line."""
    if not isinstance(file, io.BufferedReader):  # seeking back in a compressed file starts over
        return file.read(n_bytes) + file.readline(_LONGEST_LINE)
    # In one read, because joining two takes as long as reading them.
    start = file.tell()
    end = file.seek(start + n_bytes) + len(file.readline(_LONGEST_LINE))
    file.seek(start)
    return file.read(end - start)


@contextmanager
def opened_bytes(path: Path, dialect: Dialect) -> Iterator[IO[bytes]]:
    """A binary file, decompressed; errors of decompression and decoding have their place."""
    try:
        with opener(path)(path, "rb") as file:
            yield file
    except UnicodeError as error:
        with opener(path)(path, "rb") as file:
            raise LocatedError(f"{path}, {undecodable(file, dialect.encoding)}") from error
    except (ValueError, ImportError):
        raise
    except Exception as error:  # each format has its own errors
        if path.suffix.lower() not in COMPRESSIONS:
            raise
        raise LocatedError(f"{path} cannot be decompressed: {error}") from error
