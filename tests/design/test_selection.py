import numpy as np
import pytest
from problems import overlapping, plain_samples

from ffmlp import FFMLPClassifier
from ffmlp.design.selection import MAX_SAMPLES_OF_FOLDS, N_FOLDS, N_JUDGED, N_PLANNED, _winner, splits


def merged(X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    return plain_samples(X, y, weight).merged()


def of_two_values(n_samples, seed=0):
    """Three features of two values, so that there are at most 16 distinct samples."""
    rng = np.random.default_rng(seed)
    X = rng.integers(2, size=(n_samples, 3)).astype(float)
    chance = 0.2 + 0.5 * X[:, 0] - 0.15 * X[:, 1] + 0.2 * X[:, 0] * X[:, 2]
    return X, (rng.random(n_samples) < chance).astype(int)


def keys(samples):
    return {tuple(row) for row in np.column_stack([samples.X, samples.y])}


@pytest.mark.parametrize("n_samples", [5, 200, 5000])
def test_parts_of_a_split_share_no_sample_and_no_twin(n_samples):
    X, y = overlapping(n_samples)
    X[1::2] = X[:-1:2]  # twins, of another class
    samples = merged(np.vstack([X, X]), np.concatenate([y, y]))  # and twins of the same one
    parts = splits(samples)
    assert len(parts) == (1 if n_samples == 5000 else N_FOLDS)
    for planned, judged in parts:
        assert not keys(planned) & keys(judged)
        assert (planned.weight == 2).all()
        assert (judged.weight == 2).all()
        for label in range(3) if n_samples > 5 else ():
            assert np.mean(judged.y == label) == pytest.approx(1 / 3, abs=0.05)
    if n_samples == 200:
        assert sum(len(judged.y) for _, judged in parts) == 200
    if n_samples == 5000:
        assert [len(part.y) for part in parts[0]] == [N_PLANNED, N_JUDGED]


@pytest.mark.parametrize("n_rare", [0, 50, MAX_SAMPLES_OF_FOLDS])
@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_frequent_samples_are_in_every_part(n_rare, factor):
    X, y = of_two_values(2200)
    rare = np.random.default_rng(2).normal(size=(n_rare, 3))
    X, y = np.vstack([X, rare]), np.concatenate([y, np.arange(n_rare) % 2])
    samples = merged(X, y, factor * np.ones(len(y)))
    frequent = {key for key in keys(samples) if set(key) <= {0.0, 1.0}}
    parts = splits(samples)
    total = sum(judged.weight.sum() for _, judged in parts)
    for planned, judged in parts:
        assert frequent <= keys(planned)
        assert frequent <= keys(judged)
        assert keys(planned) & keys(judged) == frequent
    if n_rare < MAX_SAMPLES_OF_FOLDS:
        assert total == pytest.approx(samples.weight.sum())
        for planned, judged in parts:
            assert planned.weight.sum() + judged.weight.sum() == pytest.approx(total)
            assert judged.weight.sum() == pytest.approx(total / N_FOLDS, rel=0.02)


def test_weights_of_parts_add_up_exactly_in_any_order():
    X, y = of_two_values(500)
    rng = np.random.default_rng(0)
    for planned, _ in splits(merged(X, y, rng.integers(1, 2**20, 500) / 2**20 + 2)):
        sums = {planned.weight[rng.permutation(16)].sum() for _ in range(50)}
        assert len(sums) == 1


def test_few_distinct_samples_are_judged_by_what_was_seen_of_them():
    X, y = of_two_values(2200)
    clf = FFMLPClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.selection_.accuracies, clf.score(X, y), atol=0.01)


def test_many_distinct_samples_of_which_some_are_frequent():
    rng = np.random.default_rng(3)
    X = rng.choice(6, size=(8000, 5), p=1 / np.arange(1, 7) / np.sum(1 / np.arange(1, 7)))
    noise = rng.normal(size=(6,) * 5)[tuple(X.T)]
    y = (rng.random(8000) < 1 / (1 + np.exp(-noise - rng.normal(size=6)[X[:, 0]]))).astype(int)
    clf = FFMLPClassifier(design="readout", random_state=0).fit(X, y)
    assert len(np.unique(np.column_stack([X, y]), axis=0)) > MAX_SAMPLES_OF_FOLDS
    assert clf.selection_.accuracies.max() > max(np.mean(y), 1 - np.mean(y))


def test_the_error_of_a_mean_gain_counts_weights_as_samples():
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 5, 60)
    importance = weight * rng.choice([0.5, 2.0], 60)
    rows = np.repeat(np.arange(60), weight)
    for shift in np.linspace(0.0, 0.3, 31):
        losses = np.array([np.full(60, 1.0), 1.0 + rng.normal(size=60) - shift])
        share = importance / importance.sum()
        single = (importance / weight)[rows] / importance.sum()
        gain = single @ (losses[0] - losses[1])[rows]
        error = np.sqrt(np.sum((single * ((losses[0] - losses[1])[rows] - gain)) ** 2))
        assert _winner(losses, weight, share) == _winner(losses[:, rows], np.ones(len(rows)), single)
        assert _winner(losses, weight, share) == int(gain > error)


def test_plans_that_differ_by_rounding_are_equal():
    losses = 0.3 + np.random.default_rng(0).random((1, 50)) + np.array([[0.0], [1e-15], [-1e-15]])
    assert _winner(losses, np.ones(50), np.full(50, 1 / 50)) == 0
