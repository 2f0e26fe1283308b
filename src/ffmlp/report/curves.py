"""ROC and precision-recall curves of each class against the others, with few points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from ffmlp.arrays import Floats

# More points of a curve cannot be told apart on a screen.
_MAX_POINTS = 120


@dataclass(frozen=True, eq=False)
class ClassCurves:
    """The curves of one class.

    ``roc`` (2, K) are false and true positive rates, ``recall`` (2, K) recall and precision.
    """

    label: int
    n_rows: int
    area: float
    average_precision: float
    roc: Floats
    recall: Floats


def class_curves(truth: NDArray[np.intp], probability: Floats) -> list[ClassCurves]:
    """Those of every class that some of the rows have and some have not."""
    found = []
    for label in np.unique(truth).tolist():
        own, score = truth == label, probability[:, label]
        if own.all():
            continue
        false_rate, true_rate, _ = roc_curve(own, score)
        precision, recall, _ = precision_recall_curve(own, score, drop_intermediate=True)
        found.append(
            ClassCurves(
                label, int(own.sum()), float(roc_auc_score(own, score)),
                float(average_precision_score(own, score)),
                _thinned(np.array([false_rate, true_rate])), _thinned(np.array([recall, precision])),
            )
        )  # fmt: skip
    return found


def _thinned(points: Floats) -> Floats:
    """Points of a curve at even steps of its length, with both ends."""
    n = points.shape[1]
    if n <= _MAX_POINTS:
        return points
    way = np.append(0.0, np.cumsum(np.abs(np.diff(points, axis=1)).sum(axis=0)))
    steps = np.searchsorted(way, np.linspace(0.0, way[-1], _MAX_POINTS))
    return points[:, np.unique(np.concatenate([[0], np.minimum(steps, n - 1), [n - 1]]))]
