"""Conditional means against the textbook's partitioned covariance, one row at a time."""

import numpy as np
import pytest

from ffmlp.inputs.imputation import Imputation

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


def random_imputation(rng, n_inputs, n_blobs, wide=True):
    """Blobs with random covariances; a wide range does not bind."""
    factor = rng.normal(size=(n_blobs, n_inputs, n_inputs))
    covariances = factor @ factor.transpose(0, 2, 1) / n_inputs + 0.1 * np.eye(n_inputs)
    precisions = np.linalg.inv(covariances)
    weights = rng.dirichlet(np.full(n_blobs, 3.0))
    log_weights = np.log(weights) + 0.5 * np.linalg.slogdet(precisions)[1]
    reach = 1e9 if wide else 0.5
    centre, scale = rng.normal(size=n_inputs), rng.uniform(0.5, 3.0, n_inputs)
    means = rng.normal(size=(n_blobs, n_inputs))
    low, high = centre - reach, centre + reach
    return Imputation(centre, scale, low, high, log_weights, means, precisions), weights, covariances


def holes(rng, X, share=0.4):
    return np.where(rng.random(X.shape) < share, np.nan, X)


def naive(imputation, weights, covariances, row):
    """The mean of the missing inputs given the others, under a mixture whose density they complete."""
    gone = np.isnan(row)
    z = (row - imputation.centre) / imputation.scale
    densities, found = [], []
    for weight, mean, covariance in zip(weights, imputation.means, covariances, strict=True):
        whole = np.where(gone, mean, z)
        if not gone.all():
            across = covariance[np.ix_(gone, ~gone)]
            inner = covariance[np.ix_(~gone, ~gone)]
            whole[gone] = mean[gone] + across @ np.linalg.solve(inner, (z - mean)[~gone])
        away = whole - mean
        distance = away @ np.linalg.inv(covariance) @ away
        densities.append(weight * np.exp(-0.5 * distance) / np.sqrt(np.linalg.det(covariance)))
        found.append(whole)
    share = np.array(densities) / np.sum(densities)
    value = share @ np.array(found) * imputation.scale + imputation.centre
    return np.where(gone, np.clip(value, imputation.low, imputation.high), row)


@hypothesis.given(
    st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4), st.integers(1, 12), st.booleans()
)
@hypothesis.settings(deadline=None, max_examples=60)
def test_conditional_means_against_the_partitioned_covariance(seed, n_inputs, n_blobs, n_rows, wide):
    rng = np.random.default_rng(seed)
    imputation, weights, covariances = random_imputation(rng, n_inputs, n_blobs, wide)
    X = holes(rng, rng.normal(size=(n_rows, n_inputs)))
    filled = imputation.filled(X)
    expected = np.array([naive(imputation, weights, covariances, row) for row in X])
    np.testing.assert_allclose(filled, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    gone = np.isnan(X)
    low, high = (np.broadcast_to(part, X.shape)[gone] for part in (imputation.low, imputation.high))
    assert ((filled[gone] >= low) & (filled[gone] <= high)).all()


@pytest.mark.filterwarnings("error")
def test_rows_far_away_are_completed_with_values_within_range():
    imputation, *_ = random_imputation(np.random.default_rng(0), 3, 4, wide=False)
    X = np.array([[1e300, np.nan, -1e150], [np.nan, 1e6, np.nan], [np.nan, 1.7e308, 1.0]])
    filled, gone = imputation.filled(X), np.isnan(X)
    low, high = (np.broadcast_to(part, X.shape) for part in (imputation.low, imputation.high))
    assert ((filled >= low) & (filled <= high))[gone].all()
    np.testing.assert_array_equal(filled[~gone], X[~gone])


def test_rows_do_not_depend_on_each_other(monkeypatch):
    rng = np.random.default_rng(0)
    imputation, *_ = random_imputation(rng, 4, 3)
    X = holes(rng, rng.normal(size=(700, 4)))
    whole = imputation.filled(X)
    monkeypatch.setattr("ffmlp.inputs.imputation.ENTRIES_AT_ONCE", 7 * 16)
    np.testing.assert_array_equal(imputation.filled(X), whole)
    np.testing.assert_array_equal(imputation.filled(X[::-1])[::-1], whole)
