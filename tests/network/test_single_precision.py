from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import IRIS, overlapping

from ffmlp import FFMLPClassifier
from ffmlp.network import single_precision
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.readout import ReadoutStages
from ffmlp.network.single_precision import FEWEST_ROWS, _classes, largest_error

powers = st.integers(-36, 36)
ordinary = st.integers(-3, 3)


def a_readout(rng, n_hyperplanes, n_features, n_classes, scale=1.0, tie=0.0):
    """A network of random weights; the evidence for classes differs by ``tie`` of itself."""
    planes = Hyperplanes(
        rng.normal(size=(n_hyperplanes, n_features)) * scale,
        rng.normal(size=n_hyperplanes),
        np.zeros((n_hyperplanes, 2), np.intp),
    )
    even, odd = (
        rng.normal(size=(n_hyperplanes, 1)) + tie * rng.normal(size=(n_hyperplanes, n_classes))
        for _ in range(2)
    )
    odd[rng.random(n_hyperplanes) < 0.5] = 0.0
    stages = ReadoutStages(even, odd, np.zeros(n_classes), float(rng.gamma(1.0)))
    names = tuple(map(str, range(n_features)))
    return Network(planes, stages, np.arange(n_classes), np.zeros(1, np.intp), names)


@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 30), st.integers(2, 6), powers, powers)
def test_the_error_is_no_larger_than_its_bound(seed, n_hyperplanes, n_features, n_classes, size, scale):
    rng = np.random.default_rng(seed)
    network = a_readout(rng, n_hyperplanes, n_features, n_classes, 10.0**scale, tie=1.0)
    X = rng.normal(size=(50, n_features)) * 10.0**size
    bound = largest_error(network.stages, network.hyperplanes, X)
    if bound < np.inf:
        difference = network.stages.evidence(
            network.hyperplanes, X, np.float32
        ) - network.stages.evidence(network.hyperplanes, X)
        assert np.abs(difference).max() <= bound


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1.0]), powers, ordinary)
def test_classes_are_those_of_double_precision(seed, tie, size, scale):
    rng = np.random.default_rng(seed)
    network = a_readout(rng, 100, 5, 3, 10.0**scale, tie)
    X = rng.normal(size=(FEWEST_ROWS, 5)) * 10.0**size
    X[::7] = X[0]
    expected = network.forward(X).argmax(axis=1)
    np.testing.assert_array_equal(network.classes(X), expected)


@given(st.integers(0, 10**6), st.permutations([0.0, 0.0, -1e4]))
def test_the_second_class_is_the_next_one_not_the_last(seed, bias):
    rng = np.random.default_rng(seed)
    network = a_readout(rng, 100, 5, 3, tie=1e-8)
    network = replace(network, stages=replace(network.stages, bias=np.array(bias)))
    X = rng.normal(size=(FEWEST_ROWS, 5))
    expected = network.forward(X).argmax(axis=1)
    np.testing.assert_array_equal(network.classes(X), expected)


@pytest.mark.parametrize("far", [1e31, 1e300])
def test_samples_beyond_single_precision(far):
    rng = np.random.default_rng(0)
    network = a_readout(rng, 100, 5, 3, tie=1.0)
    X = rng.normal(size=(FEWEST_ROWS, 5))
    X[3] *= far
    assert largest_error(network.stages, network.hyperplanes, X) == np.inf
    assert len(_classes(network.stages, network.hyperplanes, X)[1]) == len(X)
    expected = network.forward(X).argmax(axis=1)
    np.testing.assert_array_equal(network.classes(X), expected)


@pytest.mark.parametrize("gaussianise", [False, True])
@pytest.mark.parametrize("max_neurons", [None, 30])
def test_most_samples_need_single_precision_only(gaussianise, max_neurons):
    X, y = overlapping(3000)
    clf = FFMLPClassifier(
        design="readout", gaussianise=gaussianise, max_neurons=max_neurons, max_leaves=0, random_state=0
    ).fit(X, y)
    network = clf.network_
    assert len(X) >= FEWEST_ROWS
    classes, unsure = _classes(network.stages, network.hyperplanes, X)
    assert len(unsure) < 0.05 * len(X)
    assert (classes == clf.predict_proba(X).argmax(axis=1)).sum() >= len(X) - len(unsure)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[clf.predict_proba(X).argmax(axis=1)])


def test_where_single_precision_does_not_pay_the_rest_is_not_tried(monkeypatch):
    X, y = IRIS
    clf = FFMLPClassifier(design="readout", gaussianise=False, max_leaves=0, random_state=0).fit(X, y)
    tried = []
    monkeypatch.setattr(single_precision, "_ROWS_AT_ONCE", 1000)
    monkeypatch.setattr(single_precision, "_ROWS_TRIED", 500)
    monkeypatch.setattr(
        single_precision,
        "_classes",
        lambda stages, planes, block: tried.append(len(block)) or _classes(stages, planes, block),
    )
    near = np.tile(X, (20, 1))
    np.testing.assert_array_equal(clf.predict(near), clf.predict(X)[np.arange(3000) % 150])
    assert tried == [500, 1000, 1000, 500]
    tried.clear()
    far = near.copy()
    far[0] = 1e30
    clf.predict(far)
    assert tried == [500]


def test_weights_that_are_too_small_for_single_precision():
    n_hyperplanes, smallest = 10_000, 2.0**-149
    even = np.zeros((n_hyperplanes, 2))
    even[:, 0] = 0.49 * smallest
    even[: n_hyperplanes // 2, 1] = 0.51 * smallest
    planes = Hyperplanes(
        np.ones((n_hyperplanes, 1)), np.zeros(n_hyperplanes), np.zeros((n_hyperplanes, 2), np.intp)
    )
    stages = ReadoutStages(even, np.zeros_like(even), np.zeros(2), 1.0)
    network = Network(planes, stages, np.arange(2), np.zeros(1, np.intp), ("x",))
    X = np.full((FEWEST_ROWS, 1), 9e29)
    assert not network.forward(X).argmax(axis=1).any()
    assert not network.classes(X).any()
