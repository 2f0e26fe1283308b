"""Claims about decisions that a verifier can check: the text, and what Marabou says to it."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import DESIGNS, IRIS, designed, mixed_table
from sklearn.datasets import load_breast_cancer, load_wine
from verifier import read_property, verdict

from ffmlp import FFMLPClassifier
from ffmlp.export import Box
from ffmlp.export.relu_layers import ReluLayers

SMALL = {"design": "readout", "max_neurons": 16}
RELU = [("paper", False), ("readout", False), ("readout", True)]
DATA = {
    "iris": IRIS,
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
}


@cache
def small(name, gaussianise=False, design="readout"):
    limits = {"design": "paper"} if design == "paper" else SMALL
    X, y = DATA[name]
    return FFMLPClassifier(gaussianise=gaussianise, random_state=0, **limits).fit(X, y)


def output(layers, X):
    """The outputs of layers, computed in the type of the weights."""
    a = X.astype(layers.weights[0].dtype)
    for weights, biases in zip(layers.weights[:-1], layers.biases[:-1], strict=True):
        a = np.maximum(a @ weights + biases, 0)
    return a @ layers.weights[-1] + layers.biases[-1]


def test_the_text_of_a_tiny_network():
    X = np.array([[0.0, 1.0], [0.25, 1.5], [0.5, 1.0], [2.0, 3.0], [2.5, 3.5], [2.25, 3.0]])
    clf = FFMLPClassifier(1, design="readout", max_regions=0, gaussianise=False).fit(
        X, ["no", "no", "no", "yes", "yes", "yes"]
    )
    assert (
        clf.to_vnnlib([0.1, 1.0], [0.5, 0.0])
        == """\
; Is the class no for every input in a box? unsat: it is.
; sat: an input of another class, or a tie. The network is the graph of to_relu_onnx().
; At the centre of the box, Y_0 leads by 31.01. In the box, weights in float32
; change the outputs by at most 2.1e-06.

(declare-const X_0 Real) ; x0
(declare-const X_1 Real) ; x1
(declare-const Y_0 Real) ; no
(declare-const Y_1 Real) ; yes

(assert (>= X_0 -0.4000000059604645))
(assert (<= X_0 0.6000000238418579))
(assert (>= X_1 1.0))
(assert (<= X_1 1.0))

(assert (or
    (and (>= Y_1 Y_0))
))
"""
    )


@pytest.mark.parametrize(("design", "gaussianise"), RELU)
@pytest.mark.parametrize("data", DATA)
def test_the_layers_are_the_network(data, design, gaussianise):
    clf, (X, _) = small(data, gaussianise, design), DATA[data]
    tried = np.vstack([X, 3 * X - 2 * X.mean(axis=0)])
    layers, planes = ReluLayers.of(clf.network_), clf.hyperplanes_
    scores = clf.network_.stages.scores(planes.signed_responses(tried))
    shown = np.isfinite(scores[0])
    size = np.abs(scores[:, shown]).max()
    np.testing.assert_allclose(output(layers, tried)[:, shown], scores[:, shown], atol=1e-10 * size)


@pytest.mark.parametrize(("design", "gaussianise"), RELU)
@pytest.mark.parametrize("data", ["iris", "wine"])
def test_the_graph_has_the_classes_of_predict(data, design, gaussianise):
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    clf, (X, _) = small(data, gaussianise, design), DATA[data]
    model = clf.to_relu_onnx()
    assert {node.op_type for node in model.graph.node} == {"MatMul", "Add", "Relu"}
    kinds = {constant.data_type for constant in model.graph.initializer}
    assert kinds == {onnx.TensorProto.FLOAT}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (outputs,) = session.run(None, {"X": X.astype(np.float32)})
    np.testing.assert_array_equal(clf.classes_[outputs.argmax(axis=1)], clf.predict(X))


@pytest.mark.parametrize("gaussianise", [True, False])
@settings(max_examples=25)
@given(st.integers(0, 149), st.floats(0.0, 3.0), st.integers(0, 2**32 - 1))
def test_the_stated_error_bounds_float32(gaussianise, row, radius, seed):
    """In the box, for all knots and for those of the box; elsewhere the second graph may differ."""
    clf, (X, _) = small("iris", gaussianise), DATA["iris"]
    box = Box.around(clf.network_, X[row : row + 1], radius)
    tried = np.random.default_rng(seed).uniform(box.low, box.high, (50, 4))
    exact = clf.network_.confidences(tried)
    for layers in (ReluLayers.of(clf.network_), ReluLayers.of(clf.network_, box)):
        np.testing.assert_allclose(output(layers, tried), exact, atol=1e-9)
        rounded = layers.in_float32()
        in_float64 = ReluLayers(
            tuple(part.astype(float) for part in rounded.weights),
            tuple(part.astype(float) for part in rounded.biases),
        )
        error = np.abs(output(in_float64, tried) - exact).max()
        assert error <= layers.rounding_error(box) + 1e-12


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e3))
def test_the_box_holds_the_radius(value, radius):
    clf = small("iris")
    asked = read_property(clf.to_vnnlib([value, 3.0, 1.0, 0.2], radius))
    assert asked.low[0] <= value - radius
    assert asked.high[0] >= value + radius
    for end in (asked.low, asked.high):
        np.testing.assert_array_equal(end, end.astype(np.float32))


def test_categories_and_missing_numbers_are_fixed():
    pytest.importorskip("pandas")
    X, y = mixed_table()
    clf = designed("readout", X, y)
    row = X.iloc[[0]].assign(age=np.nan, fare=10.0)
    asked, table = read_property(clf.to_vnnlib(row, 2.0)), clf.network_.table
    fare = int(table.firsts[2])
    assert (asked.low[fare], asked.high[fare]) == (8.0, 12.0)
    others = np.delete(np.arange(len(asked.low)), fare)
    np.testing.assert_allclose(asked.low[others], asked.high[others], rtol=1e-6)
    (inputs,) = clf.network_.inputs(clf._row(row))
    assert (asked.low <= inputs).all()
    assert (inputs <= asked.high).all()


def answers(clf, x, radius):
    """What Marabou says about the whole graph and about that of the box, and the inputs it found."""
    text = clf.to_vnnlib(x, radius)
    models = clf.to_relu_onnx(), clf.to_relu_onnx(x, radius)
    return [verdict(model, text) for model in models]


def confirm_distances(clf, rows, free, n_asked):
    """Within the lower bound another class is impossible, beyond the distance it is possible."""
    is_free = np.isin(np.arange(rows.shape[1]), free)
    found = clf.robustness(rows, norm="inf", frozen=np.flatnonzero(~is_free).tolist())
    there = np.flatnonzero(np.isfinite(found.distance))[:n_asked]
    assert len(there) == n_asked
    for row in there:
        x, own = rows[row], clf.network_.classes(rows[row : row + 1])
        inner, outer = 0.99 * found.lower[row] * is_free, 1.01 * found.distance[row] * is_free
        assert [answer for answer, _ in answers(clf, x, inner)] == ["unsat", "unsat"]
        for answer, point in answers(clf, x, outer):
            assert answer == "sat"
            # Marabou allows for errors of about 1e-6 in every equation.
            assert clf.network_.leads(point[None], own)[0].min() <= 1e-4


@pytest.mark.parametrize("data", DATA)
def test_marabou_confirms_distances(data):
    pytest.importorskip("maraboupy")
    X = DATA[data][0]
    confirm_distances(small(data), X[:: len(X) // 4], np.arange(X.shape[1]), 4)


def test_marabou_confirms_distances_of_gaussianised_features():
    """Along one feature: knots of many features are hard for it."""
    pytest.importorskip("maraboupy")
    confirm_distances(small("iris", gaussianise=True), DATA["iris"][0][[60]], [2], 1)


def test_marabou_confirms_the_paper_design():
    pytest.importorskip("maraboupy")
    clf, (X, _) = small("iris", design="paper"), DATA["iris"]
    row = X[120:121]
    found = clf.robustness(row, norm="inf")
    assert verdict(clf.to_relu_onnx(), clf.to_vnnlib(row, 0.99 * found.lower[0]))[0] == "unsat"
    assert verdict(clf.to_relu_onnx(), clf.to_vnnlib(row, 1.01 * found.distance[0]))[0] == "sat"


@pytest.mark.parametrize("design", ["region", "blob", "readout with regions"])
def test_other_designs_are_no_relu_networks(design):
    pytest.importorskip("pandas")
    X, y = mixed_table()
    clf = designed(design, X, y)
    assert design in DESIGNS
    with pytest.raises(ValueError, match=r"is not a ReLU network.*max_neurons=50"):
        clf.to_vnnlib(X.iloc[[0]], 1.0)


@pytest.mark.parametrize(
    ("x", "radius", "problem"),
    [
        (IRIS[0][:2], 1.0, "x must be one sample, got 2"),
        (IRIS[0][0], -1.0, "radius must be finite and not negative"),
        (IRIS[0][0], np.nan, "radius must be finite and not negative"),
        (IRIS[0][0], [1.0, 1.0], "one entry for each of the 4 columns"),
        (IRIS[0][0], 1e39, "too large for float32"),
        (IRIS[0][0, :3], 1.0, "3 features"),
    ],
)
def test_questions_that_cannot_be_asked(x, radius, problem):
    with pytest.raises(ValueError, match=problem):
        small("iris").to_vnnlib(x, radius)


def test_a_box_needs_a_centre_and_a_radius():
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="both x and radius"):
        small("iris").to_relu_onnx(IRIS[0][0])


def test_weights_must_fit_into_float32():
    X, y = IRIS
    clf = FFMLPClassifier(gaussianise=False, **SMALL).fit(1e-40 * X, y)
    with pytest.raises(ValueError, match="too large for float32"):
        ReluLayers.of(clf.network_).in_float32()
