"""FFMLPClassifier for Dask collections: partitions are summed where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ffmlp import classifier as local
from ffmlp.arrays import Floats
from ffmlp.dask.partitions import Block, Passes, block_sum, blocks, is_array, is_frame, row_sum
from ffmlp.design.region import occupied_regions
from ffmlp.inputs.columns import Cells, Schema, category_name
from ffmlp.inputs.data_frames import ColumnKind, chosen_columns, column_kinds, columns_of, table_cells
from ffmlp.inputs.rows import Rows, SumOfFields, WeightSums
from ffmlp.merging import followed, samples_like
from ffmlp.network.blobs import Blobs
from ffmlp.network.region import Regions
from ffmlp.parameters import (
    NUMBERS,
    all_or_nothing,
    are_numbers,
    check_given_blobs,
    check_parameters,
    checked_frequencies,
    checked_intake,
    column_names,
)

# More categories of a column would not fit beside each other.
MOST_CATEGORIES = 1_000_000


class FFMLPClassifier(local.FFMLPClassifier):
    """`ffmlp.FFMLPClassifier` for Dask arrays and data frames (extra ``dask``).

    Parameters, attributes and errors are as in the local classifier. All rows are read through sums over
    partitions, by the scheduler or cluster that is active. Up to 2²⁰ distinct rows, the network equals
    that of a local fit to all rows, up to rounding. Of more rows, the rows with the smallest hash
    represent all where rows must be in memory together: for blobs, trees and the choice of a plan. A
    local fit draws the same rows.

    Attributes
    ----------
    pass_seconds_ : list of float
        The seconds of each pass over all rows.

    See Also
    --------
    ffmlp.FFMLPClassifier : For data in memory; all parameters.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp.dask import FFMLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=40)
    >>> clf = FFMLPClassifier(design="blob", n_components=1).fit(X, y)
    >>> clf.predict(X)
    dask.array<predict, shape=(150,), dtype=int64, chunksize=(40,), chunktype=numpy.ndarray>
    >>> clf.to_local().score(*load_iris(return_X_y=True))
    0.98
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        blobs: Any = None,
        like: local.FFMLPClassifier | None = None,
    ) -> FFMLPClassifier:
        """Design the network from sums over the partitions.

        Parameters
        ----------
        X : Dask data frame, or Dask array of shape (n_samples, n_features)
            Training samples: numbers and categories, NaN, None or NA where they are missing. Partitions
            may be empty.
        y : Dask series or array of shape (n_samples,)
            Class labels, with the partitions of X.
        sample_weight : Dask series or array of shape (n_samples,), default=None
            The frequency of each sample, with the partitions of X.
        blobs : Blobs, default=None
            Given blobs, with their shares. The blobs of single samples cannot be given here.
        like : FFMLPClassifier, default=None
            A classifier with ``statistics_``, whose plan, classes, columns, blobs and hyperplanes are
            used. It may be a local one.

        Returns
        -------
        self
        """
        passes, parts = Passes(), blocks(X, y, sample_weight)
        if like is None:
            # Data frames have a sample without rows; of an array, only the number of columns counts.
            example = X._meta_nonempty if is_frame(X) else np.zeros((1, X.shape[1]))  # noqa: SLF001
            return self.fit_blocks(parts, example, passes, blobs)
        with all_or_nothing(self):
            check_parameters(self)
            given = followed(self, like, blobs)
            counts = block_sum(parts, _Weights.of, passes)
            counts.sums.check(adds_up=True)
            regions = block_sum(parts, partial(_regions_like, like, counts.sums), passes)
            self._follow(replace(given, regions=regions))
            self._end(counts.n_rows, len(parts), passes)
        return self

    def fit_blocks(
        self, parts: list[Delayed], example: Any, passes: Passes, blobs: Any = None
    ) -> FFMLPClassifier:
        """Design the network from delayed blocks (``ffmlp.dask.partitions.Block``).

        ``example`` has the columns of their samples. Each pass over the blocks is added to ``passes``.
        """
        if blobs is not None and not isinstance(blobs, Blobs):
            raise TypeError(
                f"blobs must be ffmlp.Blobs, got {type(blobs).__name__}. The blobs of single samples "
                "can be given to ffmlp.FFMLPClassifier only, which holds all samples."
            )
        with all_or_nothing(self):
            check_parameters(self)
            columns_of(example)  # an error if two have one name
            validate_data(self, example, skip_check_array=True)
            names = column_names(self)
            chosen_columns(self.categorical_features, names)  # an error before anything is read
            survey = block_sum(parts, partial(Survey.of, names, self.categorical_features), passes)
            survey.weights.check(adds_up=self.keep_statistics)
            # Each label counts twice, unless most rows have a label that no other has: worth a warning.
            repeats = min(2, survey.n_rows // len(survey.labels))
            check_classification_targets(np.repeat(survey.labels, repeats))
            if blobs is not None:
                check_given_blobs(self, blobs, survey.schema, survey.labels)
            table = partial(row_sum, parts, survey.rows, passes)
            known = {"given": blobs, "n_rows": survey.n_rows}
            both = checked_intake(self, table, survey.schema, survey.labels, survey.mass, **known)
            self._design(*both)
            self._end(survey.n_rows, len(parts), passes)
        return self

    def _end(self, n_rows: int, n_parts: int, passes: Passes) -> None:
        """Keep the times of the passes, and print them on demand."""
        self.pass_seconds_ = passes.seconds
        if self.verbose:
            seconds = ", ".join(f"{pass_seconds:.1f}" for pass_seconds in passes.seconds)
            print(
                f"[FFMLPClassifier] {n_rows} rows in {n_parts} partitions, read in {len(passes)} passes "
                f"of {seconds} s"
            )

    def to_local(self) -> local.FFMLPClassifier:
        """The same classifier for data in memory, which can be saved and exported."""
        return _copied(self, local.FFMLPClassifier)

    @classmethod
    def from_local(cls, classifier: local.FFMLPClassifier) -> FFMLPClassifier:
        """The same classifier for Dask collections."""
        return _copied(classifier, cls)

    def predict(self, X: Any) -> Any:
        """The most probable class of each sample.

        Lazy for Dask collections: a series with the index of a data frame, an array for an array.
        """
        return self._lazily("predict", X) if _is_lazy(X) else super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class.

        Lazy for Dask collections: a data frame with a column for each class, an array for an array.
        """
        return self._lazily("predict_proba", X) if _is_lazy(X) else super().predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        """Log-odds of the classes, lazy for Dask collections."""
        return self._lazily("decision_function", X) if _is_lazy(X) else super().decision_function(X)

    def explain(self, X: Any, reference: ArrayLike | None = None, **options: Any) -> Any:
        """Explain predictions, as `ffmlp.FFMLPClassifier.explain` does.

        For Dask collections, the result is ``Explanations.to_frame`` as a lazy data frame, with the
        partitions and the index of X.
        """
        if is_dask_collection(reference):
            raise TypeError(
                "reference must be in memory: a few samples, or rows that stand for all. Pass "
                "reference.compute()."
            )
        if not _is_lazy(X):
            return super().explain(X, reference, **options)
        return self._lazily("explain", X, reference=reference, **options)

    def _lazily(self, method: str, X: Any, **options: Any) -> Any:
        """The result of a method of the local classifier for each partition, when it is needed."""
        check_is_fitted(self)
        fitted = self.to_local()
        row = _nonempty(X._meta if is_frame(X) else np.empty((0, X.shape[1]), X.dtype))  # noqa: SLF001
        meta = _of_block(row, fitted, method, options)
        shared = delayed(fitted, pure=False, traverse=False)
        if is_frame(X):
            return X.map_partitions(_of_block, shared, method, options, meta=meta.iloc[:0])
        X = X.rechunk({1: -1})
        if method == "explain":
            import dask.dataframe as dd

            parts = [
                delayed(_of_block)(part, shared, method, options) for part in X.to_delayed().ravel()
            ]
            return dd.from_delayed(parts, meta=meta.iloc[:0])
        shape = {"drop_axis": 1} if meta.ndim == 1 else {"chunks": (X.chunks[0], (meta.shape[1],))}
        return X.map_blocks(_of_block, shared, method, options, token=method, meta=meta[:0], **shape)


def _is_lazy(X: Any) -> bool:
    return is_frame(X) or is_array(X)


def _copied(classifier: local.FFMLPClassifier, kind: type) -> Any:
    """A classifier of another kind with the same parameters and fitted attributes."""
    copy = kind(**clone(classifier).get_params())
    copy.__dict__.update({name: value for name, value in vars(classifier).items() if name.endswith("_")})
    return copy


def _of_block(block: Any, fitted: local.FFMLPClassifier, method: str, options: dict[str, Any]) -> Any:
    """The result of a method for a block, with the index of a data frame."""
    if not len(block):  # scikit-learn refuses to predict nothing
        return _of_block(_nonempty(block), fitted, method, options)[:0]
    result = getattr(fitted, method)(block, **options)
    if method == "explain":
        frame = result.to_frame()
        return frame.set_axis(block.index) if hasattr(block, "index") else frame
    if not hasattr(block, "index"):
        return result
    import pandas as pd

    if result.ndim == 1:
        return pd.Series(result, block.index)
    return pd.DataFrame(result, block.index, columns=list(fitted.classes_))


def _nonempty(block: Any) -> Any:
    """A row such as an empty block would have."""
    if not hasattr(block, "index"):
        return np.zeros((1, block.shape[1]), block.dtype)
    from dask.dataframe.utils import meta_nonempty

    row = meta_nonempty(block).head(1)
    # Objects may be texts or numbers: a missing cell is either.
    unknown = [column.dtype.kind in "OU" for _, column in row.items()]
    return row.mask(np.array([unknown]))


@dataclass(frozen=True, eq=False)
class Survey:
    """The first look at rows: labels, weights and column kinds of a block, a `Statistic`.

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
        for name, first, second in zip(self.names, self.kinds, other.kinds, strict=True):
            try:
                kind = first + second
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

    @cached_property
    def schema(self) -> Schema:
        """The columns of the table."""
        return Schema(self.names, tuple(kind.categories for kind in self.kinds))

    def rows(self, block: Block) -> Rows:
        """The rows of a block of the table that was surveyed, without rows of weight 0."""
        columns = _columns(block.X, self.names)
        if self.schema.are_numbers and are_numbers(columns, None):
            values = _numbers(block.X)
        else:
            columns = list(_numbers(block.X).T) if columns is None else columns
            values = table_cells(columns, self.schema)
        y = np.searchsorted(self.labels, np.asarray(block.y))
        weight = _weight(block) if block.weight is None else self.weights.scaled(_weight(block))
        rows = Rows(Cells(values, self.schema), y, weight)
        return rows if (weight > 0).all() else rows.select(weight > 0)


@dataclass(frozen=True)
class _Weights(SumOfFields):
    """The number of rows of blocks, and the sums of their weights, a `Statistic`."""

    n_rows: int
    sums: WeightSums

    @classmethod
    def of(cls, block: Block) -> _Weights:
        return cls(len(block.X), WeightSums.of(_weight(block)))


def _regions_like(like: FFMLPClassifier, weights: WeightSums, block: Block) -> Regions | None:
    """The regions that the rows of a block occupy; None if all have weight 0."""
    _distinct_labels(block.y, len(block.X))  # an error if they are not labels
    samples = samples_like(like, block.X, np.asarray(block.y), weights.scaled(_weight(block)))
    return occupied_regions(like.statistics_.hyperplanes, samples) if len(samples.y) else None


def _columns(X: Any, names: Sequence[str]) -> list[Any] | None:
    """The columns of a block, None for an array of numbers; an error unless their names are these."""
    # Names that are not texts are unknown to the classifier, as in scikit-learn.
    has_names = hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns)
    of_block = list(X.columns) if has_names else [f"x{j}" for j in range(X.shape[1])]
    if of_block != list(names):
        raise ValueError(
            f"it has the columns {of_block[:10]}, but X has {list(names)[:10]}. Give all partitions the "
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
    if is_object and any(not isinstance(label, str) and not category_name(label) for label in labels):
        raise ValueError("Input y has missing labels. Leave out rows without a label.")
