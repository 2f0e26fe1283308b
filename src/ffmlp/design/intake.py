"""From the rows of a table, wherever they lie, to the samples that a design is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from numpy.typing import NDArray

from ffmlp.arrays import Floats, Indices
from ffmlp.design.imputation import with_imputation
from ffmlp.design.problem import Samples
from ffmlp.inputs.encoding import Census, Encoding, dealt_folds, hashed_folds
from ffmlp.inputs.rows import Drawn, Partitions, Rows, drawn_below
from ffmlp.network.blobs import Blobs

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Gathered:
    """What a first look at some rows gives; that of blocks of rows adds up."""

    drawn: Drawn
    census: Census

    @classmethod
    def of(cls, n_classes: int, below: int | None, hold_all: bool, rows: Rows) -> _Gathered:
        drawn = Drawn.all_of(rows, n_classes) if hold_all else Drawn.of(rows, n_classes, below)
        return cls(drawn, Census.of(rows, hashed_folds(rows), n_classes))

    def __add__(self, other: _Gathered) -> _Gathered:
        return _Gathered(self.drawn + other.drawn, self.census + other.census)


@dataclass(frozen=True, eq=False)
class TrainingEncoding:
    """How rows become samples: the encoding of columns, the labels and weights of classes."""

    encoding: Encoding
    labels: NDArray
    class_weight: Floats

    def samples(self, rows: Rows, fold: Indices) -> Samples:
        """Rows as training samples in these folds."""
        return self._samples(rows, self.encoding.inputs(rows, fold))

    def samples_of_network(self, rows: Rows) -> Samples:
        """Rows as samples that a network will see."""
        return self._samples(rows, self.encoding.inputs_of_network(rows))

    def _samples(self, rows: Rows, X: NDArray) -> Samples:
        return Samples(X, rows.y, rows.weight, self.labels, self.class_weight, self.encoding.columns)


@dataclass(frozen=True, eq=False)
class EncodedPartitions:
    """All rows of a table as training samples, part by part."""

    partitions: Partitions
    encoded: TrainingEncoding

    def sum(self, statistic: Callable[[Samples], T]) -> T:
        """The sum of a statistic over all parts."""
        return self.partitions.sum(partial(_of_samples, statistic, self.encoded))


def _of_samples(statistic: Callable[[Samples], T], encoded: TrainingEncoding, rows: Rows) -> T:
    return statistic(encoded.samples(rows, hashed_folds(rows)))


@dataclass(frozen=True, eq=False)
class Intake:
    """The samples that a design is made from, and the same samples as its network will see them."""

    samples: Samples
    as_predicted: Samples


def intake(
    partitions: Partitions,
    names: Sequence[str],
    labels: NDArray,
    class_weight: Floats,
    *,
    members: Indices | None = None,
    given: Blobs | None = None,
    n_rows: int | None = None,
) -> Intake:
    """Rows that stand for all, encoded. All rows are read once; twice if most of many are repeated.

    ``members`` (n,) are the blobs of the rows, if known; then all rows are held. ``given`` are the blobs
    themselves, if known: then columns, which are numbers, depend on these alone. ``n_rows`` is the
    number of rows, if known: then each part draws few.
    """
    n_classes = len(labels)
    hold_all, below = members is not None, drawn_below(n_rows, len(names))
    found = partitions.sum(partial(_Gathered.of, n_classes, below, hold_all))
    if found.drawn.has_too_few_places(below):
        found = partitions.sum(partial(_Gathered.of, n_classes, None, hold_all))
    drawn, census = found.drawn if hold_all else found.drawn.settled(), found.census
    rows = drawn.representative
    if drawn.complete:
        fold = dealt_folds(rows)
        census = Census.of(rows, fold, n_classes)
    else:
        fold = hashed_folds(rows)
    if given is None:
        encoding = with_imputation(Encoding.of(census, rows, fold, names), rows, fold)
    else:
        encoding = Encoding.of_numbers(names, given.centre)
    encoded = TrainingEncoding(encoding, labels, class_weight)
    samples = encoded.samples(rows, fold)
    population = None if drawn.complete else EncodedPartitions(partitions, encoded)
    same = samples if encoded.encoding.columns.are_inputs else encoded.samples_of_network(rows)
    samples = replace(samples, members=members, given=given, population=population)
    return Intake(samples, same)
