import pickle

import numpy as np
import pytest
from problems import IRIS, four_moons, overlapping, paper_design, region_design, xor
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from ffmlp import FFMLPClassifier

READOUT = FFMLPClassifier(design="readout", max_leaves=0)
BLOB = FFMLPClassifier(2, design="blob", gaussianise=False, random_state=0)
DESIGNS = {
    "readout": READOUT,
    "readout of mixtures": FFMLPClassifier(
        3, design="readout", gaussianise=True, max_leaves=0, random_state=0
    ),
    "small readout": FFMLPClassifier(design="readout", gaussianise=True, max_neurons=40),
    "blob": BLOB,
    "gaussianised blob": FFMLPClassifier(3, design="blob", gaussianise=True, random_state=0),
}
ALL = DESIGNS | {"region": region_design(random_state=0), "paper": paper_design(random_state=0)}


@pytest.fixture(params=DESIGNS, scope="module")
def fitted(request):
    X, y = four_moons(600)
    return clone(DESIGNS[request.param]).fit(X, y), X, y


# The network


def test_forward_is_the_literal_network_and_what_predict_proba_says(fitted):
    clf, X, _ = fitted
    network = clf.network_
    scores = network.hyperplanes.gaussianisation
    signal = X if scores is None else scores.apply(X)
    functions = {
        "relu": lambda z: np.maximum(z, 0),
        "softplus": lambda z: np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0),
        "softmax": lambda z: np.exp(z) / np.exp(z).sum(axis=1, keepdims=True),
        "identity": lambda z: z,
    }
    stages = zip(network.weights, network.biases, network.activations, strict=True)
    layers = network.responses(X)
    for (weight, bias, name), layer in zip(stages, layers, strict=True):
        signal = functions[name](signal @ weight.T + bias)
        np.testing.assert_allclose(layer, signal, atol=1e-8 * np.abs(signal).max())
    np.testing.assert_allclose(network.forward(X), signal, atol=1e-9)
    np.testing.assert_array_equal(clf.predict_proba(X), np.minimum(network.forward(X), 1.0))
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.predict(X), clf.predict_proba(X).argmax(axis=1))


def test_no_probability_is_above_1_by_a_rounding_error():
    X = np.array([[row, row % 7] for row in range(60)], float)
    clf = FFMLPClassifier(6, design="blob", random_state=0).fit(X, X[:, 0] > 30)
    assert clf.predict_proba(np.vstack([X, 1e3 * X])).max() == 1.0
    log_loss(X[:, 0] > 30, clf.predict_proba(X))  # scikit-learn refuses others


def test_sizes_and_meanings(fitted):
    clf, _, _ = fitted
    network = clf.network_
    sizes = network.layer_sizes
    assert [len(weight) for weight in network.weights] == list(sizes[1:])
    assert sizes[2] == (4 if clf.design == "readout" else len(clf.blobs_))
    assert sizes[1] == len(clf.hyperplanes_) * (1 if clf.hyperplanes_.one_sided else 2)
    assert clf.regions_ is None
    kind = {"readout": "evidence for class 2", "blob": "blob 2 of class"}[clf.design]
    assert network.meaning(2, 2).startswith(kind)
    for layer, size in enumerate(sizes):
        assert len({network.meaning(layer, neuron) for neuron in range(size)}) == size


@pytest.mark.parametrize("design", ALL)
def test_a_sample_is_predicted_alike_in_any_company(design):
    X, y = overlapping(600, 5)
    X = np.round(X)  # samples that lie exactly on hyperplanes are likely on a grid
    clf = clone(ALL[design]).fit(X, y)
    together = clf.predict_proba(X)
    for size in (1, 7):
        parts = [clf.predict_proba(X[start : start + size]) for start in range(0, 600, size)]
        np.testing.assert_array_equal(np.vstack(parts), together)
    np.testing.assert_array_equal(clf.predict_proba(X[::-1])[::-1], together)


def test_designs_survive_pickling_and_threads(fitted):
    clf, X, y = fitted
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X), clf.predict_proba(X))
    with threadpool_limits(1):
        alone = clone(clf).fit(X, y)
    np.testing.assert_allclose(alone.predict_proba(X), clf.predict_proba(X), atol=1e-9)


def test_thresholds_are_told_in_the_units_of_the_user():
    X, y = overlapping(300)
    for gaussianise in (True, False):
        clf = FFMLPClassifier(design="readout", gaussianise=gaussianise).fit(1000 + 50 * X, y)
        planes = clf.hyperplanes_
        for hyperplane in range(len(planes)):
            threshold = planes.threshold(hyperplane)
            if threshold is None:
                assert (planes.pairs[hyperplane] >= 0).all()
                continue
            feature, value = threshold
            at = np.full((1, 3), 1000.0)
            at[0, feature] = value
            np.testing.assert_allclose(planes.log_odds(at)[0, hyperplane], 0.0, atol=1e-9)
            assert f"x{feature} above {value:.4g}" in clf.network_.meaning(1, hyperplane)


# What the designs are of each other


@pytest.mark.parametrize("n_components", [1, 2])
def test_blobs_sum_their_log_probabilities_against_other_blobs(n_components):
    X, y = four_moons(400)
    clf = clone(BLOB).set_params(n_components=n_components).fit(X, y)
    h, pairs = clf.hyperplanes_.log_odds(X), clf.hyperplanes_.pairs
    log_probability = np.zeros((len(X), len(clf.blobs_)))
    for plane, (first, second) in enumerate(pairs):
        log_probability[:, first] -= np.log1p(np.exp(-h[:, plane]))
        log_probability[:, second] -= np.log1p(np.exp(h[:, plane]))
    share = np.exp(clf.network_.stages.temperature * log_probability)
    share /= share.sum(axis=1, keepdims=True)
    expected = np.column_stack([share[:, clf.blobs_.classes == c].sum(axis=1) for c in range(4)])
    np.testing.assert_allclose(clf.predict_proba(X), expected, atol=1e-9)


def test_the_hard_limit_of_blobs_is_the_least_violated_cell():
    X, y = xor(400)[:2]
    soft = FFMLPClassifier(2, design="blob", gaussianise=False, random_state=0).fit(X, y)
    hard = region_design(2, error_threshold=None, random_state=0).fit(X, y)
    h, pairs = soft.hyperplanes_.log_odds(1e6 * X), soft.hyperplanes_.pairs
    violated = np.zeros((len(X), len(soft.blobs_)))
    for plane, (first, second) in enumerate(pairs):
        violated[:, first] += np.maximum(-h[:, plane], 0)
        violated[:, second] += np.maximum(h[:, plane], 0)
    np.testing.assert_array_equal(soft.predict(1e6 * X), soft.blobs_.classes[violated.argmin(axis=1)])
    assert np.mean(soft.predict(X) == hard.predict(X)) > 0.99


# What is chosen


def test_selection_prints_what_was_tried():
    X, y = four_moons(400)
    clf = FFMLPClassifier(random_state=0).fit(X, y)
    lines = str(clf.selection_).splitlines()
    assert len(lines) == 1 + len(clf.selection_.plans) == 5
    assert [line.startswith("→") for line in lines[1:]].index(True) == clf.selection_.best
    assert clf.selection_.plan.design == "readout"
    assert "selection" in clf.timings_


def test_linear_classes_get_a_simple_design():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=500)
    X = rng.normal(size=(500, 20)) + 0.5 * y[:, None]
    clf = FFMLPClassifier(random_state=0).fit(X, y)
    assert clf.selection_.plan.design == "blob"
    assert clf.network_.layer_sizes[1] <= 30


def test_every_auto_tries_its_alternatives_and_nothing_else():
    X, y = overlapping(200)

    def tried(**parameters):
        plans = FFMLPClassifier(random_state=0, **parameters).fit(X, y).selection_.plans
        return {
            (p.design, p.gaussianise, p.discriminant, p.n_components, p.error_threshold) for p in plans
        }

    assert tried(design="readout", gaussianise=False) == {("readout", False, "lda", None, None)}
    assert tried(design="readout", gaussianise=True, discriminant="auto") == {
        ("readout", True, "lda", None, None),
        ("readout", True, "heteroscedastic", None, None),
    }
    assert tried(design="region", n_components=2) == {
        ("region", False, "lda", (2, 2, 2), 0.05),
        ("region", False, "lda", (2, 2, 2), None),
    }
    assert tried(design="paper", n_components=2) == {
        ("paper", False, "drawn_lda", (2, 2, 2), 0.05),
        ("paper", False, "drawn_lda", (2, 2, 2), None),
    }
    assert len(tried(design="blob")) == len(tried(design="paper")) == 6


# How good it is


def test_it_is_accurate_and_its_probabilities_are_worth_using():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    clf = FFMLPClassifier().fit(X_train, y_train)
    assert clf.score(X_test, y_test) > 0.975
    assert log_loss(y_test, clf.predict_proba(X_test)) < 0.12
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    clf = FFMLPClassifier().fit(X_train, y_train)
    assert clf.score(X_test, y_test) > 0.95
    assert log_loss(y_test, clf.predict_proba(X_test)) < 0.15


@pytest.mark.parametrize("design", ALL)
def test_class_weights_shift_the_boundary(design):
    clf = ALL[design]
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.05).astype(int)
    X = rng.normal(size=(2000, 2)) + 1.5 * y[:, None]
    plain, balanced = clone(clf).fit(X, y), clone(clf).set_params(class_weight="balanced").fit(X, y)
    recall = [np.mean(model.predict(X[y == 1])) for model in (plain, balanced)]
    assert recall[1] > max(recall[0] + 0.2, 0.7)
    mapping = clone(clf).set_params(
        class_weight={0: 2000 / 2 / np.sum(y == 0), 1: 2000 / 2 / np.sum(y == 1)}
    )
    np.testing.assert_allclose(mapping.fit(X, y).predict_proba(X), balanced.predict_proba(X), atol=1e-6)


def test_many_features_are_taken_along_principal_axes():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(400, 6)) + 2.0 * np.eye(6)[y]
    X = X @ rng.normal(size=(6, 150)) + 0.1 * rng.normal(size=(400, 150))
    clf = FFMLPClassifier(design="readout", gaussianise=False).fit(X[:300], y[:300])
    assert clf.blobs_.axes.shape == (150, 100)
    assert clf.blobs_.means.shape[1] == 150
    assert clf.score(X[300:], y[300:]) > 0.7


def test_known_blobs_are_used_by_every_design():
    X, y, blob = xor(300)
    for design in ("readout", "blob", "region", "paper"):
        clf = FFMLPClassifier(design=design, gaussianise=False, random_state=0).fit(X, y, blobs=blob)
        assert len(clf.blobs_) == 4
        assert clf.score(X, y) > 0.98
        assert len(clf.selection_.plans) == (2 if design in ("region", "paper") else 1)
    assert len(FFMLPClassifier().fit(X, y, blobs=blob).selection_.plans) == 3


@pytest.mark.filterwarnings("error")
def test_a_class_that_pruning_leaves_without_a_blob():
    clf = FFMLPClassifier(2, design="blob", error_threshold=1.0, random_state=0).fit(*IRIS)
    assert len(clf.hyperplanes_) == 1
    assert np.isfinite(clf.predict_proba(IRIS[0])).all()


@pytest.mark.filterwarnings("error")
def test_automatic_numbers_of_blobs_warn_of_nothing():
    X, y = IRIS[0][[0, 60, 120, 130]], [0, 1, 0, 1]
    for design in ("auto", "paper", "region", "blob", "readout"):
        FFMLPClassifier(design=design, random_state=0).fit(X, y)
