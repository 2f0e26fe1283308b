import numpy as np
import pytest
from problems import IRIS, overlapping
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ffmlp import Blobs, Hyperplanes, two_class_lda
from ffmlp.design.discriminants import (
    error_probability,
    heteroscedastic,
    lda,
    pairs_of_different_classes,
)


@pytest.mark.parametrize("data", [IRIS, load_breast_cancer(return_X_y=True)], ids=["iris", "bcw"])
def test_two_class_lda_agrees_with_scikit_learn(data):
    X, y = data
    X, y = X[y < 2], y[y < 2]
    ours = two_class_lda(X, y)
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    # scikit-learn's is positive for the second class.
    h = -ours.log_odds(X)[:, 0]
    np.testing.assert_allclose(h, oracle.decision_function(X), rtol=0.02, atol=0.02)
    np.testing.assert_array_equal(h > 0, oracle.predict(X) == 1)


def test_two_class_lda_weights_equal_scikit_learns():
    X, y = overlapping(2000, 4, n_classes=2)
    ours = two_class_lda(X, y)
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(-ours.weights, oracle.coef_, rtol=1e-4)
    np.testing.assert_allclose(-ours.biases, oracle.intercept_, rtol=1e-4)


@pytest.mark.parametrize("n_samples", [20, 40])
def test_two_class_lda_agrees_with_scikit_learn_on_few_samples(n_samples):
    X, y = overlapping(n_samples, 6, n_classes=2)
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(-two_class_lda(X, y).weights, oracle.coef_, rtol=1e-3)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_two_class_lda_refuses_other_numbers_of_classes(n_classes):
    X, y = overlapping(30, 2, n_classes=n_classes)
    with pytest.raises(ValueError, match=f"exactly 2 classes, got {n_classes}"):
        two_class_lda(X, y)


def random_blobs(n_blobs, n_features, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n_blobs, n_features, n_features + 2))
    weights = rng.uniform(0.1, 1, size=n_blobs)
    return Blobs(
        np.sort(rng.integers(3, size=n_blobs)),
        rng.normal(size=(n_blobs, n_features)),
        roots @ roots.swapaxes(1, 2),
        weights / weights.sum(),
    )


def test_pairs_are_all_pairs_of_different_classes():
    blobs = random_blobs(9, 2)
    expected = [
        [i, j] for i in range(9) for j in range(i + 1, 9) if blobs.classes[i] != blobs.classes[j]
    ]
    assert pairs_of_different_classes(blobs).tolist() == expected


def test_lda_is_the_formula_pair_by_pair(monkeypatch):
    monkeypatch.setattr(
        "ffmlp.design.discriminants._ENTRIES_AT_ONCE", 40
    )  # more than one block of pairs
    blobs = random_blobs(8, 3)
    planes = lda(blobs, pairs_of_different_classes(blobs))
    for (i, j), w, b in zip(planes.pairs, planes.weights, planes.biases, strict=True):
        n_i, n_j = blobs.weights[i], blobs.weights[j]
        pooled = (n_i * blobs.covariances[i] + n_j * blobs.covariances[j]) / (n_i + n_j)
        inverse = np.linalg.inv(pooled)
        mu_i, mu_j = blobs.means[i], blobs.means[j]
        bias = 0.5 * mu_j @ inverse @ mu_j - 0.5 * mu_i @ inverse @ mu_i + np.log(n_i / n_j)
        np.testing.assert_allclose(w, inverse @ (mu_i - mu_j), rtol=1e-9)
        np.testing.assert_allclose(b, bias, rtol=1e-9)


PAIR = np.array([[0, 1]])


def test_error_probability_is_what_samples_show():
    blobs = random_blobs(2, 3)
    plane = lda(blobs, PAIR)
    rng = np.random.default_rng(0)
    share = blobs.weights[0] / blobs.weights[:2].sum()
    wrong = [
        np.mean(sign * plane.log_odds(rng.multivariate_normal(mean, covariance, 200_000)) < 0)
        for mean, covariance, sign in zip(blobs.means, blobs.covariances, (1, -1), strict=True)
    ]
    expected = share * wrong[0] + (1 - share) * wrong[1]
    assert error_probability(blobs, plane)[0] == pytest.approx(expected, abs=3e-3)


def test_heteroscedastic_is_lda_for_equal_covariances():
    blobs = random_blobs(6, 4)
    shared = Blobs(blobs.classes, blobs.means, np.tile(blobs.covariances[:1], (6, 1, 1)), blobs.weights)
    pairs = pairs_of_different_classes(shared)
    ours, oracle = heteroscedastic(shared, pairs), lda(shared, pairs)
    np.testing.assert_allclose(ours.weights, oracle.weights, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ours.biases, oracle.biases, rtol=1e-3, atol=1e-3)


def test_heteroscedastic_never_errs_more_than_lda():
    for n_features in (1, 2, 5, 12):
        blobs = random_blobs(14, n_features, seed=n_features)
        pairs = pairs_of_different_classes(blobs)
        ours = error_probability(blobs, heteroscedastic(blobs, pairs))
        theirs = error_probability(blobs, lda(blobs, pairs))
        assert (ours <= theirs).all()
        assert (ours < theirs - 0.01).any()


@pytest.mark.parametrize("seed", range(8))
def test_heteroscedastic_is_the_best_linear_rule(seed):
    blobs = random_blobs(2, 1 + seed % 3, seed)
    start = lda(blobs, PAIR)

    def error(parameters):
        return error_probability(blobs, Hyperplanes(parameters[None, :-1], parameters[-1:], PAIR))[0]

    rng = np.random.default_rng(seed)
    origin = np.append(start.weights, start.biases)
    starts = [origin, *(origin + rng.normal(size=len(origin)) for _ in range(4))]
    options = {"maxiter": 3000, "xatol": 1e-8, "fatol": 1e-11}
    best = min(minimize(error, x, method="Nelder-Mead", options=options).fun for x in starts)
    assert error_probability(blobs, heteroscedastic(blobs, PAIR))[0] <= best + 1e-6


def test_heteroscedastic_response_is_a_log_odds_at_the_boundary():
    """Along w, the two blobs are Gaussians on a line whose log-odds are known."""
    blobs = random_blobs(2, 3, seed=4)
    plane = heteroscedastic(blobs, PAIR)
    w, b = plane.weights[0], plane.biases[0]
    mean = blobs.means @ w + b
    spread = np.sqrt([w @ covariance @ w for covariance in blobs.covariances])

    def log_odds(h):
        densities = norm.logpdf(h, mean, spread) + np.log(blobs.weights)
        return densities[0] - densities[1]

    assert log_odds(0.0) == pytest.approx(0, abs=1e-3)
    assert (log_odds(1e-4) - log_odds(-1e-4)) / 2e-4 == pytest.approx(1, abs=1e-2)


def test_lda_is_kept_where_covariances_are_equal():
    rng = np.random.default_rng(0)
    covariances = np.tile(np.cov(rng.normal(size=(3, 50))), (4, 1, 1))
    blobs = Blobs(np.arange(4), rng.normal(size=(4, 3)), covariances, np.full(4, 0.25))
    pairs = pairs_of_different_classes(blobs)
    np.testing.assert_array_equal(heteroscedastic(blobs, pairs).weights, lda(blobs, pairs).weights)
