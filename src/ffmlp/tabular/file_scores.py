"""How well a model predicts the rows of a data file, beside the majority class of its training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.tables.blocks import Texts
from ffmlp.tables.tables import TEXT, DataTable
from ffmlp.tabular.predictions import UnknownCategories, merged, unknown_categories
from ffmlp.tabular.scores import Confusion, area_under_curve, log_loss

if TYPE_CHECKING:
    from ffmlp.tabular.predictor import Predictor
    from ffmlp.tabular.table_model import TableModel

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


def score_file(
    model: Predictor | TableModel, table: DataTable, on_block: Callable[[int], object]
) -> FileScores:
    """Compare predictions with labels, block by block; only labels and probabilities are kept.

    ``on_block`` is called with the number of rows of each block.
    """
    index_of = {str(label): index for index, label in enumerate(model.labels.tolist())}
    n_classes, truths, probabilities = len(index_of), list[NDArray[np.intp]](), list[Floats]()
    unknown = list[UnknownCategories]()
    for part in table.parts(_ROWS_AT_ONCE, {**model.kinds, model.target: TEXT}):
        block = part()
        if len(block):
            truths.append(_indices(block.texts[-1], index_of))
            block = replace(block, texts=block.texts[:-1])
            probabilities.append(model.probabilities(block))
            unknown += unknown_categories(model.table, block.texts)
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


def _indices(labels: Texts, index_of: dict[str, int]) -> NDArray[np.intp]:
    """The index of each label, -1 if it is missing; new ones are added to ``index_of``."""
    own = [index_of.setdefault(text, len(index_of)) for text in labels.distinct]
    return np.array([*own, -1])[labels.indices]


def _of_probabilities(truth: NDArray[np.intp], probability: Floats) -> tuple[float | None, float | None]:
    """Log-loss and AUC of rows of known classes, if there are any."""
    return (
        (log_loss(truth, probability), area_under_curve(truth, probability))
        if len(truth)
        else (None, None)
    )


def _majority(
    model: Predictor | TableModel, truth: NDArray[np.intp], names: list[str], n_classes: int
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
