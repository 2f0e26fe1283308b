"""Fits on Dask like another classifier, and with given blobs."""

import numpy as np
import pytest
from problems import overlapping

import ffmlp

pytest.importorskip("dask")
pytest.importorskip("pandas")
import dask.array as da
import dask.dataframe as dd
import pandas as pd

from ffmlp.dask import FFMLPClassifier

OPTIONS = {"design": "region", "error_threshold": 0.3, "keep_statistics": True}


def arrays(*columns, chunks=70):
    return [da.from_array(column, chunks=(chunks, *column.shape[1:])) for column in columns]


@pytest.fixture(scope="module")
def given():
    """Samples in random order with frequencies, and the blobs of some of them."""
    X, y = overlapping(600)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, y, weight = X[order], y[order], rng.integers(0, 4, len(y)).astype(float)
    blobs = ffmlp.FFMLPClassifier(2, design="region", random_state=0).fit(X[:200], y[:200]).blobs_
    return X, y, weight, blobs


@pytest.mark.parametrize("design", ["region", "paper", "blob", "readout"])
def test_given_blobs_are_used_as_in_a_local_fit(given, design):
    X, y, _, blobs = given
    parameters = {"design": design, "random_state": 0, "max_leaves": 0}
    local = ffmlp.FFMLPClassifier(**parameters).fit(X, y, blobs=blobs)
    clf = FFMLPClassifier(**parameters).fit(*arrays(X, y), blobs=blobs)
    np.testing.assert_allclose(clf.predict_proba(X), local.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(clf.hyperplanes_.weights, local.hyperplanes_.weights)


def test_partitions_follow_another_classifier(given):
    X, y, weight, blobs = given
    first = ffmlp.FFMLPClassifier(**OPTIONS).fit(X[:300], y[:300], weight[:300], blobs=blobs)
    local = ffmlp.FFMLPClassifier(**OPTIONS).fit(X, y, weight, like=first)
    clf = FFMLPClassifier(**OPTIONS).fit(*arrays(X, y, weight), like=first)
    np.testing.assert_array_equal(clf.statistics_.regions.counts, local.statistics_.regions.counts)
    np.testing.assert_array_equal(clf.predict_proba(X), local.predict_proba(X))
    assert len(clf.pass_seconds_) == 2
    merged = ffmlp.merge([first, clf.to_local()])
    assert merged.statistics_.regions.counts.sum() == weight.sum() + weight[:300].sum()
    again = ffmlp.FFMLPClassifier(**OPTIONS).fit(X, y, like=clf)  # the way back
    assert again.statistics_.regions.counts.sum() == len(y)


def test_frames_with_categories_and_partitions_without_rows_or_weight_follow(given):
    X, y, weight, _ = given
    frame = pd.DataFrame(X, columns=[*"abc"]).assign(town=np.where(X[:, 0] > 0, "u", "v"))
    first = ffmlp.FFMLPClassifier(2, **OPTIONS).fit(frame[:200], y[:200])
    weight = np.where(np.arange(len(y)) < 100, 0.0, weight + 1)
    local = ffmlp.FFMLPClassifier(**OPTIONS).fit(frame, y, weight, like=first)
    table = dd.from_pandas(frame.assign(y=y, weight=weight), npartitions=6)
    table = dd.concat([table, table[table["a"] > 1e9]])
    clf = FFMLPClassifier(**OPTIONS).fit(
        table[[*"abc", "town"]], table["y"], table["weight"], like=first
    )
    np.testing.assert_array_equal(clf.statistics_.regions.counts, local.statistics_.regions.counts)


def test_what_cannot_be_followed_is_refused(given):
    X, y, _, blobs = given
    first = ffmlp.FFMLPClassifier(**OPTIONS).fit(X, y, blobs=blobs)
    clf = FFMLPClassifier(design="region")
    with pytest.raises(ValueError, match=r"Partition \d cannot be used: y has the class 5, which like"):
        clf.fit(*arrays(X, y + 5), like=first)
    with pytest.raises(ValueError, match=r"Partition \d cannot be used: X has 2 features, but"):
        clf.fit(*arrays(X[:, :2], y), like=first)
    with pytest.raises(ValueError, match=r"sample_weight has a mean of 0\.25"):
        clf.fit(*arrays(X, y, np.full(len(y), 0.25)), like=first)
    with pytest.raises(ValueError, match="blobs cannot be given beside like"):
        clf.fit(*arrays(X, y), like=first, blobs=blobs)
    with pytest.raises(TypeError, match=r"blobs must be ffmlp\.Blobs, got Array\. The blobs of single"):
        clf.fit(*arrays(X, y), blobs=arrays(y)[0])
    with pytest.raises(ValueError, match=r"blobs\.means must have the shape \(6, 2\)"):
        clf.fit(*arrays(X[:, :2], y), blobs=blobs)
    frame = dd.from_pandas(pd.DataFrame(X[:, :2], columns=["a", "a"]), npartitions=2)
    with pytest.raises(ValueError, match="X has 2 columns named 'a'"):
        clf.fit(frame, dd.from_pandas(pd.Series(y), npartitions=2))
    assert not hasattr(clf, "network_")
    assert not hasattr(clf, "n_features_in_")
