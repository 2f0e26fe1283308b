"""Quotes in text files: where quoted cells begin and end, and whether quotes are unbalanced."""

from __future__ import annotations

import io
import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

_QUOTE, _SPACE = b'" '
# The inside of a quoted cell: a doubled quote does not end it.
_QUOTED = re.compile(r'[^"]*(?:""[^"]*)*')


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


@cache
def _around_quoted(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The beginning and the end of a quoted cell."""
    mark = re.escape(delimiter)
    return re.compile(rf'(?:^|{mark}) *"'), re.compile(rf'" *(?=[{mark}\r\n]|$)')


def is_open_after(
    lines: str, delimiter: str, is_open: bool, letters: NDArray[np.uint8], borders: NDArray[np.bool_]
) -> bool:
    """Whether a quote is open after some lines; ``letters`` adds a newline at both ends.

    A ValueError if text follows a quoted cell.
    """
    is_quote = letters == _QUOTE
    quotes = np.flatnonzero(is_quote)
    # Every other quote opens a cell, unless an unquoted cell contains one.
    opening, closing = quotes[int(is_open) :: 2], quotes[int(not is_open) :: 2]
    fine = borders | is_quote  # what may stand next to a quote: a doubled one has another
    if all(
        _all_lead_to(borders, letters, beside[~fine.take(beside)], step)
        for beside, step in ((opening - 1, -1), (closing + 1, 1))
    ):
        return is_open ^ bool(len(quotes) % 2)
    opened = 0 if is_open else None
    for line in io.StringIO(lines, newline=""):
        opened = opened_in(line, delimiter, 0, opened)
    return opened is not None


def _all_lead_to(
    borders: NDArray[np.bool_], letters: NDArray[np.uint8], places: NDArray[np.intp], step: int
) -> bool:
    """Whether there is nothing but spaces between each of the places and a border."""
    while (spaces := letters[places] == _SPACE).any():
        places = places + step * spaces
    return bool(borders[places].all())
