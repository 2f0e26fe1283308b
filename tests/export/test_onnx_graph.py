import json
import sys
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import DESIGNS, IRIS, designed, overlapping, xor
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ffmlp import FFMLPClassifier, register_skl2onnx_converter
from ffmlp.network.region import sign_codes

pd = pytest.importorskip("pandas")

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
Grid = pytest.importorskip("ffmlp.export.onnx_model").Grid

X, Y = IRIS
NAMES = np.array(["setosa", "versicolor", "virginica"])


def answers(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def everywhere(n_features, n_samples=1000, seed=0):
    """Samples near the data, far from it, very far from it and at zero."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1.0, 10.0, 1e6, 1e30], size=(n_samples, 1))
    return np.vstack([rng.normal(size=(n_samples, n_features)) * size, np.zeros((1, n_features))])


@pytest.mark.parametrize("n_rows", [1, 2, 1023, 1024, 1025, 2049])
def test_rows_in_blocks(n_rows):
    clf = FFMLPClassifier(random_state=0).fit(X, Y)
    samples = everywhere(4, n_rows)[:n_rows]
    labels, probabilities = answers(clf.to_onnx("float64"), {"X": samples})
    np.testing.assert_array_equal(labels, clf.predict(samples))
    np.testing.assert_allclose(probabilities, clf.predict_proba(samples), atol=1e-12)


@pytest.mark.parametrize("gaussianise", [False, True])
@pytest.mark.parametrize("design", ["blob", "readout", "readout with regions"])
def test_a_row_with_a_missing_number_is_predicted_as_by_the_classifier(design, gaussianise):
    clf = designed(design, X, Y, gaussianise=gaussianise)
    samples = X.copy()
    samples[7, 2] = np.nan
    labels, probabilities = answers(clf.to_onnx("float64"), {"X": samples})
    np.testing.assert_allclose(probabilities, clf.predict_proba(samples), atol=1e-12)
    np.testing.assert_array_equal(labels, clf.predict(samples))


@pytest.mark.parametrize("input_type", ["float32", "float64"])
@pytest.mark.parametrize(("design", "gaussianise"), [*product(DESIGNS, (False, True)), ("paper", False)])
def test_onnx_answers_as_the_classifier_does(design, gaussianise, input_type):
    clf = designed(design, X, NAMES[Y], gaussianise=gaussianise)
    samples = np.vstack([X, everywhere(4, 10_000)]).astype(input_type)
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
    for session, clf in _sessions():
        labels, probabilities = session.run(None, {"X": samples})
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
        model = clf.to_onnx("float64").SerializeToString()
        sessions.append((onnxruntime.InferenceSession(model), clf))
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


def test_without_onnx_it_says_what_to_install(monkeypatch):
    clf = FFMLPClassifier(design="blob", random_state=0).fit(X, Y)
    monkeypatch.delitem(sys.modules, "ffmlp.export.onnx_model", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"ffmlp\[onnx\]"):
        clf.to_onnx()


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
    clf = FFMLPClassifier(random_state=0).fit(X, NAMES[Y])
    samples = X.astype(np.float32)
    options = {id(clf): {"nocl": True, "zipmap": False}}
    labels, _ = answers(skl2onnx.to_onnx(clf, samples[:1], options=options), {"X": samples})
    np.testing.assert_array_equal(NAMES[labels], clf.predict(samples))


@example([1e9, 1e9 + 2e-7, 1e9 + 1e-6], [1e9 + 2e-7, 1e9 + 5e-7])
@example([1.0], [0.0])
@example([-1e308, 0.0, 1e308], [-9e307, 5.0])
@example([0.0, 5e-324], [1.0])
@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30),
    st.lists(st.floats(-1e300, 1e300), max_size=20),
)
def test_a_grid_leaves_few_knots_to_look_at(knots, others):
    knots = np.unique(knots)
    beside = [np.nextafter(knots, -np.inf), knots, np.nextafter(knots, np.inf)]
    values = np.clip(np.concatenate([*beside, others]), knots[0], knots[-1])
    grid = Grid.of(knots)
    with np.errstate(over="ignore", invalid="ignore"):
        cell = np.nan_to_num((values - knots[0]) * grid.cells_per_unit)
    before = grid.before[np.minimum(cell, len(grid.before) - 1).astype(int)]
    more = np.searchsorted(knots, values, side="right") - before
    assert more.min() >= 0
    assert more.max() <= grid.n_steps
