"""Tables in ONNX: one input for each column, or a matrix; missing and unknown cells."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import DESIGNS, designed, mixed_table, unseen_rows

from ffmlp import FFMLPClassifier
from ffmlp.export import to_onnx
from ffmlp.inputs.columns import category_name

pd = pytest.importorskip("pandas")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def session(model):
    onnx.checker.check_model(model)
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=providers)


def by_column(frame, numbers, dtype="float64"):
    """The inputs of a graph, as `to_onnx` describes them."""
    texts = [name for name in frame if name not in numbers]
    inputs = {name: frame[[name]].to_numpy(dtype) for name in numbers}
    return inputs | {name: frame[[name]].map(category_name).to_numpy(object) for name in texts}


@pytest.mark.parametrize("design", [*DESIGNS, "paper"])
def test_a_table_is_predicted_as_by_the_classifier(design):
    X, y = mixed_table()
    clf = designed(design, X, y)
    assert clf.network_.columns.imputation is not None
    rows = pd.concat([X, unseen_rows()], ignore_index=True)
    graph = session(clf.to_onnx("float64"))
    assert [node.name for node in graph.get_inputs()] == ["age", "sex", "fare", "town"]
    types = ["tensor(double)", "tensor(string)", "tensor(double)", "tensor(string)"]
    assert [node.type for node in graph.get_inputs()] == types
    labels, probabilities = graph.run(None, by_column(rows, ["age", "fare"]))
    np.testing.assert_array_equal(labels, clf.predict(rows))
    np.testing.assert_allclose(probabilities, clf.predict_proba(rows), atol=1e-12)
    nothing = by_column(rows[:0], ["age", "fare"])
    assert graph.run(None, nothing)[1].shape == (0, 3)


def test_numbers_beside_categories_may_be_float32():
    X, y = mixed_table()
    X = X.assign(age=X["age"].round().astype("float32"), fare=X["fare"].round().astype("float32"))
    clf = designed("readout", X, y)
    _, probabilities = session(clf.to_onnx("float32")).run(
        None, by_column(X, ["age", "fare"], "float32")
    )
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("input_type", ["float32", "float64"])
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("holes", [True, False])
def test_numbers_as_a_matrix_or_by_column(input_type, columns, holes):
    X, y = mixed_table()
    X = X[["age", "fare"]].astype(input_type)
    clf = designed("readout", X if holes else X.fillna(7.0), y)
    assert (clf.network_.columns.imputation is not None) == holes
    graph = session(to_onnx(clf.network_, input_type, by_column=columns))
    inputs = by_column(X, ["age", "fare"], input_type) if columns else {"X": X.to_numpy()}
    _, probabilities = graph.run(None, inputs)
    tolerance = 1e-12 if input_type == "float64" else 1e-6
    # By column, the graph computes in float64, as a data frame beside categories does.
    expected = clf.predict_proba(X.astype("float64") if columns else X)
    np.testing.assert_allclose(probabilities, expected, atol=tolerance)


def test_the_model_says_which_columns_it_takes():
    X, y = mixed_table()
    model = to_onnx(designed("blob", X, y).network_, "float64", properties={"target": "fate"})
    properties = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert properties["feature_names"] == ["age", "sex", "fare", "town"]
    assert properties["classes"] == ["lost", "saved", "unknown"]
    assert properties["target"] == "fate"


def test_a_column_may_have_the_name_of_a_result():
    X, y = mixed_table()
    X = X.set_axis(["label", "probabilities", "X", "ffmlp_0"], axis=1)
    clf = designed("blob", X, y)
    graph = session(clf.to_onnx("float64"))
    assert [node.name for node in graph.get_outputs()] == ["label_", "probabilities_"]
    _, probabilities = graph.run(None, by_column(X, ["label", "X"]))
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(20, 120))
def test_conjugate_gradients_solve_what_the_network_solves(seed, n_inputs, n_samples):
    """Any missing inputs, columns that almost repeat others among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_inputs)) * 10.0 ** rng.integers(-3, 4, n_inputs)
    X[:, -1] = X[:, 0] + 1e-3 * X[:, -1]
    y = np.arange(n_samples) % 2
    X[rng.random(X.shape) < 0.3] = np.nan
    clf = FFMLPClassifier(1, design="blob", gaussianise=False).fit(X, y)
    tried = np.where(rng.random(X.shape) < 0.5, np.nan, 2 * X)
    _, probabilities = session(clf.to_onnx("float64")).run(None, {"X": tried})
    np.testing.assert_allclose(probabilities, clf.predict_proba(tried), atol=1e-9)


@pytest.mark.parametrize("design", DESIGNS)
def test_missing_numbers_beside_huge_ones(design):
    X, y = mixed_table()
    clf = designed(design, X, y)
    rows = unseen_rows()[:4].assign(age=[1e18, np.nan, -1e40, 1e100], fare=[np.nan, 1e60, np.nan, 0.0])
    labels, probabilities = session(clf.to_onnx("float64")).run(None, by_column(rows, ["age", "fare"]))
    np.testing.assert_allclose(probabilities, clf.predict_proba(rows), atol=1e-9)
    np.testing.assert_array_equal(labels, clf.predict(rows))
