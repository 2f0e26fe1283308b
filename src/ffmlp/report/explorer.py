"""The explorer: a page on a model and a data file that predicts and explains what the reader enters."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zlib import compress

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.classifier import FFMLPClassifier
from ffmlp.explain.whole_model import EffectCurve, effect_curves
from ffmlp.inputs.columns import NumberColumn
from ffmlp.network.blobs import Familiarity, feature_units
from ffmlp.network.network import drawn_network
from ffmlp.parameters import checked_cells
from ffmlp.report.assessment import (
    KEEP,
    LEAST_CERTAIN,
    WRONG,
    HyperplaneEffects,
    Importance,
    Outcome,
    Rows,
    ShownRow,
    class_curves,
    proved_changes,
    shown_rows,
    wilson,
)
from ffmlp.report.model_report import (
    alerts,
    data_table,
    design_table,
    introduction,
    meaning_table,
    notes_on_seen_rows,
    outcome,
    seen_text,
)
from ffmlp.storage.form import write
from ffmlp.tabular.table_model import TableModel
from ffmlp.web.joining import WEB, joined_script, one_page

# Columns with effect curves.
_MAX_CURVES = 15
_DIGITS = 5
# A larger model is not part of the page: 100 000 leaves or regions of three classes take about 5 MB.
_MAX_CHARACTERS = 16_000_000


def explorer_page(model: TableModel, rows: Rows, model_path: Path, data_name: str) -> str:
    """The page as HTML."""
    folder = WEB / "explorer"
    title, text = introduction(model, rows, model_path)
    data = {"title": title, "text": text, **explorer_data(model, rows, data_name)}
    body, style = ((folder / name).read_text("utf-8") for name in ("explorer.html", "explorer.css"))
    body = body.replace("<!-- network -->", drawn_network(model.network))
    return one_page(title, body, style, joined_script("explorer/main.js"), data)


def explorer_data(model: TableModel, rows: Rows, data_name: str) -> dict[str, Any]:
    """What the page shows and what it predicts with, as JSON values."""
    clf, shown = model.classifier, outcome(model, rows)
    effects = HyperplaneEffects.of(model, rows)
    importance = Importance.of(model, rows, effects.attributions)
    cells = np.asarray(checked_cells(clf, model.classified(rows.X)), np.float64)
    known = model.network.familiar is not None
    familiarity = clf.familiarity(model.classified(rows.X), KEEP) if known else None
    notes = notes_on_seen_rows(model, rows)
    tables = [data_table(model, rows, importance, data_name)]
    tables += [design_table(model), meaning_table(model, effects)]
    chosen = shown_rows(rows, model.labels, familiarity)
    curves = effect_curves(clf, model.classified(rows.X), importance.columns[:_MAX_CURVES])
    return {
        "target": model.target,
        "labels": list(map(str, model.labels.tolist())),
        "cards": _cards(model, rows, shown, familiarity),
        "alerts": alerts(model, rows, cells, shown, familiarity, notes),
        "about": "" if shown is None else shown.about,
        "seen": seen_text(rows),
        "accuracy": "" if shown is None else _accuracy_text(shown),
        "confusion": None if shown is None else shown.confusion.counts.tolist(),
        "calibration": None if shown is None else _calibration(shown),
        "curves": _curves(rows),
        "importance": _importance(importance),
        "importanceText": _importance_text(model, rows, importance),
        "effects": list(map(_effect, curves)),
        "rows": [_row(row, rows) for row in chosen],
        **_live(model, rows, cells, chosen),
        "tables": [asdict(table) for table in tables],
    }


def blobs_form(clf: FFMLPClassifier) -> dict[str, Any]:
    """What explanations read of the blobs, as JSON values."""
    blobs = clf.blobs_
    parts = {"classes": blobs.classes, "means": blobs.means, "spreads": blobs.feature_spreads}
    return {name: write(part) for name, part in parts.items()}


def _live(model: TableModel, rows: Rows, cells: Floats, chosen: list[ShownRow]) -> dict[str, str | None]:
    """The model as compressed text, or why the page cannot predict with it."""
    text = json.dumps(_model(model, rows, cells, chosen), allow_nan=False, separators=(",", ":"))
    packed = b64encode(compress(text.encode(), 6)).decode()
    if len(packed) <= _MAX_CHARACTERS:
        return {"model": packed, "unavailable": ""}
    text = f"The network is too large for this page: it would take {len(packed) / 1e6:.0f} MB."
    trees = model.network.stages.trees
    if trees is not None:
        fewer = int(len(trees) * _MAX_CHARACTERS / len(packed))
        text += f" A network of at most {fewer:,} leaves is not (ffmlp fit --max-leaves {fewer})."
    return {"model": None, "unavailable": text}


def _model(model: TableModel, rows: Rows, cells: Floats, chosen: list[ShownRow]) -> dict[str, Any]:
    """The network, its blobs, the units and ranges of its columns, and rows to begin with."""
    clf, numbers = model.classifier, [row.number for row in chosen]
    return {
        "network": write(clf.network_),
        "blobs": blobs_form(clf),
        "units": write(feature_units(clf.blobs_, clf.network_.hyperplanes)),
        "ranges": [
            _range(cells[:, number]) if isinstance(part, NumberColumn) else None
            for number, part in enumerate(model.network.table.parts)
        ],
        "missing": np.isnan(cells).any(axis=0).tolist(),
        "cells": write(cells[numbers]),
        "changes": proved_changes(clf, model.classified(rows.X.iloc[numbers])),
    }


def _range(column: Floats) -> dict[str, Any]:
    """The least and the largest number, and whether all are whole."""
    known = column[np.isfinite(column)]
    if not len(known):
        return {"low": 0.0, "high": 1.0, "whole": False}
    whole = bool((known == np.round(known)).all())
    return {"low": float(known.min()), "high": float(known.max()), "whole": whole}


def _cards(
    model: TableModel, rows: Rows, shown: Outcome | None, familiarity: Familiarity | None
) -> list[dict[str, str]]:
    """Name, value and a note of each number at the head of the page."""
    cards = []
    if shown is None:
        without = f"{model.target} that the model knows" if rows.n_unseen else model.target
        cards.append(("Rows", f"{len(rows.X):,}", f"without {without}: no accuracy"))
        top = float(rows.probability.max(axis=1).mean())
        cards.append(("Mean probability", f"{top:.1%}", "of the predicted classes"))
    else:
        low, high = shown.interval
        note = f"{low:.1%} to {high:.1%} with 95% confidence, on {shown.about}"
        cards.append(("Accuracy", f"{shown.confusion.accuracy:.1%}", note))
        note = "accuracy of always predicting the most frequent class"
        cards.append(("Majority baseline", f"{shown.majority:.1%}", note))
        note = "mean difference between probability and accuracy"
        cards.append(("Calibration error", f"{shown.reliability.error:.1%}", note))
    if familiarity is not None:
        share = float(np.mean(~familiarity.familiar))
        note = f"farther from all blobs than {KEEP:.0%} of the training rows"
        cards.append(("Unfamiliar rows", f"{share:.1%}", note))
    cards.append(("Neurons", f"{sum(model.network.layer_sizes[1:]):,}", model.network.layers))
    return [dict(zip(("name", "value", "note"), card, strict=True)) for card in cards]


def _accuracy_text(shown: Outcome) -> str:
    confusion = shown.confusion
    return (
        f"The accuracy on {shown.about} is {confusion.accuracy:.1%} (balanced accuracy "
        f"{confusion.balanced_accuracy:.1%}, log-loss {shown.log_loss:.3f}). Predicting the most "
        f"frequent class would give {shown.majority:.1%}."
    )


def _calibration(shown: Outcome) -> dict[str, Any]:
    bins = shown.reliability
    low, high = wilson(bins.accuracy, bins.counts)
    columns = (bins.counts, bins.confidence, bins.accuracy, low, high)
    names = ("rows", "probability", "accuracy", "low", "high")
    return {name: _rounded(part) for name, part in zip(names, columns, strict=True)}


def _curves(rows: Rows) -> list[dict[str, Any]]:
    truth, probability = rows.truth[rows.labelled], rows.probability[rows.labelled]
    return [
        {"label": of.label, "rows": of.n_rows, "area": of.area, "precision": of.average_precision,
         "roc": _rounded(of.roc), "recall": _rounded(of.recall)}
        for of in class_curves(truth, probability)
    ]  # fmt: skip


def _importance(importance: Importance) -> list[dict[str, Any]]:
    columns = zip(importance.columns, importance.losses, importance.deviations, strict=True)
    return [
        {"name": name, "loss": float(loss), "deviation": float(deviation)}
        for name, loss, deviation in columns
    ]


def _importance_text(model: TableModel, rows: Rows, importance: Importance) -> str:
    against = "" if rows.labelled.any() else ", measured against the model's own predictions"
    text = (
        "Permutation importance: the accuracy that is lost when the values of one column are shuffled"
        f"{against}. Columns that repeat the information of another column look unimportant."
    )
    n_shuffled = len(importance.columns)
    if n_shuffled < len(model.features):
        text += f" Only the {n_shuffled} columns with the largest mean attributions were shuffled."
    return text


def _effect(curve: EffectCurve) -> dict[str, Any]:
    values = _rounded(curve.values) if curve.is_number else curve.values.tolist()
    parts = {name: _rounded(getattr(curve, name).T) for name in ("middle", "low", "high")}
    return {"column": curve.column, "values": values, "isNumber": curve.is_number, **parts}


def _row(row: ShownRow, rows: Rows) -> dict[str, Any]:
    return {
        "group": row.group,
        "isTypical": row.group not in (LEAST_CERTAIN, WRONG),
        "number": row.number + 1,
        "truth": int(rows.truth[row.number]),
        "probability": rows.probability[row.number].tolist(),
    }


def _rounded(values: NDArray) -> list[Any]:
    """Numbers with few digits, as lists."""
    return np.vectorize(lambda value: float(f"{value:.{_DIGITS}g}"), otypes=[float])(values).tolist()
