"""How a model performs on a data file: predictions, confusion, calibration, importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import confusion_matrix

from ffmlp.arrays import Floats
from ffmlp.design.subsets import evenly
from ffmlp.tables.tables import TEXT, DataTable
from ffmlp.tabular.table_model import TableModel

if TYPE_CHECKING:
    import pandas as pd

# Enough rows to describe a model.
MAX_ROWS = 20_000
# Rows to permute, and their cells: with many columns, there are fewer rows.
_MAX_ROWS_PERMUTED, _MAX_CELLS_PERMUTED = 2_000, 60_000
_N_PERMUTATIONS = 5
_MAX_ROWS_EXPLAINED = 500
_N_BINS = 10


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a file, their predicted probabilities and, where the file has it, the true class.

    ``truth`` has indices of classes, -1 where the label is missing or is not a class of the model;
    ``whole`` is whether these are all rows of the file.
    """

    X: pd.DataFrame
    probability: Floats
    truth: NDArray[np.intp]
    whole: bool

    @property
    def predicted(self) -> NDArray[np.intp]:
        """The most probable class of each row."""
        return self.probability.argmax(axis=1)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Whether the true class of each row is known."""
        return self.truth >= 0


def read_rows(model: TableModel, table: DataTable) -> Rows:
    """The first `MAX_ROWS` rows of a file, predicted."""
    has_target = model.target in table.columns
    kinds = {**model.kinds, model.target: TEXT} if has_target else model.kinds
    blocks = table.blocks(MAX_ROWS, kinds)
    frame = next(blocks, None)
    if frame is None or frame.empty:
        raise ValueError(f"{table.path} has a header but no rows.")
    whole = next(blocks, None) is None
    X = frame[model.features].reset_index(drop=True)
    truth = np.full(len(X), -1)
    if has_target:
        classes = {str(label): number for number, label in enumerate(model.labels.tolist())}
        truth = np.array([classes.get(str(cell), -1) for cell in frame[model.target]])
    return Rows(X, model.estimator.predict_proba(X), truth, whole)


def confusion(rows: Rows) -> NDArray[np.int64]:
    """How often each class (rows) was predicted as each class (columns)."""
    known, n_classes = rows.labelled, rows.probability.shape[1]
    return confusion_matrix(rows.truth[known], rows.predicted[known], labels=np.arange(n_classes))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Mean probability of the predicted class, and accuracy, in bins of that probability."""

    counts: NDArray[np.intp]
    confidence: Floats
    accuracy: Floats

    @classmethod
    def of(cls, rows: Rows) -> Reliability:
        """With bins of equal width; empty ones are left out."""
        known = rows.labelled
        top, right = rows.probability.max(axis=1)[known], (rows.predicted == rows.truth)[known]
        bins = np.minimum((top * _N_BINS).astype(int), _N_BINS - 1)
        _, which, counts = np.unique(bins, return_inverse=True, return_counts=True)
        confidence, accuracy = np.bincount(which, top) / counts, np.bincount(which, right) / counts
        return cls(counts, confidence, accuracy)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean difference between the two."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.counts))


@dataclass(frozen=True, eq=False)
class Importance:
    """Permutation importance: the loss of accuracy when a column is shuffled, largest first."""

    columns: list[str]
    losses: Floats
    deviations: Floats

    @classmethod
    def of(cls, model: TableModel, rows: Rows) -> Importance:
        """From the true classes, or from the predictions if no true class is known."""
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
class HyperplaneEffects:
    """What the hyperplanes do to the decision, on average over some rows.

    ``contributions`` (L,) are mean absolute contributions to the lead of the predicted class; ``slopes``
    (L, N) are the changes of each response per standard deviation of each feature.
    """

    contributions: Floats
    slopes: Floats

    @classmethod
    def of(cls, model: TableModel, rows: Rows) -> HyperplaneEffects:
        """From the explanations of evenly spaced rows."""
        clf = model.classifier
        inputs = model.classified(rows.X.iloc[evenly(len(rows.X), _MAX_ROWS_EXPLAINED)])
        planes = clf.hyperplanes_
        contributions = np.abs(clf.explain(inputs).contributions).mean(axis=0)
        spread = planes.mapped(np.asarray(inputs, np.float64)).std(axis=0)
        return cls(contributions, planes.weights * spread)

    @property
    def order(self) -> NDArray[np.intp]:
        """The hyperplanes by their contribution, largest first."""
        return np.argsort(-self.contributions, kind="stable")
