"""The first look at all rows: labels, categories and weights. Then blocks become rows of one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray
from sklearn.utils import check_array

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.dask.blocks import Block, Passes, block_sum
from ffmlp.design.region import occupied_regions
from ffmlp.inputs.columns import Cells, Schema, category_name
from ffmlp.inputs.data_frames import ColumnKind, column_kinds, columns_of, table_cells
from ffmlp.inputs.rows import Rows, SumOfFields, WeightSums
from ffmlp.merging import Statistics, samples_like
from ffmlp.network.region import Regions
from ffmlp.parameters import NUMBERS, are_numbers, checked_frequencies

# More categories of a column would not fit beside each other.
MOST_CATEGORIES = 1_000_000


@dataclass(frozen=True, eq=False)
class Survey:
    """The labels, weights and kinds of columns of some rows, a `Statistic`.

    ``mass`` is the weight of each label, before weights are scaled.
    """

    names: tuple[str, ...]
    n_rows: int
    labels: NDArray
    mass: Floats
    weights: WeightSums
    kinds: tuple[ColumnKind, ...]

    @classmethod
    def of(cls, names: Sequence[str], categorical: Any, block: Block) -> Survey:
        """The survey of a block."""
        columns = _columns(block.X, names)
        if are_numbers(columns, categorical):
            kinds = tuple(map(ColumnKind.of_numbers, _numbers(block.X).T))
        else:
            columns = list(_numbers(block.X).T) if columns is None else columns
            kinds = column_kinds(columns, names, categorical)
        labels, number = _distinct_labels(block.y, len(block.X))
        weight = _weight(block)
        mass = np.bincount(number, weight, len(labels)).astype(np.float64)
        return cls(tuple(names), len(block.X), labels, mass, WeightSums.of(weight), kinds)

    def __add__(self, other: Survey) -> Survey:
        both = np.concatenate([self.labels, other.labels])
        labels, number = _distinct_labels(both, len(both))
        mass = np.bincount(number, np.concatenate([self.mass, other.mass]), len(labels))
        kinds = []
        for name, one, two in zip(self.names, self.kinds, other.kinds, strict=True):
            try:
                kind = one + two
            except ValueError as error:
                raise ValueError(
                    f"Column {name!r} cannot be read: {error} Give it one type in all partitions."
                ) from None
            if kind.names is not None and len(kind.names) > MOST_CATEGORIES:
                raise ValueError(
                    f"Column {name!r} has more than {MOST_CATEGORIES} categories. Leave it out: such a "
                    "column is an id."
                )
            kinds.append(kind)
        n_rows, weights = self.n_rows + other.n_rows, self.weights + other.weights
        return Survey(self.names, n_rows, labels, mass.astype(np.float64), weights, tuple(kinds))


@dataclass(frozen=True, eq=False)
class BlockReader:
    """How blocks become rows of one table: its columns, labels and weights."""

    schema: Schema
    labels: NDArray
    weights: WeightSums

    @classmethod
    def of(cls, survey: Survey) -> BlockReader:
        """The reader of all rows."""
        schema = Schema(survey.names, tuple(kind.categories for kind in survey.kinds))
        return cls(schema, survey.labels, survey.weights)

    def rows(self, block: Block) -> Rows:
        """The rows of a block, without those of weight 0."""
        columns = _columns(block.X, self.schema.names)
        if self.schema.are_numbers and are_numbers(columns, None):
            values = _numbers(block.X)
        else:
            columns = list(_numbers(block.X).T) if columns is None else columns
            values = table_cells(columns, self.schema)
        y = np.searchsorted(self.labels, np.asarray(block.y))
        weight = _weight(block) if block.weight is None else self.weights.scaled(_weight(block))
        rows = Rows(Cells(values, self.schema), y, weight)
        return rows if (weight > 0).all() else rows.select(weight > 0)


def statistics_of_blocks(
    parts: list[Delayed], given: Statistics, like: FFMLPClassifier, passes: Passes
) -> tuple[int, Statistics]:
    """The number of rows, and their statistics for the hyperplanes of another classifier.

    ``given`` are its own statistics.
    """
    counts = block_sum(parts, _Weights.of, passes)
    counts.sums.check()
    counts.sums.check_adds_up()
    regions = block_sum(parts, partial(_regions_like, like, counts.sums), passes)
    return counts.n_rows, replace(given, regions=regions)


@dataclass(frozen=True)
class _Weights(SumOfFields):
    """The number of rows, and the sums of their weights, a `Statistic`."""

    n_rows: int
    sums: WeightSums

    @classmethod
    def of(cls, block: Block) -> _Weights:
        return cls(len(block.X), WeightSums.of(_weight(block)))


def _regions_like(like: FFMLPClassifier, weights: WeightSums, block: Block) -> Regions | None:
    """The regions that the rows of a block occupy; None if all have weight 0."""
    _distinct_labels(block.y, len(block.X))  # an error if they are no labels
    samples = samples_like(like, block.X, np.asarray(block.y), weights.scaled(_weight(block)))
    return occupied_regions(like.statistics_.hyperplanes, samples) if len(samples.y) else None


def _columns(X: Any, names: Sequence[str]) -> list[Any] | None:
    """The columns of a block, None for an array of numbers; they must be those that all blocks have."""
    # Names that are no texts are not known to the classifier, as in scikit-learn.
    has_names = hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns)
    found = list(X.columns) if has_names else [f"x{j}" for j in range(X.shape[1])]
    if found != list(names):
        raise ValueError(
            f"it has the columns {found[:10]}, but X has {list(names)[:10]}. Give all partitions the "
            "same columns in the same order."
        )
    return columns_of(X)


def _numbers(X: Any) -> NDArray:
    return check_array(X, ensure_min_samples=0, **NUMBERS)


def _weight(block: Block) -> Floats:
    n_rows = len(block.X)
    return np.ones(n_rows) if block.weight is None else checked_frequencies(block.weight, n_rows)


def _distinct_labels(y: Any, n_rows: int) -> tuple[NDArray, NDArray]:
    """The distinct labels, and the number of each sample's label among them."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must have one label for each of the {n_rows} rows, got shape {labels.shape}. Give X and "
            "y the same partitions."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity. Leave out rows without a label.")
    try:
        distinct, number = np.unique(labels, return_inverse=True)
    except TypeError as error:
        _require_labels(labels)
        raise ValueError(f"y has labels of several types: {error}. Give all the same type.") from error
    _require_labels(distinct)
    return distinct, number


def _require_labels(labels: NDArray) -> None:
    """Raise a ValueError if labels are missing."""
    is_object = labels.dtype.kind == "O"
    if is_object and any(not isinstance(one, str) and not category_name(one) for one in labels):
        raise ValueError("Input y has missing labels. Leave out rows without a label.")
