"""What the columns of a data file are: numeric features, categorical features, or not used."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ffmlp.tables.tables import DECIMAL_COMMAS, NUMBER, TEXT, DataTable, Dialect, pandas
from ffmlp.words import listed

if TYPE_CHECKING:
    import pandas as pd

_ROWS_AT_ONCE = 100_000
# A text column with more distinct values than this is free text if most cells have their own value.
_FEW_TEXTS = 20
_MAX_DISTINCT = 10_000
# Year, month and day, or the other way round, with or without a time.
_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([AaPp][Mm])?\s*(Z|UTC|[+-]\d{2}:?\d{2})?)?"
)


@dataclass(frozen=True)
class Features:
    """The columns that a model takes, by kind."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def features(self) -> list[str]:
        """Their names, numbers first."""
        return [*self.numbers, *self.categories]

    @property
    def kinds(self) -> dict[str, str]:
        """How to read them."""
        return dict.fromkeys(self.numbers, NUMBER) | dict.fromkeys(self.categories, TEXT)


@dataclass(frozen=True)
class Columns(Features):
    """The columns of a file: the features, and why others are not used."""

    unused: dict[str, str]


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

    A ValueError if a column has mostly numbers, but not only numbers; or if there is no feature.
    """
    tallies = {name: _Tally() for name in table.columns if name and name not in left_out}
    start = 0
    for block in table.inferred(_ROWS_AT_ONCE, categorical):
        for name, tally in tallies.items():
            tally.add(block[name], start)
        start += len(block)
    if start == 0:
        raise ValueError(f"{table.path} has a header but no rows.")
    nameless = [number for number, name in enumerate(table.columns, start=1) if not name]
    unused, kinds = {f"column {number}": "it has no name" for number in nameless}, {}
    for name, tally in tallies.items():
        reason = tally.useless(forced=name in categorical)
        if reason is not None:
            unused[name] = reason
        else:
            kinds[name] = TEXT if name in categorical else _kind(table, name, tally)
    if not kinds:
        reasons = listed((f"{name}: {reason}" for name, reason in unused.items()), "; ")
        raise ValueError(f"{table.path} has no usable feature ({reasons or 'no other columns'}).")
    numbers = tuple(name for name, kind in kinds.items() if kind == NUMBER)
    categories = tuple(name for name, kind in kinds.items() if kind == TEXT)
    return Columns(numbers, categories, unused)


@dataclass
class _Tally:
    """What is known of a column so far; ``first_text`` is the row and the content of the first text."""

    n_numbers: int = 0
    n_texts: int = 0
    first_text: tuple[int, str] | None = None
    all_decimal_commas: bool = True
    all_thousands: bool = True
    all_like_dates: bool = True
    dates: bool = False
    distinct: set[Any] = field(default_factory=set)

    def add(self, cells: pd.Series, start: int) -> None:
        """Count the cells of a block that begins at row ``start``."""
        types = pandas().api.types
        present = cells.dropna()
        if len(self.distinct) <= _MAX_DISTINCT:
            alike = present.astype(str) if present.dtype == object else present
            self.distinct.update(alike.unique())
        if types.is_datetime64_any_dtype(cells.dtype):
            self.dates = True
        elif types.is_numeric_dtype(cells.dtype) and not types.is_bool_dtype(cells.dtype):
            self.n_numbers += len(present)
        else:
            texts = present.astype(str)
            texts = texts[pandas().to_numeric(texts, errors="coerce").isna()]
            self.n_numbers += len(present) - len(texts)
            self.n_texts += len(texts)
            if len(texts) and self.first_text is None:
                self.first_text = start + cells.index.get_loc(texts.index[0]), texts.iloc[0]
            distinct = texts.unique()
            self.all_decimal_commas &= all(map(Dialect().has_decimal_comma, distinct))
            self.all_thousands &= all(map(Dialect().has_thousands, distinct))
            self.all_like_dates &= all(map(_DATE.fullmatch, distinct))

    def useless(self, *, forced: bool) -> str | None:
        """Why the column cannot be a feature, if so; ``forced`` if the user calls it categorical."""
        n_cells = self.n_numbers + self.n_texts
        if self.dates:
            return "it holds dates"
        if not self.distinct:
            return "it is empty"
        if len(self.distinct) == 1:
            return f"all values are {next(iter(self.distinct))}"
        if self.first_text is not None and self.all_like_dates and not self.n_numbers and not forced:
            return f"it holds dates, such as {self.first_text[1]}"
        many = len(self.distinct) > max(_FEW_TEXTS, n_cells / 2)
        numbers = self.all_decimal_commas or self.all_thousands
        if many and self.n_texts > self.n_numbers and not numbers and not forced:
            return f"free text, {len(self.distinct)} distinct values in {n_cells} cells"
        return None


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
        f"{tally.n_numbers + tally.n_texts} cells in this column are. If it stands for a missing value, "
        f"add --missing {text!r}; if the column is categorical, add --categorical {name!r}."
    )
