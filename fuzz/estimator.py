"""Fits with any parameters to any small data.

A fit succeeds, and everything that the classifier says is consistent; or it raises a ValueError or
TypeError with a message, and leaves the classifier as it was. No warning of NumPy comes out.
"""

from __future__ import annotations

import json
import pickle
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
from numpy.random import Generator

import ffmlp
from ffmlp import FFMLPClassifier
from ffmlp.parameters import checked_cells
from fuzz.changes import one_of

_TEMPORARY = tempfile.TemporaryDirectory(prefix="ffmlp-fuzz-")
_PATH = Path(_TEMPORARY.name) / "fitted.model"
# Values of each parameter: the ordinary ones first, which are drawn more often.
_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "n_components": (1, 2, 3, "auto", 0, -1, 1.5, "many", {"0": 2}, 10**6, None),
    "design": ("region", "blob", "readout", "paper", "auto", "", None, 3),
    "gaussianise": (False, True, "auto", 1, "yes", None),
    "discriminant": ("lda", "heteroscedastic", "auto", "qda", None),
    "all_pairs": (False, True, 1, None),
    "error_threshold": ("auto", None, 0.0, 0.05, 0.3, 1.0, -0.1, 2, float("nan"), "low", True),
    "max_neurons": (None, 5, 12, 40, 1, 0, -3, 1.5, "few"),
    "max_leaves": ("auto", 0, 5, 50, -1, 1.5, "few", None),
    "pruning": ("greedy", "optimal", "none"),
    # Without an infinite one, which asks for a search that may not end.
    "time_limit": (1.0, 0.01, 0, -1, float("nan")),
    "penalty": (1000.0, 1.0, 1e6, 0.5, float("inf"), float("nan"), "x"),
    "class_weight": (
        None,
        "balanced",
        {"0": 2.0},
        {"0": 1e6, "1": 1e-6},
        {"9": 1.0},
        {"0": -1.0},
        "heavy",
    ),
    "random_state": (0, 1, None, -1, "x"),
    "keep_statistics": (False, True, 1),
    "n_jobs": (None, 1, 2, 0, "all"),
    "verbose": (0, False, "x"),
}
# Parameters that a design does not have.
_OF_REGIONS, _OF_READOUT = ("all_pairs", "keep_statistics", "pruning"), ("max_neurons", "max_leaves")
_NOT_OF = {
    "region": _OF_READOUT, "paper": _OF_READOUT, "blob": (*_OF_REGIONS, *_OF_READOUT),
    "readout": _OF_REGIONS, "auto": _OF_REGIONS,
}  # fmt: skip
_KINDS = (
    "plain", "plain", "plain", "constant", "few values", "copies", "huge", "tiny", "mixed units",
    "integers", "outlier", "collinear", "float32", "separable",
)  # fmt: skip


def seeds() -> list[bytes]:
    """Each design with its defaults."""
    rng = np.random.default_rng(0)
    designs = ("region", "blob", "readout", "paper", "auto")
    return [_written({"design": design}, _data(rng)) for design in designs]


def changed(rng: Generator, parents: Sequence[bytes]) -> bytes:
    """Parameters, mostly valid ones, and data."""
    design = one_of(rng, _PARAMETERS["design"][:5])
    others = _NOT_OF[design] if rng.random() < 0.9 else ()
    names = [name for name in rng.permutation(list(_PARAMETERS)).tolist() if name not in others]
    parameters = {"design": design, "time_limit": 1.0}
    for name in names[: int(rng.integers(0, 6))]:
        choices = _PARAMETERS[name]
        parameters[name] = one_of(rng, choices if rng.random() < 0.15 else choices[:3])
    return _written(parameters, _data(rng))


def _written(parameters: dict[str, Any], data: dict[str, Any]) -> bytes:
    return json.dumps({"parameters": parameters, **data}).encode()


def _data(rng: Generator) -> dict[str, Any]:
    """Columns of numbers and categories, labels, and weights; some are not what they should be."""
    n, n_columns = (
        int(one_of(rng, (1, 2, 3, 5, *4 * (10, 30, 60, 100)))),
        int(one_of(rng, (1, 2, 3, 5, 12))),
    )
    n_classes = int(one_of(rng, (*3 * (2, 2, 3), 1, 5, 12)))
    y = (
        rng.permutation(np.arange(n) % n_classes)
        if rng.random() < 0.8
        else rng.integers(n_classes, size=n)
    )
    kind = one_of(rng, _KINDS)
    X = _numbers(rng, kind, y, n_columns)
    if rng.random() < 0.2:
        X[rng.random(X.shape) < one_of(rng, (0.05, 0.5, 1.0))] = np.nan
    if rng.random() < 0.03:
        X.flat[rng.integers(X.size)] = np.inf
    weight = None
    if rng.random() < 0.2:
        weight = one_of(
            rng, (rng.random(n), rng.integers(0, 3, n), np.zeros(n), -rng.random(n), np.full(n, 1e300))
        )
        weight = np.asarray(weight, float).tolist()
    columns = {f"x{number}": column.tolist() for number, column in enumerate(X.T)}
    for number in range(int(rng.integers(1, 4)) if rng.random() < 0.3 else 0):
        texts = rng.choice(
            ["red", "green", "blue", "", "nan", "😀"][: int(rng.integers(1, 7))], n
        ).tolist()
        columns[f"t{number}"] = [None if rng.random() < 0.1 else text for text in texts]
    labels = one_of(rng, ("number", "number", "text", "float", "bool"))
    return {
        "columns": columns,
        "y": y.tolist(),
        "weight": weight,
        "labels": labels,
        "float32": kind == "float32",
    }


def _numbers(rng: Generator, kind: str, y: np.ndarray, n_columns: int) -> np.ndarray:
    X = rng.normal(size=(len(y), n_columns)) + y[:, None] * rng.normal(size=n_columns)
    match kind:
        case "constant":
            X[:, : int(rng.integers(1, n_columns + 1))] = one_of(rng, (0.0, 0.1, 1e300, -1e-300))
        case "few values":
            X = X.round()
        case "copies":
            X = X[rng.integers(max(1, len(y) // 5), size=len(y))]
        case "huge":
            X *= 10.0 ** int(rng.integers(100, 308))
        case "tiny":
            X *= 10.0 ** -int(rng.integers(100, 320))
        case "mixed units":
            X *= 10.0 ** rng.integers(-30, 30, n_columns)
        case "integers":
            X = rng.integers(-(2**53), 2**53, X.shape).astype(float)
        case "outlier":
            far = one_of(rng, (1e10, 1e100, 1.7e308, -1e300))
            X[rng.integers(len(y))] = far
            if rng.random() < 0.5:
                X[rng.integers(len(y))] = np.clip(-far, -1e300, 1e300)
        case "collinear":
            X[:, 1:] = X[:, :1] * rng.normal(size=n_columns - 1)
        case "separable":
            X += 1e6 * y[:, None]
    return X


def check(data: bytes) -> str:
    """Fit and compare everything that can be compared; an error unless all of it is right."""
    case = json.loads(data)
    X, y, weight = _arrays(case)
    parameters = {name: _labelled(value, y) for name, value in case["parameters"].items()}
    clf = FFMLPClassifier(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "Class .* has too few distinct samples")
        try:
            clf.fit(X, y, weight)
        except (ValueError, TypeError) as error:
            if len(str(error)) < 10:
                raise AssertionError("an error without a message") from error
            assert vars(clf) == vars(FFMLPClassifier(**parameters)), "a failed fit has left something"
            return f"refused: {_first_words(error)}"
        _check_predictions(clf, X)
        _check_copies(clf, X)
        _check_explanations(clf, X)
    return f"fitted: {clf.network_.stages.design} {clf.network_.stages.neurons}"


def _first_words(error: Exception) -> str:
    return " ".join(word for word in str(error).split()[:4] if word.isalpha())


def _arrays(case: dict[str, Any]) -> tuple[Any, np.ndarray, np.ndarray | None]:
    columns, y = case["columns"], np.array(case["y"])
    kinds = {"text": str, "float": float, "bool": bool, "number": int}
    y = y.astype(kinds[case["labels"]])
    weight = None if case["weight"] is None else np.array(case["weight"])
    numbers = {name: np.array(column, float) for name, column in columns.items() if name[0] == "x"}
    if len(numbers) < len(columns):
        texts = {
            name: pd.Series(column, dtype=object) for name, column in columns.items() if name[0] == "t"
        }
        return pd.DataFrame(numbers | texts), y, weight
    X = np.column_stack(list(numbers.values()))
    return X.astype(np.float32) if case["float32"] and np.abs(X).max() < 1e38 else X, y, weight


def _labelled(value: Any, y: np.ndarray) -> Any:
    """A mapping of classes, which JSON can only have as texts."""
    if not isinstance(value, dict):
        return value
    return {y.dtype.type(key) if y.dtype.kind in "if" else key: own for key, own in value.items()}


def _check_predictions(clf: FFMLPClassifier, X: Any) -> None:
    probabilities, classes = clf.predict_proba(X), clf.predict(X)
    assert np.isfinite(probabilities).all(), "a probability is not finite"
    assert (probabilities >= 0.0).all(), "a probability is negative"
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(clf.classes_[probabilities.argmax(axis=1)], classes)
    assert not np.isnan(clf.decision_function(X)).any(), "a decision is NaN"
    one = X.iloc[:1] if isinstance(X, pd.DataFrame) else X[:1]
    np.testing.assert_allclose(clf.predict_proba(one), probabilities[:1], atol=1e-9)


def _check_copies(clf: FFMLPClassifier, X: Any) -> None:
    """A model says the same after it was stored, pickled and exported."""
    expected = clf.predict_proba(X)
    ffmlp.save(clf, _PATH)
    for again in (ffmlp.load(_PATH), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
    if clf.classes_.dtype.kind not in "iU":  # ONNX has no other labels
        return
    model = clf.to_onnx("float64").SerializeToString()
    options = onnxruntime.SessionOptions()
    # It drops "x - first" if a single first knot of 1e-136 is 0 in single precision.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    _, probabilities = session.run(None, _onnx_inputs(session, X))
    lead = np.sort(expected, axis=1)
    is_clear = lead[:, -1] - lead[:, -2] > 1e-3
    decisions = clf.decision_function(X).reshape(len(expected), -1)
    network = clf.network_
    h = network.hyperplanes.signed_responses(network.inputs(checked_cells(clf, X)))
    for values in (decisions, h):  # else rounding decides: terms are up to 1e150
        is_clear &= np.abs(values).max(axis=1, initial=0.0) < 1e100
    np.testing.assert_array_equal(
        probabilities.argmax(axis=1)[is_clear], expected.argmax(axis=1)[is_clear]
    )


def _onnx_inputs(session: Any, X: Any) -> dict[str, np.ndarray]:
    name = session.get_inputs()[0].name
    if not isinstance(X, pd.DataFrame):
        return {name: np.asarray(X, np.float64)}
    if name not in X:  # no column has categories
        return {name: X.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)}
    cells = {}
    for own in session.get_inputs():
        column = X[own.name]
        if "string" in own.type:
            values = column.fillna("").to_numpy(object)
        else:  # of texts without any letter, too: they are missing
            values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
        cells[own.name] = values[:, None]
    return cells


def _check_explanations(clf: FFMLPClassifier, X: Any) -> None:
    """Explanations can be made and written, and contributions add up to leads."""
    some = X.iloc[:3] if isinstance(X, pd.DataFrame) else X[:3]
    explanations = clf.explain(some)
    found = explanations.reference_leads + explanations.attributions.sum(axis=1)
    terms = np.abs(explanations.leads) + np.abs(explanations.attributions).sum(axis=1)
    assert (np.abs(found - explanations.leads) <= 1e-6 * (1.0 + terms)).all(), (
        "contributions do not add up"
    )
    str(explanations)
