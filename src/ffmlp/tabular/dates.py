"""Dates in the columns of a table, as numbers: year, month, weekday, day of the year, hour."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.blocks import Block, Part
from ffmlp.tables.tables import NUMBER, TEXT, DataTable, Dialect, Kinds, LocatedError

# What may come first, and an example. A date that begins with its year fits all of them.
YMD, DMY, MDY = "year, month, day", "day, month, year", "month, day, year"
EXAMPLES = {YMD: "2024-01-31", DMY: "31.01.2024", MDY: "01/31/2024"}
# The numbers of a date. Monday is weekday 1; minutes and seconds are a fraction of the hour.
PARTS = ("year", "month", "weekday", "day of year", "hour")
_DATE = re.compile(
    r"(\d{1,4})([-/.])(\d\d?)\2(\d{1,4})"
    r"(?:[T ](\d\d?):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*([AP]M)?\s*(?:Z|UTC|[+-]\d\d:?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)
# The orders of 01/02/2024.
_EITHER = frozenset({DMY, MDY})
_ROWS_AT_ONCE = 100_000


class DateError(ValueError):
    """A text that is not a date."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is not a date.")
        self.text = text


def parsed(text: str, order: str) -> tuple[float, ...] | None:
    """The `PARTS` of a date that is written in this order or with the year first; None for other texts.

    Time zones are ignored: the hour is the hour in the text.

    Examples
    --------
    >>> from ffmlp.tabular.dates import DMY, parsed
    >>> parsed("31.12.2024 18:30", DMY)
    (2024, 12, 2, 366, 18.5)
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    first, _, second, third, *time = match.groups()
    if len(first) == 4 and len(third) <= 2:
        year, month, day = first, second, third
    elif len(third) == 4 and len(first) <= 2 and order != YMD:
        year, (day, month) = third, (first, second) if order == DMY else (second, first)
    else:
        return None
    hour = _hour(*time)
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    if hour is None:
        return None
    return found.year, found.month, found.isoweekday(), found.timetuple().tm_yday, hour


def _hour(hour: str | None, minute: str, second: str | None, half: str | None) -> float | None:
    """The time of day in hours, 0 where it is not given; None if there is no such time."""
    if hour is None:
        return 0.0
    number, limit = int(hour), 24
    if half is not None:
        number, limit = number % 12 + 12 * (half.upper() == "PM"), 12 + 12 * (number <= 12)
    if number >= limit or int(minute) >= 60 or int(second or 0) > 60:
        return None
    return number + int(minute) / 60 + int(second or 0) / 3600


def derived(texts: IndexedColumn, order: str) -> Floats:
    """The `PARTS` of each cell, NaN where it is missing; a `DateError` if a text is not a date."""
    numbers = [parsed(text, order) for text in texts.distinct]
    if None in numbers:
        raise DateError(texts.distinct[numbers.index(None)])
    return np.array([*numbers, [np.nan] * len(PARTS)], float)[texts.indices]  # -1 is the last one


@dataclass(frozen=True)
class DateColumn:
    """A column of dates: its name, the order of day and month, and the parts that a model uses."""

    name: str
    order: str
    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.order not in EXAMPLES or not {*self.parts} <= {*PARTS}:
            raise ValueError(f"dates of {self.name!r} have an unknown order or part")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(f"{self.name} ({part})" for part in self.parts)

    def numbers(self, texts: IndexedColumn) -> dict[str, Floats]:
        """The parts of each cell, by name."""
        columns = derived(texts, self.order)[:, [PARTS.index(part) for part in self.parts]]
        return dict(zip(self.names, columns.T, strict=True))


@dataclass
class DateTally:
    """The texts of a column by the orders in which they are dates.

    ``counts`` has the number of texts that fit the same orders, ``firsts`` the row and the content of
    the first of them, ``values`` the distinct values of each part, by order.
    """

    counts: Counter[frozenset[str]] = field(default_factory=Counter)
    firsts: dict[frozenset[str], tuple[int, str]] = field(default_factory=dict)
    values: dict[str, list[set[float]]] = field(
        default_factory=lambda: {order: [set() for _ in PARTS] for order in EXAMPLES}
    )

    def add(self, texts: Sequence[str], counts: Sequence[int], rows: Sequence[int]) -> None:
        """Count distinct texts, given how often they occur and where they are first."""
        for text, count, row in zip(texts, counts, rows, strict=True):
            fitting = {order: found for order in EXAMPLES if (found := parsed(text, order))}
            self.counts[frozenset(fitting)] += count
            self.firsts.setdefault(frozenset(fitting), (row, text))
            for order, parts in fitting.items():
                for seen, part in zip(self.values[order], parts, strict=True):
                    seen.add(part)

    def followed_by(self, later: DateTally, n_rows: int) -> DateTally:
        """The tally of these cells, which are in ``n_rows`` rows, and of later ones."""
        if not later.counts:
            return self
        firsts = {orders: (n_rows + row, text) for orders, (row, text) in later.firsts.items()}
        values = {
            order: [a | b for a, b in zip(own, later.values[order], strict=True)]
            for order, own in self.values.items()
        }
        return DateTally(self.counts + later.counts, firsts | self.firsts, values)

    def n_dates(self, order: str) -> int:
        """How many cells are dates in this order."""
        return sum(count for orders, count in self.counts.items() if order in orders)

    @property
    def ambiguous(self) -> str | None:
        """The first date that may have the day or the month first, if no cell decides it."""
        if self.n_dates(DMY) != self.n_dates(MDY) or _EITHER not in self.firsts:
            return None
        return self.firsts[_EITHER][1]

    @property
    def order(self) -> str:
        """The order that most dates fit. Without a decision, the month is first only in 01/31/2024."""
        if self.ambiguous is not None:
            return MDY if "/" in self.ambiguous else DMY
        return max(EXAMPLES, key=self.n_dates)

    @property
    def varying(self) -> tuple[str, ...]:
        """The parts that vary."""
        found = zip(PARTS, self.values[self.order], strict=True)
        return tuple(part for part, values in found if len(values) > 1)

    @property
    def example(self) -> str:
        """The first date."""
        return min(first for orders, first in self.firsts.items() if self.order in orders)[1]

    @property
    def other(self) -> tuple[int, str] | None:
        """The row and the content of the first text that is not a date."""
        others = [first for orders, first in self.firsts.items() if self.order not in orders]
        return min(others, default=None)


@dataclass(frozen=True)
class DatedTable(DataTable):
    """A data file whose columns of dates are read as numbers, under the names of their parts."""

    path: Path
    columns: tuple[str, ...]
    dialect: Dialect
    table: DataTable
    dates: tuple[DateColumn, ...]

    def inferred(self, n_rows: int, texts: Sequence[str]) -> Iterator[dict[str, Floats | IndexedColumn]]:
        """The columns of blocks as they are in the file."""
        return self.table.inferred(n_rows, texts)

    def parts(self, n_rows: int, kinds: Kinds, kept: Sequence[str] = ()) -> Iterator[Part]:
        """Functions that return the blocks."""
        for part in self.table.parts(n_rows, self._read(kinds), kept):
            yield partial(self._block, part, kinds)

    def location(self, row: int, column: str) -> str:
        """Where a cell is, for messages."""
        return self.table.location(row, column)

    def _read(self, kinds: Kinds) -> dict[str, str]:
        """What is read from the file: texts, in the end, in place of the parts."""
        parts = {name for column in self.dates for name in column.names}
        others = {name: kind for name, kind in kinds.items() if name not in parts}
        return others | {column.name: TEXT for column in self.dates}

    def _block(self, part: Part, kinds: Kinds) -> Block:
        block, n_dates = part(), len(self.dates)
        names = [name for name, kind in self._read(kinds).items() if kind == NUMBER]
        columns = dict(zip(names, block.numbers.T, strict=True))
        for column, texts in zip(self.dates, block.texts[-n_dates:], strict=True):
            columns |= self._numbers(column, texts)
        wanted = [columns[name] for name, kind in kinds.items() if kind == NUMBER]
        return replace(block, numbers=np.array(wanted).T, texts=block.texts[:-n_dates])

    def _numbers(self, column: DateColumn, texts: IndexedColumn) -> dict[str, Floats]:
        """The parts of a column; an error with the place of a cell that is not a date."""
        try:
            return column.numbers(texts)
        except DateError as error:
            start = 0
            for frame in self.table.whole.blocks(_ROWS_AT_ONCE, {column.name: TEXT}):
                same = np.flatnonzero(frame[column.name] == error.text).tolist()
                if same:
                    place = self.location(start + same[0], column.name)
                    expected = f"expected a date such as {EXAMPLES[column.order]}"
                    raise LocatedError(
                        f"{place}: {expected}, got {error.text!r}. "
                        f"If it stands for a missing value, add --missing {error.text!r}."
                    ) from None
                start += len(frame)
            raise


def with_dates(table: DataTable, dates: tuple[DateColumn, ...]) -> DataTable:
    """A data file as a model with these columns of dates reads it."""
    return DatedTable(table.path, table.columns, table.dialect, table, dates) if dates else table
