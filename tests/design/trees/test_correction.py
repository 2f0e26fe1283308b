import numpy as np
import pytest
from problems import plain_samples
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import log_loss

from ffmlp import FFMLPClassifier, classifier
from ffmlp.design.trees import correction
from ffmlp.design.trees.correction import Sequences, TreeSamples, best_link, dealt, grow_trees
from ffmlp.design.trees.growth import Ranks, Tree


def checkerboard(n_samples=1200, seed=0):
    """Classes on a board of 4 × 4 fields: boundaries follow single features."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, size=(n_samples, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


def regression(n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    h = rng.normal(size=(n_samples, 3)).astype(np.float32)
    return h, np.column_stack([h[:, 0] > 0.3, h[:, 1] * h[:, 2]]) + 0.1 * rng.normal(size=(n_samples, 2))


def folds(samples):
    return np.arange(len(samples)) % correction.N_FOLDS


def ranks(h):
    return Ranks.of(h, np.ones(len(h)))


def trees_of(h, y, shares, left_out):
    """The trees for samples of two classes with these responses and left-out evidence."""
    classes, weight = np.eye(2)[y] - shares, np.ones(len(y))
    samples = TreeSamples(ranks(h), classes, left_out - shares, weight, folds(y))
    return grow_trees(samples, np.arange(h.shape[1]), np.inf)[1]


def test_trees_find_what_the_readout_cannot():
    X, y = checkerboard()
    X_test, y_test = checkerboard(seed=1)
    smooth, corrected = (
        FFMLPClassifier(design="readout", max_leaves=number, random_state=0).fit(X, y)
        for number in (0, "auto")
    )
    assert smooth.n_leaves_ == 0
    assert corrected.n_leaves_ > 16
    assert corrected.score(X_test, y_test) > smooth.score(X_test, y_test) + 0.01
    assert corrected.score(X_test, y_test) > 0.95


@pytest.mark.parametrize("limit", [0, 1, 9, 10, 100, 5000])
def test_there_are_no_more_leaves_than_allowed(limit):
    X, y = checkerboard()
    clf = FFMLPClassifier(design="readout", max_leaves=limit, random_state=0).fit(X, y)
    assert clf.n_leaves_ <= limit
    assert (clf.n_leaves_ > 0) == (limit >= 100)


def test_permuted_labels_give_the_rate_of_the_largest_class():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.repeat(X, 4, axis=0) + rng.normal(size=(4 * len(X), X.shape[1])) * X.std(axis=0) / 10
    accuracies = []
    for seed in range(3):
        labels = rng.permutation(np.repeat(y, 4))
        clf = FFMLPClassifier(design="readout", max_leaves="auto", random_state=seed).fit(
            X[::2], labels[::2]
        )
        accuracies.append(clf.score(X[1::2], labels[1::2]))
    assert np.mean(accuracies) == pytest.approx(np.bincount(y).max() / len(y), abs=0.05)


def equal_networks(first, second):
    a, b = first.network_.stages, second.network_.stages
    for name in ("hyperplanes", "thresholds", "children", "roots", "values"):
        np.testing.assert_array_equal(getattr(a.trees, name), getattr(b.trees, name))
    assert (a.power, a.floor) == (b.power, b.floor)
    np.testing.assert_array_equal(a.even, b.even)


def test_weights_are_frequencies_and_the_order_of_samples_does_not_matter():
    X, y = checkerboard(700)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    clf = FFMLPClassifier(design="readout", gaussianise=False, max_leaves="auto", random_state=0)
    weighted = FFMLPClassifier(**clf.get_params()).fit(X, y, sample_weight=weight)
    assert weighted.n_leaves_ > 0
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight))
    equal_networks(weighted, FFMLPClassifier(**clf.get_params()).fit(X[rows], y[rows]))


def test_the_same_samples_give_the_same_trees_with_any_seed():
    X, y = checkerboard()
    equal_networks(
        *(
            FFMLPClassifier(design="readout", max_leaves="auto", random_state=seed).fit(X, y)
            for seed in (0, None)
        )
    )


def test_class_weights_move_the_evidence_of_trees():
    X, y = checkerboard()
    even = FFMLPClassifier(design="readout", max_leaves="auto", random_state=0).fit(X, y)
    heavy = FFMLPClassifier(
        design="readout", max_leaves="auto", random_state=0, class_weight={1: 20.0}
    ).fit(X, y)
    assert heavy.predict(X).mean() > even.predict(X).mean()


def test_trees_alone_classify_where_the_readout_knows_nothing():
    h, _ = regression(300)
    y = (h[:, 0] * h[:, 1] > 0).astype(int)
    shares = np.bincount(y) / len(y)
    left_out = np.tile(shares, (len(y), 1))  # a readout that knows nothing
    evidence = trees_of(h, y, shares, left_out).evidence(h.astype(np.float64))
    assert np.mean((shares + evidence).argmax(axis=1) == y) > 0.9
    np.testing.assert_allclose(evidence.sum(axis=1), 0, atol=1e-12)  # shares of all classes add up


def test_no_trees_where_the_readout_is_right():
    h, _ = regression(300)
    y = (h[:, 0] > 0).astype(int)
    assert trees_of(h, y, np.bincount(y) / len(y), left_out=np.eye(2)[y]) is None


def test_the_link_has_the_least_log_loss():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    evidence = 0.2 + 0.5 * np.eye(3)[y] + 0.2 * rng.normal(size=(500, 3))
    power, floor = best_link(evidence, y, np.ones(500))

    def loss(power, floor):
        p = np.maximum(evidence, floor) ** power
        loss = -np.mean(np.log((p / p.sum(axis=1, keepdims=True))[np.arange(500), y]))
        return loss + 10 * np.log(power) ** 2 / 500  # the power of few samples stays near 1

    best = loss(power, floor)
    for factor in (0.8, 0.9, 1.1, 1.25):
        assert best <= loss(power * factor, floor) + 1e-4
    for other in 10.0 ** np.arange(-3.5, -0.9, 0.5):
        assert best <= loss(power, other) + 1e-4


def test_samples_that_cannot_be_split_have_no_trees():
    h = np.zeros((40, 2), np.float32)
    y = np.arange(40) % 2
    assert trees_of(h, y, np.full(2, 0.5), left_out=np.full((40, 2), [0.9, 0.1])) is None


@pytest.fixture
def many(monkeypatch):
    """600 samples are many: trees also grow one after the other."""
    monkeypatch.setattr(correction, "MANY_SAMPLES", 600)


def test_sequences_of_trees_find_what_the_readout_cannot(many):
    X, y = checkerboard(3000)
    X_test, y_test = checkerboard(seed=1)
    clf = FFMLPClassifier(random_state=0).fit(X, y)
    trees = clf.network_.stages.trees
    assert len(trees.roots) > 2 * 20  # more than two sequences of the fewest rounds
    assert clf.score(X_test, y_test) > 0.95
    limited = FFMLPClassifier(max_leaves=3000, random_state=0).fit(X, y)
    assert 0 < limited.n_leaves_ <= 3000


def test_sequences_for_more_classes_than_channels(many):
    X, y = load_digits(return_X_y=True)
    clf = FFMLPClassifier(random_state=0).fit(X[::2], y[::2])
    assert clf.n_leaves_ > 0
    assert clf.score(X[1::2], y[1::2]) > 0.97


@pytest.mark.parametrize("n_samples", [500, 1500])
def test_threads_change_no_bit(many, n_samples, monkeypatch):
    X, y = checkerboard(n_samples)
    weight = np.random.default_rng(0).integers(1, 4, n_samples)
    one, two = (
        FFMLPClassifier(design="readout", n_jobs=n_jobs).fit(X, y, sample_weight=weight)
        for n_jobs in (None, 2)
    )
    assert one.n_leaves_ > 0
    equal_networks(one, two)
    monkeypatch.setattr(classifier, "_ROWS_WORTH_A_THREAD", 100)
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(one, method)(X), getattr(two, method)(X))


@pytest.mark.parametrize("n_samples", [30, 20_000, 130_001])
def test_all_trees_together_see_every_sample_and_none_of_its_fold(n_samples):
    each = np.arange(n_samples)
    _, _, fold = dealt(plain_samples(each[:, None].astype(float), each % 3, np.ones(n_samples)).merged())
    values = np.zeros((n_samples, 2))
    h = np.zeros((n_samples, 1), np.float32)
    samples = TreeSamples(ranks(h), values, values, np.ones(n_samples), fold)
    n_trees = -(-n_samples // 50_000) * samples.n_folds
    seen = np.zeros(n_samples, int)
    for number in range(n_trees):
        inside, out = samples.parts(number, 50_000)
        assert len(inside) <= 50_000
        assert not np.isin(out, inside).any()
        np.testing.assert_array_equal(fold[out], number % samples.n_folds)
        seen[inside] += 1
    assert seen.min() >= 1


def test_sums_along_random_axes_do_not_overflow(monkeypatch):
    """Residuals of 20 classes that all point in one direction, along which random axes may lie."""
    n, n_classes, largest = 500, 20, []
    h = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    classes = np.where(h[:, [0]] > 0, 1.0, -1.0) * (np.arange(n_classes) - (n_classes - 1) / 2)
    grown = Tree.grown

    def spy(ranks, targets, *args, **options):
        largest.append(np.abs(targets.astype(np.int64)).sum(axis=0).max())
        return grown(ranks, targets, *args, **options)

    monkeypatch.setattr(Tree, "grown", spy)
    Sequences(TreeSamples(ranks(h), classes, 0 * classes, np.ones(n), folds(h))).go_on(3)
    assert 2**20 < max(largest) < 2**31


@pytest.mark.parametrize("seed", range(5))
def test_equal_inputs_are_left_out_together(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (80, 2)).astype(float)
    merged = plain_samples(X, rng.integers(0, 3, 80), rng.integers(1, 3, 80) / 2).merged()
    samples, rows, fold = dealt(merged)
    np.testing.assert_array_equal(samples.X, merged.X[rows])
    np.testing.assert_array_equal(samples.y, merged.y[rows])
    frequent = merged.weight >= correction.N_FOLDS
    for sample in np.flatnonzero(frequent):
        copies = rows == sample
        assert fold[copies].tolist() == list(range(correction.N_FOLDS))
        np.testing.assert_allclose(samples.weight[copies].sum(), merged.weight[sample], rtol=1e-12)
    single = ~frequent[rows]
    np.testing.assert_array_equal(np.sort(rows[single]), np.flatnonzero(~frequent))
    np.testing.assert_allclose(samples.weight[single], merged.weight[rows[single]], rtol=1e-12)
    folds_of = {}
    for point, number in zip(map(tuple, samples.X[single]), fold[single], strict=True):
        folds_of.setdefault(point, set()).add(int(number))
    assert all(len(numbers) == 1 for numbers in folds_of.values())


def test_some_samples_are_divided_and_others_are_not():
    X = np.repeat(np.arange(4.0), [40, 3, 2, 2])[:, None]
    merged = plain_samples(X, np.zeros(len(X), int), np.ones(len(X))).merged()
    samples, rows, fold = dealt(merged)
    np.testing.assert_array_equal(rows, [0] * 5 + [1, 2, 3])
    np.testing.assert_array_equal(samples.weight, [8.0] * 5 + [3.0, 2.0, 2.0])
    np.testing.assert_array_equal(fold, [0, 1, 2, 3, 4, 1, 2, 3])


def test_distinct_samples_are_dealt_in_turn():
    X, y = regression(103)[0].astype(float), np.arange(103) % 3
    merged = plain_samples(X, y, np.ones(103)).merged()
    samples, rows, fold = dealt(merged)
    np.testing.assert_array_equal(rows, np.arange(103))
    np.testing.assert_array_equal(fold, np.arange(103) % correction.N_FOLDS)
    np.testing.assert_array_equal(samples.weight, np.ones(103))


@pytest.mark.parametrize("categories", [False, True])
def test_trees_do_no_harm_where_few_inputs_have_both_classes(categories):
    """As on the Titanic: sex, class and age group have twelve values, and people differ in each."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    sex, rank, old = (rng.integers(0, size, 2400) for size in (2, 3, 2))
    chance = 0.15 + 0.5 * sex + 0.12 * rank * (1 - sex) - 0.1 * old
    y = (rng.random(2400) < chance).astype(int)
    X = pd.DataFrame({"sex": sex, "rank": rank, "old": old}, dtype=float)
    if categories:
        X = X.astype(int).astype("category")
    train, test = slice(0, 800), slice(800, 2400)
    losses, accuracies = [], []
    for limit in (0, "auto"):
        clf = FFMLPClassifier(design="readout", max_leaves=limit).fit(X[train], y[train])
        losses.append(log_loss(y[test], clf.predict_proba(X[test])))
        accuracies.append(clf.score(X[test], y[test]))
    best = np.mean((chance > 0.5)[test] == y[test])
    assert min(accuracies) > best - 0.01
    assert losses[1] < losses[0] + 0.005


def test_weights_of_all_samples_give_no_more_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] * X[:, 1] + rng.normal(size=400) > 0).astype(int)
    clf = FFMLPClassifier(design="readout").fit(X, y, sample_weight=np.full(400, 10.0))
    assert clf.n_leaves_ <= 4 * max(FFMLPClassifier(design="readout").fit(X, y).n_leaves_, 320)
