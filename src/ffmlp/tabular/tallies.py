"""What is known of the columns of some rows; that of successive rows adds up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf
from operator import add

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import category_name
from ffmlp.tables.blocks import Texts
from ffmlp.tables.tables import NUMBER, DataTable, Dialect
from ffmlp.tabular.dates import DateTally
from ffmlp.tabular.oddities import is_id_name, number_with_unit, spelt_alike
from ffmlp.words import listed

_ROWS_AT_ONCE = 100_000
# A text column with more distinct values than this is free text if most cells have their own value.
_FEW_TEXTS = 20
_MAX_DISTINCT = 10_000
# Fewer distinct integers than this are not noted as an id.
_FEWEST_IDS = 20


@dataclass(frozen=True)
class Tallies:
    """What is known of the columns of ``n_rows`` rows."""

    n_rows: int
    columns: dict[str, Tally]

    @classmethod
    def of(
        cls, block: dict[str, Floats | Texts], dialect: Dialect, left_out: Collection[str] = ()
    ) -> Tallies:
        """The tallies of a block of rows, whose cells are written in this dialect."""
        columns = {
            name: Tally.of(cells, dialect) for name, cells in block.items() if name not in left_out
        }
        return cls(len(next(iter(block.values()))), columns)

    @classmethod
    def of_table(cls, table: DataTable, texts: Sequence[str], left_out: Sequence[str]) -> Tallies:
        """The tallies of all rows; columns of ``texts`` are not read as numbers."""
        names = [name for name in table.columns if name and name not in left_out]
        none = cls(0, {name: Tally() for name in names})
        inferred = table.inferred(_ROWS_AT_ONCE, texts)
        blocks = (cls.of(block, table.dialect, left_out) for block in inferred)
        return reduce(add, blocks, none)

    def __add__(self, later: Tallies) -> Tallies:
        columns = {
            name: tally.followed_by(later.columns[name], self.n_rows)
            for name, tally in self.columns.items()
        }
        return Tallies(self.n_rows + later.n_rows, columns)


@dataclass(frozen=True)
class Tally:
    """What is known of a column; ``first_text`` is the row and the content of the first text.

    Of ``n_compared`` cells, ``n_distinct`` values are distinct. They are in ``distinct``, unless they
    are too many to be added to others; then only some texts are. A missing cell is not an integer.
    """

    n_numbers: int = 0
    n_texts: int = 0
    first_text: tuple[int, str] | None = None
    all_decimal_commas: bool = True
    all_thousands: bool = True
    all_integers: bool = True
    ascending: bool = True
    first: float = inf
    last: float = -inf
    dates: DateTally = field(default_factory=DateTally)
    distinct: frozenset[float | str] = frozenset()
    n_distinct: int = 0
    n_compared: int = 0

    @classmethod
    def of(cls, cells: Floats | Texts, dialect: Dialect) -> Tally:
        """The tally of some successive cells."""
        return cls._of_texts(cells, dialect) if isinstance(cells, Texts) else cls._of_numbers(cells)

    @classmethod
    def _of_numbers(cls, cells: Floats) -> Tally:
        present = cells[~np.isnan(cells)]
        distinct = np.unique(present)
        return cls(
            n_numbers=len(present),
            all_integers=len(present) == len(cells) and bool((cells == np.floor(cells)).all()),
            ascending=bool((present[1:] > present[:-1]).all()),
            first=float(present[0]) if len(present) else inf,
            last=float(present[-1]) if len(present) else -inf,
            distinct=frozenset(distinct.tolist() if len(distinct) <= _MAX_DISTINCT else ()),
            n_distinct=len(distinct),
            n_compared=len(present),
        )

    @classmethod
    def _of_texts(cls, cells: Texts, dialect: Dialect) -> Tally:
        found, rows, counts = np.unique(cells.indices, return_index=True, return_counts=True)
        texts, first_rows, n_cells, n_numbers = list[str](), list[int](), list[int](), 0
        for index, row, count in zip(found.tolist(), rows.tolist(), counts.tolist(), strict=True):
            if index >= 0 and dialect.is_number(cells.distinct[index]):
                n_numbers += count
            elif index >= 0:
                texts.append(cells.distinct[index])
                first_rows.append(row)
                n_cells.append(count)
        dates = DateTally()
        dates.add(texts, n_cells, first_rows)
        return cls(
            n_numbers=n_numbers,
            n_texts=sum(n_cells),
            first_text=min(zip(first_rows, texts, strict=True), default=None),
            all_decimal_commas=all(map(dialect.has_decimal_comma, texts)),
            all_thousands=all(map(dialect.has_thousands, texts)),
            all_integers=False,
            dates=dates,
            distinct=frozenset(sorted(cells.distinct)[:_MAX_DISTINCT]),
            n_distinct=len(cells.distinct),
            n_compared=n_numbers + sum(n_cells),
        )

    def followed_by(self, later: Tally, n_rows: int) -> Tally:
        """The tally of these cells, which are in ``n_rows`` rows, and of later ones."""
        first_text = self.first_text
        if first_text is None and later.first_text is not None:
            first_text = n_rows + later.first_text[0], later.first_text[1]
        return replace(
            self._compared_with(later),
            n_numbers=self.n_numbers + later.n_numbers,
            n_texts=self.n_texts + later.n_texts,
            first_text=first_text,
            all_decimal_commas=self.all_decimal_commas and later.all_decimal_commas,
            all_thousands=self.all_thousands and later.all_thousands,
            all_integers=self.all_integers and later.all_integers,
            ascending=self.ascending and later.ascending and self.last < later.first,
            first=later.first if self.first == inf else self.first,
            last=self.last if later.last == -inf else later.last,
            dates=self.dates.followed_by(later.dates, n_rows),
        )

    def _compared_with(self, later: Tally) -> Tally:
        """A tally with the distinct values of both, or those of the one with too many to be added."""
        if self.n_distinct > _MAX_DISTINCT:
            return self
        if later.n_distinct > _MAX_DISTINCT:
            return later
        distinct = self.distinct | later.distinct
        n_compared = self.n_compared + later.n_compared
        return replace(self, distinct=distinct, n_distinct=len(distinct), n_compared=n_compared)

    @property
    def has_dates(self) -> bool:
        """Whether most cells are dates."""
        return 0 < self.n_texts <= 2 * self.dates.n_dates(self.dates.order) and not self.n_numbers

    def useless(self, n_rows: int, *, forced: bool) -> str | None:
        """Why the column cannot be a feature, if so; ``forced`` if the user calls it categorical."""
        n_cells = self.n_numbers + self.n_texts
        if not self.n_distinct:
            return "it is empty"
        is_flag = n_cells < n_rows and (forced or (self.n_texts > 0 and not self.has_dates))
        if self.n_distinct == 1 and not is_flag:  # the other category of a flag is that it is missing
            (only,) = self.distinct
            return f"all values are {only if isinstance(only, str) else f'{only:.15g}'}"
        if self.has_dates and not (forced or self.dates.varying):
            return f"all dates are {self.dates.example}"
        many = self.n_distinct > max(_FEW_TEXTS, self.n_compared / 2)
        numbers = self.all_decimal_commas or self.all_thousands
        if many and self.n_texts > self.n_numbers and not (numbers or self.has_dates or forced):
            example = number_with_unit(text for text in self.distinct if isinstance(text, str))
            if example is not None:
                return f"its numbers have a unit, such as {example!r}; remove the unit to use them"
            return f"free text, {self.n_distinct} distinct values in {n_cells} cells"
        return None

    def notes(self, name: str, kind: str | None) -> list[str]:
        """What a person would look at twice in a feature of this kind; None is a column of dates."""
        if kind is None:
            return self._notes_on_dates(name)
        if kind == NUMBER:
            distinct = self.n_distinct == self.n_compared >= _FEWEST_IDS
            if not (self.all_integers and distinct and (self.ascending or is_id_name(name))):
                return []
            return [
                f"{name!r} is an integer that differs in every row, as an id does, and is used as a "
                f"number. If it is an id, add --id {name!r} or --ignore {name!r}."
            ]
        notes, texts = [], {category_name(text) for text in self.distinct if isinstance(text, str)}
        example = number_with_unit(texts)
        if example is not None:
            notes.append(
                f"{name!r} has numbers with a unit, such as {example!r}, which are used as categories. "
                f"Remove the unit to use them as numbers, or add --ignore {name!r}."
            )
        pair = spelt_alike(texts)
        if pair is not None:
            notes.append(
                f"{name!r} has categories that differ only in case or spaces: {pair[0]!r} and "
                f"{pair[1]!r}. If they are the same, write them alike in the file."
            )
        return notes

    def _notes_on_dates(self, name: str) -> list[str]:
        dates = self.dates
        notes = [
            f"{name!r} has dates, such as {dates.example}: the model uses {listed(dates.varying)}. "
            f"Add --ignore {name!r} to leave it out."
        ]
        if dates.ambiguous is not None:
            notes.append(
                f"{name!r}: {dates.ambiguous} is read as {dates.order}, and no date in the file decides "
                "it. If that is wrong, write dates as 2024-01-31."
            )
        return notes
