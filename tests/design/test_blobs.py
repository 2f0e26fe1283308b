import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import four_moons, overlapping
from sklearn.mixture import GaussianMixture

from ffmlp.design.mixtures import (
    REGULARIZATION,
    SAMPLES_PER_CELL,
    TRUSTED_SAMPLES_PER_FEATURE,
    Mixture,
    Scaling,
    Span,
    assignment,
    bisected,
    cell_blobs,
    expectation,
    fit_mixture,
    labelled_blobs,
    lloyd,
    maximization,
    maximize_likelihood,
    nearest,
    principal_axes,
    seeds,
    shrunk,
    small_blobs,
)


def a_start(X, k, seed=0):
    rng = np.random.default_rng(seed)
    means = X[rng.choice(len(X), k, replace=False)]
    return Mixture(np.full(k, 1 / k), means, np.tile(np.cov(X.T).reshape(X.shape[1], -1), (k, 1, 1)))


def log_likelihood(X, mixture):
    return expectation(mixture, X, np.ones(len(X))).log_likelihood / len(X)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_em_equals_gaussian_mixture_from_the_same_start(k, n_features):
    X, _ = overlapping(300, n_features, seed=k)
    start = a_start(X, k)
    n_steps = 7
    oracle = GaussianMixture(
        k,
        weights_init=start.weights,
        means_init=start.means,
        precisions_init=np.linalg.inv(start.covariances),
        max_iter=n_steps,
        tol=0,
        reg_covar=1e-6,
    )
    with pytest.warns(UserWarning, match="did not converge"):
        oracle.fit(X)
    ours = maximize_likelihood(
        X, np.ones(len(X)), start, tolerance=0, max_iterations=n_steps, regularization=1e-6
    )
    np.testing.assert_allclose(ours.weights, oracle.weights_, rtol=1e-9)
    np.testing.assert_allclose(ours.means, oracle.means_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.covariances, oracle.covariances_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(log_likelihood(X, ours), oracle.score(X), rtol=1e-10)


@pytest.mark.parametrize("n_distinct", [12, 9, 3])
def test_em_of_fewer_samples_than_features_is_that_among_all_features(n_distinct):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(12, 30)), 2 + rng.normal(size=(12, 30))])[:: 24 // n_distinct]
    X, weight, k = np.repeat(X, 2, axis=0)[:24], rng.integers(1, 4, len(X) * 2)[:24].astype(float), 2
    means = lloyd(X, weight, seeds(X, weight, k, np.random.RandomState(0)))
    span = Span.of(X)

    def fitted(samples, origin):
        start = maximization(assignment(origin, samples, weight, nearest(X, means)), origin)
        return maximize_likelihood(samples, weight, start)

    plain = fitted(X, means)
    found = span.mixture(fitted(span.coordinates(X), span.coordinates(means)))
    np.testing.assert_allclose(found.weights, plain.weights, rtol=1e-9)
    np.testing.assert_allclose(found.means, plain.means, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.covariances, plain.covariances, rtol=1e-8, atol=1e-9)


def test_moments_of_blocks_add_up():
    X, _ = overlapping(200, 4)
    weight = np.random.default_rng(0).uniform(0, 3, size=200)
    mixture = a_start(X, 3)
    whole = expectation(mixture, X, weight)
    first, *rest = (expectation(mixture, X[s], weight[s]) for s in np.array_split(np.arange(200), 7))
    total = sum(rest, start=first)
    for name in ("mass", "deviation", "product", "log_likelihood"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12, atol=1e-12)


def test_likelihood_is_as_good_as_scikit_learns_on_moons():
    X, y = four_moons(1200)
    for label in range(4):
        mine = X[y == label]
        oracle = GaussianMixture(3, random_state=0, n_init=5).fit(mine).score(mine)
        best = max(
            log_likelihood(mine, fit_mixture(mine, np.ones(len(mine)), 3, np.random.RandomState(s)))
            for s in range(5)
        )
        assert best > oracle - 0.01


def test_seeds_depend_neither_on_order_nor_on_repetition():
    X, _ = overlapping(50, 2)
    times = np.random.default_rng(2).integers(1, 4, size=50)
    shuffled = np.random.default_rng(3).permutation(np.repeat(np.arange(50), times))
    ours = fit_mixture(X, times.astype(float), 3, np.random.RandomState(0))
    theirs = fit_mixture(X[shuffled], np.ones(len(shuffled)), 3, np.random.RandomState(0))
    np.testing.assert_allclose(ours.means, theirs.means, rtol=1e-9)
    np.testing.assert_allclose(ours.covariances, theirs.covariances, rtol=1e-9, atol=1e-12)


def test_seeds_are_distinct_samples():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], 20, axis=0)
    found = seeds(X, np.ones(60), 10, np.random.RandomState(0))
    assert sorted(map(tuple, found)) == [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]


def test_large_blobs_are_not_shrunk_and_small_ones_lean_on_their_class():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(2, 4, 4))
    covariances = roots @ roots.swapaxes(1, 2)
    enough = TRUSTED_SAMPLES_PER_FEATURE * 4
    np.testing.assert_allclose(shrunk(covariances, np.array([enough, 2 * enough])), covariances)
    small = shrunk(covariances, np.array([1.0, 9 * enough]))
    pooled = np.tensordot([1 / (1 + 9 * enough), 9 * enough / (1 + 9 * enough)], covariances, axes=1)
    np.testing.assert_allclose(small[0], covariances[0] / enough + (1 - 1 / enough) * pooled)
    np.testing.assert_allclose(small[1], covariances[1])


@given(
    arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)),
    st.integers(1, 5),
)
@settings(max_examples=150, deadline=None)
def test_any_samples_make_a_mixture_with_positive_definite_covariances(X, k):
    weight = np.ones(len(X))
    X = Scaling.of(X, weight).apply(X)
    mixture = fit_mixture(X, weight, k, np.random.RandomState(0))
    assert 1 <= len(mixture.weights) <= k
    assert mixture.weights.sum() == pytest.approx(1)
    np.linalg.cholesky(mixture.covariances)


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1.0, 1e12, 1e200])
def test_scaling_standardises_at_any_scale(scale):
    X, _ = overlapping(100, 3)
    X = X * scale
    Z = Scaling.of(X, np.ones(100)).apply(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1)


def test_scaling_sees_small_variations_around_a_large_mean():
    signal = np.random.default_rng(0).normal(size=200_000)
    scaling = Scaling.of((1 + 1e-9 * signal)[:, None], np.ones(200_000))
    assert scaling.scale == pytest.approx([1e-9], rel=0.01)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e12, 1e-12, 1e300])
def test_scaling_leaves_constant_features_alone(value):
    scaling = Scaling.of(np.full((1000, 1), value), np.ones(1000))
    assert scaling.scale == [1.0]
    assert scaling.mean == pytest.approx([value])


def test_known_blobs_have_the_moments_of_their_members():
    X, y = overlapping(400, 2, n_classes=2)
    blob = 2 * y + (X[:, 0] > 0)
    blobs = labelled_blobs(X, y, blob, np.ones(400), Scaling(np.zeros(2), np.ones(2)))
    assert blobs.classes.tolist() == [0, 0, 1, 1]
    for number in range(4):
        np.testing.assert_allclose(blobs.means[number], X[blob == number].mean(axis=0))
        expected = np.cov(X[blob == number].T, bias=True) + 1e-6 * np.eye(2)
        np.testing.assert_allclose(blobs.covariances[number], expected)
    np.testing.assert_allclose(blobs.weights, np.bincount(blob) / 400)


def test_a_feature_that_is_constant_within_given_blobs_has_no_variance_by_rounding():
    X = np.column_stack([np.repeat([0.1, 0.7, 1.3], 50), np.random.default_rng(0).normal(size=150)])
    weight = np.ones(150)
    blobs = labelled_blobs(
        X, np.zeros(150, int), np.repeat([0, 1, 2], 50), weight, Scaling.of(X, weight), shrink=False
    )
    np.testing.assert_allclose(blobs.covariances[:, 0, 0], REGULARIZATION, rtol=1e-15)
    np.testing.assert_allclose(blobs.covariances[:, 0, 1], 0.0, atol=1e-25)


# Cells


def test_bisection_makes_as_many_cells_as_asked_for():
    X, _ = overlapping(300)
    spreads = []
    for n_cells in (1, 2, 3, 7, 50):
        means = bisected(X, np.ones(300), n_cells)
        assert means.shape == (n_cells, 3)
        spreads.append(np.sum((X - means[nearest(X, means)]) ** 2))
    assert (np.diff(spreads) < 0).all()


def test_equal_samples_are_not_divided():
    X = np.repeat([[0.0, 0.0], [1.0, 5.0]], 20, axis=0)
    np.testing.assert_allclose(bisected(X, np.ones(40), 10), [[0.0, 0.0], [1.0, 5.0]])


def test_blobs_are_the_moments_of_their_samples_and_share_the_classes_out():
    X, y = four_moons(900)
    blobs = cell_blobs(X, y, np.ones(900), 60)
    assert abs(len(blobs) - 60) <= 2
    np.testing.assert_allclose(blobs.weights.sum(), 1.0)
    for label in range(4):
        mine = blobs.classes == label
        np.testing.assert_allclose(blobs.weights[mine].sum(), np.mean(y == label))
        share = blobs.weights[mine] / blobs.weights[mine].sum()
        np.testing.assert_allclose(share @ blobs.means[mine], X[y == label].mean(axis=0))
    np.linalg.cholesky(blobs.covariances)


def test_small_classes_have_few_blobs():
    X, y = overlapping(200)
    y = np.where(np.arange(200) < 3, 0, 1 + y % 2)
    blobs = cell_blobs(X, y, np.ones(200), 1000)
    assert np.count_nonzero(blobs.classes == 0) == 1
    assert len(blobs) <= 200 / SAMPLES_PER_CELL + 3


def test_more_samples_never_have_fewer_small_blobs():
    X, y = overlapping(600)
    n_blobs = [len(small_blobs(X, y, np.full(600, n / 600))) for n in (600, 3000, 2e4, 1e5, 1e6, 1e8)]
    assert n_blobs == sorted(n_blobs)
    assert n_blobs[1] < n_blobs[3] < n_blobs[4] < 2 * n_blobs[1]


def test_weights_count_samples_and_order_does_not_matter():
    X, y = overlapping(150)
    times = np.random.default_rng(0).integers(1, 4, size=150)
    rows = np.repeat(np.arange(150), times)[np.random.default_rng(1).permutation(times.sum())]
    weighted = cell_blobs(X, y, times.astype(float), 20)
    repeated = cell_blobs(X[rows], y[rows], np.ones(len(rows)), 20)
    np.testing.assert_allclose(weighted.means, repeated.means)
    np.testing.assert_allclose(weighted.covariances, repeated.covariances)


def test_principal_axes_are_orthonormal_and_keep_most_of_the_variance():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 30)) + 0.01 * rng.normal(size=(400, 30))
    Z -= Z.mean(axis=0)
    axes = principal_axes(Z, np.ones(400), 3)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    assert np.sum((Z @ axes) ** 2) > 0.999 * np.sum(Z**2)


def test_a_value_at_the_mean_is_on_one_side_whatever_rounding_says():
    values = 0.1 * np.arange(7.0)  # their mean is the fourth, but for rounding
    reference = bisected(values[:, None], np.ones(7), 2)
    np.testing.assert_allclose(reference, [[0.15], [0.5]])
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = rng.permutation(values) + rng.normal()
        np.testing.assert_allclose(bisected(moved[:, None], np.ones(7), 2) - moved.min(), reference)
