"""Statistics of several sites: their sum makes the network of all samples."""

from dataclasses import replace

import numpy as np
import pytest
from problems import overlapping
from sklearn.base import clone

import ffmlp
from ffmlp import FFMLPClassifier

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


@pytest.fixture(scope="module")
def blobs():
    """The blobs of half of the samples."""
    X, y = overlapping(600)
    return FFMLPClassifier(2, design="region", random_state=0).fit(X[::2], y[::2]).blobs_


def sites(n_sites, design="region", blobs=None, **parameters):
    """Samples of several sites, and classifiers of them: with the given blobs, or like the first."""
    X, y = overlapping(600)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    parts = [(X[site::n_sites], y[site::n_sites], weight[site::n_sites]) for site in range(n_sites)]
    options = {"design": design, "n_components": 2, "random_state": 0, **parameters}
    first = FFMLPClassifier(keep_statistics=True, **options).fit(*parts[0], blobs=blobs)
    shared = {"like": first} if blobs is None else {"blobs": blobs}
    options["keep_statistics"] = blobs is not None
    others = [FFMLPClassifier(**options).fit(*part, **shared) for part in parts[1:]]
    return X, y, weight, [first, *others]


@pytest.mark.parametrize("design", ["region", "paper"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 2.0, 2: 1.0}])
@pytest.mark.parametrize(("n_sites", "given"), [(1, False), (2, False), (5, False), (4, True)])
def test_the_sum_of_sites_is_the_fit_of_all_samples(design, class_weight, n_sites, given, blobs):
    options = {"error_threshold": 0.3, "class_weight": class_weight}
    X, y, weight, classifiers = sites(n_sites, design, blobs if given else None, **options)
    merged = ffmlp.merge(classifiers)
    first = classifiers[0]
    shared = {"blobs": blobs} if given else {"like": first}
    whole = FFMLPClassifier(**first.get_params()).fit(X, y, weight, **shared)
    assert merged.blobs_ is (blobs if given else first.blobs_)
    np.testing.assert_array_equal(merged.hyperplanes_.weights, whole.hyperplanes_.weights)
    np.testing.assert_array_equal(merged.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(merged.regions_.counts, whole.regions_.counts)
    np.testing.assert_array_equal(merged.pruning_path_.deleted, whole.pruning_path_.deleted)
    assert merged.statistics_.regions.counts.sum() == weight.sum()
    assert merged.explain(X[:1]).leads.shape == (1,)


@hypothesis.given(st.permutations(range(4)), st.integers(1, 3))
@hypothesis.settings(deadline=None, max_examples=15)
def test_neither_order_nor_grouping_matters(order, cut):
    X, _, _, classifiers = sites(4, error_threshold=0.2)
    at_once = ffmlp.merge(classifiers)
    shuffled = [classifiers[number] for number in order]
    in_groups = ffmlp.merge([ffmlp.merge(shuffled[:cut]), ffmlp.merge(shuffled[cut:])])
    np.testing.assert_array_equal(at_once.predict_proba(X), in_groups.predict_proba(X))


def test_categories_are_those_of_the_first_site():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "town": rng.choice([*"abc"], 300)})
    y = np.where((X["x"] > 0) ^ (X["town"] == "a"), "yes", "no")
    X.loc[200:, "town"] = "d"  # unknown to the first site
    first = FFMLPClassifier(2, design="region", keep_statistics=True, random_state=0)
    first.fit(X[:150], y[:150])
    second = FFMLPClassifier(2, design="region").fit(X[150:], y[150:], like=first)
    merged = ffmlp.merge([first, second])
    assert merged.statistics_.regions.counts.sum() == 300
    assert merged.network_.columns.parts[1].categories == ("a", "b", "c")
    assert list(merged.feature_names_in_) == ["x", "town"]


def test_what_cannot_be_merged_exactly_is_refused():
    X, y, _, (first, second) = sites(2)
    apart = clone(first).fit(X[100:], y[100:])
    pruned = clone(first).set_params(error_threshold=0.4).fit(X, y)
    plain = FFMLPClassifier(2, design="region").fit(X, y)
    for other, message in (
        (apart, r"cannot be merged .*hyperplanes differ: hyperplanes\.weights\[0, 0\] is"),
        (pruned, r"the plans differ: plan\.error_threshold is 0\.05 and 0\.4\. Only statistics"),
        (plain, r"has no statistics_\. Fit it with keep_statistics"),
    ):
        with pytest.raises(ValueError, match=f"Classifier 1 .*{message}"):
            ffmlp.merge([first, other])
    with pytest.raises(ValueError, match="classifiers is empty"):
        ffmlp.merge([])
    with pytest.raises(ValueError, match="like has no statistics_"):
        FFMLPClassifier(2, design="region").fit(X, y, like=plain)
    with pytest.raises(ValueError, match="y has the class 5, which like does not know"):
        FFMLPClassifier(2, design="region").fit(X, y + 5, like=first)
    with pytest.raises(ValueError, match="blobs cannot be given beside like"):
        FFMLPClassifier(2, design="region").fit(X, y, blobs=y, like=first)
    with pytest.raises(ValueError, match="X has 2 features, but FFMLPClassifier is expecting 3"):
        FFMLPClassifier(2, design="region").fit(X[:, :2], y, like=first)
    for design in ("auto", "readout", "blob"):
        with pytest.raises(ValueError, match="keep_statistics=True needs design='region' or 'paper'"):
            FFMLPClassifier(design=design, keep_statistics=True).fit(X, y)
    assert second.statistics_.hyperplanes is first.statistics_.hyperplanes
    with pytest.raises(ValueError, match="like has the region design, which is used, got design='blob'"):
        FFMLPClassifier(2, design="blob").fit(X, y, like=first)
    with pytest.raises(ValueError, match="does not know where its training samples were: it was merged"):
        ffmlp.merge(iter([first, second])).familiarity(X)


def test_weights_that_each_site_would_scale_differently_are_refused():
    X, y, _, (first, _) = sites(2)
    weight = np.full(len(y), 0.25)
    for clf, like in ((FFMLPClassifier(**first.get_params()), None), (FFMLPClassifier(), first)):
        with pytest.raises(ValueError, match=r"sample_weight has a mean of 0\.25\. Statistics"):
            clf.fit(X, y, weight, like=like)
    weight[0] = len(y)
    both = FFMLPClassifier().fit(X, y, weight, like=first)
    assert both.statistics_.regions.counts.sum() == weight.sum()


@pytest.mark.parametrize("like", [True, False])
def test_statistics_of_an_earlier_fit_are_forgotten(like):
    X, y, _, (first, second) = sites(2)
    clf = second if like else first.set_params(keep_statistics=False)
    assert not hasattr(clf.fit(X, y), "statistics_")


def test_hyperplanes_of_given_blobs_are_those_of_the_samples_they_came_from():
    X, y = overlapping(600)
    for design, discriminant in (("region", "lda"), ("region", "heteroscedastic"), ("blob", "lda")):
        options = {"design": design, "discriminant": discriminant, "gaussianise": False}
        clf = FFMLPClassifier(2, random_state=0, error_threshold=None, **options).fit(X, y)
        again = FFMLPClassifier(error_threshold=None, **options).fit(X, y, blobs=clf.blobs_)
        for name in ("weights", "biases"):
            found, wanted = getattr(again.hyperplanes_, name), getattr(clf.hyperplanes_, name)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("design", ["auto", "readout", "blob", "region", "paper"])
def test_every_design_takes_given_blobs(design, blobs):
    X, y = overlapping(600)
    X[3, 1] = np.nan
    clf = FFMLPClassifier(design=design, random_state=0).fit(X, y, blobs=blobs)
    assert clf.blobs_ is blobs
    assert clf.score(X, y) > 0.5
    assert clf.network_.columns.parts[1].fill == blobs.centre[1]


def test_sites_with_missing_numbers_and_stored_classifiers_add_up(tmp_path, blobs):
    X, y = overlapping(600)
    X[::7, 0] = np.nan
    clf = FFMLPClassifier(design="region", error_threshold=0.2, keep_statistics=True)
    paths = [tmp_path / f"{number}.model" for number in range(2)]
    for number, path in enumerate(paths):
        ffmlp.save(clf.fit(X[number::2], y[number::2], blobs=blobs), path)
    merged = ffmlp.merge(map(ffmlp.load, paths))
    whole = clf.fit(X, y, blobs=blobs)
    np.testing.assert_array_equal(merged.predict_proba(X), whole.predict_proba(X))


def test_blobs_of_single_samples_follow_from_each_site(blobs):
    X, y, _, (first, _) = sites(2, blobs=blobs)
    clf = FFMLPClassifier(design="region", keep_statistics=True, error_threshold=None)
    apart = [FFMLPClassifier(**clf.get_params()).fit(X[i::2], y[i::2], blobs=y[i::2]) for i in range(2)]
    with pytest.raises(ValueError, match="or all with the same given blobs"):
        ffmlp.merge(apart)
    with pytest.raises(ValueError, match=r"labels is int64 of shape \(3,\) and int8 of shape"):
        ffmlp.merge([first, clone(first).fit(X, y.astype(np.int8), blobs=blobs)])


UNFIT = "finite means and symmetric, positive definite"
WRONG_BLOBS = {
    "features": ({"means": np.zeros((6, 2))}, r"blobs\.means must have the shape \(6, 3\) for 3"),
    "axes": ({"axes": np.eye(3)}, "without axes"),
    "classes": ({"classes": np.array([0, 0, 1, 1, 3, 3])}, r"of all 3 classes of y, got .*\[0, 1, 3\]"),
    "order": ({"classes": np.array([0, 1, 2, 0, 1, 2])}, "sorted by class"),
    "infinite": ({"means": np.full((6, 3), np.inf)}, UNFIT),
    "singular": ({"covariances": np.zeros((6, 3, 3))}, UNFIT),
    "NaN": ({"covariances": np.full((6, 3, 3), np.nan)}, UNFIT),
    "one-sided": ({"covariances": np.tile(np.eye(3) + np.eye(3, k=1), (6, 1, 1))}, "symmetric"),
    "weights": ({"weights": np.ones(6)}, "must be positive and sum to one"),
}


@pytest.mark.parametrize("wrong", WRONG_BLOBS)
def test_given_blobs_that_do_not_fit_are_refused(wrong, blobs):
    X, y = overlapping(60)
    changes, message = WRONG_BLOBS[wrong]
    with pytest.raises(ValueError, match=message):
        FFMLPClassifier(design="region").fit(X, y, blobs=replace(blobs, **changes))


def test_given_blobs_need_numbers_in_their_own_space(blobs):
    X, y = overlapping(60)
    with pytest.raises(ValueError, match="gaussianise=True does not fit given blobs"):
        FFMLPClassifier(gaussianise=True).fit(X, y, blobs=blobs)
    with pytest.raises(ValueError, match="Given blobs need columns of numbers"):
        FFMLPClassifier(categorical_features=[0]).fit(X.round(), y, blobs=blobs)
