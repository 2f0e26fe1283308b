import numpy as np
import pytest
from problems import overlapping

from ffmlp.inputs.gaussianise import fit_gaussianisation, quantiles

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
numbers = st.floats(-1e6, 1e6)


@hypothesis.given(st.lists(st.tuples(numbers, st.integers(1, 4)), min_size=1, max_size=40))
def test_a_value_of_weight_k_counts_as_k_values(pairs):
    values, weight = (np.array(column, np.float64) for column in zip(*pairs, strict=True))
    repeated = np.repeat(values, weight.astype(int))
    levels = np.linspace(0.05, 0.95, 7)
    expected = quantiles(repeated, np.ones(len(repeated)), levels)
    np.testing.assert_array_equal(quantiles(values, weight, levels), expected)


def test_quantiles_are_those_of_numpy():
    values = np.random.default_rng(0).normal(size=101)
    levels = np.linspace(0.01, 0.99, 23)
    expected = np.quantile(values, levels, method="inverted_cdf")
    np.testing.assert_array_equal(quantiles(values, np.ones(101), levels), expected)


@hypothesis.given(st.lists(numbers, min_size=2, max_size=60), st.lists(numbers, min_size=2, max_size=20))
def test_the_map_is_monotone_and_bounded(values, others):
    column = np.array(values)[:, None]
    scores = fit_gaussianisation(column, np.ones(len(column)))
    mapped = scores.apply(np.sort(np.array(others))[:, None])
    assert (np.diff(mapped[:, 0]) >= -1e-15).all()
    assert np.abs(mapped).max() < 3.0


def test_skewed_features_become_nearly_gaussian():
    X = np.exp(2 * np.random.default_rng(0).normal(size=(5000, 1)))
    Z = fit_gaussianisation(X, np.ones(5000)).apply(X)
    skew = np.mean(((Z - Z.mean()) / Z.std()) ** 3)
    assert abs(skew) < 0.8
    assert np.mean(((X - X.mean()) / X.std()) ** 3) > 10


def test_values_come_back_from_their_scores():
    X, _ = overlapping(500)
    scores = fit_gaussianisation(X, np.ones(500))
    for feature in range(X.shape[1]):
        value = float(np.median(X[:, feature]))
        score = scores.apply(np.full((1, X.shape[1]), value))[0, feature]
        assert scores.values_of(feature, np.array(score)) == pytest.approx(value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "column",
    [np.zeros(9), np.array([0.0] * 8 + [1.0]), np.full(9, 1e300), np.array([-2.0, *[0.0] * 7, 1e-270])],
)
def test_features_that_hardly_vary(column):
    Z = fit_gaussianisation(column[:, None], np.ones(9)).apply(column[:, None])
    assert np.isfinite(Z).all()
    assert len(np.unique(Z)) == len(np.unique(column))


@hypothesis.example([0.0, 2.2250738585e-313], 0.0, 1.0, 0.0)
@hypothesis.example([0.0, 1.0], 5e-324, 1.0, 0.5)
@hypothesis.given(
    st.lists(numbers, min_size=2, max_size=30), numbers, st.floats(1e-6, 1e3), st.floats(-1, 1)
)
def test_no_move_within_the_radius_is_steeper_than_the_steepest(values, x, radius, share):
    scores = fit_gaussianisation(np.array(values)[:, None], np.ones(len(values)))
    steepest = scores.steepest(np.array([[x]]), np.array([[radius]]))[0, 0]
    assert np.isfinite(steepest)
    moved = x + share * radius
    rise = abs(scores.apply(np.array([[moved]])) - scores.apply(np.array([[x]])))[0, 0]
    assert rise <= steepest * (abs(moved - x) + 1e-9 * abs(x)) + 1e-9


def test_a_rounded_score_of_zero_is_zero():
    scores = fit_gaussianisation(np.array([[0.0], [0.0], [1.0]]), np.ones(3))
    of_zero = scores.apply(np.zeros((1, 1)))
    slightly_more = np.nextafter(of_zero, np.inf)
    assert slightly_more > of_zero
    np.testing.assert_array_equal(scores.values(slightly_more), [[0.0]])
    assert scores.values_of(0, slightly_more[0, 0]) == 0.0
