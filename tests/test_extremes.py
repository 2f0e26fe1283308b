"""Numbers at the end of the range of floats, and data without spread: an answer or a message, no NaN."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from problems import DESIGNS, IRIS, designed

import ffmlp
from ffmlp import FFMLPClassifier, export_text
from ffmlp.inputs.features import Gaussianisation
from ffmlp.robustness.distance import _targets
from ffmlp.robustness.limits import Limits

X, Y = IRIS
LARGE = [1e150, 1e200, 1e300, 1e307, 1.7e308]
FAR = np.array([[sign * value for sign in signs] for value in LARGE for signs in
                ((1, 1, 1, 1), (1, -1, 1, -1), (-1, 0, 0, 0), (0, 0, 0, 1))])  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("gaussianise", [False, True])
@pytest.mark.parametrize("design", DESIGNS)
def test_probabilities_of_far_samples_add_up_to_one(design, gaussianise):
    clf = designed(design, X, Y, gaussianise=gaussianise)
    for row in FAR[:, None]:
        probabilities = clf.predict_proba(row)
        np.testing.assert_allclose(probabilities.sum(), 1.0)
        assert (probabilities >= 0).all()
        assert clf.predict(row) in clf.classes_


def answers_of_onnx(clf, samples):
    """The labels and the probabilities of a model as ONNX Runtime computes them."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = clf.to_onnx("float64").SerializeToString()
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": samples})


@pytest.mark.parametrize("design", DESIGNS)
def test_onnx_models_have_probabilities_for_far_samples(design):
    _, probabilities = answers_of_onnx(designed(design, X, Y, gaussianise=False), FAR)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("weights", [{0: 1e308, 1: 1e308}, {0: 5e-324}, {1: np.inf}, {1: 1.1e6}])
def test_class_weights_beyond_all_measure_are_refused(weights):
    with pytest.raises(ValueError, match=r"class_weight\[[01]\] must be a number from 1e-06 to 1e\+06"):
        FFMLPClassifier(class_weight=weights).fit(X, Y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", [{0: 1e6, 1: 1e-6}, {0: 1e6, 1: 1e6, 2: 1e6}, {2: 1e-6}])
@pytest.mark.parametrize("parameters", DESIGNS.values(), ids=DESIGNS)
def test_the_largest_class_weights_have_probabilities(weights, parameters):
    clf = FFMLPClassifier(**parameters, class_weight=weights, random_state=0).fit(X, Y)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)


def odd_tables():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    plain = rng.normal(size=(60, 4)) + y[:, None]
    yield "equal rows of a class", np.repeat(np.eye(3), 20, axis=0), np.repeat([0, 1, 2], 20)
    yield "equal rows", np.ones((60, 2)), y
    for value in (1e300, 1e155, 1e-300):
        constant, scaled = plain.copy(), plain.copy()
        constant[:, 0] = value
        scaled[:, 0] *= value
        yield f"a constant of {value}", constant, y
        yield f"a feature in units of {value}", scaled, y
    outlier = plain.copy()
    outlier[:2, 0] = 1.7e308, -1.7e308
    yield "both ends of the range of floats", outlier, y
    yield "many at the ends", np.column_stack([1e308 * rng.integers(-1, 2, 60), plain]), y
    yield "one sample of a class", np.vstack([plain[:30], [[9.0] * 4]]), np.append(y[:30] % 2, 2)
    yield "a feature twice", np.column_stack([plain, plain[:, 0]]), y
    yield "three units of a feature", np.column_stack([plain, plain[:, :1] * [1e-12, 1e12]]), y
    yield "a grid", np.round(plain), y
    yield "few distinct rows", np.repeat(plain[:4], 15, axis=0), y
    yield "one feature", plain[:, :1], y
    yield "thirty times the features", np.hstack([plain] * 30), y
    for value in (1e-200, 1e200):
        yield f"all features in units of {value}", value * plain, y


ODD = {name: (table, labels) for name, table, labels in odd_tables()}
PLANS = {
    **DESIGNS,
    "default": {},
    "paper": {"design": "paper"},
    "four components": {"design": "region", "n_components": 4},
    "heteroscedastic": {"design": "region", "discriminant": "heteroscedastic"},
    "small": {"max_neurons": 30},
    "optimal": {"design": "region", "pruning": "optimal"},
    "pruned readout": {"design": "readout", "error_threshold": 0.1},
}


@pytest.mark.filterwarnings("ignore:Class .* has too few distinct samples")
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("plan", PLANS)
def test_no_warning_of_numpy_leaks_and_models_can_be_stored(name, plan, tmp_path):
    table, labels = ODD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        clf = FFMLPClassifier(**PLANS[plan], random_state=0).fit(table, labels)
        probabilities = clf.predict_proba(table)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.isfinite(clf.hyperplanes_.weights).all()
    ffmlp.save(clf, tmp_path / "a.model")
    np.testing.assert_array_equal(ffmlp.load(tmp_path / "a.model").predict_proba(table), probabilities)


@pytest.mark.parametrize("value", [0.1, 1e300, 1e-300])
def test_a_constant_feature_has_no_influence(value):
    """Its mean is rounded: the difference, 1e284, would be larger than all other features."""
    clf = FFMLPClassifier(design="readout", gaussianise=False, max_leaves=0, random_state=0)
    with_constant = np.column_stack([X, np.full(len(X), value)])
    assert clf.fit(with_constant, Y).score(with_constant, Y) > 0.9


def test_onnx_models_know_huge_features():
    """Inputs are clipped only where responses to them would overflow."""
    huge = 1e170 * X
    clf = designed("region", huge, Y, gaussianise=False)
    np.testing.assert_array_equal(answers_of_onnx(clf, huge)[0], clf.predict(huge))


def huge_table(size):
    """A table with a column in units of ``size``, and its classes."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return (rng.normal(size=(60, 2)) + 2 * y[:, None]) * [size, 1.0], y


@pytest.mark.parametrize("size", [1e200, 1.7e307])
@pytest.mark.parametrize("gaussianise", [False, True])
@pytest.mark.parametrize("design", DESIGNS)
def test_what_is_said_of_huge_columns_has_no_warnings(design, gaussianise, size):
    table, y = huge_table(size)
    clf = FFMLPClassifier(**DESIGNS[design], gaussianise=gaussianise, random_state=0).fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert export_text(clf)
        assert str(clf.explain(table[:2], counterfactual=True, norm="inf")[0])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_maps_from_one_end_of_the_range_of_floats_to_the_other_have_slopes():
    ends = Gaussianisation((np.array([-1.7e308, 1.7e308]),), (np.array([-1.0, 1.0]),))
    np.testing.assert_array_equal(ends.slopes(np.zeros((1, 1))), [[0.0]])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_blobs_at_the_ends_of_the_range_of_floats_are_no_targets():
    table, y = huge_table(1.0)
    clf = designed("blob", table, y, gaussianise=False)
    limits = Limits(np.full(2, -np.inf), np.full(2, np.inf), np.ones(2), 2.0)
    far = replace(clf.blobs_, means=np.where(np.arange(2) == 0, 1.7e308, clf.blobs_.means))
    samples = np.array([[-1.7e308, 0.0]])
    targets = _targets(clf.network_, far, samples, clf.network_.classes(samples), limits)
    assert np.isnan(targets).all()
