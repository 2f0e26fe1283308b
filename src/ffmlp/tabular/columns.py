"""What the columns of a data file are: numeric features, categorical features, or not used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ffmlp.tables.tables import DECIMAL_COMMAS, NUMBER, TEXT, DataTable
from ffmlp.tabular.dates import DateColumn
from ffmlp.tabular.tallies import Tallies, Tally
from ffmlp.words import listed


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
    return columns_of(table, Tallies.of_table(table, categorical, left_out), categorical)


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


def _kind(table: DataTable, name: str, tally: Tally) -> str:
    if tally.first_text is None:
        return NUMBER
    row, text = tally.first_text
    if tally.all_decimal_commas or tally.all_thousands:
        remedy = table.dialect.remedy(text) if tally.all_thousands else DECIMAL_COMMAS
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
