"""What a report says about a model and a data file in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from ffmlp.arrays import Floats
from ffmlp.explain.whole_model import export_text
from ffmlp.inputs.columns import CategoryColumn, Columns, NumberColumn
from ffmlp.inputs.rows import evenly
from ffmlp.network.blobs import Familiarity
from ffmlp.report.assessment import KEEP, HyperplaneEffects, Importance, Outcome, Rows, held_out_rows
from ffmlp.report.layout import Table
from ffmlp.tabular.table_model import TableModel
from ffmlp.words import counted, listed, short_number

if TYPE_CHECKING:
    import pandas as pd


# A column is suspect if it alone leaves at most this share of the errors of the most frequent class.
_ERRORS_LEFT = 0.05
_MAX_ROWS_TRIED = 2000
_FEWEST_IN_LEAF = 5
# A class of fewer training rows is rare.
_FEW_ROWS = 20
# Unfamiliar rows are reported if their share is so many times as large as among the training rows.
_MANY_TIMES = 3.0


def alerts(
    model: TableModel,
    rows: Rows,
    cells: Floats,
    shown: Outcome | None,
    familiarity: Familiarity | None,
    notes: Sequence[str],
) -> list[str]:
    """All alerts; ``notes`` say which rows the numbers are about."""
    found = []
    if rows.labelled.any():
        found += leakage(model.network.table, cells[rows.labelled], rows.truth[rows.labelled])
    if shown is not None and shown.interval[0] <= shown.majority:
        found.append(
            f"The model may be no better than always predicting the most frequent class: its accuracy, "
            f"{shown.confusion.accuracy:.1%}, is not clearly above {shown.majority:.1%}."
        )
    found += notes
    if rows.n_unseen:
        found.append(
            f"{counted(rows.n_unseen, 'row')} with a {model.target} that the model has not seen. This "
            "report leaves them out; ffmlp evaluate counts them as errors."
        )
    rare = {label: n for label, n in _class_counts(model, rows).items() if n < _FEW_ROWS}
    if rare:
        counts = listed(f"{label} ({counted(n, 'row')})" for label, n in rare.items())
        found.append(f"Rare classes: {counts}. Results for them rest on few rows.")
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
                f"Possible leakage: {part.name} alone predicts {1.0 - error:.1%} of the classes. Is it "
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


_MAX_DRIVERS = 3
_MAX_HYPERPLANES = 15
_MAX_NEURONS = 15
_MAX_CATEGORIES = 5
_MAX_COLUMNS = 20
_MAX_LABELS = 8


def introduction(model: TableModel, rows: Rows, path: Path) -> tuple[str, list[str]]:
    """The title of the page and the text below it."""
    labels = listed(model.labels.tolist())
    if len(model.labels) > _MAX_LABELS:
        labels = counted(len(model.labels), "class")
    fitted = ""
    if "file" in model.facts:
        fitted = f" It was fitted to {counted(model.facts['rows'], 'row')} of {model.facts['file']}."
    features = counted(len(model.features), "column")
    text = [f"The model {path.name} predicts {model.target} ({labels}) from {features}.{fitted}"]
    evaluation = model.facts.get("evaluation")
    if evaluation and not rows.nearly_all_seen:  # else it is the accuracy of the report
        deviation = evaluation["accuracy_deviation"]
        spread = f" ± {100 * deviation:.1f}" if deviation else ""
        text.append(
            f"Its accuracy on {held_out_rows(evaluation)} is {100 * evaluation['accuracy']:.1f}"
            f"{spread}%. Predicting the most frequent class would give "
            f"{100 * evaluation['majority']:.1f}%."
        )
    return f"Report on {path.name}", text


def seen_text(rows: Rows) -> str:
    """Whether the model was fitted to the rows."""
    if not rows.seen:
        return ""
    if rows.seen == 1.0:
        return "The model was fitted to these rows."
    share = min(max(rows.seen, 0.01), 0.99)  # neither none nor all
    return f"The model was fitted to about {share:.0%} of these rows."


def outcome(model: TableModel, rows: Rows) -> Outcome | None:
    """The outcome on the rows, or on held-out rows if the model was fitted to nearly all of them."""
    held_out = Outcome.of_held_out(model) if rows.nearly_all_seen else None
    return held_out or Outcome.of_rows(rows)


def data_table(model: TableModel, rows: Rows, importance: Importance, name_of_file: str) -> Table:
    """The columns of the file."""
    shown = set(importance.columns[:_MAX_COLUMNS])
    described = []
    for name in [name for name in model.features if name in shown]:
        cells, kind = rows.X[name], "numeric" if name in model.numbers else "categorical"
        n_missing = int(cells.isna().sum())
        missing = f"{n_missing} ({n_missing / len(cells):.1%})" if n_missing else "none"
        values = _range(cells) if kind == "numeric" else _most_frequent(cells)
        described.append([name, kind, missing, values if n_missing < len(cells) else "none"])
    first = "" if rows.whole else "The first "
    text = f"{first}{counted(len(rows.X), 'row')} of {name_of_file}. {seen_text(rows)}".rstrip()
    if not rows.labelled.any():
        text += f" It has no {model.target!r} to compare with, so there is no accuracy in this report."
    unused = list(model.facts.get("unused", {}).items())
    notes = [f"Not used: {name} ({why})." for name, why in unused[:_MAX_COLUMNS]]
    left = len(model.features) - len(described)
    if left:
        notes.insert(0, f"The {len(described)} most important columns; the model uses {left} more.")
    counts = np.bincount(rows.truth[rows.labelled], minlength=len(model.labels))
    if counts.any():
        shares = [
            f"{label}: {count} ({count / counts.sum():.1%})"
            for label, count in zip(model.labels.tolist(), counts, strict=True)
        ]
        notes.insert(0, f"{model.target}: {', '.join(shares)}.")
        unknown = int((~rows.labelled).sum())
        if unknown:
            notes.append(f"{counted(unknown, 'row')} without {model.target}, or with an unseen class.")
    return Table("Data", text, ("column", "kind", "missing", "values"), described, notes)


def _range(cells: pd.Series) -> str:
    median = 2.0 * (0.5 * cells).median()  # the sum of two middle values may overflow, not of halves
    least, middle, most = map(short_number, (cells.min(), median, cells.max()))
    return f"{least} to {most}, median {middle}"


def _most_frequent(cells: pd.Series) -> str:
    counts = cells.value_counts()
    shown = [f"{value} ({count})" for value, count in counts.head(_MAX_CATEGORIES).items()]
    more = len(counts) - _MAX_CATEGORIES
    return ", ".join(shown) + (f", {more} more" if more > 0 else "")


def design_table(model: TableModel) -> Table:
    """The layers, and the plans that were compared."""
    clf = model.classifier
    network, selection = clf.network_, clf.selection_
    header, *lines = selection.table
    n_plans = len(selection.plans)
    chosen = "There was only one plan."
    if n_plans > 1:
        chosen = (
            f"{n_plans} plans were compared on held-out rows. The chosen plan (→), fitted to all rows, "
            "is the first, unless the plan with the lowest log-loss is better by more than one standard "
            "error."
        )
    text = (
        f"The network has {network.layers}. It follows the {network.stages.design} design, with one "
        f"neuron of the second layer for {network.stages.each_neuron}. Nothing was trained: every "
        f"weight follows from the Gaussian blobs that make up each class. {chosen}"
    )
    seconds = ", ".join(f"{step} {value:.3f} s" for step, value in clf.timings_.items())
    return Table("Network design", text, header, lines, [f"Fit time: {seconds}."])


def meaning_table(model: TableModel, effects: HyperplaneEffects) -> Table:
    """The neurons of l_2, and the hyperplanes with the largest effects on the decisions."""
    network = model.classifier.network_
    n_planes, n_second = len(network.hyperplanes), network.layer_sizes[2]
    order = np.argsort(-effects.effects, kind="stable")
    lines = [
        [f"hyperplane {plane}", short_number(effects.effects[plane], 3), network.half_space(plane),
         _drivers(model, effects, plane)]
        for plane in order[:_MAX_HYPERPLANES].tolist()
    ]  # fmt: skip
    neurons = "two neurons in the first layer, one for each side"
    if network.layer_sizes[1] == n_planes:
        neurons = "one neuron in the first layer, for one side"
    shown = f"{_MAX_HYPERPLANES} of {n_planes}" if n_planes > _MAX_HYPERPLANES else f"all {n_planes}"
    text = (
        f"Each hyperplane has {neurons}. The table lists {shown} hyperplanes by their mean effect on "
        "the lead of the predicted class, largest first."
    )
    shown_neurons = range(min(n_second, _MAX_NEURONS))
    meanings = [f"{neuron}  {network.meaning(2, neuron)}" for neuron in shown_neurons]
    if n_second > _MAX_NEURONS:
        meanings.append(f"and {n_second - _MAX_NEURONS} more")
    details = [
        ("The neurons of the second layer", "\n".join(meanings)),
        ("The design as text", export_text(model.classifier)),
    ]
    header = ("", "effect", "positive side", "main features (+ towards this side)")
    return Table("What the neurons mean", text, header, lines, (), details)


def _drivers(model: TableModel, effects: HyperplaneEffects, plane: int) -> str:
    """The columns that change a hyperplane's response most, with the direction of numbers."""
    table, slopes = model.classifier.network_.table, effects.slopes[plane]
    sizes, signs = table.summed(np.abs(slopes)), np.where(slopes[table.firsts] > 0, "+ ", "− ")
    numbers = [isinstance(part, NumberColumn) for part in table.parts]
    order = np.argsort(-sizes, kind="stable")[:_MAX_DRIVERS]
    return ", ".join(f"{signs[j] if numbers[j] else ''}{table.parts[j].name}" for j in order if sizes[j])


def notes_on_seen_rows(model: TableModel, rows: Rows) -> list[str]:
    """What the accuracy is about, if the model was fitted to some of the rows."""
    on_rows, held_out = Outcome.of_rows(rows), Outcome.of_held_out(model)
    if not rows.seen or on_rows is None:
        return []
    if held_out is None or not rows.nearly_all_seen:
        return [f"{seen_text(rows)} Its accuracy on new rows is likely to be lower."]
    return [
        f"{seen_text(rows)} Its accuracy on them, {on_rows.confusion.accuracy:.1%}, says little about "
        "new rows. Accuracy, confusion matrix and calibration are therefore of held-out rows: each row "
        "was predicted by a model fitted without it."
    ]
