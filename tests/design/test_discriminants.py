import warnings

import numpy as np
import pytest
from problems import IRIS, overlapping
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ffmlp import Blobs, FFMLPClassifier, two_class_lda
from ffmlp.design.lda import error_probability, heteroscedastic, lda, pairs_of_different_classes


@pytest.mark.parametrize(
    ("data", "rtol"),
    [
        *((overlapping(n_samples, 6, n_classes=2), 1e-3) for n_samples in (20, 40)),
        (overlapping(2000, 6, n_classes=2), 1e-4),
        (IRIS, 0.02),
        (load_breast_cancer(return_X_y=True), 0.02),
    ],
)
def test_two_class_lda_is_that_of_scikit_learn(data, rtol):
    X, y = (part[data[1] < 2] for part in data)
    ours = two_class_lda(X, y)
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    # scikit-learn's is positive for the second class.
    h = -ours.log_odds(X)[:, 0]
    np.testing.assert_allclose(h, oracle.decision_function(X), rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(h > 0, oracle.predict(X) == 1)


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
    monkeypatch.setattr("ffmlp.design.lda._ENTRIES_AT_ONCE", 40)  # more than one block of pairs
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
    np.testing.assert_array_equal(ours.weights, oracle.weights)
    np.testing.assert_array_equal(ours.biases, oracle.biases)


def random_pairs(n_pairs, n_features, seed=0):
    """Pairs of blobs, near and far, of all shares, whose spreads differ by orders of magnitude."""
    rng = np.random.default_rng([seed, n_features])
    rotations = np.linalg.qr(rng.normal(size=(2 * n_pairs, n_features, n_features)))[0]
    variances = 10 ** rng.uniform(-2, 2, size=(2 * n_pairs, 1, n_features))
    means = rng.normal(size=(n_pairs, 2, n_features)) * 10 ** rng.uniform(-2, 1, size=(n_pairs, 1, 1))
    share = rng.uniform(0.02, 0.98, size=n_pairs)
    blobs = Blobs(
        np.tile([0, 1], n_pairs),
        means.reshape(-1, n_features),
        rotations * variances @ rotations.swapaxes(1, 2),
        np.column_stack([share, 1 - share]).ravel() / n_pairs,
    )
    return blobs, np.arange(2 * n_pairs).reshape(-1, 2)


def pair_of_blobs(mean, variances_i, variances_j, share):
    """Blobs along the axes: the first around a mean, the second around the origin."""
    covariances = np.stack([np.diag(variances_i), np.diag(variances_j)]).astype(float)
    means = np.stack([mean, np.zeros(len(mean))])
    return Blobs(np.arange(2), means, covariances, np.array([share, 1 - share]))


def least_error(blobs, pair, n_random=8):
    """The least error of a pair, by BFGS over (w, b) from many starts, and by constant rules."""
    rng, (i, j) = np.random.default_rng(0), pair
    # Coordinates in which the two covariances add up to the identity, and the second mean is 0.
    root = np.linalg.inv(np.linalg.cholesky(blobs.covariances[i] + blobs.covariances[j]))
    covariances = root @ blobs.covariances[[i, j]] @ root.T
    mean = root @ (blobs.means[i] - blobs.means[j])
    share = blobs.weights[i] / (blobs.weights[i] + blobs.weights[j])
    sides = [(1, share, mean, covariances[0]), (-1, 1 - share, 0 * mean, covariances[1])]

    def error(rule):
        total, gradient = 0.0, np.zeros_like(rule)
        for sign, weight, centre, covariance in sides:
            along = covariance @ rule[:-1]
            spread = np.sqrt(rule[:-1] @ along)
            side = sign * (rule[:-1] @ centre + rule[-1]) / spread
            total += weight * ndtr(-side)
            slope = -weight * np.exp(-0.5 * side**2) / np.sqrt(2 * np.pi) / spread
            gradient += slope * np.append(sign * centre - side / spread * along, sign)
        return total, gradient

    starts = [mean + 1e-9, *np.linalg.eigh(covariances[0])[1].T, *rng.normal(size=(n_random, len(mean)))]
    found = [min(share, 1 - share)]
    for w in starts:
        w = w / np.linalg.norm(w) * (-1 if w @ mean < 0 else 1)
        rule = np.append(w, rng.normal() - 0.5 * w @ mean)
        found.append(minimize(error, rule, jac=True, method="BFGS", options={"gtol": 1e-9}).fun)
    return min(found)


@pytest.mark.parametrize("n_features", range(1, 11))
def test_heteroscedastic_is_the_best_linear_rule(n_features):
    blobs, pairs = random_pairs(15, n_features)
    ours = error_probability(blobs, heteroscedastic(blobs, pairs))
    theirs = np.array([least_error(blobs, pair) for pair in pairs])
    assert (ours <= error_probability(blobs, lda(blobs, pairs))).all()
    assert (ours <= theirs + 1e-6).all()
    # The optimisation is no straw man.
    assert np.mean(theirs <= ours + 1e-6) > 0.9


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


# Mean, variances of both blobs, share of the first, and the least error. The optimum is near an end of
# the family, at an end, or a constant rule.
DIFFICULT = [
    ([0.1, -0.2], [0.03, 4.5], [0.18, 0.03], 0.4, 0.220963),
    ([-0.3, -0.1, -0.2], [5.47, 2.4, 0.02], [0.91, 7.67, 7.66], 0.6, 0.212427),
    ([-0.1, 0.1, 0.0], [0.37, 9.19, 0.04], [0.55, 6.23, 6.79], 0.5, 0.290286),
    ([0.0, 0.0], [3.26, 0.05], [0.07, 0.03], 0.5, 0.318998),
    ([0.7, 0.0], [0.09, 0.09], [1.0, 1.0], 0.2, 0.2),
]


@pytest.mark.parametrize(("mean", "variances_i", "variances_j", "share", "least"), DIFFICULT)
def test_heteroscedastic_finds_optima_at_the_ends(mean, variances_i, variances_j, share, least):
    blobs = pair_of_blobs(mean, variances_i, variances_j, share)
    error = error_probability(blobs, heteroscedastic(blobs, PAIR))
    assert error[0] == pytest.approx(least, abs=1e-6)
    assert least_error(blobs, PAIR[0], n_random=40) == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_heteroscedastic_separates_concentric_blobs(n_features):
    """Along any line, the best threshold is where the densities of spreads 1 and 3 are equal."""
    ones = np.ones(n_features)
    blobs = pair_of_blobs(0 * ones, ones, 9 * ones, share=0.5)
    threshold = np.sqrt(2 * np.log(3) / (1 - 1 / 9))
    least = 0.5 * norm.sf(threshold) + 0.5 * norm.cdf(threshold / 3)
    error = error_probability(blobs, heteroscedastic(blobs, PAIR))[0]
    assert error == pytest.approx(least, abs=1e-9)
    assert error == pytest.approx(0.38, abs=0.01)


IDENTICAL = [0.0, 0.0], [1.0, 2.0], [1.0, 2.0]
WITHIN = [0.7, 0.0], [0.09, 0.09], [1.0, 1.0]


@pytest.mark.parametrize(
    ("pair", "share"), [*((IDENTICAL, share) for share in (0.2, 0.5, 0.8)), (WITHIN, 0.2)]
)
@pytest.mark.parametrize("first", [0, 1])
def test_identical_blobs_and_a_narrow_one_within_another_get_the_constant_rule(pair, share, first):
    blobs = pair_of_blobs(*pair, share)
    plane = heteroscedastic(blobs, np.array([[first, 1 - first]]))
    assert not plane.weights.any()
    assert plane.biases[0] == pytest.approx((1 - 2 * first) * np.log(share / (1 - share)))
    assert error_probability(blobs, plane)[0] == pytest.approx(min(share, 1 - share))


def test_heteroscedastic_does_not_depend_on_the_order_of_the_blobs():
    blobs, pairs = random_pairs(200, 3)
    ours, swapped = heteroscedastic(blobs, pairs), heteroscedastic(blobs, pairs[:, ::-1])
    error = error_probability(blobs, ours)
    np.testing.assert_allclose(error_probability(blobs, swapped), error, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_heteroscedastic_does_not_depend_on_the_coordinates(scale):
    blobs, pairs = random_pairs(200, 3)
    affine = scale * np.array([[1.0, 0.5, 0.0], [0.0, 2.0, -1.0], [0.3, 0.0, 0.1]])
    mapped = Blobs(
        blobs.classes,
        blobs.means @ affine.T + scale,
        affine @ blobs.covariances @ affine.T,
        blobs.weights,
    )
    error = error_probability(blobs, heteroscedastic(blobs, pairs))
    ours = error_probability(mapped, heteroscedastic(mapped, pairs))
    np.testing.assert_allclose(ours, error, rtol=1e-6, atol=1e-8)


def test_shares_of_almost_one_raise_no_warning():
    X, y = overlapping(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = FFMLPClassifier(
            2, design="region", discriminant="heteroscedastic", class_weight={0: 1e-6}, random_state=0
        ).fit(X, y, np.where(y == 0, 1e-12, 1.0))
    assert np.isfinite(clf.hyperplanes_.weights).all()
