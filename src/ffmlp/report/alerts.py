"""What a person should know before trusting a model: short sentences, most serious first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import CategoryColumn, Columns
from ffmlp.inputs.subsets import evenly
from ffmlp.network.familiarity import Familiarity
from ffmlp.report.assessment import KEEP, Outcome, Rows
from ffmlp.tabular.table_model import TableModel
from ffmlp.words import counted, listed

# A column is suspect if it alone leaves at most this share of the errors of the most frequent class.
_ERRORS_LEFT = 0.05
_MAX_ROWS_TRIED = 2000
_FEWEST_IN_LEAF = 5
# A class of fewer training rows is rare.
_FEW_ROWS = 20
# A share of unfamiliar rows that is so many times that of the training rows is worth a word.
_MANY_TIMES = 3.0


def alerts(
    model: TableModel,
    rows: Rows,
    cells: Floats | None,
    shown: Outcome | None,
    familiarity: Familiarity | None,
    notes: Sequence[str],
) -> list[str]:
    """All alerts; ``notes`` say which rows the numbers are about, ``cells`` are None for a pipeline."""
    found = []
    if cells is not None and rows.labelled.any():
        found += leakage(model.table, cells[rows.labelled], rows.truth[rows.labelled])
    if shown is not None and shown.interval[0] <= shown.majority:
        found.append(
            f"The model may be no better than always predicting the most frequent class: its accuracy, "
            f"{shown.confusion.accuracy:.1%}, is not clearly above {shown.majority:.1%}."
        )
    found += notes
    if rows.n_unseen:
        found.append(
            f"{counted(rows.n_unseen, 'row')} with a {model.target} that the model does not know. The "
            "numbers here leave them out; ffmlp evaluate counts them as errors."
        )
    rare = {label: n for label, n in _class_counts(model, rows).items() if n < _FEW_ROWS}
    if rare:
        counts = listed(f"{label} ({counted(n, 'row')})" for label, n in rare.items())
        found.append(f"Rare classes: {counts}. What is said of them rests on few rows.")
    if familiarity is not None:
        strange = float(np.mean(~familiarity.familiar))
        if strange > _MANY_TIMES * (1.0 - KEEP):
            found.append(
                f"{strange:.1%} of the rows are unfamiliar: farther from all blobs than {KEEP:.0%} of "
                "the training rows."
            )
    return found


def _class_counts(model: TableModel, rows: Rows) -> dict[str, int]:
    """The number of training rows of each class, or of the rows shown if that is not known."""
    stored = model.facts.get("classes")
    if isinstance(stored, dict):
        return stored
    counts = np.bincount(rows.truth[rows.labelled], minlength=len(model.labels))
    return (
        dict(zip(map(str, model.labels.tolist()), counts.tolist(), strict=True)) if counts.any() else {}
    )


def leakage(table: Columns, cells: Floats, truth: NDArray[np.intp]) -> list[str]:
    """A sentence for each column that alone predicts the class nearly perfectly.

    Half of the rows make a rule of one column, the other half tests it.
    """
    chosen = evenly(len(cells), _MAX_ROWS_TRIED)
    cells, truth = cells[chosen], truth[chosen]
    most = np.bincount(truth[::2]).argmax() if len(truth) else 0
    by_chance = float(np.mean(truth[1::2] != most)) if len(truth) > 1 else 0.0
    if not by_chance or len(table) < 2:
        return []
    found = []
    for number, part in enumerate(table.parts):
        rule = _by_category if isinstance(part, CategoryColumn) else _by_number
        error = float(np.mean(rule(cells[:, number], truth) != truth[1::2]))
        if error <= _ERRORS_LEFT * by_chance:
            found.append(
                f"Leakage suspect: {part.name} alone predicts {1.0 - error:.1%} of the classes. Is it "
                "known before the class is?"
            )
    return found


def _by_number(column: Floats, truth: NDArray[np.intp]) -> NDArray[np.intp]:
    """The classes of every second row by a small tree of the other rows."""
    least = np.nanmin(column) if not np.isnan(column).all() else 0.0
    filled = np.nan_to_num(column, nan=least - 1.0, posinf=None, neginf=None)[:, None]
    if np.abs(filled).max() > np.finfo(np.float32).max:  # the tree reads 32 bits; ranks are enough
        filled = np.unique(filled, return_inverse=True)[1].reshape(-1, 1).astype(float)
    n_leaves = 2 * len(np.unique(truth))
    tree = DecisionTreeClassifier(
        max_leaf_nodes=n_leaves, min_samples_leaf=_FEWEST_IN_LEAF, random_state=0
    ).fit(filled[::2], truth[::2])
    return tree.predict(filled[1::2])


def _by_category(column: Floats, truth: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most frequent class of each category among the other rows; categories need a few rows."""
    _, number = np.unique(column, return_inverse=True)
    counts = np.zeros((number.max() + 1, truth.max() + 1))
    np.add.at(counts, (number[::2], truth[::2]), 1)
    most = counts.argmax(axis=1)
    most[counts.sum(axis=1) < _FEWEST_IN_LEAF] = counts.sum(axis=0).argmax()
    return most[number[1::2]]
