"""Quotes and spaces in text files: where quoted cells begin and end, and spaces before cells."""

from __future__ import annotations

import io
import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

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
