"""The rows of text files as lists of cells, by the csv module, and the delimiter between the cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ffmlp.tables.quotes import delimiters_outside, opened_in
from ffmlp.tables.tables import Dialect, LocatedError
from ffmlp.tables.text_files import LONGEST_ROW

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
    """The same lines; ``n_bytes`` is increased by those of each that is taken."""
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
