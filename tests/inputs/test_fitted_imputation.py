"""What blobs of incomplete samples must do, whatever the samples."""

import numpy as np
import pytest

from ffmlp import FFMLPClassifier
from ffmlp.design.intake import MAX_INPUTS, N_BLOBS, fit_imputation

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


def incomplete(rng, n_samples=120, n_inputs=4, share=0.2):
    """Correlated inputs of two groups, with holes; and the complete ones."""
    X = rng.normal(size=(n_samples, 2)) @ rng.normal(size=(2, n_inputs))
    X += 0.2 * rng.normal(size=X.shape) + 4 * (np.arange(n_samples) % 2)[:, None]
    return np.where(rng.random(X.shape) < share, np.nan, X), X


@hypothesis.given(st.integers(0, 2**32 - 1), st.integers(3, 90), st.integers(1, 6))
@hypothesis.settings(deadline=None, max_examples=25)
def test_imputed_values_lie_within_the_range_of_the_column(seed, n_samples, n_inputs):
    rng = np.random.default_rng(seed)
    X, _ = incomplete(rng, n_samples, n_inputs, 0.4)
    X[:, 1:2] = np.where(np.isnan(X[:, 1:2]), np.nan, 3.0)  # constant
    X[:, 4:5] = np.nan
    imputation = fit_imputation(X, np.ones(n_samples))
    assert len(imputation.log_weights) <= max(1, min(N_BLOBS, n_samples // 20))
    filled = imputation.filled(X)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    for column, values in zip(X.T, filled.T, strict=True):
        seen = column[~np.isnan(column)]
        if len(seen):
            assert seen.min() <= values.min() <= values.max() <= seen.max()
        else:
            assert not values.any()


def test_units_do_not_matter():
    rng = np.random.default_rng(0)
    X, _ = incomplete(rng)
    unit, origin = np.array([1e-6, 1.0, 3e4, 2.0]), np.array([5.0, 0.0, -1e3, 7.0])
    filled = fit_imputation(X, np.ones(len(X))).filled(X)
    scaled = fit_imputation(X * unit + origin, np.ones(len(X))).filled(X * unit + origin)
    np.testing.assert_allclose((scaled - origin) / unit, filled, rtol=1e-6, atol=1e-6)


def test_correlated_columns_give_more_than_their_means():
    X, whole = incomplete(np.random.default_rng(0), 400)
    gone = np.isnan(X)
    filled = fit_imputation(X, np.ones(len(X))).filled(X)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    error, plain = (np.mean((values - whole)[gone] ** 2) for values in (filled, means))
    assert error < 0.2 * plain


@pytest.mark.parametrize("constant", [0.1, -0.7, 1e300])
def test_a_constant_column_does_not_vary_where_it_is_missing(constant):
    """Whatever the number of rows: the mean of equal values is rounded."""
    rng = np.random.default_rng(0)
    for n_rows in range(10, 60):
        X = np.column_stack([np.where(np.arange(n_rows) % 3, constant, np.nan), rng.normal(size=n_rows)])
        filled = fit_imputation(X, np.ones(n_rows)).filled(X)
        np.testing.assert_array_equal(filled[:, 0], constant)


@pytest.mark.filterwarnings("error")
def test_blobs_that_lose_all_their_samples_are_dropped():
    X = np.array([[1e6], [1e6 + 1.3], [1e6 + 2.6], [0.6], [np.nan]])
    imputation = fit_imputation(X, np.full(5, 1e6))
    assert 1 < len(imputation.log_weights) < N_BLOBS
    assert np.isfinite(imputation.log_weights).all()


def test_too_many_columns_have_medians():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, MAX_INPUTS + 1))
    y = (X[:, 0] > 0).astype(int)
    X[3, 5] = np.nan
    assert fit_imputation(X, np.ones(60)) is None
    assert fit_imputation(X[:, :-1], np.ones(60)) is not None
    clf = FFMLPClassifier(design="blob", n_components=1).fit(X, y)
    assert clf.network_.columns.imputation is None
    X_median = X.copy()
    X_median[3, 5] = np.sort(X[:, 5])[29]  # of 59 numbers
    np.testing.assert_array_equal(clf.predict_proba(X), clf.predict_proba(X_median))


@pytest.mark.parametrize("design", ["region", "blob", "readout"])
def test_units_of_a_column_with_holes_do_not_matter_for_predictions(design):
    rng = np.random.default_rng(0)
    X, whole = incomplete(rng, 200)
    y = (whole[:, 0] > whole[:, 1]).astype(int)
    unit = np.array([1.0, 1024.0, 2.0**-20, 1.0])  # exact
    parameters = {"design": design, "max_leaves": 0, "random_state": 0}
    first = FFMLPClassifier(**parameters).fit(X, y)
    second = FFMLPClassifier(**parameters).fit(X * unit, y)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X * unit), atol=1e-6)
    assert first.score(X, y) > 0.8


def test_rows_with_holes_do_not_change_complete_rows_at_prediction():
    X, whole = incomplete(np.random.default_rng(0), 200)
    y = (whole[:, 0] > whole[:, 1]).astype(int)
    clf = FFMLPClassifier(design="blob", random_state=0).fit(X, y)
    complete = ~np.isnan(X).any(axis=1)
    cells = np.array(X)
    np.testing.assert_array_equal(clf.network_.inputs(cells)[complete], X[complete])
    assert clf.network_.inputs(whole) is whole
