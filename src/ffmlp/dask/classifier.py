"""FFMLPClassifier for Dask collections: partitions are summed where they are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ffmlp import classifier as local
from ffmlp.dask.blocks import DaskPartitions, Passes, block_sum, blocks, is_array, is_frame
from ffmlp.dask.survey import BlockReader, Survey, statistics_of_blocks
from ffmlp.design.intake import intake
from ffmlp.inputs.data_frames import chosen_columns, columns_of
from ffmlp.merging import followed
from ffmlp.network.blobs import Blobs
from ffmlp.parameters import (
    all_or_nothing,
    check_given_blobs,
    check_parameters,
    check_size,
    check_two_classes,
    class_weights,
    column_names,
)


class FFMLPClassifier(local.FFMLPClassifier):
    """`ffmlp.FFMLPClassifier` for Dask arrays and data frames (extra ``dask``).

    Parameters, attributes and errors are those of the local classifier. All rows are read through sums
    over partitions, by the scheduler or cluster that is active. Up to 2²⁰ distinct rows, the network is
    that of a local fit to all rows, up to rounding. Of more rows, those with the smallest hash stand for
    all where rows must be in one place: for blobs, trees and the choice of a plan. A local fit
    draws the same ones.

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
        passes = Passes()
        if like is None:
            return self._fit(X, y, sample_weight, passes, blobs)
        with all_or_nothing(self):
            check_parameters(self)
            given, parts = followed(self, like, blobs), blocks(X, y, sample_weight)
            n_rows, statistics = statistics_of_blocks(parts, given, like, passes)
            self._follow(statistics)
            self._end(n_rows, len(parts), passes)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, passes: Passes, blobs: Any = None
    ) -> FFMLPClassifier:
        parts = blocks(X, y, sample_weight)
        # Data frames have a sample without rows; of an array, only the number of columns counts.
        example = X._meta_nonempty if is_frame(X) else np.zeros((1, X.shape[1]))  # noqa: SLF001
        return self.fit_blocks(parts, example, passes, blobs)

    def fit_blocks(
        self, parts: list[Delayed], example: Any, passes: Passes, blobs: Any = None
    ) -> FFMLPClassifier:
        """Design the network from delayed blocks (``ffmlp.dask.blocks.Block``).

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
            survey.weights.check()
            if self.keep_statistics:
                survey.weights.check_adds_up()
            # Each label counts twice unless most rows have one of their own, which is worth a warning.
            repeats = min(2, survey.n_rows // len(survey.labels))
            check_classification_targets(np.repeat(survey.labels, repeats))
            reader, mass = BlockReader.of(survey), survey.mass
            class_weight = class_weights(self.class_weight, survey.labels, mass)
            check_two_classes(survey.labels[mass > 0])
            check_size(self.max_neurons, len(survey.labels))
            if blobs is not None:
                check_given_blobs(self, blobs, reader.schema, survey.labels)
            table = DaskPartitions(parts, reader.rows, passes)
            n_rows, labels = survey.n_rows, survey.labels
            found = intake(table, reader.schema, labels, class_weight, given=blobs, n_rows=n_rows)
            self._design(found)
            self._end(n_rows, len(parts), passes)
        return self

    def _end(self, n_rows: int, n_parts: int, passes: Passes) -> None:
        """Keep the times of the passes, and print them on demand."""
        self.pass_seconds_ = passes.seconds
        if self.verbose:
            seconds = ", ".join(f"{one:.1f}" for one in passes.seconds)
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

        For Dask collections, the result is a lazy data frame: that of ``Explanations.to_frame``, with
        the partitions and the index of X.
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
        """What a method of the local classifier gives for each partition, when it is needed."""
        check_is_fitted(self)
        fitted = self.to_local()
        meta = _of_block(self._example(X), fitted, method, options)
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

    def _example(self, X: Any) -> Any:
        """A row such as X has."""
        return _nonempty(X._meta if is_frame(X) else np.empty((0, X.shape[1]), X.dtype))  # noqa: SLF001


def _is_lazy(X: Any) -> bool:
    return is_frame(X) or is_array(X)


def _copied(classifier: local.FFMLPClassifier, kind: type) -> Any:
    """A classifier of another kind with the same parameters and fitted attributes."""
    copy = kind(**clone(classifier).get_params())
    copy.__dict__.update({name: value for name, value in vars(classifier).items() if name.endswith("_")})
    return copy


def _of_block(block: Any, fitted: local.FFMLPClassifier, method: str, options: dict[str, Any]) -> Any:
    """What a method gives for a block; for that of a data frame, with its index."""
    if not len(block):  # scikit-learn refuses to predict nothing
        return _of_block(_nonempty(block), fitted, method, options)[:0]
    found = getattr(fitted, method)(block, **options)
    if method == "explain":
        frame = found.to_frame()
        return frame.set_axis(block.index) if hasattr(block, "index") else frame
    if not hasattr(block, "index"):
        return found
    import pandas as pd

    if found.ndim == 1:
        return pd.Series(found, block.index)
    return pd.DataFrame(found, block.index, columns=list(fitted.classes_))


def _nonempty(block: Any) -> Any:
    """A row such as those of an empty block."""
    if not hasattr(block, "index"):
        return np.zeros((1, block.shape[1]), block.dtype)
    from dask.dataframe.utils import meta_nonempty

    row = meta_nonempty(block).head(1)
    # Objects may be texts or numbers: a missing cell is either.
    unknown = [column.dtype.kind in "OU" for _, column in row.items()]
    return row.mask(np.array([unknown]))
