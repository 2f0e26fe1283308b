"""What the columns of a data file are: numeric features, categorical features, or not used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ffmlp.tables.tables import DECIMAL_COMMAS, NUMBER, TEXT, DataTable, Dialect
from ffmlp.words import listed

if TYPE_CHECKING:
    from ffmlp.arrays import Floats
    from ffmlp.tables.blocks import Texts

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
            columns = listed(column for column in table.columns if column)
            raise ValueError(f"{table.path} has no column {name!r} ({option}). Columns: {columns}.")


def infer(table: DataTable, categorical: Sequence[str], left_out: Sequence[str]) -> Columns:
    """Infer from every cell of a file what its columns are.

    A ValueError if a column has mostly numbers, but not only numbers; or if there is no feature.
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
    distinct: set[float | str] = field(default_factory=set)

    def add(self, cells: Floats | Texts, start: int) -> None:
        """Count the cells of a block that begins at row ``start``."""
        import numpy as np  # not with the module: the command line names its commands without it

        from ffmlp.tables.blocks import Texts

        if isinstance(cells, Texts):
            self._add_texts(cells, start)
            return
        present = cells[~np.isnan(cells)]
        self.n_numbers += len(present)
        if len(self.distinct) <= _MAX_DISTINCT:
            self.distinct.update(np.unique(present).tolist())

    def _add_texts(self, cells: Texts, start: int) -> None:
        import numpy as np

        if len(self.distinct) <= _MAX_DISTINCT:
            self.distinct.update(cells.distinct)
        # The last one stands for missing cells.
        is_text = np.array([*(not Dialect().is_number(text) for text in cells.distinct), False])
        rows = np.flatnonzero(is_text[cells.indices])
        self.n_texts += len(rows)
        self.n_numbers += int((cells.indices >= 0).sum()) - len(rows)
        if len(rows) and self.first_text is None:
            self.first_text = start + int(rows[0]), cells.distinct[cells.indices[rows[0]]]
        texts = [text for text, is_one in zip(cells.distinct, is_text, strict=False) if is_one]
        self.all_decimal_commas &= all(map(Dialect().has_decimal_comma, texts))
        self.all_thousands &= all(map(Dialect().has_thousands, texts))
        self.all_like_dates &= all(map(_DATE.fullmatch, texts))

    def useless(self, *, forced: bool) -> str | None:
        """Why the column cannot be a feature, if so; ``forced`` if the user calls it categorical."""
        n_cells = self.n_numbers + self.n_texts
        if not self.distinct:
            return "it is empty"
        if len(self.distinct) == 1:
            (only,) = self.distinct
            return f"all values are {only if isinstance(only, str) else f'{only:.15g}'}"
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
