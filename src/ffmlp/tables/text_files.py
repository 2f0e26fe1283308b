"""Text files, plain or compressed: encodings, quotes, and rows as lists of cells."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any, AnyStr

import numpy as np
from numpy.typing import NDArray

from ffmlp.tables.tables import COMPRESSIONS, Dialect, LocatedError, opener

_BYTES_AT_ONCE = 1 << 16
# The first bytes of files that are not text in UTF-8, and what to do about them.
_BEGINNINGS = {
    codecs.BOM_UTF32_LE: "The file is UTF-32: add --encoding utf-32.",
    codecs.BOM_UTF16_LE: "The file is UTF-16: add --encoding utf-16.",
    codecs.BOM_UTF16_BE: "The file is UTF-16: add --encoding utf-16.",
    b"\x1f\x8b": "The file is compressed: its name must end with .gz.",
    b"BZh": "The file is compressed: its name must end with .bz2.",
    b"\xfd7zXZ": "The file is compressed: its name must end with .xz.",
    b"PK\x03\x04": "The file is a spreadsheet or a zip archive: save the table as CSV.",
    b"\xd0\xcf\x11\xe0": "The file is a spreadsheet: save the table as CSV.",
    b"PAR1": "The file is Parquet: its name must end with .parquet.",
}


def undecodable(file: IO[bytes], encoding: str) -> str:
    """Where a file cannot be decoded, and what to do."""
    beginning = file.read(8)
    file.seek(0)
    for mark, advice in _BEGINNINGS.items():
        if beginning.startswith(mark) and encoding not in advice:
            return f"line 1: not valid {encoding}. {advice}"
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = beginning[start::2]
        if zeros and not any(zeros) and encoding != name:
            return f"line 1: not valid {encoding}. The file may be UTF-16: add --encoding {name}."
    line = _first_bad_line(file, encoding)
    if line is None:
        return f"line 1: contains zero bytes. The file is not text, or not in {encoding}."
    advice = "Save the file as UTF-8, or give its encoding, for example --encoding latin-1."
    if encoding != "utf-8":
        advice = "Give another --encoding, or none if the file is UTF-8."
    return f"line {line}: not valid {encoding}. {advice}"


def _first_bad_line(file: IO[bytes], encoding: str) -> int | None:
    """Found by decoding: in some encodings, a line break has bytes that other characters have too."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, block, n_bytes = 1, b"-", _BYTES_AT_ONCE
    while block:
        start, state = file.tell(), decoder.getstate()
        block = file.read(n_bytes)
        try:
            line += decoder.decode(block, final=not block).count("\n")
        except UnicodeError:
            if len(block) <= 1:
                return line
            file.seek(start)
            decoder.setstate(state)
            n_bytes = 1  # to find the line in this block
    return None


_QUOTE, _SPACE = b'" '
# The places of more quotes would take much more memory than the lines.
_MOST_QUOTES = 2**22
_BLANK_WITH_TABS = re.compile(rb"[\r\n] *\t[ \t]*[\r\n]")
# The inside of a quoted cell: a doubled quote does not end it. Possessive: to go back never helps, and
# the places to go back to would take much more memory than the cell.
_INSIDE = r'[^"]*+(?:""[^"]*+)*+'
_QUOTED = re.compile(_INSIDE)


def opened_in(line: str, delimiter: str, number: int, opened: int | None) -> int | None:
    """The line of the quote that is still open after this line, if any; ``opened`` is that before it.

    A ValueError if text follows a quoted cell.
    """
    opening, closing = _around_quoted(delimiter)
    end = 0
    while True:
        if opened is None:
            first = opening.search(line, end)
            if first is None:
                return None
            opened, end = number, first.end()
        quoted = _QUOTED.match(line, end)
        assert quoted is not None  # it may be empty
        if quoted.end() == len(line):
            return opened
        last = closing.match(line, quoted.end())
        if last is None:
            text = line[quoted.end() + 1 :].rstrip("\r\n")[:20]
            raise ValueError(
                f"line {opened}: the quote opened here is closed on line {number}, but {text!r} follows "
                "it. A closing quote must end the cell; double the quotes inside a quoted cell."
            )
        opened, end = None, last.end()


def delimiters_outside(line: str, delimiter: str, most: int, is_open: bool = False) -> int:
    """How many delimiters are outside quoted cells; if more than ``most``, perhaps only some of them."""
    if not is_open and '"' not in line:
        return line.count(delimiter)
    opening, _ = _around_quoted(delimiter)
    found = end = 0
    while found <= most:
        if not is_open:
            first = opening.search(line, end)
            if first is None:
                return found + line.count(delimiter, end)
            found, end = found + line.count(delimiter, end, first.end()), first.end()
        quoted = _QUOTED.match(line, end)
        assert quoted is not None  # it may be empty
        if quoted.end() == len(line):
            break
        is_open, end = False, quoted.end() + 1
    return found


@cache
def _around_quoted(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The beginning and the end of a quoted cell."""
    mark = re.escape(delimiter)
    return re.compile(rf'(?:^|{mark}) *"'), re.compile(rf'" *(?=[{mark}\r\n]|$)')


def is_open_after(lines: bytes, delimiter: str, is_open: bool = False) -> bool:
    """Whether a quote is open after some lines, and so the last row does not end with them.

    A ValueError if text follows a quoted cell.
    """
    if b'"' not in lines:
        return is_open
    quotes = None if is_open else _alternating_quotes(lines, delimiter)
    if quotes is not None:
        return len(quotes) % 2 == 1
    closed, opening = _quoted_cells(delimiter)
    if not is_open and not opening.search(closed.sub(rb"\1", b"\n" + lines)):
        return False
    opened = 0 if is_open else None
    for line in io.StringIO(lines.decode("utf-8", "replace"), newline=""):
        if '"' in line:
            opened = opened_in(line, delimiter, 0, opened)
    return opened is not None


def without_leading_spaces(lines: bytes, delimiter: str) -> bytes:
    """The same rows without the spaces at the beginning of cells; blank lines become empty ones."""
    letters = np.frombuffer(lines, np.uint8)
    has_leading = _SPACE in lines and _has_leading(letters, delimiter)
    has_tabs = delimiter != "\t" and b"\t" in lines and _BLANK_WITH_TABS.search(b"\n" + lines)
    if not has_leading and not has_tabs:
        return lines
    quotes = _alternating_quotes(lines, delimiter)
    if quotes is None or has_tabs:
        return _leading_spaces(delimiter).sub(rb"\1\2", b"\n" + lines)[1:]
    first, after = _runs_of_spaces(letters)
    leading = _borders(delimiter)[letters[first - 1]] & (np.searchsorted(quotes, first) % 2 == 0)
    changes = np.zeros(len(letters), np.int8)
    changes[first[leading]], changes[after[leading]] = 1, -1
    return letters[np.cumsum(changes, dtype=np.int8) == 0].tobytes()


def _has_leading(letters: NDArray[np.uint8], delimiter: str) -> bool:
    """Whether a border, or nothing, is before a space."""
    before = letters[:-1][letters[1:] == _SPACE]
    return letters[0] == _SPACE or bool(_borders(delimiter)[before].any())


def _runs_of_spaces(letters: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where spaces begin, and where they have ended; the lines must end with a newline."""
    edges = np.flatnonzero(np.diff(letters == _SPACE, prepend=False))
    return edges[::2], edges[1::2]


def _beside_spaces(letters: NDArray[np.uint8], places: NDArray[np.intp], step: int) -> NDArray[np.intp]:
    """The same places; instead of a space, the next letter in this direction that is none."""
    on_space = letters[places] == _SPACE
    if not on_space.any():
        return places
    first, after = _runs_of_spaces(letters)
    run = np.searchsorted(first, places, side="right") - 1
    return np.where(on_space, first[run] - 1 if step < 0 else after[run], places)


def _alternating_quotes(lines: bytes, delimiter: str) -> NDArray[np.intp] | None:
    """Where the quotes are, if every other one opens a cell or is a doubled one; else None.

    They do unless an unquoted cell has a quote, or a closing quote does not end its cell. None for very
    many quotes, too. The lines must end with a newline.
    """
    if lines.count(_QUOTE) > _MOST_QUOTES:
        return None
    letters = np.frombuffer(lines, np.uint8)
    quotes = np.flatnonzero(letters == _QUOTE)
    for places, step in ((quotes[::2] - 1, -1), (quotes[1::2] + 1, 1)):
        beside = letters[places]  # before the first letter comes the last one, a newline
        places = places[~_borders(delimiter)[beside] & (beside != _QUOTE)]
        if not _borders(delimiter)[letters[_beside_spaces(letters, places, step)]].all():
            return None
    return quotes


@cache
def _borders(delimiter: str) -> NDArray[np.bool_]:
    """For each byte, whether it ends a cell."""
    return np.isin(np.arange(256), [*b"\r\n", ord(delimiter)])


@cache
def _quoted_cells(delimiter: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """A quoted cell after the border before it, and the beginning of any; lines begin with a newline."""
    border = rb"[%s\r\n]" % re.escape(delimiter.encode())
    whole = rb'(%s) *"%s" *(?=%s)' % (border, _INSIDE.encode(), border)
    return re.compile(whole), re.compile(border + rb' *"')


@cache
def _leading_spaces(delimiter: str) -> re.Pattern[bytes]:
    """A border with spaces or a blank line after it; and quoted cells, because both may be in them."""
    border = rb"[%s\r\n]" % re.escape(delimiter.encode())
    blank = rb"(?<=[\r\n])%s+(?=[\r\n])" % (b" " if delimiter == "\t" else rb"[ \t]")
    return re.compile(rb'(%s)(?:%s| +|(?="))("%s")?' % (border, blank, _INSIDE.encode()))


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


_DELIMITERS = ",;\t|"
# The lines that a delimiter must split into equally many cells.
_FIRST_LINES, _FIRST_CHARACTERS = 20, 2**20
# The most that the csv module can be set to; its default refuses cells that Arrow reads.
_LONGEST_CELL = 2**31 - 1
# A compressed header of a few kilobytes may have millions of columns, each of which takes memory.
MOST_COLUMNS = 100_000
# Characters of blank lines in a run: they are skipped one by one, and a kilobyte may have a million.
_MOST_BLANK = 2**22


def detected_delimiter(path: Path, lines: Sequence[str], dialect: Dialect) -> str:
    """The delimiter that splits the first lines into equally many cells, or the most frequent one."""
    unquoted = "".join(lines[0].split('"')[::2])
    # Commas come last: they may be decimal marks.
    alike = [mark for mark in reversed(_DELIMITERS) if _splits_alike(path, lines, mark)]
    if len(alike) > 1 and dialect.decimal in alike:
        alike.remove(dialect.decimal)
    return max(alike or _DELIMITERS, key=unquoted.count)


def _splits_alike(path: Path, lines: Sequence[str], delimiter: str) -> bool:
    try:
        (_, header), *rows = records(path, lines, delimiter)
    except LocatedError:
        return False
    # All rows may have a trailing delimiter.
    lengths = {len(cells) - (not cells[-1] and len(cells) == len(header) + 1) for _, cells in rows}
    return len(header) > 1 and lengths <= {len(header)}


def first_lines(path: Path, text: Iterable[str]) -> list[str]:
    """The first lines that are not blank, unless they are long; always the very first one."""
    found, n_characters = list[str](), 0
    for line in text:
        n_characters += len(line)
        if found and n_characters > _FIRST_CHARACTERS:
            break
        if line.strip():
            found.append(line)
        elif not found and n_characters > _MOST_BLANK:
            raise _too_many_blank(path, 1)
        if len(found) == _FIRST_LINES:
            break
    return found


def measured(lines: Iterable[str], n_bytes: list[int]) -> Iterator[str]:
    """The same lines; ``n_bytes`` is increased by the bytes of each line that is taken."""
    for line in lines:
        n_bytes[0] += len(line.encode())
        yield line


def records(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The first line and the cells of each record; blank lines are skipped."""
    csv.field_size_limit(_LONGEST_CELL)
    start = 0

    def checked() -> Iterator[str]:
        nonlocal start
        since, n_open = None, 0  # the line of a quote that is still open, and the characters in it
        n_blank, blank, n_cells = 0, 1, 1
        for number, line in enumerate(lines, start=1):
            if since is None:
                if not line.strip(" \t\r\n") and delimiter not in line:
                    blank = blank if n_blank else number
                    n_blank += len(line)
                    if n_blank > _MOST_BLANK:
                        raise _too_many_blank(path, blank)
                    continue
                start, n_blank, n_cells = number, 0, 1
            # Shorter lines cannot have as many cells, and those after an open quote are of one row.
            if since is not None or len(line) >= MOST_COLUMNS:
                most = MOST_COLUMNS - n_cells
                n_cells += delimiters_outside(line, delimiter, most, is_open=since is not None)
            if n_cells > MOST_COLUMNS:
                raise LocatedError(
                    f"{path}, line {start}: at least {n_cells} columns, but a table may have at most "
                    f"{MOST_COLUMNS}. Select some, or check the delimiter."
                )
            if '"' in line:
                try:
                    since = opened_in(line, delimiter, number, since)
                except ValueError as error:
                    raise LocatedError(f"{path}, {error}") from None
            n_open = 0 if since is None else n_open + len(line)
            if n_open > LONGEST_ROW:
                problem = f"a quote is opened but not closed within {LONGEST_ROW} characters."
                raise LocatedError(f"{path}, line {since}: {problem}")
            yield line
        if since is not None:
            raise LocatedError(f"{path}, line {since}: a quote is opened but never closed.")

    for cells in csv.reader(checked(), delimiter=delimiter, skipinitialspace=True):
        yield start, cells


def _too_many_blank(path: Path, line: int) -> LocatedError:
    return LocatedError(
        f"{path}, line {line}: more than {_MOST_BLANK} characters of blank lines begin here. Remove "
        "them."
    )
