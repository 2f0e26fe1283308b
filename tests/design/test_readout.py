from dataclasses import replace

import numpy as np
import pytest
from problems import four_moons, overlapping, plain_samples
from scipy.special import logsumexp
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from ffmlp import FFMLPClassifier
from ffmlp.design import least_squares
from ffmlp.design.least_squares import RIDGES, Regressors, best_temperature, fit_readout, spanning
from ffmlp.design.readout import prune_readout
from ffmlp.design.scaling import Scaling
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes


def random_planes(n_planes, n_features, seed=0):
    rng = np.random.default_rng(seed)
    pairs = np.tile([0, 1], (n_planes, 1))
    return Hyperplanes(rng.normal(size=(n_planes, n_features)), rng.normal(size=n_planes), pairs)


def columns(planes, X):
    h = planes.log_odds(X)
    return np.hstack([np.abs(h), h[:, spanning(planes)]])


def test_columns_of_fewer_samples_than_inputs_are_those_of_the_factor():
    """Hyperplanes of all inputs and thresholds of one, some of which are negative."""
    rng = np.random.default_rng(0)
    X, thresholds = rng.normal(3.0, 2.0, (20, 50)), np.repeat(np.eye(50), 2, axis=0)
    thresholds *= rng.normal(size=(100, 1))
    planes = random_planes(5, 50).joined(
        Hyperplanes(thresholds, rng.normal(size=100), np.full((100, 2), NO_BLOB))
    )
    p = len(planes) + len(spanning(planes))
    units = Scaling.of(X, np.ones(len(X)))
    raw = Regressors(planes, spanning(planes), X, units, np.zeros(p), np.zeros(p), np.ones(p))
    np.testing.assert_allclose(raw.of_few(), raw.rows(slice(None)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(raw.of_few(), columns(planes, X), rtol=1e-9, atol=1e-9)


def naive_left_out(F, Y, weight, ridge):
    """Leave one copy of each sample out and solve again."""
    mean = np.average(F, axis=0, weights=weight)
    scale = np.sqrt(np.average((F - mean) ** 2, axis=0, weights=weight))
    F = (F - mean) / scale
    # The means of all samples stay, as they do in the closed form, and the offset has no penalty.
    with_offset, n_columns = np.column_stack([F, np.ones(len(F))]), F.shape[1]
    penalty = np.sqrt(ridge * weight.sum()) * np.eye(n_columns, n_columns + 1)
    predicted = np.empty_like(Y)
    for row in range(len(F)):
        left = weight.copy()
        left[row] -= 1
        root = np.sqrt(left)[:, None]
        equations = np.vstack([root * with_offset, penalty])
        targets = np.vstack([root * Y, np.zeros((n_columns, Y.shape[1]))])
        predicted[row] = with_offset[row] @ np.linalg.lstsq(equations, targets, rcond=None)[0]
    return predicted


@pytest.mark.parametrize("n_planes", [6, 80])  # fewer and more regressors than samples
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_ridge_regression_of_least_leave_one_out_error(n_planes, weighted):
    X, y = overlapping(60)
    weight = np.random.default_rng(1).integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    planes = random_planes(n_planes, 3)
    ours = fit_readout(planes, plain_samples(X, y, weight))
    h, F, Y = planes.log_odds(X), columns(planes, X), np.eye(3)[y]
    errors, rates = [], []
    for ridge in RIDGES:
        left_out = naive_left_out(F, Y, weight, ridge)
        errors.append(weight @ np.sum((Y - left_out) ** 2, axis=1))
        rates.append(weight @ (left_out.argmax(axis=1) != y) / weight.sum())
    best = int(np.argmin(errors))
    assert ours.ridge == RIDGES[best]
    assert ours.error_rate == pytest.approx(rates[best])
    scaled = StandardScaler().fit_transform(F, sample_weight=weight)
    expected = Ridge(ours.ridge * weight.sum()).fit(scaled, Y, weight).predict(scaled)
    np.testing.assert_allclose(np.abs(h) @ ours.even + h @ ours.odd + ours.bias, expected, atol=1e-8)


@pytest.mark.parametrize(("most", "tolerance"), [(0, 1e-9), (1e4, 2e-5)])  # double, single
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_rows_have_the_means_and_spreads_of_all(monkeypatch, most, tolerance, weighted):
    X, y = overlapping(1500)
    X = X + np.where(np.arange(1500) % 300 == 0, 40.0, 0.0)[:, None] + 1e5  # rare, so unlike the others
    weight = np.random.default_rng(1).integers(1, 4, 1500).astype(float) if weighted else np.ones(1500)
    planes = random_planes(12, 3)
    planes = replace(planes, biases=planes.biases - 1e5 * planes.weights.sum(axis=1))
    monkeypatch.setattr(least_squares, "MAX_LEFT_OUT", 200)
    whole = fit_readout(planes, plain_samples(X, y, weight), leave_out=True)
    monkeypatch.setattr(least_squares, "_ENTRIES_AT_ONCE", 0)
    monkeypatch.setattr(least_squares, "_ENTRIES_PER_THREAD", 15 * 97)
    monkeypatch.setattr(least_squares, "_ENTRIES_PER_PRODUCT", 15 * 20)
    monkeypatch.setattr(least_squares, "_MOST_DEVIATIONS", most)
    blocks = fit_readout(planes, plain_samples(X, y, weight), leave_out=True)
    assert whole.ridge == blocks.ridge
    np.testing.assert_allclose(whole.even, blocks.even, atol=tolerance)
    np.testing.assert_allclose(whole.left_out, blocks.left_out, atol=tolerance)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_changes_no_bit(monkeypatch, n_threads):
    X, y = overlapping(900)
    monkeypatch.setattr(least_squares, "_ENTRIES_AT_ONCE", 0)
    monkeypatch.setattr(least_squares, "_ENTRIES_PER_THREAD", 15 * 97)
    monkeypatch.setattr(least_squares, "_ENTRIES_PER_PRODUCT", 15 * 20)

    def readout(n):
        pools = [{"user_api": "blas", "num_threads": 9}, {"user_api": "openmp", "num_threads": n}]
        monkeypatch.setattr(least_squares, "threadpool_info", lambda: pools)
        return fit_readout(random_planes(12, 3), plain_samples(X, y, np.ones(900)), leave_out=True)

    one, several = readout(1), readout(n_threads)
    assert one.even.tobytes() == several.even.tobytes()
    assert one.left_out.tobytes() == several.left_out.tobytes()


def test_few_samples_left_out_are_enough(monkeypatch):
    X, y = overlapping(1200)
    planes = random_planes(12, 3)
    all_of_them = fit_readout(planes, plain_samples(X, y, np.ones(1200)))
    monkeypatch.setattr(least_squares, "MAX_LEFT_OUT", 400)
    some = fit_readout(planes, plain_samples(X, y, np.ones(1200)))
    assert abs(np.log10(all_of_them.ridge / some.ridge)) <= 1
    assert some.temperature == pytest.approx(all_of_them.temperature, rel=0.2)


def loss_by_temperature(evidence, owners, y):
    def loss(factor):
        parts, own = factor * evidence, owners == y[:, None]
        return np.mean(logsumexp(parts, axis=1) - logsumexp(parts, axis=1, b=own))

    return loss


def test_temperature_is_the_best_of_many():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    evidence, owners = 0.3 * np.eye(3)[y] + 0.3 * rng.normal(size=(400, 3)), np.arange(3)
    loss = loss_by_temperature(evidence, owners, y)
    best = best_temperature(evidence, owners, y, np.ones(400))
    assert loss(best) <= min(loss(factor) for factor in np.geomspace(0.1, 50, 60)) + 1e-6


def test_pruning_takes_the_most_telling_hyperplane_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (np.abs(X[:, 2] - 0.3) > 0.8).astype(int)  # a bend of one hyperplane tells the classes
    planes = random_planes(30, 4)
    planes.weights[17], planes.biases[17] = [0, 0, 1, 0], -0.3
    path = prune_readout(planes, X, y, np.ones(300), 2, error_threshold=0.2)
    assert path.kept.tolist() == [17]
    assert len(path.deleted) == 29


def test_pruning_path_agrees_with_least_squares_on_what_was_taken():
    X, y = overlapping(200)
    planes = random_planes(15, 3)
    h = planes.log_odds(X)
    sizes = []
    path = prune_readout(planes, X, y, np.ones(200), 3, 1.0)
    while len(path.deleted):
        sizes.append(len(path.kept))
        some = h[:, path.kept]
        F = np.column_stack([np.abs(some), some, np.ones(200)])
        hat = F @ np.linalg.pinv(F)
        residual = np.eye(3)[y] - hat @ np.eye(3)[y]
        left_out = residual / (1 - np.diag(hat))[:, None]
        wrong = (np.eye(3)[y] - left_out).argmax(axis=1) != y
        assert path.error_rates[-1] == pytest.approx(np.mean(wrong))
        path = prune_readout(planes, X, y, np.ones(200), 3, path.error_rates[-1])
    assert len(sizes) > 1


def test_an_error_threshold_keeps_as_few_as_reach_it_or_all():
    X, y = four_moons(600)
    full = FFMLPClassifier(design="readout").fit(X, y)
    few = FFMLPClassifier(design="readout", error_threshold=0.06).fit(X, y)
    assert len(few.hyperplanes_) < 30 < len(full.hyperplanes_)
    assert few.pruning_path_.error_rates[-1] < 0.06
    assert np.isnan(few.pruning_path_.initial_error_rate)
    assert few.score(X, y) > 0.93
    never = FFMLPClassifier(design="readout", error_threshold=1e-9).fit(X, y)
    assert len(never.hyperplanes_) == len(full.hyperplanes_)
    assert never.pruning_path_.initial_error_rate == full.pruning_path_.initial_error_rate


def test_a_response_that_varies_by_rounding_only_has_no_weight():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (700, 2)).astype(float)
    y = rng.permutation(np.logical_xor(X[:, 0], X[:, 1]) ^ (rng.random(700) < 0.2)).astype(int)
    clf = FFMLPClassifier(design="readout", gaussianise=False, random_state=0).fit(X, y)
    spread = clf.hyperplanes_.log_odds(X).std(axis=0)
    assert (spread < 1e-9).any()  # blobs of two classes in one place
    assert np.abs(clf.network_.stages.even).max() < 1e3


def test_single_precision_gives_no_weight_to_its_rounding_errors(monkeypatch):
    X, y = overlapping(1500)
    X = np.column_stack([X, X[:, 0]])  # equal features that cancel
    planes = random_planes(12, 4)
    planes.weights[5], planes.biases[5] = [1000, 0, 0, -1000], 3
    double = fit_readout(planes, plain_samples(X, y, np.ones(1500)))
    monkeypatch.setattr(least_squares, "_ENTRIES_AT_ONCE", 0)
    single = fit_readout(planes, plain_samples(X, y, np.ones(1500)))
    assert 0 < np.abs(single.even - double.even).max() < 1e-3


def test_temperature_is_the_same_in_any_order_and_moderate_where_classes_are_separated():
    rng = np.random.default_rng(0)
    y, owners = rng.integers(2, size=300), np.array([0, 1, 0, 1])
    for noise in (0.1, 3.0):
        evidence = 2.0 * (owners == y[:, None]) + noise * rng.random((300, 4))
        best = best_temperature(evidence, owners, y, np.ones(300))
        order = rng.permutation(300)
        again = best_temperature(evidence[order] + 5.0, owners, y[order], np.full(300, 2.0))
        assert again == pytest.approx(best, rel=1e-8)
        assert best < 15.0


def test_hyperplanes_that_span_all_are_not_chosen_by_rounding():
    rng = np.random.default_rng(0)
    normals = rng.integers(-2, 3, size=(40, 3)).astype(float)
    planes = Hyperplanes(normals, np.zeros(40), np.tile([0, 1], (40, 1)))
    chosen = spanning(planes)
    assert np.linalg.matrix_rank(normals[chosen]) == len(chosen) == 3
    for _ in range(20):
        rounded = replace(planes, weights=normals * (1 + 1e-15 * rng.normal(size=normals.shape)))
        np.testing.assert_array_equal(spanning(rounded), chosen)


@pytest.mark.parametrize("seed", range(10))
def test_the_temperature_is_the_best_of_several_minima(seed):
    """A class of one near and one far column: at first, the loss rises with the factor."""
    rng = np.random.default_rng(seed)
    owners, y = np.array([0, 0, 1, 1]), np.zeros(200, int)
    evidence = np.array([0.0, -50.0, -5.0, -5.0]) + 3.0 * rng.normal(size=(200, 4))
    loss = loss_by_temperature(evidence, owners, y)
    found = best_temperature(evidence, owners, y, np.ones(200))
    assert loss(found) <= min(loss(factor) for factor in np.exp(np.linspace(-5, 3, 300))) + 1e-4
    assert loss(found) < loss(np.exp(-5)) - 0.05
