"""How well a model predicts rows that it was not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.tabular.scores import Confusion, Reliability, log_loss, log_losses, reliability_sums
from ffmlp.words import counted

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT = "held out"


@dataclass(frozen=True)
class Evaluation:
    """Scores on rows that were held out; with several folds, their means and a standard deviation.

    ``majority`` is the accuracy of always predicting the most frequent class of the other rows.
    ``confusion`` and ``reliability`` are those of all held-out rows, as JSON values.
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
    scores, truths, probabilities = [], [], []
    for training, held in _folds(y, test_size, n_folds, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the fit to all rows gives the same warnings
            fitted = clone(model).fit(X.iloc[training], y[training])
            probability = fitted.predict_proba(X.iloc[held])
        truth, others = (np.searchsorted(values, y[rows]) for rows in (held, training))
        found = Confusion.of(truth, probability.argmax(axis=1), len(values))
        majority = float(np.mean(truth == np.bincount(others).argmax()))
        scores.append([found.accuracy, found.balanced_accuracy, log_loss(truth, probability), majority])
        truths.append(truth)
        probabilities.append(probability)
        on_fold()
    accuracy, balanced, loss, majority = np.mean(scores, axis=0).tolist()
    truth, probability = np.concatenate(truths), np.concatenate(probabilities)
    confusion = Confusion.of(truth, probability.argmax(axis=1), len(values))
    deviation = float(np.std(scores, axis=0, ddof=1)[0]) if len(scores) > 1 else 0.0
    method = HELD_OUT if n_folds is None else f"{n_folds}-fold cross-validation"
    return Evaluation(
        method, len(truth), accuracy, deviation, balanced, loss, majority, confusion.to_json(),
        Reliability.of(truth, probability).to_json(), perf_counter() - start,
    )  # fmt: skip


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
class HeldOutSums:
    """What an evaluation needs of held-out rows; that of blocks of rows adds up.

    ``confusion`` (C, C) counts rows, ``loss`` is the sum of their log-losses, and ``bins`` are their
    `ffmlp.tabular.scores.reliability_sums`.
    """

    confusion: NDArray[np.int64]
    loss: float
    bins: Floats

    @classmethod
    def of(cls, truth: NDArray[np.intp], probability: Floats) -> HeldOutSums:
        """Those of some rows, from the index of their classes."""
        confusion = Confusion.of(truth, probability.argmax(axis=1), probability.shape[1])
        loss = float(log_losses(truth, probability).sum())
        return cls(confusion.counts, loss, reliability_sums(truth, probability))

    def __add__(self, other: HeldOutSums) -> HeldOutSums:
        return HeldOutSums(
            self.confusion + other.confusion, self.loss + other.loss, self.bins + other.bins
        )

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
