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
from sklearn.pipeline import Pipeline

from ffmlp import FFMLPClassifier
from ffmlp.inputs.columns import IndexedColumn
from ffmlp.storage.forms import FORMS
from ffmlp.storage.persistence import load_with_metadata
from ffmlp.tables.blocks import Block
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.predictor import Predictor, read_predictor
from ffmlp.tabular.table_model import TableModel
from fuzz.changes import one_of
from fuzz.forging import Forgery, forged, framed
from fuzz.limits import limited_memory, without_foreign_code

_MODELS = Path(__file__).parents[1] / "tests" / "data"
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
    """Models of all designs and formats."""
    stored = [path.read_bytes() for path in sorted(_MODELS.glob("*.model"))]
    return [*stored, *map(_stored, _DESIGNS)]


def _stored(parameters: dict[str, Any]) -> bytes:
    """A model of a table with numbers, categories and missing cells."""
    rng, path = np.random.default_rng(0), _FOLDER / "honest.model"
    frame = pd.DataFrame(
        {
            "age": rng.normal(40.0, 12.0, 60),
            "fare": rng.gamma(2.0, 10.0, 60),
            "sex": rng.choice(["man", "woman"], 60),
            "town": rng.choice(["Ayr", "Bath", "Cork"], 60),
        }
    ).astype({"sex": object, "town": object})
    y = np.where((frame["age"] > 45) ^ (frame["sex"] == "man"), "lost", frame["town"])
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    clf = FFMLPClassifier(2, random_state=0, **parameters).fit(frame, y)
    facts = {"file": "x.csv", "rows": 60}
    TableModel(("age", "fare"), ("sex", "town"), "class", None, Dialect(), facts, clf).save(path)
    return path.read_bytes()


def changed(rng: Generator, parents: Sequence[bytes]) -> bytes:
    """A new file from those before."""
    return forged(rng, one_of(rng, parents), parents)


@cache
def _import_all() -> None:
    """Read and use honest models: whatever they need is imported once."""
    for name in ("table-2", "columns-2"):
        path = _MODELS / f"{name}.model"
        model = TableModel.load(path)
        _check_predictions(model, read_predictor(path))
        repr(model.estimator)  # messages contain such texts


def check(data: bytes) -> str:
    """Read a file in every way; an error unless that is as it should be."""
    _import_all()
    path = _FOLDER / "forged.model"
    path.write_bytes(data)
    with limited_memory(_MOST_MEGABYTES if len(data) < 10_000_000 else 10_000), without_foreign_code():
        predictor, model = _read(read_predictor, path), _read(TableModel.load, path)
        if isinstance(predictor, str) and isinstance(model, str):
            return "refused"
        if isinstance(predictor, str):
            raise AssertionError(f"TableModel reads what read_predictor refuses: {predictor}")
        if isinstance(model, str) and predictor is not None:
            _check_the_rest_is_wrong(data, model)
            return "refused for what predictions do not use"
        if isinstance(model, str):
            return _check_without_table(path, model)
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


def _check_the_rest_is_wrong(data: bytes, message: str) -> None:
    """Without parameters and statistics, which predictions do not use, the file is read."""
    forgery = Forgery.of(data)
    assert forgery is not None
    attributes = forgery.schema["content"]["estimator"]["content"]
    kept = [
        name for name in attributes["content"] if name in FORMS["classifier"].keys() - {"statistics_"}
    ]
    attributes["content"] = {name: attributes["content"][name] for name in kept}
    text = {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}
    attributes["key_types"]["content"] = [text for _ in kept]
    path = _FOLDER / "stripped.model"
    path.write_bytes(framed(forgery.packed(), forgery.version))
    again = _read(TableModel.load, path)
    assert not isinstance(again, str), f"read_predictor reads what TableModel refuses: {message}"


def _check_without_table(path: Path, message: str) -> str:
    """A model that is not one of a table, but may be one all the same."""
    saved = _read(load_with_metadata, path)
    if isinstance(saved, str):
        return "refused"
    clf = saved.estimator
    if isinstance(clf, Pipeline):  # whose steps scikit-learn checks no sooner than it predicts
        return "read, a pipeline"
    rows = np.resize(_ROWS[:-1], (6, clf.n_features_in_))
    _check_probabilities(clf.predict_proba(rows), clf.predict(rows), clf)
    return f"read, but not of a table: {_structure(clf)}"


def _structure(estimator: Any) -> str:
    """What distinguishes models: those with a new structure are changed further."""
    network = estimator.network_
    columns = [type(part).__name__ for part in network.table.parts]
    return f"{network.stages.design} {network.layer_sizes} {columns} {network.table.imputation is None}"


def _check_predictions(model: TableModel, predictor: Predictor | None) -> None:
    old = not isinstance(model.estimator, Pipeline) and model.network.columns is None
    rows = _ROWS[:-1] if old else _ROWS  # earlier versions did not take missing values
    numbers = np.resize(rows, (6, len(model.numbers)))
    indices = np.arange(-1, len(_TEXTS))
    texts = tuple(
        IndexedColumn(np.resize(indices + at, 6) % len(_TEXTS), _TEXTS)
        for at, _ in enumerate(model.categories)
    )
    block = Block(numbers, texts)
    try:
        probabilities = model.probabilities(block)
    except ValueError:
        if isinstance(model.estimator, Pipeline):  # scikit-learn checks its steps no sooner
            return
        raise
    _check_probabilities(probabilities, model.labels[model.classes(block)], model.estimator)
    if predictor is not None:
        np.testing.assert_array_equal(predictor.probabilities(block), probabilities)
        np.testing.assert_array_equal(predictor.labels, model.labels)
        np.testing.assert_array_equal(predictor.classes(block), probabilities.argmax(axis=1))


def _check_probabilities(probabilities: np.ndarray, labels: np.ndarray, estimator: Any) -> None:
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    assert (probabilities >= 0.0).all()
    np.testing.assert_array_equal(estimator.classes_[probabilities.argmax(axis=1)], labels)
