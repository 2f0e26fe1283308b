"""Claims about decisions that a verifier can check: the text, and what Marabou says to it."""

import re
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import DESIGNS, IRIS, designed, mixed_table
from sklearn.datasets import load_breast_cancer, load_wine
from verifier import read_property, verdict

from ffmlp import FFMLPClassifier
from ffmlp.export import Box
from ffmlp.export.verifiers import ReluLayers

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
    clf = FFMLPClassifier(1, design="readout", max_leaves=0, gaussianise=False).fit(
        X, ["no", "no", "no", "yes", "yes", "yes"]
    )
    assert (
        clf.to_vnnlib([0.1, 1.0], [0.5, 0.0])
        == """\
; Is the class no for every input in a box? unsat: it is.
; sat: an input of another class, or a tie. The network is to_relu_onnx(x, radius).
; At x, Y_0 leads by 31.01. In the box, weights in float32 change the outputs by
; at most 2.2e-06. Inputs are steps within the box:

(declare-const X_0 Real) ; x0 = 0.1 + 0.5 * X_0
(declare-const X_1 Real) ; x1 = 1.0 + 0.0 * X_1
(declare-const Y_0 Real) ; no
(declare-const Y_1 Real) ; yes

(assert (>= X_0 -1.0))
(assert (<= X_0 1.0))
(assert (>= X_1 0.0))
(assert (<= X_1 0.0))

(assert (or
    (and (>= Y_1 Y_0))
))
"""
    )


def test_the_text_of_gaussianised_features():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [5.0], [6.0], [8.0], [9.0]])
    clf = FFMLPClassifier(1, design="readout", max_leaves=0, gaussianise=True).fit(X, [0] * 4 + [1] * 4)
    (line,) = [one for one in clf.to_vnnlib([2.0], 0.5).splitlines() if "declare-const X_0" in one]
    numbers = re.fullmatch(
        r"\(declare-const X_0 Real\) ; x0 from 1\.5 to 2\.5, score = (\S+) \+ (\S+) \* X_0", line
    )
    middle, half = map(float, numbers.groups())
    scores = clf.hyperplanes_.mapped(np.array([[1.5], [2.5]])).ravel()
    np.testing.assert_allclose([middle - half, middle + half], scores)


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


@pytest.mark.parametrize(("design", "gaussianise"), RELU)
@settings(max_examples=25)
@given(st.integers(0, 149), st.floats(0.0, 3.0), st.integers(0, 2**32 - 1))
def test_the_layers_of_a_box_are_the_network(design, gaussianise, row, radius, seed):
    """With weights in float32, they differ by at most the stated error."""
    network, (X, _) = small("iris", gaussianise, design).network_, DATA["iris"]
    box = Box.around(network, X[row : row + 1], radius)
    steps = np.random.default_rng(seed).uniform(-1.0, 1.0, (50, 4))
    inputs, layers = box.inputs(network.hyperplanes, steps), box.layers(network)
    assert (np.abs(inputs - X[row]) <= radius + 1e-14 * np.abs(X).max()).all()
    exact = output(ReluLayers.of(network), inputs)
    np.testing.assert_allclose(output(layers, steps), exact, rtol=1e-9, atol=1e-9)
    rounded = layers.in_float32()
    in_float64 = ReluLayers(
        tuple(part.astype(float) for part in rounded.weights),
        tuple(part.astype(float) for part in rounded.biases),
    )
    error = np.abs(output(in_float64, steps) - exact).max()
    assert error <= layers.rounding_error() + 1e-9


@pytest.mark.parametrize("gaussianise", [True, False])
@given(st.integers(0, 149), st.floats(0.0, 3.0), st.integers(0, 2**32 - 1))
def test_every_input_of_the_box_is_a_step(gaussianise, row, radius, seed):
    clf, (X, _) = small("iris", gaussianise), DATA["iris"]
    planes, box = clf.network_.hyperplanes, Box.around(clf.network_, X[row : row + 1], radius)
    inputs = np.random.default_rng(seed).uniform(box.low, box.high, (50, 4))
    away = np.abs(planes.mapped(inputs) - box.middle)
    assert (away <= box.half + 1e-12 * (1 + np.abs(box.middle))).all()


def test_neurons_that_cannot_bend_are_folded():
    """Around a sample, most neurons are linear or silent; the steps pass l_1 in their place."""
    clf, (X, _) = small("wine"), DATA["wine"]
    box = Box.around(clf.network_, X[:1], 1e-6)
    assert box.layers(clf.network_).weights[0].shape == (13, 13)


def test_categories_and_missing_numbers_are_fixed():
    pytest.importorskip("pandas")
    X, y = mixed_table()
    clf = designed("readout", X, y, gaussianise=False)
    row = X.iloc[[0]].assign(age=np.nan, fare=10.0)
    asked, network = read_property(clf.to_vnnlib(row, 2.0)), clf.network_
    fare = int(network.table.firsts[2])
    assert (asked.low[fare], asked.high[fare]) == (-1.0, 1.0)
    others = np.delete(np.arange(len(asked.low)), fare)
    assert not asked.low[others].any()
    assert not asked.high[others].any()
    box, steps = Box.around(network, clf._row(row), 2.0), np.zeros((1, len(asked.low)))
    (inputs,) = network.inputs(clf._row(row))
    assert (box.low[fare], box.high[fare]) == (8.0, 12.0)
    np.testing.assert_allclose(box.inputs(network.hyperplanes, steps)[0][others], inputs[others])


def answer(clf, x, radius):
    """What Marabou says about a box, and the inputs (1, N) it found."""
    said, steps = verdict(clf.to_relu_onnx(x, radius), clf.to_vnnlib(x, radius))
    box = Box.around(clf.network_, clf._row(x), radius)
    return said, None if steps is None else box.inputs(clf.hyperplanes_, steps[None])


@pytest.mark.parametrize(
    ("data", "gaussianise", "design"),
    [*((*case, "readout") for case in product(DATA, (False, True))), ("iris", False, "paper")],
)
def test_marabou_confirms_distances(data, gaussianise, design):
    """Within the lower bound another class is impossible, beyond the distance it is possible."""
    pytest.importorskip("maraboupy")
    clf, X = small(data, gaussianise, design), DATA[data][0]
    rows = X[[120]] if design == "paper" else X[:: len(X) // 2]
    found = clf.robustness(rows, norm="inf")
    assert np.isfinite(found.distance).all()
    for row, x in enumerate(rows):
        assert answer(clf, x, 0.99 * found.lower[row])[0] == "unsat"
        said, point = answer(clf, x, 1.01 * found.distance[row])
        assert said == "sat"
        # Marabou allows for errors of about 1e-6 in every equation.
        own = clf.network_.classes(x[None])
        before, after = (clf.network_.leads(at, own)[0].min() for at in (x[None], point))
        assert after <= 1e-4 * max(1.0, before)


@pytest.mark.parametrize("design", ["region", "blob", "readout with trees"])
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
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="both x and radius"):
        small("iris").to_relu_onnx(x)


def test_weights_must_fit_into_float32():
    X, y = IRIS
    clf = FFMLPClassifier(gaussianise=False, **SMALL).fit(1e-40 * X, y)
    with pytest.raises(ValueError, match="too large for float32"):
        ReluLayers.of(clf.network_).in_float32()
