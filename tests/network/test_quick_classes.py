from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_trees, with_trees

from ffmlp.inputs.features import Gaussianisation
from ffmlp.network import quick_classes as module
from ffmlp.network import trees as network_trees
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes
from ffmlp.network.quick_classes import largest_error, quick_classes, responses_of_thresholds
from ffmlp.network.readout import CorrectedReadoutStages, ReadoutStages

needs_compiled = pytest.mark.skipif(network_trees.compiled is None, reason="not compiled")
seeds = st.integers(0, 2**32 - 1)
powers = st.integers(-36, 36)
N_ROWS = 2048


def thresholds(rng, n_features, gaussianise=False):
    """A hyperplane for each feature, and some of all features."""
    single = np.diag(rng.choice([-1.0, 1.0], n_features) * rng.gamma(2.0, size=n_features))
    weights = np.vstack([single, rng.normal(size=(5, n_features))])
    pairs = np.where(np.arange(len(weights))[:, None] < n_features, NO_BLOB, [0, 1])
    knots = tuple(np.sort(rng.normal(size=9)) for _ in range(n_features))
    scores = tuple(np.sort(rng.normal(size=9)) for _ in range(n_features))
    mapped = Gaussianisation(knots, scores) if gaussianise else None
    return Hyperplanes(weights, rng.normal(size=len(weights)), pairs, mapped)


def a_network(rng, n_features, n_classes, sizes, tie, power=2.0, floor=0.01):
    """Stages of random weights and trees; classes differ by ``tie`` of what they have in common."""
    trees = random_trees(rng, n_features, n_classes, sizes)
    trees = replace(trees, values=rng.normal(size=(len(trees), 1)) + tie * trees.values)
    even, odd = (
        rng.normal(size=(n_features + 5, 1)) + tie * rng.normal(size=(n_features + 5, n_classes))
        for _ in range(2)
    )
    bias = np.full(n_classes, 0.5)
    return CorrectedReadoutStages(
        0.1 * even, 0.1 * odd, bias, 1.0, trees=trees, power=power, floor=floor
    )


def assert_classes_of_the_outputs(stages, planes, X):
    """All classes are those of the outputs, also those that are known by part of the work."""
    expected = stages.outputs(planes, X).argmax(axis=1)
    np.testing.assert_array_equal(stages.classes(planes, X), expected)
    quick = quick_classes(stages, planes, X)
    np.testing.assert_array_equal(quick[quick >= 0], expected[quick >= 0])
    return quick


@given(
    seeds,
    st.integers(1, 6),
    st.integers(2, 5),
    st.lists(st.integers(1, 30), min_size=1, max_size=30),
    st.sampled_from([0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 1.0]),
    powers,
    st.sampled_from([1e-12, 1e-3, 2.0, 1e6]),
    st.sampled_from([1e-9, 1e-2, 1e9]),
    st.booleans(),
)
def test_classes_are_those_of_the_outputs(
    seed, n_features, n_classes, sizes, tie, size, power, floor, gaussianise
):
    rng = np.random.default_rng(seed)
    planes = thresholds(rng, n_features, gaussianise)
    stages = a_network(rng, n_features, n_classes, sizes, tie, power, floor)
    X = rng.normal(size=(N_ROWS, n_features)) * 10.0**size
    X[::5] = np.round(X[::5])
    X[1::7] = X[1]
    assert_classes_of_the_outputs(stages, planes, X)


@given(seeds, st.sampled_from([(1e6, 1e9), (1e5, 1e3)]))
def test_leads_that_the_outputs_lose_to_rounding(seed, link):
    rng = np.random.default_rng(seed)
    planes, stages = thresholds(rng, 3), a_network(rng, 3, 3, [20] * 5, 1e-3, *link)
    X = rng.normal(size=(N_ROWS, 3))
    outputs = np.sort(stages.outputs(planes, X), axis=1)
    assert (outputs[:, -1] == outputs[:, -2]).any()
    assert_classes_of_the_outputs(stages, planes, X)


@given(seeds, st.integers(1, 300), st.integers(1, 30), st.integers(2, 6), powers, powers)
def test_the_error_is_no_larger_than_its_bound(seed, n_hyperplanes, n_features, n_classes, size, scale):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n_hyperplanes, n_features)) * 10.0**scale
    pairs = np.zeros((n_hyperplanes, 2), np.intp)
    planes = Hyperplanes(weights, rng.normal(size=n_hyperplanes), pairs)
    even, odd = rng.normal(size=(2, n_hyperplanes, n_classes))
    odd[rng.random(n_hyperplanes) < 0.5] = 0.0
    stages = ReadoutStages(even, odd, np.zeros(n_classes), float(rng.gamma(1.0)))
    X = rng.normal(size=(50, n_features)) * 10.0**size
    bound = largest_error(stages, planes, X)
    if bound < np.inf:
        single, double = stages.evidence(planes, X, np.float32), stages.evidence(planes, X)
        assert np.abs(single - double).max() <= bound


@needs_compiled
@given(seeds, st.integers(1, 5), st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_what_is_decided_early_is_what_all_trees_decide(seed, n_classes, sizes):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, n_classes, sizes)
    # Later trees add less, as in a sequence, so that many samples need the first trees only.
    shrunk = trees.values * 0.5 ** trees.trees[:, None]
    trees = replace(trees, values=np.round(shrunk, 3))
    compared = trees.compared(rng.normal(size=(300, 4)))
    sums = rng.normal(size=(300, n_classes)).round(2).astype(np.float32)
    whole = np.sort(sums + trees.sums(compared), axis=1)
    lead = whole[:, -1] - whole[:, -2] if n_classes > 1 else np.full(300, np.inf)
    classes = trees.decide(compared, sums.copy(), margin=0.1)
    expected = (sums + trees.sums(compared)).argmax(axis=1)
    np.testing.assert_array_equal(classes[lead > 0.11], expected[lead > 0.11])
    np.testing.assert_array_equal(classes[lead < 0.09], -1)


@needs_compiled
def test_decided_samples_are_left_out():
    trees = random_trees(np.random.default_rng(0), 4, 3, [30] * 40)
    h = np.random.default_rng(1).normal(size=(50, 4))
    sums = np.zeros((50, 3), np.float32)
    sums[10:, 1] = 1000.0
    before, added = sums.copy(), trees.values[trees.leaves(h)]
    classes = trees.decide(trees.compared(h), sums, margin=0.0)
    np.testing.assert_array_equal(classes[:10], added[:10].sum(axis=1).argmax(axis=1))
    assert (classes[10:] == 1).all()
    # Eight trees are enough for these.
    few = added[10:, trees.bounds.order[:8]].sum(axis=1)
    np.testing.assert_allclose(sums[10:] - before[10:], few, atol=1e-3)


@given(seeds, st.integers(1, 40), st.booleans())
def test_responses_of_thresholds_have_the_bits_of_the_product(seed, n_features, gaussianise):
    rng = np.random.default_rng(seed)
    planes = thresholds(rng, n_features, gaussianise)
    X = rng.normal(size=(300, n_features)) * 10.0 ** rng.integers(-20, 20, size=(300, 1))
    X[0], X[1] = 1e300, 0.0
    chosen = np.arange(n_features)
    with np.errstate(over="ignore"):
        product = planes.signed_responses(X)[:, chosen].astype(np.float32)
    responses = responses_of_thresholds(planes.select(chosen), planes.mapped(X))
    np.testing.assert_array_equal(responses, product)


@needs_compiled
@pytest.mark.parametrize("n_rows_at_once", [100, 1 << 13])
def test_most_samples_of_a_fitted_network_are_decided(n_rows_at_once, monkeypatch):
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", n_rows_at_once)
    X, _, clf = with_trees(3000, gaussianise=False)
    network = clf.network_
    quick = assert_classes_of_the_outputs(network.stages, network.hyperplanes, X)
    assert np.mean(quick < 0) < 0.02
    # Where a far sample makes a block uncertain, the rows after it are not tried.
    X[200] = 1e30
    quick = assert_classes_of_the_outputs(network.stages, network.hyperplanes, X)
    assert (quick[n_rows_at_once * (200 // n_rows_at_once) :] < 0).all()


def test_other_hyperplanes_and_numpy_alone_compute_the_outputs(monkeypatch):
    X, _, clf = with_trees(3000)
    stages, planes = clf.network_.stages, clf.network_.hyperplanes
    oblique = replace(planes, weights=planes.weights + 0.01)
    assert (assert_classes_of_the_outputs(stages, oblique, X) < 0).all()
    monkeypatch.setattr(network_trees, "compiled", None)
    assert (assert_classes_of_the_outputs(stages, planes, X) < 0).all()


@pytest.mark.parametrize("far", [1e31, 1e300])
def test_numbers_beyond_single_precision(far):
    rng = np.random.default_rng(0)
    planes, stages = thresholds(rng, 4), a_network(rng, 4, 3, [20] * 5, 1.0)
    X = rng.normal(size=(N_ROWS, 4))
    X[3] *= far
    large = replace(stages, trees=replace(stages.trees, values=stages.trees.values * far))
    for some, rows in ((stages, X), (large, X[4:]), (large, X)):
        assert (assert_classes_of_the_outputs(some, planes, rows) < 0).all()


def test_trees_too_large_for_the_compiled_table_are_read_by_numpy(monkeypatch):
    trees = random_trees(np.random.default_rng(0), 4, 3, [30, 5])
    h = np.random.default_rng(1).normal(size=(50, 4))
    expected = trees.evidence(h)
    for most in (30, 3):
        monkeypatch.setattr(network_trees, "_MOST_OF_16_BITS", most)
        large = replace(trees)
        assert large.forest is None
        assert not large.can_decide
        np.testing.assert_array_equal(large.evidence(h), expected)
