"""What the columns of a data file are: numeric features, categorical features, or not used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.tables.blocks import Texts
from ffmlp.tables.tables import DECIMAL_COMMAS, NUMBER, TEXT, DataTable, Dialect
from ffmlp.tabular.dates import DateColumn, DateTally
from ffmlp.tabular.oddities import is_id_name, number_with_unit, spelt_alike
from ffmlp.words import listed

_ROWS_AT_ONCE = 100_000
# A text column with more distinct values than this is free text if most cells have their own value.
_FEW_TEXTS = 20
_MAX_DISTINCT = 10_000
# Fewer distinct integers than this are not noted as an id.
_FEWEST_IDS = 20


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
    tallies = {name: _Tally() for name in table.columns if name and name not in left_out}
    start = 0
    for block in table.inferred(_ROWS_AT_ONCE, categorical):
        for name, tally in tallies.items():
            tally.add(block[name], start)
        start += len(next(iter(block.values())))
    if start == 0:
        raise ValueError(f"{table.path} has a header but no rows.")
    nameless = [number for number, name in enumerate(table.columns, start=1) if not name]
    unused = {f"column {number}": "it has no name" for number in nameless}
    kinds, dates, notes = dict[str, str](), list[DateColumn](), list[str]()
    for name, tally in tallies.items():
        forced = name in categorical
        reason = tally.useless(forced=forced)
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


@dataclass
class _Tally:
    """What is known of a column so far; ``first_text`` is the row and the content of the first text.

    ``distinct`` are the values of the first ``n_compared`` cells; a missing cell is not an integer.
    """

    n_numbers: int = 0
    n_texts: int = 0
    first_text: tuple[int, str] | None = None
    all_decimal_commas: bool = True
    all_thousands: bool = True
    all_integers: bool = True
    ascending: bool = True
    last: float = -inf
    dates: DateTally = field(default_factory=DateTally)
    distinct: set[float | str] = field(default_factory=set)
    n_compared: int = 0

    def add(self, cells: Floats | Texts, start: int) -> None:
        """Count the cells of a block that begins at row ``start``."""
        if isinstance(cells, Texts):
            self._add_texts(cells, start)
            self._compare(cells.distinct, int((cells.indices >= 0).sum()))
            return
        present = cells[~np.isnan(cells)]
        self.n_numbers += len(present)
        self.all_integers &= len(present) == len(cells) and bool((cells == np.floor(cells)).all())
        in_order = np.append(self.last, present)
        self.ascending &= bool((in_order[1:] > in_order[:-1]).all())
        self.last = in_order[-1]
        self._compare(np.unique(present).tolist(), len(present))

    def _add_texts(self, cells: Texts, start: int) -> None:
        found, rows, counts = np.unique(cells.indices, return_index=True, return_counts=True)
        texts, first_rows, n_cells = list[str](), list[int](), list[int]()
        for index, row, count in zip(found.tolist(), rows.tolist(), counts.tolist(), strict=True):
            if index >= 0 and Dialect().is_number(cells.distinct[index]):
                self.n_numbers += count
            elif index >= 0:
                texts.append(cells.distinct[index])
                first_rows.append(start + row)
                n_cells.append(count)
        self.n_texts += sum(n_cells)
        if texts and self.first_text is None:
            self.first_text = min(zip(first_rows, texts, strict=True))
        self.all_integers = False
        self.all_decimal_commas &= all(map(Dialect().has_decimal_comma, texts))
        self.all_thousands &= all(map(Dialect().has_thousands, texts))
        self.dates.add(texts, n_cells, first_rows)

    def _compare(self, values: Iterable[float | str], n_cells: int) -> None:
        if len(self.distinct) <= _MAX_DISTINCT:
            self.distinct.update(values)
            self.n_compared += n_cells

    @property
    def has_dates(self) -> bool:
        """Whether most cells are dates."""
        return 0 < self.n_texts <= 2 * self.dates.n_dates(self.dates.order) and not self.n_numbers

    def useless(self, *, forced: bool) -> str | None:
        """Why the column cannot be a feature, if so; ``forced`` if the user calls it categorical."""
        n_cells = self.n_numbers + self.n_texts
        if not self.distinct:
            return "it is empty"
        if len(self.distinct) == 1:
            (only,) = self.distinct
            return f"all values are {only if isinstance(only, str) else f'{only:.15g}'}"
        if self.has_dates and not (forced or self.dates.varying):
            return f"all dates are {self.dates.example}"
        many = len(self.distinct) > max(_FEW_TEXTS, self.n_compared / 2)
        numbers = self.all_decimal_commas or self.all_thousands
        if many and self.n_texts > self.n_numbers and not (numbers or self.has_dates or forced):
            example = number_with_unit(text for text in self.distinct if isinstance(text, str))
            if example is not None:
                return f"its numbers have a unit, such as {example!r}; remove the unit to use them"
            return f"free text, {len(self.distinct)} distinct values in {n_cells} cells"
        return None

    def notes(self, name: str, kind: str | None) -> list[str]:
        """What a person would look at twice in a feature of this kind; None is a column of dates."""
        if kind is None:
            return self._notes_on_dates(name)
        if kind == NUMBER:
            distinct = len(self.distinct) == self.n_compared >= _FEWEST_IDS
            if not (self.all_integers and distinct and (self.ascending or is_id_name(name))):
                return []
            return [
                f"{name!r} is an integer that differs in every row, as an id does, and is used as a "
                f"number. If it is an id, add --id {name!r} or --ignore {name!r}."
            ]
        notes, texts = [], [text for text in self.distinct if isinstance(text, str)]
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


def _dates(table: DataTable, name: str, tally: _Tally) -> DateColumn:
    """The column of dates; an error about the first text that is not a date."""
    if tally.dates.other is not None:
        row, text = tally.dates.other
        n_dates = tally.dates.n_dates(tally.dates.order)
        raise ValueError(
            f"{table.place(row, name)}: {text!r} is not a date ({tally.dates.order}), but {n_dates} of "
            f"{tally.n_texts} cells in this column are. {_remedies(name, text)}"
        )
    column = DateColumn(name, tally.dates.order, tally.dates.varying)
    for part in column.names:
        if part in table.columns:
            raise ValueError(
                f"{table.path}: {name!r} has dates, and {part!r} is the name of a part of it and of "
                f"another column. Rename one of them, or add --ignore {name!r}."
            )
    return column


def _kind(table: DataTable, name: str, tally: _Tally) -> str:
    if tally.first_text is None:
        return NUMBER
    row, text = tally.first_text
    if tally.all_decimal_commas or tally.all_thousands:
        remedy = Dialect().remedy(text) if tally.all_thousands else DECIMAL_COMMAS
        raise ValueError(f"{table.place(row, name)}: expected a number, got {text!r}. {remedy}")
    if tally.n_numbers < tally.n_texts:
        return TEXT
    raise ValueError(
        f"{table.place(row, name)}: {text!r} is not a number, but {tally.n_numbers} of "
        f"{tally.n_numbers + tally.n_texts} cells in this column are. {_remedies(name, text)}"
    )


def _remedies(name: str, text: str) -> str:
    return (
        f"If it stands for a missing value, add --missing {text!r}; if the column is categorical, add "
        f"--categorical {name!r}."
    )
