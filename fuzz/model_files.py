"""Model files with a fitting checksum and any content.

Both readers must agree on them. What they refuse is refused in words, what they read predicts
probabilities, and neither takes much memory nor runs anything.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from ffmlp import FFMLPClassifier
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.storage.model_files import load_with_metadata
from ffmlp.tables.blocks import Block
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.predictor import Predictor, read_predictor
from ffmlp.tabular.table_model import TableModel
from fuzz.changes import one_of
from fuzz.forging import forged
from fuzz.limits import limited_memory, without_foreign_code

# Megabytes that a file of up to 10 may take beyond an honest one.
_MOST_MEGABYTES = 300
_TEMPORARY = tempfile.TemporaryDirectory(prefix="ffmlp-fuzz-")
_FOLDER = Path(_TEMPORARY.name)
_DESIGNS: tuple[dict[str, Any], ...] = (
    {"design": "paper", "keep_statistics": True},
    {"design": "region", "keep_statistics": True, "error_threshold": 0.2},
    {"design": "blob"},
    {"design": "readout", "max_leaves": 0, "gaussianise": True},
    {"design": "readout", "max_leaves": 40},
    {"max_neurons": 12},
)
_ROWS = np.array([0.0, 1.0, -1.0, 40.0, 1e6, -1e6, 1e300, np.nan])
_TEXTS = ("man", "Ayr", "unseen", "", "nan")


def seeds() -> list[bytes]:
    """Models of all designs."""
    return list(map(_stored, _DESIGNS))


def _stored(parameters: dict[str, Any]) -> bytes:
    """A model of a table with numbers, categories and missing cells."""
    rng, path = np.random.default_rng(0), _FOLDER / "honest.model"
    frame = pd.DataFrame(
        {
            "age": rng.normal(40.0, 12.0, 240),
            "fare": rng.gamma(2.0, 10.0, 240),
            "sex": rng.choice(["man", "woman"], 240),
            "town": rng.choice(["Ayr", "Bath", "Cork"], 240),
        }
    ).astype({"sex": object, "town": object})
    y = np.where((frame["age"] > 45) ^ (frame["sex"] == "man"), "lost", frame["town"])
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    clf = FFMLPClassifier(2, random_state=0, **parameters).fit(frame, y)
    facts = {"file": "x.csv", "rows": 240}
    TableModel(("age", "fare"), ("sex", "town"), "class", None, Dialect(), facts, clf).save(path)
    return path.read_bytes()


def changed(rng: Generator, parents: Sequence[bytes]) -> bytes:
    """A new file from those before."""
    return forged(rng, one_of(rng, parents), parents)


@cache
def _import_all() -> None:
    """Read and use an honest model: whatever that needs is imported once."""
    path = _FOLDER / "honest.model"
    path.write_bytes(_stored(_DESIGNS[-2]))
    model = TableModel.load(path)
    _check_predictions(model, read_predictor(path))
    repr(model.classifier)  # messages contain such texts


def check(data: bytes) -> str:
    """Read a file in every way; an error unless that is as it should be."""
    _import_all()
    path = _FOLDER / "forged.model"
    path.write_bytes(data)
    with limited_memory(_MOST_MEGABYTES if len(data) < 10_000_000 else 10_000), without_foreign_code():
        predictor, model = _read(read_predictor, path), _read(TableModel.load, path)
        if isinstance(predictor, str) and isinstance(model, str):
            return _check_without_table(path)
        if isinstance(predictor, str):
            raise AssertionError(f"TableModel reads what read_predictor refuses: {predictor}")
        if isinstance(model, str):
            return "refused for what predictions do not use"
        _check_predictions(model, predictor)
        return f"read: {_structure(model.classifier)}"


def _read(reader: Any, path: Path) -> Any:
    """What a reader returns, or its message."""
    try:
        return reader(path)
    except ValueError as error:
        message = str(error)
    assert str(path) in message, f"no file in {message}"
    return message


def _check_without_table(path: Path) -> str:
    """A model that is not one of a table, but may be one all the same."""
    saved = _read(load_with_metadata, path)
    if isinstance(saved, str):
        return "refused"
    clf = saved.classifier
    rows = np.resize(_ROWS[:-1], (6, clf.n_features_in_))
    _check_probabilities(clf.predict_proba(rows), clf.predict(rows), clf)
    return f"read, but not of a table: {_structure(clf)}"


def _structure(estimator: Any) -> str:
    """What distinguishes models: those with a new structure are changed further."""
    network = estimator.network_
    columns = [type(part).__name__ for part in network.table.parts]
    return f"{network.stages.design} {network.layer_sizes} {columns} {network.table.imputation is None}"


def _check_predictions(model: TableModel, predictor: Predictor) -> None:
    numbers = np.resize(_ROWS, (6, len(model.numbers)))
    indices = np.arange(-1, len(_TEXTS))
    texts = tuple(
        IndexedColumn(np.resize(indices + at, 6) % len(_TEXTS), _TEXTS)
        for at, _ in enumerate(model.categories)
    )
    block = Block(numbers, texts)
    frame = model.classified(block.frame(model.numbers, model.categories))
    probabilities = model.probabilities(frame)
    _check_probabilities(probabilities, model.classifier.predict(frame), model.classifier)
    np.testing.assert_array_equal(predictor.probabilities(block), probabilities)
    np.testing.assert_array_equal(predictor.network.labels, model.labels)
    np.testing.assert_array_equal(predictor.classes(block), probabilities.argmax(axis=1))


def _check_probabilities(probabilities: np.ndarray, labels: np.ndarray, estimator: Any) -> None:
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    assert (probabilities >= 0.0).all()
    np.testing.assert_array_equal(estimator.classes_[probabilities.argmax(axis=1)], labels)
