import numpy as np
import pytest

from ffmlp.tabular.scores import hashes_of, share_seen, stored_hashes

pd = pytest.importorskip("pandas")


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
