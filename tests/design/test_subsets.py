import numpy as np
import pytest
from sklearn.datasets import make_moons

from ffmlp import FFMLPClassifier
from ffmlp.design.subsets import evenly, typical


@pytest.mark.parametrize(("n", "at_most"), [(5, 10), (10, 10), (11, 10), (1000, 7)])
def test_evenly_spaced_numbers(n, at_most):
    numbers = evenly(n, at_most)
    assert len(numbers) == min(n, at_most)
    assert np.ptp(np.diff(numbers)) <= 1


def test_few_samples_are_all_typical():
    X, weight = np.zeros((4, 2)), np.arange(1.0, 5.0)
    rows, mass = typical(X, np.zeros(4, int), weight, 4)
    np.testing.assert_array_equal(rows, np.arange(4))
    np.testing.assert_array_equal(mass, weight)


def test_typical_samples_have_the_shares_of_the_classes_and_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 3)), np.arange(9000) % 3
    weight = np.where(y == 0, 3.0, 1.0) * rng.integers(1, 4, 9000)
    rows, mass = typical(X, y, weight, 500)
    assert mass.sum() == pytest.approx(weight.sum())
    expected = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(np.bincount(y[rows], mass) / mass.sum(), expected, atol=2 / 500)
    mean = np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(np.average(X[rows], axis=0, weights=mass), mean, atol=0.15)


def test_typical_samples_do_not_depend_on_order_or_on_how_weight_is_written():
    rng = np.random.default_rng(1)
    X, y, weight = rng.normal(size=(800, 2)), rng.integers(3, size=800), rng.integers(1, 5, 800)
    order = rng.permutation(800)

    def chosen(X, y, weight):
        rows, mass = typical(X, y, weight.astype(float), 100)
        values, which = np.unique(np.column_stack([X[rows], y[rows]]), axis=0, return_inverse=True)
        return values, np.bincount(which.ravel(), mass)

    repeated = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    for other in ((X[order], y[order], weight[order]), (*repeated, np.ones(weight.sum()))):
        for one, two in zip(chosen(X, y, weight), chosen(*other), strict=True):
            np.testing.assert_allclose(one, two)


@pytest.mark.parametrize(
    ("parameters", "accuracy"), [({"max_neurons": 12}, 0.93), ({"error_threshold": 0.1}, 0.9)]
)
def test_classes_that_take_turns_are_designed_as_well(parameters, accuracy):
    X, y = make_moons(12000, noise=0.25, random_state=0)
    rows = np.argsort(y, kind="stable").reshape(2, -1).T.ravel()  # one of each class in turn
    clf = FFMLPClassifier(design="readout", random_state=0, **parameters).fit(X[rows], y[rows])
    assert clf.score(X, y) > accuracy
