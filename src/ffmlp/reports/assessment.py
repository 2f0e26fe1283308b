"""How a model does on the rows of a data file: predictions, confusion, calibration, importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import confusion_matrix

from ffmlp.design.subsets import evenly
from ffmlp.tables.tables import TEXT, Table
from ffmlp.tabular.table_model import TableModel

if TYPE_CHECKING:
    import pandas as pd

# More rows than this are not needed to describe a model.
MAX_ROWS = 20_000
# Rows that are permuted, and cells of them: with many columns, fewer rows have to do.
_MAX_ROWS_PERMUTED, _MAX_CELLS_PERMUTED = 2_000, 60_000
_N_PERMUTATIONS = 5
_MAX_ROWS_EXPLAINED = 500
_N_BINS = 10


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a file, what the model makes of them and, where the file says it, the truth.

    ``truth`` are indices of classes, -1 where the file has no label or one that the model does not
    know; ``whole`` is whether these are all rows of the file.
    """

    X: pd.DataFrame
    probability: NDArray[np.float64]
    truth: NDArray[np.intp]
    whole: bool

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable class of each row."""
        return self.probability.argmax(axis=1)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows have a known truth."""
        return self.truth >= 0


def read_rows(model: TableModel, table: Table) -> Rows:
    """The first `MAX_ROWS` rows of a file, predicted."""
    has_target = model.target in table.columns
    kinds = {**model.kinds, model.target: TEXT} if has_target else model.kinds
    blocks = table.blocks(MAX_ROWS, kinds)
    frame = next(blocks, None)
    if frame is None or frame.empty:
        raise ValueError(f"{table.path} has a header, but no rows.")
    whole = next(blocks, None) is None
    X = frame[model.features].reset_index(drop=True)
    truth = np.full(len(X), -1)
    if has_target:
        classes = {str(label): number for number, label in enumerate(model.classifier.classes_.tolist())}
        truth = np.array([classes.get(str(cell), -1) for cell in frame[model.target]])
    return Rows(X, model.estimator.predict_proba(X), truth, whole)


def confusion(rows: Rows) -> NDArray[np.int64]:
    """How often each class (rows) was predicted as each class (columns)."""
    known, n_classes = rows.labelled, rows.probability.shape[1]
    counts: NDArray[np.int64] = confusion_matrix(
        rows.truth[known], rows.predicted[known], labels=np.arange(n_classes)
    )
    return counts


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows by the probability of their predicted class: how sure the model was, how often right."""

    counts: NDArray[np.intp]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows) -> Reliability:
        """In bins of equal width; those without rows are left out."""
        known = rows.labelled
        top, right = rows.probability.max(axis=1)[known], (rows.predicted == rows.truth)[known]
        bins = np.minimum((top * _N_BINS).astype(int), _N_BINS - 1)
        _, which, counts = np.unique(bins, return_inverse=True, return_counts=True)
        confidence, accuracy = np.bincount(which, top) / counts, np.bincount(which, right) / counts
        return cls(counts, confidence, accuracy)

    @property
    def error(self) -> float:
        """The mean difference between the two."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.counts))


@dataclass(frozen=True, eq=False)
class Importance:
    """How much accuracy is lost when the cells of a column are shuffled; most important first."""

    columns: list[str]
    losses: NDArray[np.float64]
    deviations: NDArray[np.float64]

    @classmethod
    def of(cls, model: TableModel, rows: Rows) -> Importance:
        """By the truth, or where it is unknown by what the model says."""
        known = np.flatnonzero(rows.labelled)
        truth = rows.truth if len(known) else rows.predicted
        candidates = known if len(known) else np.arange(len(rows.X))
        n_rows = min(_MAX_ROWS_PERMUTED, _MAX_CELLS_PERMUTED // len(model.features) + 1)
        chosen = candidates[evenly(len(candidates), n_rows)]

        def accuracy(_: Any, X: pd.DataFrame, classes: NDArray[np.intp]) -> float:
            return float(np.mean(model.classes(X) == classes))

        found = permutation_importance(
            model.estimator, rows.X.iloc[chosen], truth[chosen],
            n_repeats=_N_PERMUTATIONS, random_state=0, scoring=accuracy,
        )  # fmt: skip
        order = np.argsort(-found.importances_mean, kind="stable")
        names = [model.features[column] for column in order]
        return cls(names, found.importances_mean[order], found.importances_std[order])


@dataclass(frozen=True, eq=False)
class Movers:
    """How far each hyperplane moves the lead of the predicted class, on average over some rows.

    ``effects`` (L, N) is what a standard deviation of each input changes in a hyperplane's response.
    """

    moves: NDArray[np.float64]
    effects: NDArray[np.float64]

    @classmethod
    def of(cls, model: TableModel, rows: Rows) -> Movers:
        """By the explanations of evenly spaced rows."""
        clf = model.classifier
        inputs = model.inputs(rows.X.iloc[evenly(len(rows.X), _MAX_ROWS_EXPLAINED)])
        scores, planes = np.asarray(inputs, np.float64), clf.hyperplanes_
        if planes.gaussianisation is not None:
            scores = planes.gaussianisation.apply(scores)
        moves = np.abs(clf.explain(inputs).contributions).mean(axis=0)
        return cls(moves, planes.weights * scores.std(axis=0))

    @property
    def order(self) -> NDArray[np.intp]:
        """The hyperplanes, those that move most first."""
        return np.argsort(-self.moves, kind="stable")
