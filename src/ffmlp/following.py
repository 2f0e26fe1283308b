"""Fits like another classifier: its plan, columns, blobs and hyperplanes, and other samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from ffmlp.arrays import Floats
from ffmlp.design.plans import AUTO
from ffmlp.design.problem import Samples
from ffmlp.design.statistics import Statistics
from ffmlp.inputs.data_frames import plain_labels
from ffmlp.validation import checked_cells, checked_weight

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier


def followed(classifier: FFMLPClassifier, like: FFMLPClassifier, blobs: object) -> Statistics:
    """The statistics of the classifier to follow; sets the feature attributes of the other."""
    given = checked_statistics(like, "like")
    if classifier.design not in (AUTO, given.plan.design):
        raise ValueError(
            f"like has the {given.plan.design} design, which is used, got design="
            f"{classifier.design!r}. Choose design={given.plan.design!r}."
        )
    if blobs is not None:
        raise ValueError("blobs cannot be given beside like, which has blobs. Leave out one of them.")
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(like, name):
            setattr(classifier, name, getattr(like, name))
    return given


def statistics_of_samples(
    classifier: FFMLPClassifier,
    like: FFMLPClassifier,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    blobs: object,
) -> Statistics:
    """The statistics of samples for the hyperplanes of another classifier, which has its statistics."""
    given, targets = followed(classifier, like, blobs), column_or_1d(plain_labels(y))
    weight = checked_weight(sample_weight, len(targets), adds_up=True)
    return given.of_samples(samples_like(like, X, targets, weight))


def samples_like(like: FFMLPClassifier, X: Any, y: NDArray, weight: Floats) -> Samples:
    """Labelled rows as samples for the hyperplanes of another classifier, without those of weight 0."""
    labels, columns = like.statistics_.labels, like.statistics_.columns
    cells = checked_cells(like, X)
    check_consistent_length(cells, y)
    unknown = sorted({*y.tolist()} - {*labels.tolist()}, key=str)
    if unknown:
        raise ValueError(
            f"y has the class {unknown[0]!r}, which like does not know. Classes: {labels.tolist()[:10]}."
        )
    counted = weight > 0
    inputs, number = columns.inputs(cells[counted]), np.searchsorted(labels, y[counted])
    return Samples(inputs, number, weight[counted], labels, np.ones(len(labels)), columns)


def checked_statistics(classifier: Any, name: str) -> Statistics:
    """The statistics of a fitted classifier, or an error."""
    found = getattr(classifier, "statistics_", None)
    if not isinstance(found, Statistics):
        raise ValueError(
            f"{name} has no statistics_. Fit it with keep_statistics=True, or like one that has them, "
            f"got {classifier!r}."
        )
    return found
