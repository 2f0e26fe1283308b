import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from ffmlp.tabular.scores import (
    Confusion,
    Reliability,
    area_under_curve,
    hashes_of,
    log_loss,
    share_seen,
    stored_hashes,
)

pd = pytest.importorskip("pandas")


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(0, 2), st.integers(1, 60))
def test_scores_are_those_of_scikit_learn(seed, n_classes, n_unknown, n_rows):
    rng = np.random.default_rng(seed)
    truth, predicted = (
        rng.integers(n_classes + n_unknown, size=n_rows),
        rng.integers(n_classes, size=n_rows),
    )
    found = Confusion.of(truth, predicted, n_classes)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert found.balanced_accuracy == pytest.approx(np.mean([
        np.mean(predicted[truth == label] == label) for label in np.unique(truth)
    ]))  # fmt: skip
    labels = np.arange(len(found.counts))
    for score, own in ((metrics.precision_score, found.precision), (metrics.recall_score, found.recall)):
        expected = score(truth, predicted, labels=labels, average=None, zero_division=np.nan)
        np.testing.assert_allclose(own, expected)
    np.testing.assert_array_equal(Confusion.of_json(found.to_json(), n_classes).counts, found.counts)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_losses_are_those_of_scikit_learn(seed, n_classes):
    rng = np.random.default_rng(seed)
    truth = np.append(np.arange(n_classes), rng.integers(n_classes, size=20))
    probability = rng.dirichlet(np.ones(n_classes), len(truth)).round(1)  # some are 0, some are alike
    probability /= probability.sum(axis=1, keepdims=True)
    assert log_loss(truth, probability) == pytest.approx(metrics.log_loss(truth, probability))
    if n_classes == 2:
        expected = metrics.roc_auc_score(truth, probability[:, 1])
    else:
        expected = metrics.roc_auc_score(truth, probability, multi_class="ovr")
    assert area_under_curve(truth, probability) == pytest.approx(expected)


def test_a_single_class_has_no_area_under_the_curve():
    assert area_under_curve(np.array([1, 1]), np.array([[0.2, 0.8], [0.6, 0.4]])) is None


def test_reliability_of_known_bins():
    top = np.array([0.55, 0.55, 0.95, 0.95, 0.95])
    found = Reliability.of(np.array([0, 1, 0, 0, 1]), np.column_stack([top, 1 - top]))
    np.testing.assert_allclose(found.confidence, [0.55, 0.95])
    np.testing.assert_allclose(found.accuracy, [1 / 2, 2 / 3])
    assert found.counts.tolist() == [2, 3]
    assert found.error == pytest.approx((2 * 0.05 + 3 * (0.95 - 2 / 3)) / 5)
    again = Reliability.of_json(found.to_json())
    np.testing.assert_array_equal(again.counts, found.counts)
    np.testing.assert_array_equal(again.confidence, found.confidence)


def rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.choice(["x", "y", None], n_rows)})
    return frame, rng.integers(3, size=n_rows)


@pytest.mark.parametrize("n_rows", [150, 20_000])
def test_rows_of_the_training_data_are_found(n_rows):
    X, y = rows(n_rows, 0)
    stored = stored_hashes(hashes_of(X, y))
    assert len(stored) == min(n_rows, 1000)
    shuffled = np.random.default_rng(1).permutation(n_rows)
    assert share_seen(hashes_of(X.iloc[shuffled], y[shuffled].astype(str)), stored) == 1.0
    others, labels = rows(n_rows, 2)
    assert share_seen(hashes_of(others, labels), stored) == 0.0
    assert share_seen(hashes_of(X, (y + 1) % 3), stored) == 0.0
    mixed = pd.concat([X, others]), np.concatenate([y, labels])
    assert share_seen(hashes_of(*mixed), stored) == pytest.approx(0.5, abs=0.05)


def test_too_few_rows_among_many_cannot_be_compared():
    stored = list(range(1000))
    assert share_seen(np.array([5000], np.uint64), stored) is None
    assert share_seen(np.array([5000, 3], np.uint64), stored) == 1.0
    assert share_seen(np.array([5000, 3], np.uint64), stored[:-1]) == 0.5


def test_hashes_do_not_depend_on_how_categories_are_held():
    X, y = rows(50, 0)
    expected = hashes_of(X, y)
    for kind in ("category", "string"):
        np.testing.assert_array_equal(hashes_of(X.astype({"b": kind}), y), expected)
