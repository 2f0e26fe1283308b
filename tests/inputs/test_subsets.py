import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import plain_samples
from sklearn.datasets import make_moons

from ffmlp import FFMLPClassifier
from ffmlp.inputs.rows import evenly, weighted_subsample


@pytest.mark.parametrize(("n", "at_most"), [(5, 10), (10, 10), (11, 10), (1000, 7)])
def test_evenly_spaced_numbers(n, at_most):
    numbers = evenly(n, at_most)
    assert len(numbers) == min(n, at_most)
    assert np.ptp(np.diff(numbers)) <= 1


def test_few_samples_are_all_taken_and_equal_ones_once():
    X, weight = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 1.0], [0.0, 0.0]]), np.arange(1.0, 5.0)
    rows, mass = weighted_subsample(X, np.array([0, 0, 1, 1]), weight, 4)
    np.testing.assert_array_equal(rows, np.arange(4))
    np.testing.assert_array_equal(mass, weight)
    rows, mass = weighted_subsample(X, np.zeros(4, int), weight, 3)
    np.testing.assert_array_equal(rows, [0, 1, 2])
    np.testing.assert_array_equal(mass, [1.0, 6.0, 3.0])


@pytest.mark.parametrize("at_most", [3, 50])
def test_different_samples_of_the_same_sum_of_features_are_told_apart(at_most):
    X = np.column_stack([np.full(60, 1e300), np.arange(60) % 5])  # all sums are 1e300
    rows, mass = weighted_subsample(X, np.zeros(60, int), np.ones(60), at_most)
    assert len(np.unique(X[rows, 1])) == len(rows) == min(at_most, 5)
    assert mass.sum() == pytest.approx(60)
    X = np.array([[1.7e308, -1.7e308, 1e308], [-1.7e308, 1.7e308, 1e308]] * 30)  # sums overflow
    rows, mass = weighted_subsample(X, np.zeros(60, int), np.ones(60), at_most)
    assert mass.sum() == pytest.approx(60)
    assert len(rows) == 2


def test_subsamples_have_the_shares_of_the_classes_and_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 3)), np.arange(9000) % 3
    weight = np.where(y == 0, 3.0, 1.0) * rng.integers(1, 4, 9000)
    rows, mass = weighted_subsample(X, y, weight, 500)
    assert mass.sum() == pytest.approx(weight.sum())
    expected = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(np.bincount(y[rows], mass) / mass.sum(), expected, atol=2 / 500)
    mean = np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(np.average(X[rows], axis=0, weights=mass), mean, atol=0.15)


@pytest.mark.parametrize("at_most", [100, 1000])  # more repeated rows than distinct ones
def test_subsamples_do_not_depend_on_order_or_on_how_weight_is_written(at_most):
    rng = np.random.default_rng(1)
    X, y, weight = rng.normal(size=(800, 2)), rng.integers(3, size=800), rng.integers(1, 5, 800)
    order = rng.permutation(800)

    def chosen(X, y, weight):
        rows, mass = weighted_subsample(X, y, weight.astype(float), at_most)
        order = np.lexsort((*X[rows].T, y[rows]))
        return X[rows][order], y[rows][order], mass[order]

    repeated = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    for other in ((X[order], y[order], weight[order]), (*repeated, np.ones(weight.sum()))):
        for one, two in zip(chosen(X, y, weight), chosen(*other), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("parameters", "accuracy"), [({"max_neurons": 12}, 0.93), ({"error_threshold": 0.1}, 0.9)]
)
def test_classes_that_take_turns_are_designed_as_well(parameters, accuracy):
    X, y = make_moons(12000, noise=0.25, random_state=0)
    rows = np.argsort(y, kind="stable").reshape(2, -1).T.ravel()  # one of each class in turn
    clf = FFMLPClassifier(design="readout", random_state=0, **parameters).fit(X[rows], y[rows])
    assert clf.score(X, y) > accuracy


@given(st.data())
def test_merged_samples_are_sorted_by_all_columns_and_equal_ones_are_one(data):
    n, n_features = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 4))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    X = data.draw(arrays(dtype, (n, n_features), elements=st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0])))
    y, members = (data.draw(arrays(np.intp, n, elements=st.integers(0, 2))) for _ in range(2))
    weight = data.draw(arrays(np.float64, n, elements=st.integers(1, 3)))
    given_members = data.draw(st.booleans())
    group = members if given_members else y
    merged = plain_samples(X, y, weight, members if given_members else None).merged()
    order = np.lexsort((*X.T[::-1], group, y))
    table = np.column_stack([y, group, X.astype(np.float64)])[order]
    first = np.flatnonzero(np.append(True, (table[1:] != table[:-1]).any(axis=1)))
    assert merged.X.tobytes() == X[order[first]].tobytes()
    assert merged.X.flags.c_contiguous
    np.testing.assert_array_equal(merged.y, y[order[first]])
    np.testing.assert_array_equal(merged.weight, np.add.reduceat(weight[order], first))
    if given_members:
        np.testing.assert_array_equal(merged.members, members[order[first]])


def test_thinned_samples_have_the_weight_of_all_and_some_of_every_class():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(5000, 2)), np.zeros(5000, int), rng.integers(1, 4, 5000) / 1.0
    y[:2000], y[:3], y[3] = 1, 2, 3
    samples = plain_samples(X, y, weight).merged()
    assert samples.thinned(5000) is samples
    few = samples.thinned(500)
    assert 450 < len(few.y) < 510
    mass = np.bincount(y, weight)
    np.testing.assert_allclose(np.bincount(few.y, few.weight), mass, rtol=0.02)
    assert np.count_nonzero(few.y == 2) == 3  # rare samples are all kept
    mean = np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(np.average(few.X, axis=0, weights=few.weight), mean, atol=0.15)


def test_thinned_samples_do_not_depend_on_how_weight_is_written():
    rng = np.random.default_rng(1)
    X, y, times = rng.normal(size=(900, 2)), rng.integers(3, size=900), rng.integers(1, 5, 900)
    rows = rng.permutation(np.repeat(np.arange(900), times))
    one, two = (
        plain_samples(X[rows], y[rows], weight.astype(float)).merged().thinned(200)
        for rows, weight in ((np.arange(900), times), (rows, np.ones(len(rows))))
    )
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.weight, two.weight)
