import numpy as np
from problems import four_moons, overlapping

from ffmlp.design.mixtures import (
    SAMPLES_PER_CELL,
    bisected,
    cell_blobs,
    nearest,
    principal_axes,
    small_blobs,
)


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
