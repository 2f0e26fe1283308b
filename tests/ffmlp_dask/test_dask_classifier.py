"""Fits of partitions against the local fit, for every design and any division into partitions."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from problems import IRIS, overlapping

import ffmlp
from ffmlp.inputs import rows as drawn_rows

dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
hypothesis = pytest.importorskip("hypothesis")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from ffmlp.dask import FFMLPClassifier  # noqa: E402

st = hypothesis.strategies

DESIGNS = {
    "default": {},
    "without regions": {"max_leaves": 0},
    "few neurons": {"max_neurons": 30},
    "pruned readout": {"design": "readout", "error_threshold": 0.3},
    "region": {"design": "region", "n_components": 2, "error_threshold": 0.3},
    "blob": {"design": "blob", "n_components": 2},
    "paper": {"design": "paper", "n_components": 2},
}


@pytest.fixture(params=["all rows held", "few rows held"])
def held(request, monkeypatch):
    """All rows in one place, or some that stand for all."""
    if request.param == "few rows held":
        monkeypatch.setattr(drawn_rows, "MOST_DISTINCT", 200)
        monkeypatch.setattr(drawn_rows, "FEWEST_OF_A_CLASS", 40)
    return request.param


def pieces(n_rows, n_parts, rng):
    """The sizes of partitions, some of which are empty."""
    cuts = np.sort(rng.integers(0, n_rows + 1, n_parts - 1))
    return tuple(np.diff([0, *cuts, n_rows]).tolist())


def arrays_of(X, y, sizes, weight=None):
    parts = [da.from_array(X, chunks=(sizes, X.shape[1])), da.from_array(y, chunks=(sizes,))]
    return [*parts, da.from_array(weight, chunks=(sizes,))] if weight is not None else parts


def frame_problem(n_rows=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n_rows),
            "town": rng.choice([*"abcdefgh"], n_rows),
            "open": rng.random(n_rows) < 0.5,
            "z": rng.integers(0, 5, n_rows).astype(float),
        }
    )
    chance = rng.random(n_rows) < 0.1
    y = np.where((frame["x"] > 0) ^ frame["town"].isin([*"abc"]) ^ chance, "yes", "no")
    return frame.mask(rng.random(frame.shape) < 0.05), y


def frames_of(frame, y, n_parts, weight=None):
    table = frame.assign(label=y, weight=1.0 if weight is None else weight)
    cuts = np.linspace(0, len(table), n_parts + 1).astype(int)
    parts = [table.iloc[start:end] for start, end in pairwise(cuts)]
    table = dd.from_map(lambda part: part, parts, meta=table.iloc[:0])
    return table[list(frame.columns)], table["label"], table["weight"]


def assert_same(local, other, X):
    np.testing.assert_array_equal(local.classes_, other.classes_)
    np.testing.assert_array_equal(local.predict(X), other.predict(X))
    np.testing.assert_allclose(other.predict_proba(X), local.predict_proba(X), rtol=0, atol=1e-9)
    largest = np.abs(local.hyperplanes_.weights).max()
    close = {"rtol": 0, "atol": 1e-9 * largest}
    np.testing.assert_allclose(other.hyperplanes_.weights, local.hyperplanes_.weights, **close)
    assert local.network_.layer_sizes == other.network_.layer_sizes


@pytest.mark.parametrize("design", DESIGNS)
def test_partitions_give_the_local_network(held, design):
    X, y = overlapping(500)
    local = ffmlp.FFMLPClassifier(random_state=0, **DESIGNS[design]).fit(X, y)
    for n_parts in (1, 7) if held == "all rows held" else (2, 50):
        rng = np.random.default_rng(n_parts)
        order = rng.permutation(len(X))
        clf = FFMLPClassifier(random_state=0, **DESIGNS[design])
        clf.fit(*arrays_of(X[order], y[order], pieces(len(X), n_parts, rng)))
        assert_same(local, clf, X)
        # Labels, then rows that are drawn, then sums for what stands above the hyperplanes.
        needs_sums = held == "few rows held"
        assert len(clf.pass_seconds_) == 2 + needs_sums


@hypothesis.given(
    st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 4), st.sampled_from([*DESIGNS])
)
@hypothesis.settings(
    deadline=None, max_examples=8, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
def test_any_partitions_give_the_local_network(held, seed, n_parts, n_classes, design):
    rng = np.random.default_rng(seed)
    X, y = overlapping(int(rng.integers(60, 500)), 3, n_classes, seed)
    X = X.round(1)  # rows are repeated
    order = np.argsort(y, kind="stable")  # so that classes are absent from partitions
    weight = rng.integers(0, 3, len(y)) / 2
    weight[:n_classes] = 1.0
    local = ffmlp.FFMLPClassifier(random_state=0, **DESIGNS[design]).fit(X, y, weight)
    parts = arrays_of(X[order], y[order], pieces(len(X), n_parts, rng), weight[order])
    assert_same(local, FFMLPClassifier(random_state=0, **DESIGNS[design]).fit(*parts), X)


@pytest.mark.parametrize("design", ["default", "region", "blob"])
@pytest.mark.parametrize("n_parts", [1, 5])
def test_data_frames_with_categories_missing_cells_and_weights(held, design, n_parts):
    frame, y = frame_problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    local = ffmlp.FFMLPClassifier(random_state=0, **DESIGNS[design]).fit(frame, y, weight)
    clf = FFMLPClassifier(random_state=0, **DESIGNS[design]).fit(*frames_of(frame, y, n_parts, weight))
    assert_same(local, clf, frame)
    assert list(clf.feature_names_in_) == list(frame.columns)
    names = [part.name for part in clf.network_.columns.parts]
    assert names == list(frame.columns)


def test_each_partition_is_computed_once_in_a_pass():
    frame, y = frame_problem(200)
    table, computed = frame.assign(label=y), []

    def part(number):
        computed.append(number)
        return table.iloc[50 * number : 50 * number + 50]

    lazy = dd.from_map(part, range(4), meta=table.iloc[:0])
    with dask.config.set(scheduler="synchronous"):
        clf = FFMLPClassifier(design="blob", n_components=1).fit(
            lazy[list(frame.columns)], lazy["label"]
        )
    assert sorted(computed) == sorted([*range(4)] * len(clf.pass_seconds_))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes"])
def test_schedulers(scheduler):
    X, y = IRIS
    local = ffmlp.FFMLPClassifier(random_state=0).fit(X, y)
    with dask.config.set(scheduler=scheduler, num_workers=1):
        clf = FFMLPClassifier(random_state=0).fit(*arrays_of(X, y, (40, 60, 50)))
    assert_same(local, clf, X)


def test_predictions_are_lazy_and_keep_partitions_index_and_meta():
    frame, y = frame_problem(200)
    X, labels, _ = frames_of(frame, y, 4)
    clf = FFMLPClassifier(design="blob", n_components=1).fit(X, labels)
    local = clf.to_local()
    predicted, shares = clf.predict(X), clf.predict_proba(X)
    assert predicted.npartitions == shares.npartitions == 4
    assert list(shares.columns) == ["no", "yes"]
    assert predicted.dtype == predicted.compute().dtype
    np.testing.assert_array_equal(predicted.compute(), local.predict(frame))
    np.testing.assert_array_equal(shares.compute(), local.predict_proba(frame))
    np.testing.assert_array_equal(clf.decision_function(X).compute(), local.decision_function(frame))
    assert (predicted.compute().index == frame.index).all()
    explained = clf.explain(X)
    assert explained.npartitions == 4
    whole = local.explain(frame).to_frame()
    pd.testing.assert_frame_equal(explained.compute().reset_index(drop=True), whole)
    assert list(explained.columns) == list(whole.columns)


def test_predictions_of_arrays_with_empty_blocks():
    X, y = IRIS
    clf = FFMLPClassifier(random_state=0).fit(*arrays_of(X, y, (50, 0, 100)))
    lazy = da.from_array(X, chunks=((100, 0, 50), 2))
    local = clf.to_local()
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(clf, method)(lazy)
        expected = getattr(local, method)(X)
        assert isinstance(found, da.Array)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        assert found.chunks[0] == (100, 0, 50)
        np.testing.assert_array_equal(found.compute(), expected)
    by_columns = clf.explain(lazy, reference=X[:1]).compute()
    assert len(by_columns) == 150
    np.testing.assert_array_equal(
        clf.predict(X), local.predict(X)
    )  # data in memory are predicted at once


def test_to_local_and_back():
    X, y = IRIS
    clf = FFMLPClassifier(design="region", n_components=2, random_state=0).fit(
        *arrays_of(X, y, (70, 80))
    )
    local = clf.to_local()
    assert type(local) is ffmlp.FFMLPClassifier
    assert local.get_params() == clf.get_params()
    again = FFMLPClassifier.from_local(local)
    np.testing.assert_array_equal(again.predict(da.from_array(X)).compute(), local.predict(X))
    assert local.explain(X[:1]).leads.shape == (1,)


def test_verbose_counts_the_passes(capsys):
    FFMLPClassifier(design="blob", verbose=1).fit(*arrays_of(*IRIS, (70, 80)))
    assert "150 rows in 2 partitions, read in 2 passes of " in capsys.readouterr().out


X, Y = map(da.from_array, IRIS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((IRIS[0], Y), "X must be a Dask data frame or a Dask array of two dimensions, got num"),
        ((X, Y[:100]), "y must have one entry for each of the 150 samples"),
        ((X, [*IRIS[1]]), "y must be a Dask array or series, got builtins.list"),
        ((X, Y[:, None]), "y must have one dimension, got 2"),
        ((X, 0 * Y), "at least 2 classes, got only 1"),
        ((X, Y + 0.5), "Unknown label type: continuous"),
        ((X, da.where(Y == 1, np.nan, Y)), "Partition 0 .* y contains NaN"),
        ((X * np.inf, Y), "Partition 0 cannot be used: Input X? ?contains"),
        ((X, Y, -1.0 * Y), "Partition 0 .* Negative values"),
        ((X, Y, 0.0 * Y), "sample_weight is zero for all"),
        ((X[:0], Y[:0]), "X has no rows"),
    ],
)
def test_errors(arguments, message):
    clf = FFMLPClassifier(design="blob")
    with pytest.raises((ValueError, TypeError), match=message):
        clf.fit(*arguments)
    assert not hasattr(clf, "network_")
    assert not hasattr(clf, "n_features_in_")


def parts_with(change):
    """A table and its labels in three partitions, of which the second one is changed."""

    def made(number):
        rng = np.random.default_rng(number)
        x, kind = rng.normal(size=40), rng.choice([*"ab"], 40)
        part = pd.DataFrame({"x": x, "kind": kind, "label": np.where(x > 0, "yes", "no")})
        return change(part) if number == 1 else part

    table = dd.from_map(made, range(3), meta=made(0).iloc[:0])
    return table[["x", "kind"]], table["label"]


def unreadable(part):
    raise OSError("it is damaged")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (unreadable, "Partition 1 cannot be read: OSError: it is damaged"),
        (
            lambda part: part.assign(x="much"),
            "Column 'x' cannot be read: it holds categories in some partitions",
        ),
        (lambda part: part.rename(columns={"kind": "sort"}), "Partition 1 cannot be read: "),
        (lambda part: part.assign(x=np.inf), "Partition 1 cannot be used: "),
    ],
)
def test_the_partition_that_fails_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        FFMLPClassifier(design="blob").fit(*parts_with(change))


def test_a_column_without_numbers_in_one_partition_is_no_contradiction():
    parts = parts_with(lambda part: part.assign(kind=np.nan))
    clf = FFMLPClassifier(design="blob", n_components=1).fit(*parts)
    assert clf.network_.columns.parts[1].categories == ("a", "b")


@pytest.mark.parametrize(
    "names",
    [
        range(3),
        pd.MultiIndex.from_product([["a"], [1, 2, 3]]),
        ["ffmlp column 0", "b", "ffmlp column 1"],
    ],
    ids=["numbers", "pairs", "texts"],
)
def test_columns_of_any_names(names):
    X, y = overlapping(300, 3)
    frame = pd.DataFrame(X, columns=names)
    table = dd.from_pandas(frame, npartitions=3)
    labels = dd.from_pandas(pd.Series(y), npartitions=3)
    local = ffmlp.FFMLPClassifier(design="blob", n_components=1).fit(frame, y)
    clf = FFMLPClassifier(design="blob", n_components=1).fit(table, labels, labels * 0 + 1)
    assert hasattr(clf, "feature_names_in_") == hasattr(local, "feature_names_in_")
    shares = clf.predict_proba(table).compute()
    np.testing.assert_allclose(shares, local.predict_proba(frame), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "cells",
    [pd.Series([None] * 90, dtype=object), pd.Series([*range(9)] * 10, dtype=object)],
    ids=["missing", "numbers"],
)
@pytest.mark.parametrize("strings", [True, False])
def test_predictions_of_columns_of_objects(cells, strings):
    X, y = overlapping(90, 3)
    frame = pd.DataFrame(X, columns=[*"abc"]).assign(thing=cells, label=y)
    with dask.config.set({"dataframe.convert-string": strings}):
        table = dd.from_pandas(frame, npartitions=3)
        X = table[["a", "b", "c", "thing"]]
        clf = FFMLPClassifier(design="blob", n_components=1).fit(X, table["label"])
        expected = clf.to_local().predict(X.compute())
        np.testing.assert_array_equal(clf.predict(X).compute(), expected)


def test_many_classes_of_many_rows_are_no_reason_to_warn():
    X, y = overlapping(300, 2)
    labels = np.arange(300) % 30 + 0 * y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FFMLPClassifier(design="blob", n_components=1).fit(*arrays_of(X, labels, (100, 200)))


def test_more_labels_than_rows_in_an_empty_partition():
    X, y = overlapping(90, 2)
    frame, labels = pd.DataFrame(X, columns=[*"ab"]), pd.Series(y)
    table = dd.from_map(frame.__getitem__, [slice(0, 0), slice(0, 90)], meta=frame.iloc[:0])
    more = dd.from_map(labels.__getitem__, [slice(0, 5), slice(0, 90)], meta=labels.iloc[:0])
    with pytest.raises(ValueError, match=r"Partition 0 .* one label for each of the 0 rows, got shape"):
        FFMLPClassifier(design="blob").fit(table, more)


@pytest.mark.parametrize("all_missing", [True, False])
def test_missing_labels(all_missing):
    X, y = overlapping(90, 2)
    labels = pd.Series(np.where(y, "yes", "no")).mask(np.arange(90) < (30 if all_missing else 1))
    frame = dd.from_pandas(pd.DataFrame(X, columns=[*"ab"]).assign(label=labels), npartitions=3)
    with pytest.raises(ValueError, match="Partition 0 cannot be used: Input y has missing labels"):
        FFMLPClassifier(design="blob").fit(frame[["a", "b"]], frame["label"])


def test_a_wrong_parameter_is_no_matter_of_a_partition():
    parts = arrays_of(*IRIS, (70, 80))
    with pytest.raises(ValueError, match=r"^categorical_features names 9"):
        FFMLPClassifier(categorical_features=[9]).fit(*parts)


def test_what_needs_data_or_models_in_memory_says_so(tmp_path):
    frame, y = frame_problem(60)
    X, labels, _ = frames_of(frame, y, 2)
    clf = FFMLPClassifier(design="blob", n_components=1).fit(X, labels)
    for use in (clf.familiarity, clf.to_local().predict):
        with pytest.raises(TypeError, match=r"a Dask data frame is not in memory. Pass X.compute\(\)"):
            use(X)
    with pytest.raises(TypeError, match=r"Pass reference.compute\(\)"):
        clf.explain(X, reference=X)
    with pytest.raises(ValueError, match=r"Save clf.to_local\(\)"):
        ffmlp.save(clf, tmp_path / "x.model")


# Given blobs, and partitions that follow another classifier

OPTIONS = {"design": "region", "error_threshold": 0.3, "keep_statistics": True}


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
    clf = FFMLPClassifier(**parameters).fit(*arrays_of(X, y, 70), blobs=blobs)
    np.testing.assert_allclose(clf.predict_proba(X), local.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(clf.hyperplanes_.weights, local.hyperplanes_.weights)


def test_partitions_follow_another_classifier(given):
    X, y, weight, blobs = given
    first = ffmlp.FFMLPClassifier(**OPTIONS).fit(X[:300], y[:300], weight[:300], blobs=blobs)
    local = ffmlp.FFMLPClassifier(**OPTIONS).fit(X, y, weight, like=first)
    clf = FFMLPClassifier(**OPTIONS).fit(*arrays_of(X, y, 70, weight), like=first)
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
        clf.fit(*arrays_of(X, y + 5, 70), like=first)
    with pytest.raises(ValueError, match=r"Partition \d cannot be used: X has 2 features, but"):
        clf.fit(*arrays_of(X[:, :2], y, 70), like=first)
    with pytest.raises(ValueError, match=r"sample_weight has a mean of 0\.25"):
        clf.fit(*arrays_of(X, y, 70, np.full(len(y), 0.25)), like=first)
    with pytest.raises(ValueError, match="blobs cannot be given beside like"):
        clf.fit(*arrays_of(X, y, 70), like=first, blobs=blobs)
    with pytest.raises(TypeError, match=r"blobs must be ffmlp\.Blobs, got Array\. The blobs of single"):
        clf.fit(*arrays_of(X, y, 70), blobs=da.from_array(y))
    with pytest.raises(ValueError, match=r"blobs\.means must have the shape \(6, 2\)"):
        clf.fit(*arrays_of(X[:, :2], y, 70), blobs=blobs)
    frame = dd.from_pandas(pd.DataFrame(X[:, :2], columns=["a", "a"]), npartitions=2)
    with pytest.raises(ValueError, match="X has 2 columns named 'a'"):
        clf.fit(frame, dd.from_pandas(pd.Series(y), npartitions=2))
    assert not hasattr(clf, "network_")
    assert not hasattr(clf, "n_features_in_")
