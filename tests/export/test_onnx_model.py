"""ONNX graphs answer as the classifier does: matrices, tables, missing cells, pipelines."""

import json
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import DESIGNS, IRIS, designed, mixed_table, overlapping, unseen_rows, xor
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ffmlp import FFMLPClassifier, register_skl2onnx_converter
from ffmlp.export import to_onnx
from ffmlp.inputs.columns import category_name
from ffmlp.network.region import sign_codes

pd = pytest.importorskip("pandas")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, Y = IRIS
NAMES = np.array(["setosa", "versicolor", "virginica"])


def session(model):
    onnx.checker.check_model(model)
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=providers)


def answers(model, inputs):
    return session(model).run(None, inputs)


def everywhere(n_features, n_samples=1000, seed=0):
    """Samples near the data, far from it, very far from it and at zero."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1.0, 10.0, 1e6, 1e30], size=(n_samples, 1))
    return np.vstack([rng.normal(size=(n_samples, n_features)) * size, np.zeros((1, n_features))])


def by_column(frame, numbers, dtype="float64"):
    """The inputs of a graph, as `to_onnx` describes them."""
    texts = [name for name in frame if name not in numbers]
    inputs = {name: frame[[name]].to_numpy(dtype) for name in numbers}
    return inputs | {name: frame[[name]].map(category_name).to_numpy(object) for name in texts}


@pytest.mark.parametrize("n_rows", [1, 2, 1023, 1024, 1025, 2049])
def test_rows_in_blocks(n_rows):
    clf = FFMLPClassifier(random_state=0).fit(X, Y)
    samples = everywhere(4, n_rows)[:n_rows]
    labels, probabilities = answers(clf.to_onnx("float64"), {"X": samples})
    np.testing.assert_array_equal(labels, clf.predict(samples))
    np.testing.assert_allclose(probabilities, clf.predict_proba(samples), atol=1e-12)


@pytest.mark.parametrize("input_type", ["float32", "float64"])
@pytest.mark.parametrize(("design", "gaussianise"), [*product(DESIGNS, (False, True)), ("paper", False)])
def test_onnx_answers_as_the_classifier_does(design, gaussianise, input_type):
    clf = designed(design, X, NAMES[Y], gaussianise=gaussianise)
    samples = np.vstack([X, X[:8], everywhere(4, 10_000)]).astype(input_type)
    samples[len(X) : len(X) + 8, 2] = np.nan  # medians take their place, as training had none
    model = clf.to_onnx(input_type)
    assert model.ir_version == 8
    assert {opset.domain: opset.version for opset in model.opset_import} == {"": 17, "ai.onnx.ml": 3}
    labels, probabilities = answers(model, {"X": samples})
    assert probabilities.dtype == input_type
    np.testing.assert_array_equal(labels, clf.predict(samples))
    tolerance = 1e-6 if input_type == "float32" else 1e-12
    np.testing.assert_allclose(probabilities, clf.predict_proba(samples), atol=tolerance)
    labels, probabilities = answers(model, {"X": samples[:0]})
    assert labels.shape == (0,)
    assert probabilities.shape == (0, 3)


@pytest.mark.parametrize("n_components", [1, 4])
def test_regions_by_the_thousand_and_unseen_ones(n_components):
    """With 4 components, 96 hyperplanes: codes longer than one look-up."""
    samples, y = overlapping(2000, 6, 4)
    clf = FFMLPClassifier(n_components, design="region", error_threshold=None, random_state=0)
    clf.fit(samples, y)
    assert clf.network_.layer_sizes[1] == {1: 12, 4: 192}[n_components]
    tried = np.vstack([samples, everywhere(6, 2000)])
    unseen = clf.regions_.index.find(sign_codes(clf.hyperplanes_, tried)) < 0
    assert unseen.sum() > (100 if n_components == 4 else -1)
    labels, probabilities = answers(clf.to_onnx("float64"), {"X": tried})
    np.testing.assert_array_equal(labels, clf.predict(tried))
    np.testing.assert_array_equal(probabilities, clf.predict_proba(tried))


def test_a_sample_on_a_hyperplane_lies_on_its_negative_side_in_both():
    samples, y, blobs = xor()
    clf = FFMLPClassifier(design="region", error_threshold=None).fit(samples, y, blobs=blobs)
    planes = clf.hyperplanes_
    # Points of the lines, and crossings of two of them, as exactly as numbers allow.
    on_lines = [
        -planes.biases[[l]] * planes.weights[l] / np.sum(planes.weights[l] ** 2) for l in range(2)
    ]
    crossing = np.linalg.solve(planes.weights[:2], -planes.biases[:2])
    tried = np.vstack([*on_lines, crossing])
    model = clf.to_onnx("float64")
    h = planes.log_odds(tried)
    exact = (h == 0).any(axis=1) | (np.abs(h) > 1e-9).all(axis=1)
    np.testing.assert_array_equal(answers(model, {"X": tried})[0][exact], clf.predict(tried)[exact])


@settings(max_examples=30, deadline=None)
@given(arrays(np.float64, (20, 4), elements=st.floats(-1e100, 1e100)))
def test_any_features_give_the_same_labels(samples):
    for graph, clf in _sessions():
        labels, probabilities = graph.run(None, {"X": samples})
        expected = clf.predict_proba(samples)
        # Between classes that are equally probable, the last digit decides.
        ordered = np.sort(expected, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > 1e-9
        np.testing.assert_array_equal(labels[clear], clf.predict(samples)[clear])
        np.testing.assert_allclose(probabilities, expected, atol=1e-9)


@cache
def _sessions():
    sessions = []
    for design in (*DESIGNS, "paper"):
        clf = designed(design, X, Y, gaussianise=design != "paper")
        sessions.append((session(clf.to_onnx("float64")), clf))
    return sessions


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array([-5, 3, 70]), np.int64),
        (np.array([0, 1, 2], np.int8), np.int64),
        (np.array([1.0, 2.0, 3.0]), np.int64),
        (np.array(["a", "é", "日本"]), object),
        (np.array(["a", "b", "c"], object), object),
    ],
)
def test_labels_are_integers_or_strings(labels, kind):
    clf = FFMLPClassifier(design="region", random_state=0).fit(X, labels[Y])
    model = clf.to_onnx()
    given, _ = answers(model, {"X": X.astype(np.float32)})
    assert given.dtype == kind
    np.testing.assert_array_equal(given, clf.predict(X))
    properties = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert properties == {"feature_names": ["x0", "x1", "x2", "x3"], "classes": labels.tolist()}


def test_what_cannot_be_exported_is_said():
    clf = FFMLPClassifier(design="region", random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="input_type must be"):
        clf.to_onnx("float16")
    fractions = FFMLPClassifier(design="region", random_state=0).fit(X, np.array(["1", "2", "3"])[Y])
    fractions.network_ = replace(fractions.network_, labels=np.array([0.5, 1.0, 1.5]))
    with pytest.raises(ValueError, match=r"integers or strings, got \[0.5, 1.0, 1.5\]"):
        fractions.to_onnx()


@pytest.mark.parametrize("design", DESIGNS)
def test_skl2onnx_converts_a_pipeline(design):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_skl2onnx_converter()
    clf = FFMLPClassifier(**DESIGNS[design], gaussianise=True, random_state=0)
    pipeline = make_pipeline(StandardScaler(), clf).fit(X, NAMES[Y])
    samples = np.vstack([X, everywhere(4)[:200]])
    model = skl2onnx.to_onnx(pipeline, samples[:1], options={"zipmap": False})
    labels, probabilities = answers(model, {"X": samples})
    np.testing.assert_array_equal(labels, pipeline.predict(samples))
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(samples), atol=1e-9)


def test_skl2onnx_converts_columns_of_different_kinds():
    skl2onnx = pytest.importorskip("skl2onnx")
    types = pytest.importorskip("skl2onnx.common.data_types")
    register_skl2onnx_converter()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 5.8, "long", "short"))
    frame.loc[::7, "a"] = np.nan
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), list("abcd")),
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["e"]),
        ]
    )
    pipeline = make_pipeline(columns, FFMLPClassifier(random_state=0)).fit(frame, Y)
    inputs = [(name, types.FloatTensorType([None, 1])) for name in "abcd"]
    model = skl2onnx.convert_sklearn(
        pipeline, initial_types=[*inputs, ("e", types.StringTensorType([None, 1]))]
    )
    feeds = {name: frame[[name]].to_numpy(np.float32) for name in "abcd"}
    feeds["e"] = frame[["e"]].to_numpy(object)
    labels, maps = answers(model, feeds)
    np.testing.assert_array_equal(labels, pipeline.predict(frame))
    np.testing.assert_allclose(
        [[row[label] for label in range(3)] for row in maps], pipeline.predict_proba(frame), atol=1e-4
    )


def test_skl2onnx_can_give_the_numbers_of_classes():
    skl2onnx = pytest.importorskip("skl2onnx")
    register_skl2onnx_converter()
    clf, samples = FFMLPClassifier(random_state=0).fit(X, NAMES[Y]), X.astype(np.float32)
    options = {id(clf): {"nocl": True, "zipmap": False}}
    labels, _ = answers(skl2onnx.to_onnx(clf, samples[:1], options=options), {"X": samples})
    np.testing.assert_array_equal(NAMES[labels], clf.predict(samples))


@pytest.mark.parametrize("design", [*DESIGNS, "paper"])
def test_a_table_is_predicted_as_by_the_classifier(design):
    X, y = mixed_table()
    clf = designed(design, X, y)
    assert clf.network_.columns.imputation is not None
    huge = unseen_rows()[:4].assign(age=[1e18, np.nan, -1e40, 1e100], fare=[np.nan, 1e60, np.nan, 0.0])
    rows = pd.concat([X, unseen_rows(), huge], ignore_index=True)
    model = to_onnx(clf.network_, "float64", properties={"target": "fate"})
    properties = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert properties["feature_names"] == ["age", "sex", "fare", "town"]
    assert properties["classes"] == ["lost", "saved", "unknown"]
    assert properties["target"] == "fate"
    graph = session(model)
    assert [node.name for node in graph.get_inputs()] == ["age", "sex", "fare", "town"]
    types = ["tensor(double)", "tensor(string)", "tensor(double)", "tensor(string)"]
    assert [node.type for node in graph.get_inputs()] == types
    labels, probabilities = graph.run(None, by_column(rows, ["age", "fare"]))
    np.testing.assert_array_equal(labels, clf.predict(rows))
    expected, n = clf.predict_proba(rows), len(rows) - len(huge)
    np.testing.assert_allclose(probabilities[:n], expected[:n], atol=1e-12)
    np.testing.assert_allclose(probabilities[n:], expected[n:], atol=1e-9)
    nothing = by_column(rows[:0], ["age", "fare"])
    assert graph.run(None, nothing)[1].shape == (0, 3)


def test_numbers_beside_categories_may_be_float32():
    X, y = mixed_table()
    X = X.assign(age=X["age"].round().astype("float32"), fare=X["fare"].round().astype("float32"))
    clf = designed("readout", X, y)
    _, probabilities = answers(clf.to_onnx("float32"), by_column(X, ["age", "fare"], "float32"))
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
    _, probabilities = answers(clf.to_onnx("float64"), {"X": tried})
    np.testing.assert_allclose(probabilities, clf.predict_proba(tried), atol=1e-9)
