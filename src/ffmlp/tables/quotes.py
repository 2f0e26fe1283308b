"""Quotes in text files: which cells they open and close, and whether any are broken."""

from __future__ import annotations

import io
import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

_QUOTE, _SPACE = b'" '
# The inside of a quoted cell: a doubled quote does not end it.
_QUOTED = re.compile(r'[^"]*(?:""[^"]*)*')


class QuoteError(ValueError):
    """A text follows on a quoted cell; the line that the quote was opened in."""

    def __init__(self, opened: int, text: str) -> None:
        super().__init__(f"{text!r} follows on a quoted cell")
        self.opened = opened
        self.text = text


def opened_in(line: str, delimiter: str, number: int, opened: int | None) -> int | None:
    """Where the quote was opened that is open after a line, if one is; as ``opened`` is before it."""
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
            raise QuoteError(opened, line[quoted.end() + 1 :].rstrip("\r\n")[:20])
        opened, end = None, last.end()


@cache
def _around_quoted(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What is before a quoted cell, and what ends it."""
    mark = re.escape(delimiter)
    return re.compile(rf'(?:^|{mark}) *"'), re.compile(rf'" *(?=[{mark}\r\n]|$)')


def is_open_after(
    lines: str, delimiter: str, is_open: bool, letters: NDArray[np.uint8], borders: NDArray[np.bool_]
) -> bool:
    """Whether a quote is open after some lines; the letters have a newline more at both ends.

    Raises
    ------
    ValueError
        If a text follows on a quoted cell.
    """
    is_quote = letters == _QUOTE
    quotes = np.flatnonzero(is_quote)
    # Every other quote opens a cell, unless there are some in cells that are not quoted.
    opening, closing = quotes[int(is_open) :: 2], quotes[int(not is_open) :: 2]
    fine = borders | is_quote  # beside a quote; a quote is the other one of two
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
    """Whether from each of the places, spaces lead to a border."""
    while (spaces := letters[places] == _SPACE).any():
        places = places + step * spaces
    return bool(borders[places].all())
