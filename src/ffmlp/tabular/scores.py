"""Predictions compared with the truth: confusion, calibration, log-loss, AUC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from ffmlp.arrays import Floats

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
        """From indices of classes; those of unknown ones follow those of the model."""
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
    own = np.take_along_axis(probability, truth[:, np.newaxis], axis=1)
    return -np.log(np.maximum(own[:, 0], np.finfo(float).eps))


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
