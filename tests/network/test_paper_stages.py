"""The paper to the letter: the bare network answers, also where it is silent."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems import IRIS, four_moons, overlapping, paper_design
from sklearn.datasets import load_wine

from ffmlp import export_text
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.region import PaperStages, sign_codes, tabulate
from ffmlp.robustness.polyhedra import dual_norm

PROBLEMS = {
    "iris": (IRIS, 2, 0.05),
    "wine": (load_wine(return_X_y=True), 2, 0.05),
    "four moons": (four_moons(400), 3, 0.05),
    "overlapping": (overlapping(300), 3, None),
}


@pytest.fixture(params=PROBLEMS)
def designed(request):
    (X, y), n_components, threshold = PROBLEMS[request.param]
    clf = paper_design(n_components, error_threshold=threshold, random_state=0).fit(X, y)
    size = np.random.default_rng(0).choice([1.0, 3.0, 100.0], size=(2000, 1))
    far = X.mean(axis=0) + size * X.std(axis=0) * np.random.default_rng(1).normal(
        size=(2000, X.shape[1])
    )
    return clf, np.vstack([X, far])


def test_the_prediction_is_the_largest_output_of_plain_layers(designed):
    clf, X = designed
    signal = X
    for weight, bias, name in zip(
        clf.network_.weights, clf.network_.biases, clf.network_.activations, strict=True
    ):
        signal = signal @ weight.T + bias
        signal = np.maximum(signal, 0.0) if name == "relu" else signal
    np.testing.assert_array_equal(clf.predict(X), signal.argmax(axis=1))
    np.testing.assert_array_equal(clf.predict(X), clf.network_.forward(X).argmax(axis=1))
    silent = ~signal.any(axis=1)
    assert (clf.predict(X)[silent] == clf.classes_[0]).all()
    probability = clf.predict_proba(X)
    assert (probability[silent] == 1 / len(clf.classes_)).all()
    expected = signal[~silent] / signal[~silent].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probability[~silent], expected, atol=1e-9)
    np.testing.assert_array_equal(probability.argmax(axis=1), clf.predict(X))


def test_some_samples_are_silent_and_the_text_says_what_they_are():
    X, y = overlapping(300)
    clf = paper_design(3, error_threshold=None, random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    far = 5 * np.random.default_rng(0).normal(size=(500, 3))
    silent = ~clf.network_.forward(far).any(axis=1)
    assert 10 < silent.sum() < 490
    made = clf.explain(far)
    assert (made.leads[silent] == 0).all()
    assert made.places.unseen[silent].all()
    assert len(clf.regions_) == clf.network_.layer_sizes[2]
    assert "a sample to which none of them responds is of the first class, a\n" in export_text(clf)


def random_network(seed, penalty):
    """Random hyperplanes, and the regions of a few random samples of random classes."""
    rng = np.random.default_rng(seed)
    n_features, n_planes, n_classes = rng.integers(1, 4), rng.integers(1, 6), rng.integers(2, 4)
    planes = Hyperplanes(
        rng.normal(size=(n_planes, n_features)) * 10.0 ** rng.uniform(-1, 1, size=(n_planes, 1)),
        rng.normal(size=n_planes),
        np.zeros((n_planes, 2), np.intp),
    )
    samples = 2 * rng.normal(size=(rng.integers(1, 9), n_features))
    codes, y = sign_codes(planes, samples), rng.integers(n_classes, size=len(samples))
    stages = PaperStages(tabulate(codes, n_planes, y, n_classes), penalty)
    names = tuple(f"x{number}" for number in range(n_features))
    return rng, Network(planes, stages, np.arange(n_classes), np.zeros(1, np.intp), names)


def safe_distances(network, X, norm):
    own, planes = network.classes(X), network.hyperplanes
    reach = np.tile(dual_norm(planes.weights, norm), (len(X), 1))
    steepness = dual_norm(network.leads(X, own)[1], norm)
    return network.stages.safe_distance(planes.signed_responses(X), own, reach, steepness)


@example(36761, 1.0, 1)  # two regions of different classes respond alike
@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([1.0, 3.0, 1000.0, 1e300]), st.sampled_from([1, 2, np.inf])
)
def test_no_point_within_the_safe_distance_has_another_class(seed, penalty, norm):
    rng, network = random_network(seed, penalty)
    X = 2 * rng.normal(size=(40, len(network.feature_names)))
    own, planes = network.classes(X), network.hyperplanes
    safe = safe_distances(network, X, norm)
    assert (safe >= 0).all()
    steps = rng.normal(size=(400, *X.shape))
    steps[:4] = np.sign(steps[:4])
    steps[4 : 4 + len(planes)] = planes.weights[:, None] * rng.choice([-1.0, 1.0], size=(len(X), 1))
    steps /= np.linalg.norm(steps, ord=norm, axis=2, keepdims=True)
    shares = rng.uniform(size=(400, 1, 1)) ** 0.1
    points = X + (1 - 1e-9) * np.minimum(safe, 1e6)[:, None] * shares * steps
    classes = network.classes(points.reshape(-1, X.shape[1])).reshape(400, len(X))
    assert (classes == own).all()


def test_safe_distances_are_worth_something_where_other_regions_respond_and_where_none_does():
    n_shared, n_silent = 0, 0
    for seed in range(200):
        rng, network = random_network(seed, 10.0)
        X = 2 * rng.normal(size=(40, len(network.feature_names)))
        out = network.forward(X)
        assert (safe_distances(network, X, 2) > 0).all()
        n_shared += ((out > 0).sum(axis=1) > 1).sum()
        n_silent += (~out.any(axis=1)).sum()
    assert n_shared > 100
    assert n_silent > 100


def test_the_first_class_can_be_predicted_without_a_region():
    planes = Hyperplanes(np.eye(2), np.zeros(2), np.zeros((2, 2), np.intp))
    regions = tabulate(sign_codes(planes, np.array([[1.0, 1.0]])), 2, np.array([1]), 3)
    scores = PaperStages(regions, 1000.0).scores(np.array([[2.0, 3.0], [-2.0, 3.0]]))
    assert scores.tolist() == [[0.0, 5.0, -np.inf], [0.0, 0.0, -np.inf]]
