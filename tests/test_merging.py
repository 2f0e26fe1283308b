"""Statistics of several sites: their sum makes the network of all samples."""

import numpy as np
import pytest
from problems import overlapping

import ffmlp
from ffmlp import FFMLPClassifier

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


def sites(n_sites, design="region", seed=0, **parameters):
    """Samples of several sites, and their classifiers."""
    X, y = overlapping(600, seed=seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(y))
    parts = [(X[site::n_sites], y[site::n_sites], weight[site::n_sites]) for site in range(n_sites)]
    options = {"design": design, "n_components": 2, "random_state": 0, **parameters}
    first = FFMLPClassifier(keep_statistics=True, **options).fit(*parts[0])
    others = [FFMLPClassifier(**options).fit(*part, like=first) for part in parts[1:]]
    return X, y, weight, [first, *others]


@pytest.mark.parametrize("design", ["region", "paper"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 2.0, 2: 1.0}])
@pytest.mark.parametrize("n_sites", [1, 2, 5])
def test_the_sum_of_sites_is_the_fit_of_all_samples(design, class_weight, n_sites):
    X, y, weight, classifiers = sites(n_sites, design, error_threshold=0.3, class_weight=class_weight)
    merged = ffmlp.merge(classifiers)
    first = classifiers[0]
    whole = FFMLPClassifier(**first.get_params()).fit(X, y, weight, like=first)
    np.testing.assert_array_equal(merged.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(merged.regions_.counts, whole.regions_.counts)
    np.testing.assert_array_equal(merged.pruning_path_.deleted, whole.pruning_path_.deleted)
    assert merged.statistics_.regions.counts.sum() == weight.sum()
    assert merged.explain(X[:1]).leads.shape == (1,)


def test_merging_a_single_one_changes_nothing():
    X, _, _, (clf,) = sites(1, error_threshold=0.3)
    np.testing.assert_array_equal(ffmlp.merge([clf]).predict_proba(X), clf.predict_proba(X))


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


def test_statistics_are_stored(tmp_path):
    pytest.importorskip("skops")
    X, _, _, classifiers = sites(2, error_threshold=0.3)
    for number, clf in enumerate(classifiers):
        ffmlp.save(clf, tmp_path / f"{number}.model")
    loaded = [ffmlp.load(tmp_path / f"{number}.model") for number in range(2)]
    expected = ffmlp.merge(classifiers).predict_proba(X)
    np.testing.assert_array_equal(ffmlp.merge(loaded).predict_proba(X), expected)


def test_what_cannot_be_merged_exactly_is_refused():
    X, y, _, (first, second) = sites(2)
    apart = FFMLPClassifier(2, design="region", keep_statistics=True, random_state=0).fit(
        X[100:], y[100:]
    )
    with pytest.raises(ValueError, match=r"The hyperplanes differ\. Only statistics of the same"):
        ffmlp.merge([first, apart])
    pruned = FFMLPClassifier(
        2, design="region", error_threshold=0.4, keep_statistics=True, random_state=0
    ).fit(X, y)
    with pytest.raises(ValueError, match="The plans differ"):
        ffmlp.merge([first, pruned])
    plain = FFMLPClassifier(2, design="region").fit(X, y)
    with pytest.raises(
        ValueError, match=r"Classifier 1 has no statistics_\. Fit it with keep_statistics"
    ):
        ffmlp.merge([first, plain])
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
        with pytest.raises(ValueError, match='keep_statistics=True needs design="region" or'):
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
