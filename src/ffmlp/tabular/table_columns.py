"""What the columns of a data file are: numbers, categories, or not used."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf
from operator import add

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import IndexedColumn, category_name
from ffmlp.tables.tables import DECIMAL_COMMAS, NUMBER, TEXT, DataTable, Dialect
from ffmlp.tabular.dates import DateColumn, DateTally
from ffmlp.words import listed

# The end of names such as patient_id, PassengerId or row number, but not of humid.
_ID_NAME = re.compile(r"((?i:(^|[\W_])(id|key|index|nr|no|number))|(?<=[a-z])I[dD])$")
# A number and a unit before or after it. Ordinals, such as 5th, have none.
_UNIT = r"(?!(?:st|nd|rd|th)\b)[^\W\d_]+(?:/[^\W\d_]+)?|[%°€$£¥][^\W\d_]?"
_WITH_UNIT = re.compile(rf"(?P<before>[€$£¥])?\s*[+-]?\d[\d.,]*\s*(?P<after>{_UNIT})?")
# Fewer distinct numbers with a unit are names, such as 2WD and 4WD.
_FEWEST_WITH_UNIT = 5
# More integer classes than this may be a number to predict.
_MANY_CLASSES = 20


def number_with_unit(texts: Iterable[str]) -> str | None:
    """One of some distinct texts, such as 39.1 mm, if most of them are numbers with the same unit."""
    of_units, n_texts = defaultdict(list), 0
    for text in texts:
        n_texts += 1
        match = _WITH_UNIT.fullmatch(text)
        if match is not None and (match["before"] or match["after"]):
            of_units[match["before"] or match["after"]].append(text)
    most = max(of_units.values(), key=len, default=[])
    return min(most) if len(most) >= max(_FEWEST_WITH_UNIT, n_texts / 2) else None


def spelt_alike(texts: Iterable[str]) -> tuple[str, str] | None:
    """Two of some distinct texts that differ only in case or spaces, if there are any."""
    groups = defaultdict(list)
    for text in texts:
        groups["".join(text.split()).casefold()].append(text)
    first, second, *_ = min(
        (sorted(group) for group in groups.values() if group[1:]), default=(None, None)
    )
    return None if first is None or second is None else (first, second)


def notes_on_labels(target: str, labels: Sequence[int | str]) -> list[str]:
    """What a person would look at twice in the distinct labels of a target."""
    notes = []
    if len(labels) > _MANY_CLASSES and all(isinstance(label, int) for label in labels):
        notes.append(
            f"{target!r} has {len(labels)} integer classes, from {min(labels)} to {max(labels)}. ffmlp "
            "predicts classes, not numbers: if it is a number, group it into a few classes first."
        )
    pair = spelt_alike(map(str, labels))
    if pair is not None:
        notes.append(
            f"{target!r} has classes that differ only in case or spaces: {pair[0]!r} and {pair[1]!r}. "
            "If they are the same, write them alike in the file."
        )
    return notes


_ROWS_AT_ONCE = 100_000
# A text column with more distinct values than this is free text if most cells have their own value.
_FEW_TEXTS = 20
_MAX_DISTINCT = 10_000
# Fewer distinct integers than this are not noted as an id.
_FEWEST_IDS = 20


@dataclass(frozen=True)
class Tallies:
    """Kinds and distinct values of the columns of ``n_rows`` rows; addable."""

    n_rows: int
    columns: dict[str, Tally]

    @classmethod
    def of(
        cls, block: dict[str, Floats | IndexedColumn], dialect: Dialect, left_out: Collection[str] = ()
    ) -> Tallies:
        """The tallies of a block of rows, whose cells are written in this dialect."""
        columns = {
            name: Tally.of(cells, dialect) for name, cells in block.items() if name not in left_out
        }
        return cls(len(next(iter(block.values()))), columns)

    def __add__(self, later: Tallies) -> Tallies:
        columns = {
            name: tally.followed_by(later.columns[name], self.n_rows)
            for name, tally in self.columns.items()
        }
        return Tallies(self.n_rows + later.n_rows, columns)


@dataclass(frozen=True)
class Tally:
    """Kind and distinct values of a column; ``first_text`` is the row and content of the first text.

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
    def of(cls, cells: Floats | IndexedColumn, dialect: Dialect) -> Tally:
        """The tally of some successive cells."""
        if isinstance(cells, IndexedColumn):
            return cls._of_texts(cells, dialect)
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
    def _of_texts(cls, cells: IndexedColumn, dialect: Dialect) -> Tally:
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
        """A tally with the distinct values of both, unless one of them has too many to be added."""
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
            if not (self.all_integers and distinct and (self.ascending or _ID_NAME.search(name))):
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


@dataclass(frozen=True)
class Features:
    """The columns that a model takes, by kind.

    Among the numbers are the parts of ``dates``, such as ``when (year)``.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    dates: tuple[DateColumn, ...] = field(default=(), kw_only=True)

    @property
    def features(self) -> list[str]:
        """Their names, numbers first."""
        return [*self.numbers, *self.categories]

    @property
    def sources(self) -> list[str]:
        """The columns of a file that they are read from."""
        parts = {part for column in self.dates for part in column.names}
        others = [name for name in self.features if name not in parts]
        return [*others, *(column.name for column in self.dates)]

    @property
    def kinds(self) -> dict[str, str]:
        """How to read them."""
        return dict.fromkeys(self.numbers, NUMBER) | dict.fromkeys(self.categories, TEXT)


@dataclass(frozen=True)
class Columns(Features):
    """The columns of a file: the features, why others are not used, and what to look at twice."""

    unused: dict[str, str]
    notes: tuple[str, ...] = ()


def require_columns(table: DataTable, names: Iterable[str], option: str) -> None:
    """Raise an error if the file lacks one of the columns that an option names."""
    for name in names:
        if not name or name not in table.columns:
            columns = [column for column in table.columns if column]
            meant = similar(name, columns)
            hint = "" if meant is None else f" Did you mean {meant!r}?"
            raise ValueError(
                f"{table.path} has no column {name!r} ({option}).{hint} Columns: {listed(columns)}."
            )


def similar(name: str, names: Iterable[str]) -> str | None:
    """The one of ``names`` that is written most like ``name``, whatever their case; None if none is."""
    plain = {"".join(filter(str.isalnum, other)).casefold(): other for other in names}
    wanted = "".join(filter(str.isalnum, name)).casefold()
    return next((plain[found] for found in difflib.get_close_matches(wanted, plain, n=1)), None)


def infer(table: DataTable, categorical: Sequence[str], left_out: Sequence[str]) -> Columns:
    """Infer from every cell of a file what its columns are.

    A ValueError if a column has mostly numbers, but not only numbers, or mostly dates; or if there is no
    feature.
    """
    names = [name for name in table.columns if name and name not in left_out]
    nothing = Tallies(0, {name: Tally() for name in names})
    inferred = table.inferred(_ROWS_AT_ONCE, categorical)
    blocks = (Tallies.of(block, table.dialect, left_out) for block in inferred)
    return columns_of(table, reduce(add, blocks, nothing), categorical)


def columns_of(table: DataTable, tallies: Tallies, categorical: Sequence[str]) -> Columns:
    """What the columns of a file are, from the tallies of all its rows."""
    if tallies.n_rows == 0:
        raise ValueError(f"{table.path} has a header but no rows.")
    nameless = [number for number, name in enumerate(table.columns, start=1) if not name]
    unused = {f"column {number}": "it has no name" for number in nameless}
    kinds, dates, notes = dict[str, str](), list[DateColumn](), list[str]()
    for name, tally in tallies.columns.items():
        forced = name in categorical
        reason = tally.useless(tallies.n_rows, forced=forced)
        if reason is not None:
            unused[name] = reason
        elif tally.has_dates and not forced:
            dates.append(_dates(table, name, tally))
            kinds |= dict.fromkeys(dates[-1].names, NUMBER)
        else:
            kinds[name] = TEXT if forced else _kind(table, name, tally)
        if reason is None:
            notes += tally.notes(name, kinds.get(name))
    if not kinds:
        reasons = listed((f"{name}: {reason}" for name, reason in unused.items()), "; ")
        raise ValueError(f"{table.path} has no usable feature ({reasons or 'no other columns'}).")
    numbers, categories = (
        tuple(name for name, kind in kinds.items() if kind == wanted) for wanted in (NUMBER, TEXT)
    )
    return Columns(numbers, categories, unused, tuple(notes), dates=tuple(dates))


def _dates(table: DataTable, name: str, tally: Tally) -> DateColumn:
    """The column of dates; an error about the first text that is not a date."""
    if tally.dates.other is not None:
        row, text = tally.dates.other
        n_dates = tally.dates.n_dates(tally.dates.order)
        raise ValueError(
            f"{table.location(row, name)}: {text!r} is not a date ({tally.dates.order}), but {n_dates} "
            f"of {tally.n_texts} cells in this column are. {_remedies(name, text)}"
        )
    column = DateColumn(name, tally.dates.order, tally.dates.varying)
    for part in column.names:
        if part in table.columns:
            raise ValueError(
                f"{table.path}: {name!r} has dates, and {part!r} is the name of a part of it and of "
                f"another column. Rename one of them, or add --ignore {name!r}."
            )
    return column


def _kind(table: DataTable, name: str, tally: Tally) -> str:
    if tally.first_text is None:
        return NUMBER
    row, text = tally.first_text
    if tally.all_decimal_commas or tally.all_thousands:
        remedy = table.dialect.remedy(text) if tally.all_thousands else DECIMAL_COMMAS
        raise ValueError(f"{table.location(row, name)}: expected a number, got {text!r}. {remedy}")
    if tally.n_numbers < tally.n_texts:
        return TEXT
    raise ValueError(
        f"{table.location(row, name)}: {text!r} is not a number, but {tally.n_numbers} of "
        f"{tally.n_numbers + tally.n_texts} cells in this column are. {_remedies(name, text)}"
    )


def _remedies(name: str, text: str) -> str:
    return (
        f"If it stands for a missing value, add --missing {text!r}; if the column is categorical, add "
        f"--categorical {name!r}."
    )
