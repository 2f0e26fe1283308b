"""How well a model predicts: confusion, calibration, held-out rows, rows seen in training, files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.inputs.columns import Cells, IndexedColumn, Schema
from ffmlp.inputs.data_frames import columns_of, training_cells
from ffmlp.inputs.rows import SumOfFields, row_hashes
from ffmlp.tables.tables import TEXT, DataTable
from ffmlp.tabular.predictions import UnknownCategories, merged, unknown_categories
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from ffmlp.tabular.predictor import Predictor


_N_BINS = 10
# Classes that a model does not know, in a stored confusion matrix.
_MOST_UNKNOWN = 10_000


@dataclass(frozen=True, eq=False)
class Confusion:
    """How often each class (rows) was predicted as each class of a model (columns).

    Further rows are of classes that the model does not know.
    """

    counts: NDArray[np.int64]

    @classmethod
    def of(cls, truth: NDArray[np.intp], predicted: NDArray[np.intp], n_classes: int) -> Confusion:
        """From indices of classes; unknown classes follow the classes of the model."""
        n_rows = max(n_classes, int(truth.max(initial=-1)) + 1)
        cells = np.bincount(truth * n_classes + predicted, minlength=n_rows * n_classes)
        return cls(cells.reshape(n_rows, n_classes))

    @classmethod
    def of_json(cls, cells: list[list[int]], n_classes: int) -> Confusion:
        """From what `to_json` returned."""
        truth, predicted, counts = np.array(cells, np.int64).reshape(-1, 3).T
        n_rows = max(n_classes, int(truth.max(initial=-1)) + 1)
        if n_rows > n_classes + _MOST_UNKNOWN:
            raise ValueError(f"class {n_rows - 1} of the confusion matrix does not exist")
        table = np.zeros((n_rows, n_classes), np.int64)
        np.add.at(table, (truth, predicted), counts)
        return cls(table)

    def to_json(self) -> list[list[int]]:
        """True class, predicted class and number of rows, where there are any."""
        truth, predicted = np.nonzero(self.counts)
        return np.column_stack([truth, predicted, self.counts[truth, predicted]]).tolist()

    @property
    def n_rows(self) -> NDArray[np.int64]:
        """The number of rows of each class."""
        return self.counts.sum(axis=1)

    @property
    def accuracy(self) -> float:
        """The share of the rows whose class was predicted."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def recall(self) -> Floats:
        """The share of the rows of each class whose class was predicted; NaN without rows."""
        return self._shares(self.n_rows)

    @property
    def precision(self) -> Floats:
        """The share of the predictions of each class that are right; NaN without predictions."""
        never = np.zeros(len(self.counts) - self.counts.shape[1], int)
        return self._shares(np.append(self.counts.sum(axis=0), never))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that occur."""
        return float(np.nanmean(self.recall))

    def _shares(self, totals: NDArray[np.int64]) -> Floats:
        right = np.zeros(len(totals))
        right[: self.counts.shape[1]] = np.diag(self.counts)
        return np.divide(right, totals, out=np.full(len(totals), np.nan), where=totals > 0)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Mean probability of the predicted class, and accuracy, in bins of that probability."""

    counts: NDArray[np.intp]
    confidence: Floats
    accuracy: Floats

    @classmethod
    def of(cls, truth: NDArray[np.intp], probability: Floats) -> Reliability:
        """With bins of equal width; empty ones are left out."""
        return cls.of_sums(reliability_sums(truth, probability))

    @classmethod
    def of_sums(cls, sums: Floats) -> Reliability:
        """From the sum of some `reliability_sums`."""
        counts, top, right = sums[:, sums[0] > 0]
        return cls(counts.astype(np.intp), top / counts, right / counts)

    @classmethod
    def of_json(cls, bins: list[list[float]]) -> Reliability:
        """From what `to_json` returned."""
        counts, confidence, accuracy = np.array(bins, float).reshape(-1, 3).T
        return cls(counts.astype(int), confidence, accuracy)

    def to_json(self) -> list[list[float]]:
        """Number of rows, mean probability and accuracy of each bin."""
        return np.column_stack([self.counts, self.confidence, self.accuracy]).tolist()

    @property
    def error(self) -> float:
        """The expected calibration error: the mean difference between the two."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.counts))


def reliability_sums(truth: NDArray[np.intp], probability: Floats) -> Floats:
    """Rows, the sum of the probability of the predicted class and right ones (3, bins)."""
    top, right = probability.max(axis=1), probability.argmax(axis=1) == truth
    bins = np.minimum((top * _N_BINS).astype(int), _N_BINS - 1)
    return np.array([np.bincount(bins, one, _N_BINS) for one in (None, top, right)], float)


def log_losses(truth: NDArray[np.intp], probability: Floats) -> Floats:
    """The negative logarithm (n,) of the probability of the true class, at least 2⁻⁵²."""
    of_truth = np.take_along_axis(probability, truth[:, np.newaxis], axis=1)
    return -np.log(np.maximum(of_truth[:, 0], np.finfo(float).eps))


def log_loss(truth: NDArray[np.intp], probability: Floats) -> float:
    """The mean of the `log_losses`."""
    return float(log_losses(truth, probability).mean())


def area_under_curve(truth: NDArray[np.intp], probability: Floats) -> float | None:
    """The mean area under the ROC curve of each class against the others; None for a single class."""
    areas = [
        roc_auc_score(truth == label, probability[:, label])
        for label in np.unique(truth)
        if (truth != label).any()
    ]
    return float(np.mean(areas)) if areas else None


# The smallest hashes are a random sample of the rows: of any other rows, those with small hashes tell
# how many are the same.
_MAX_HASHES = 1000
_BITS = 48  # JSON numbers are exact up to 53


def hashes_of(X: pd.DataFrame, labels: NDArray) -> NDArray[np.uint64]:
    """A hash of the values and of the label of each row; it does not depend on the type of the file."""
    categorical = [name for name, column in X.items() if column.dtype != float]
    cells = training_cells(columns_of(X) or [], list(X), categorical)
    names, label = np.unique(labels.astype(str), return_inverse=True)
    schema = Schema((*cells.schema.names, ""), (*cells.schema.categories, tuple(names.tolist())))
    return row_hashes(Cells(np.column_stack([cells.values, label]), schema)) >> np.uint64(64 - _BITS)


def stored_hashes(hashes: NDArray[np.uint64]) -> list[int]:
    """The smallest hashes, to be stored with a model."""
    return np.unique(hashes)[:_MAX_HASHES].tolist()


def share_seen(hashes: NDArray[np.uint64], stored: list[int]) -> float | None:
    """The share of rows that a model was fitted to; None if too few can be compared.

    It is exact for models of at most 1000 different rows, otherwise an estimate.
    """
    limit = max(stored) if len(stored) == _MAX_HASHES else 2**_BITS
    compared = hashes[hashes <= limit]
    return float(np.isin(compared, np.array(stored, np.uint64)).mean()) if len(compared) else None


HELD_OUT = "held out"


@dataclass(frozen=True)
class Evaluation:
    """Scores on held-out rows; with several folds, their means and a standard deviation.

    ``majority`` is the accuracy of always predicting the most frequent class of the other rows.
    ``confusion`` and ``reliability`` are of all held-out rows, as JSON values.
    """

    method: str
    n_rows: int
    accuracy: float
    accuracy_deviation: float
    balanced_accuracy: float
    log_loss: float
    majority: float
    confusion: list[list[int]]
    reliability: list[list[float]]
    seconds: float


def evaluate(
    model: FFMLPClassifier,
    X: pd.DataFrame,
    y: NDArray,
    test_size: float,
    n_folds: int | None,
    seed: int,
    on_fold: Callable[[], object],
) -> Evaluation:
    """Hold out a share of the rows, or each of ``n_folds`` folds in turn."""
    start = perf_counter()
    values, counts = np.unique(y, return_counts=True)
    check_rows(values, counts, 2 if n_folds is None else n_folds)
    folds = list[HeldOutSums]()
    for training, held in _folds(y, test_size, n_folds, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit to all rows gives the same warnings
            fitted = clone(model).fit(X.iloc[training], y[training])
            probability = fitted.predict_proba(X.iloc[held])
        folds.append(HeldOutSums.of(np.searchsorted(values, y[held]), probability))
        on_fold()
    whole = reduce(add, folds).evaluation(counts, perf_counter() - start)
    if n_folds is None:
        return whole
    each = [fold.evaluation(counts, 0.0) for fold in folds]
    means: dict[str, Any] = {
        name: float(np.mean([getattr(fold, name) for fold in each]))
        for name in ("accuracy", "balanced_accuracy", "log_loss", "majority")
    }
    deviation = float(np.std([fold.accuracy for fold in each], ddof=1))
    method = f"{n_folds}-fold cross-validation"
    return replace(whole, method=method, accuracy_deviation=deviation, **means)


def check_rows(values: NDArray, counts: NDArray[np.intp], needed: int) -> None:
    """Refuse classes with fewer rows than an evaluation needs."""
    if counts.min() < needed:
        rare, n_rows = values.tolist()[counts.argmin()], counts.min()
        raise ValueError(
            f"class {rare!r} has {counted(n_rows, 'row')}, but the evaluation needs {needed} per class. "
            "Remove the class, or skip the evaluation with --test-size 0."
        )


def _folds(
    y: NDArray, test_size: float, n_folds: int | None, seed: int
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    rows = np.arange(len(y))
    if n_folds is None:
        n_classes, n_held = len(np.unique(y)), int(np.ceil(test_size * len(y)))
        if min(n_held, len(y) - n_held) < n_classes:
            raise ValueError(
                f"with {n_held} of {len(y)} rows held out, training and test rows cannot both have all "
                f"{n_classes} classes. Choose another --test-size, or 0 to skip the evaluation."
            )
        yield train_test_split(rows, test_size=test_size, stratify=y, random_state=seed)
    else:
        yield from StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(rows, y)


@dataclass(frozen=True, eq=False)
class HeldOutSums(SumOfFields):
    """Confusion, log-loss and calibration of held-out rows, a `Statistic`.

    ``confusion`` (C, C) counts rows, ``loss`` is the sum of their log-losses, and ``bins`` are their
    `ffmlp.tabular.scores.reliability_sums`.
    """

    confusion: NDArray[np.int64]
    loss: float
    bins: Floats

    @classmethod
    def of(cls, truth: NDArray[np.intp], probability: Floats) -> HeldOutSums:
        """The sums of some rows, from the indices of their classes."""
        confusion = Confusion.of(truth, probability.argmax(axis=1), probability.shape[1])
        loss = float(log_losses(truth, probability).sum())
        return cls(confusion.counts, loss, reliability_sums(truth, probability))

    def evaluation(self, n_of_classes: NDArray[np.int64], seconds: float) -> Evaluation:
        """The scores, given the number of all rows of each class (C,)."""
        confusion = Confusion(self.confusion)
        held = confusion.n_rows
        n_rows = int(held.sum())
        majority = held[(n_of_classes - held).argmax()] / n_rows
        return Evaluation(
            HELD_OUT, n_rows, confusion.accuracy, 0.0, confusion.balanced_accuracy, self.loss / n_rows,
            float(majority), confusion.to_json(), Reliability.of_sums(self.bins).to_json(), seconds,
        )  # fmt: skip


_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class ClassScores:
    """The scores of a class; None without predictions of it, or without rows of it."""

    label: str
    n_rows: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Majority:
    """The scores of always predicting the most frequent class of the training data.

    The probabilities are the class shares of the training data.
    """

    label: str
    accuracy: float
    balanced_accuracy: float
    log_loss: float | None
    auc: float | None


@dataclass(frozen=True)
class FileScores:
    """The scores of a model on the rows of a file that have a label.

    Rows of ``unknown`` classes, which the model has not seen, count as errors. Log-loss and AUC (the
    mean of each class against the others) leave them out: the model gives them no probability.
    ``majority`` is None for models that were not made by ``ffmlp fit``.
    """

    n_rows: int
    n_unlabelled: int
    unknown: dict[str, int]
    accuracy: float
    balanced_accuracy: float
    log_loss: float | None
    auc: float | None
    majority: Majority | None
    classes: tuple[ClassScores, ...]
    unknown_categories: tuple[UnknownCategories, ...]


def score_file(model: Predictor, table: DataTable, on_block: Callable[[int], object]) -> FileScores:
    """Compare predictions with labels, block by block; only labels and probabilities are kept.

    ``on_block`` is called with the number of rows of each block.
    """
    index_of = {str(label): index for index, label in enumerate(model.network.labels.tolist())}
    n_classes, truths, probabilities = len(index_of), list[NDArray[np.intp]](), list[Floats]()
    unknown = list[UnknownCategories]()
    for part in table.parts(_ROWS_AT_ONCE, {**model.kinds, model.target: TEXT}):
        block = part()
        if len(block):
            truths.append(_indices(block.texts[-1], index_of))
            block = replace(block, texts=block.texts[:-1])
            probabilities.append(model.probabilities(block))
            unknown += unknown_categories(model.network.table, block.texts)
            on_block(len(block))
    if not truths:
        raise ValueError(f"{table.path} has a header but no rows.")
    truth, probability = np.concatenate(truths), np.concatenate(probabilities)
    labelled = truth >= 0
    if not labelled.any():
        raise ValueError(f"{table.path}: column {model.target!r} is empty.")
    n_unlabelled, truth, probability = int((~labelled).sum()), truth[labelled], probability[labelled]
    confusion = Confusion.of(truth, probability.argmax(axis=1), n_classes)
    names = list(index_of)
    counts, precision, recall = confusion.n_rows.tolist(), confusion.precision, confusion.recall
    known = truth < n_classes
    return FileScores(
        len(truth),
        n_unlabelled,
        dict(zip(names[n_classes:], counts[n_classes:], strict=True)),
        confusion.accuracy,
        confusion.balanced_accuracy,
        *_of_probabilities(truth[known], probability[known]),
        _majority(model, truth, names, n_classes),
        tuple(map(ClassScores, names, counts, _numbers(precision), _numbers(recall))),
        tuple(merged(unknown)),
    )


def _indices(labels: IndexedColumn, index_of: dict[str, int]) -> NDArray[np.intp]:
    """The index of each label, -1 if it is missing; new ones are added to ``index_of``."""
    indices = [index_of.setdefault(text, len(index_of)) for text in labels.distinct]
    return np.array([*indices, -1])[labels.indices]


def _of_probabilities(truth: NDArray[np.intp], probability: Floats) -> tuple[float | None, float | None]:
    """Log-loss and AUC of rows of known classes, if there are any."""
    if not len(truth):
        return None, None
    return log_loss(truth, probability), area_under_curve(truth, probability)


def _majority(
    model: Predictor, truth: NDArray[np.intp], names: list[str], n_classes: int
) -> Majority | None:
    counts = model.facts.get("classes")
    if not counts:
        return None
    shares = np.array([counts.get(name, 0) for name in names[:n_classes]], float)
    most, shares = int(shares.argmax()), shares / shares.sum()
    confusion = Confusion.of(truth, np.full(len(truth), most), n_classes)
    known = truth[truth < n_classes]
    scores = _of_probabilities(known, np.tile(shares, (len(known), 1)))
    return Majority(names[most], confusion.accuracy, confusion.balanced_accuracy, *scores)


def _numbers(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
