"""Rows of a table before they are samples: weights, hashes, and the rows that stand for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices
from ffmlp.inputs.columns import Cells

# Squares of sums of weights times other numbers are floats.
_LARGEST_TOTAL = 1e100


@dataclass(frozen=True)
class WeightSums:
    """What decides how weights are scaled, a `Statistic`."""

    total: float
    largest: float
    n_positive: int

    @classmethod
    def of(cls, weight: Floats) -> WeightSums:
        """The sums of non-negative weights."""
        with np.errstate(over="ignore"):
            total = float(weight.sum())
        return cls(total, float(weight.max(initial=0.0)), int(np.count_nonzero(weight)))

    def __add__(self, other: WeightSums) -> WeightSums:
        largest = max(self.largest, other.largest)
        return WeightSums(self.total + other.total, largest, self.n_positive + other.n_positive)

    def check(self, *, adds_up: bool) -> None:
        """Raise a ValueError if the weights cannot be frequencies.

        Weights whose sums must add up may not be scaled: sites would scale theirs differently.
        """
        if not self.n_positive:
            raise ValueError("sample_weight is zero for all samples. Give some a positive weight.")
        if self.total > _LARGEST_TOTAL:
            raise ValueError(
                f"The sum of sample_weight is {self.total:.3g}, above {_LARGEST_TOTAL:g}. Scale the "
                "weights down."
            )
        if adds_up and self.total < self.n_positive:
            raise ValueError(
                f"sample_weight has a mean of {self.total / self.n_positive:.3g}. Statistics that are "
                "merged need frequencies with a mean of at least 1: multiply the weights of all sites "
                "by the same number."
            )

    def scaled(self, weight: Floats) -> Floats:
        """Weights with exact sums, at least one on average.

        Weights are frequencies. Weights with a mean below one cannot be; they are scaled to a mean of
        one, because blobs would otherwise seem to have too few samples.
        """
        if self.total >= self.n_positive:
            return with_exact_sums(weight, self.total)
        weight = weight / self.largest
        weight *= self.n_positive / (self.total / self.largest)
        return with_exact_sums(weight, float(self.n_positive))


def with_exact_sums(weight: Floats, total: float) -> Floats:
    """Weights, rounded to multiples of a 2⁻⁵⁰th of their total, so that every partial sum is exact.

    Pruning compares such sums.
    """
    quantum = np.ldexp(1.0, int(np.frexp(total)[1]) - 50)
    return np.round(weight / quantum) * quantum


GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0


def evenly(n: int, at_most: int) -> Indices:
    """Up to ``at_most`` of the numbers below n, evenly spaced."""
    return np.unique(np.arange(at_most) * n // at_most)


def weighted_subsample(X: AnyFloats, y: Indices, weight: Floats, at_most: int) -> tuple[Indices, Floats]:
    """Distinct samples that represent all, and the weight that each of them represents.

    Samples are sorted by class and by a weighted sum of their features. One is taken at every step of
    the cumulative weight, so that a sample of weight 2 counts as two samples. If at most ``at_most``
    samples are distinct, all of these are taken. Takes O(n·(N + log n)) time.
    """
    order, first = _grouped(X, y)
    rows, mass = order[first], np.add.reduceat(weight[order], first)
    if len(rows) <= at_most:
        ascending = np.argsort(rows)
        return rows[ascending], mass[ascending]
    cumulated = np.cumsum(mass)
    steps = (np.arange(at_most) + 0.5) / at_most * cumulated[-1]
    taken = rows[np.minimum(np.searchsorted(cumulated, steps), len(rows) - 1)]
    rows, times = np.unique(taken, return_counts=True)
    return rows, times * (cumulated[-1] / at_most)


def lexicographic(*columns: NDArray) -> tuple[Indices, Indices]:
    """An order of the samples by the columns, the first one first; where groups of equal samples start.

    A column is read only for samples that are equal in all columns before it. Samples that are equal in
    all of them keep their order.
    """
    n_samples = len(columns[0])
    order, new = np.arange(n_samples), np.arange(n_samples) == 0
    for column in columns:
        tied = ~new
        tied[:-1] |= tied[1:]
        places = np.flatnonzero(tied)
        if not len(places):
            break
        values, is_first = column[order[places]], new[places]
        if not (is_first[1:] | (values[1:] == values[:-1])).all():
            by_value = np.lexsort((values, np.cumsum(is_first)))
            order[places], values = order[places[by_value]], values[by_value]
            new[places[1:]] |= values[1:] != values[:-1]
    return order, np.flatnonzero(new)


def appearances(X: AnyFloats) -> Indices:
    """A number for each sample, the same for equal ones, in the order of their first appearance."""
    order, first = lexicographic(*X.T)
    by_appearance = np.argsort(np.argsort(order[first]))
    numbers = np.empty(len(order), np.intp)
    numbers[order] = np.repeat(by_appearance, np.diff(first, append=len(order)))
    return numbers


def _grouped(X: AnyFloats, y: Indices) -> tuple[Indices, Indices]:
    """An order by class and a sum of the features, equal samples adjacent; the start of each group."""
    place = np.zeros(len(X))
    with np.errstate(over="ignore", invalid="ignore"):  # any order will do
        # Column by column, because a matrix product might round equal rows differently. Features have
        # different factors, so that different samples seldom have the same sum.
        for feature, column in enumerate(X.T):
            place += (1.0 + feature * GOLDEN_RATIO % 1.0) * column
    return lexicographic(y, np.nan_to_num(place), *X.T)


class Statistic(Protocol):
    """What one pass over rows keeps of them: the statistics of parts add up to the statistic of all.

    A part is a block of a file or a partition on another machine. `SumOverParts` and ``Samples.total``
    take a function from a part to its statistic, and add these up in the order of the parts.
    """

    def __add__(self, other: Self, /) -> Self:
        """The statistic of the rows of both parts."""
        ...


class SumOfFields:
    """A `Statistic` each of whose fields adds up."""

    def __add__(self, other: Self) -> Self:
        assert is_dataclass(self)
        return replace(
            self,
            **{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)},
        )


S = TypeVar("S", bound=Statistic)
Hashes = NDArray[np.uint64]

# Distinct rows that are held, their cells, and distinct rows of a class, which may be rare.
MOST_DISTINCT, MOST_CELLS, FEWEST_OF_A_CLASS = 1 << 20, 1 << 25, 1000
# The hashes of drawn rows are below a limit, which leaves so many times the rows that are held.
_MARGIN = 1.1
# Blocks are added up until there are so many times the rows that are held.
_MOST_TIMES = 2
# Of drawn rows, none stands for more than this share of its class, however often it is repeated.
_LARGEST_SHARE = 0.01
# What a missing cell counts as.
_MISSING = np.uint64(0x7FF8_0000_0000_0001)


@dataclass(frozen=True, eq=False)
class Rows:
    """Validated rows of a table: cells (n, M), classes (n,) and weights (n,)."""

    cells: Cells
    y: Indices
    weight: Floats

    def __len__(self) -> int:
        return len(self.y)

    @property
    def most_distinct(self) -> int:
        """The number of distinct rows that are held of such rows."""
        return most_distinct(self.cells.values.shape[1])

    @cached_property
    def hashes(self) -> Hashes:
        """A pseudorandom number (n,) for each row, the same for equal cells."""
        return row_hashes(self.cells)

    def select(self, chosen: Indices | Flags) -> Rows:
        """Some of the rows."""
        cells = replace(self.cells, values=self.cells.values[chosen])
        part = Rows(cells, self.y[chosen], self.weight[chosen])
        if "hashes" in vars(self):  # they take longer to compute than to copy
            vars(part)["hashes"] = self.hashes[chosen]
        return part

    def __add__(self, other: Rows) -> Rows:
        """The rows of both, of the same columns."""
        cells = np.concatenate([self.cells.values, other.cells.values])
        y, weight = np.append(self.y, other.y), np.append(self.weight, other.weight)
        both = Rows(replace(self.cells, values=cells), y, weight)
        if "hashes" in vars(self) and "hashes" in vars(other):
            vars(both)["hashes"] = np.append(self.hashes, other.hashes)
        return both


def most_distinct(n_columns: int) -> int:
    """The number of distinct rows that are held of a table of so many columns."""
    return max(1, min(MOST_DISTINCT, MOST_CELLS // max(n_columns, 1)))


class SumOverParts(Protocol):
    """The sum of a statistic over all rows of a table, in parts that may lie elsewhere."""

    def __call__(self, statistic: Callable[[Rows], S], /) -> S:
        """The sum."""
        ...


def mixed(numbers: Hashes) -> Hashes:
    """Pseudorandom numbers of 64 bits (SplitMix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def row_hashes(cells: Cells) -> Hashes:
    """A hash (n,) of the cells of each row. A category counts by its name, not by its number."""
    found = np.zeros(len(cells.values), np.uint64)
    for column, known in zip(cells.values.T, cells.schema.categories, strict=True):
        if known is None:
            own = (np.asarray(column, np.float64) + 0.0).view(np.uint64)  # + 0.0: -0 is 0
        else:
            names = np.array([*map(_name_hash, known), 0], np.uint64)
            own = names[np.where(np.isnan(column), len(known), column).astype(np.intp)]
        found = mixed(found ^ mixed(np.where(np.isnan(column), _MISSING, own)))
    return found


def _name_hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Candidates for the representative rows, a `Statistic`.

    ``mass`` (C,) is the weight of all rows of each class, ``complete`` says that no row was left out.
    """

    rows: Rows
    mass: Floats
    complete: bool

    @classmethod
    def all_of(cls, rows: Rows, n_classes: int) -> Drawn:
        """All rows."""
        mass = np.bincount(rows.y, rows.weight, n_classes).astype(np.float64)
        return cls(rows, mass, complete=True)

    @classmethod
    def of(cls, rows: Rows, n_classes: int, below: int | None = None) -> Drawn:
        """The rows of smallest hash. Hashes from ``below`` on are known to be too large."""
        found = cls.all_of(rows, n_classes)
        if below is not None:
            return found.kept(rows.hashes < np.uint64(below))
        return found.settled() if len(rows) > rows.most_distinct else found

    def __add__(self, other: Drawn) -> Drawn:
        rows = self.rows + other.rows
        both = Drawn(rows, self.mass + other.mass, self.complete and other.complete)
        return both if len(rows) <= _MOST_TIMES * rows.most_distinct else both.settled()

    def settled(self) -> Drawn:
        """Distinct rows of smallest hash, unless there are few rows in all."""
        rows = self.rows
        if self.complete and len(rows) <= rows.most_distinct:
            return self
        kept = self.kept(rows.hashes <= _smallest(rows.hashes, rows.most_distinct))
        return replace(kept, rows=_distinct(kept.rows))

    def kept(self, wanted: Flags) -> Drawn:
        """The wanted rows, and the rows of smallest hash of each class."""
        hashes, y = self.rows.hashes, self.rows.y
        for label in range(len(self.mass)):
            mine = np.flatnonzero(y == label)
            wanted[mine] |= hashes[mine] <= _smallest(hashes[mine], FEWEST_OF_A_CLASS)
        if wanted.all():
            return self
        return Drawn(self.rows.select(wanted), self.mass, complete=False)

    def holds_too_few(self, below: int | None) -> bool:
        """Whether a limit left out rows that could have been held, because many are repeated."""
        if below is None or self.complete:
            return False
        hashes = self.rows.hashes
        return len(_ascending(hashes[hashes < np.uint64(below)])) < self.rows.most_distinct

    @property
    def representative(self) -> Rows:
        """The rows, with the weights of all rows."""
        if self.complete:
            return self.rows
        y, weight, n_classes = self.rows.y, self.rows.weight, len(self.mass)
        weight = np.minimum(weight, _LARGEST_SHARE * np.bincount(y, weight, n_classes)[y])
        own = np.bincount(y, weight, n_classes)
        factor = np.divide(self.mass, own, out=np.ones(n_classes), where=own > 0)
        weight = with_exact_sums(weight * factor[y], float(self.mass.sum()))
        return replace(self.rows, weight=weight)


def drawn_below(n_rows: int | None, n_columns: int) -> int | None:
    """What the hashes of drawn rows are below if no row is repeated; None if all rows are drawn."""
    wanted = _MARGIN * most_distinct(n_columns)
    return None if n_rows is None or n_rows <= wanted else int(wanted / n_rows * 2**64)


def _smallest(hashes: Hashes, n_hashes: int) -> np.uint64:
    """The largest of the ``n_hashes`` smallest distinct hashes; the largest one if there are fewer."""
    largest = np.uint64(2**64 - 1)
    if len(hashes) <= n_hashes:
        return largest
    # Repeated hashes may leave too few distinct ones among the smallest.
    at_once = 2 * n_hashes
    while at_once < len(hashes):
        distinct = _ascending(np.partition(hashes, at_once)[:at_once])
        if len(distinct) >= n_hashes:
            return distinct[n_hashes - 1]
        at_once *= 4
    distinct = _ascending(hashes)
    return distinct[n_hashes - 1] if len(distinct) > n_hashes else largest


def _ascending(hashes: Hashes) -> Hashes:
    """The distinct hashes; faster than by a table of them, which NumPy makes."""
    ascending = np.sort(hashes)
    return ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]


def _distinct(rows: Rows) -> Rows:
    """Each distinct row once, with the weight of all equal ones, sorted by hash and class."""
    # Missing cells are equal, and no cell is infinite.
    columns = (np.where(np.isnan(column), np.inf, column) for column in rows.cells.values.T)
    order, first = lexicographic(rows.hashes, rows.y, *columns)
    weight = np.add.reduceat(rows.weight[order], first)
    return replace(rows.select(order[first]), weight=weight)
