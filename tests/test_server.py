"""The example of a server: good requests get the model's answers, bad ones a status of 4xx."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import DESIGNS, designed, mixed_table

import ffmlp

for package in ("pandas", "starlette", "uvicorn"):
    pytest.importorskip(package)
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from serve_load import asked, bad_requests, rows_of, served  # noqa: E402

X, Y = mixed_table()
ROWS = rows_of(X)


@pytest.fixture(scope="module")
def clf():
    return designed(next(iter(DESIGNS)), X, Y)


@pytest.fixture(scope="module")
def port(clf, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "m"
    ffmlp.save(clf, path)
    with served(path) as (_, port):
        yield port


def test_answers_are_those_of_the_model(clf, port):
    status, answer = asked(port, json.dumps({"rows": ROWS[:50]}).encode())
    assert status == 200
    assert answer["probabilities"] == clf.predict_proba(X[:50]).tolist()
    assert answer["labels"] == clf.predict(X[:50]).tolist()
    assert answer["classes"] == clf.classes_.tolist()
    assert "explanations" not in answer


def test_missing_values_and_unknown_categories_are_allowed(clf, port):
    rows = [{**ROWS[0], "sex": "robot", "age": None}, {**ROWS[1], "town": "\ud800"}]
    status, answer = asked(port, json.dumps({"rows": rows, "explain": True}).encode())
    assert status == 200
    np.testing.assert_allclose(np.sum(answer["probabilities"], axis=1), 1.0)
    assert all(text.startswith("Class ") for text in answer["explanations"])


@pytest.mark.parametrize("name", bad_requests(ROWS[0]))
def test_bad_requests_are_refused_with_a_sentence(port, name):
    status, answer = asked(port, bad_requests(ROWS[0])[name])
    assert 400 <= status < 500
    assert answer["error"].endswith(".")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/predict", 405), ("POST", "/", 404), ("GET", "/health", 200)]
)
def test_other_requests(port, method, path, status):
    assert asked(port, b"", method, path)[0] == status
