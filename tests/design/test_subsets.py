import numpy as np
import pytest
from sklearn.datasets import make_moons

from ffmlp import FFMLPClassifier
from ffmlp.design.subsets import evenly, weighted_subsample


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
