"""The design as text, effect curves against predicting again, and importance against permutation."""

import numpy as np
import pytest
from problems import DESIGNS as TABLE_DESIGNS
from problems import IRIS, classifiers, designed, mixed_table, region_design, swallowed, with_trees
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.inspection import permutation_importance

from ffmlp import FFMLPClassifier, effect_curves, export_text, feature_importance, hyperplane_meaning
from ffmlp.explain.whole_model import feature_shares

pytest.importorskip("pandas")
LABELS = load_iris().target_names[IRIS[1]]
CLASSIFIERS = classifiers()
DESIGNS = {name: CLASSIFIERS[name] for name in ("region", "blob, gaussianised", "readout")}
CLEAR = make_classification(
    600, 6, n_informative=3, n_redundant=0, n_clusters_per_class=1, class_sep=1.5, shuffle=False,
    random_state=0,
)  # fmt: skip


@pytest.mark.parametrize("sign", [1, -1])
def test_a_constant_rule_names_the_preferred_blob(sign):
    X, y = swallowed()
    clf = region_design(1, discriminant="heteroscedastic").fit(X, sign * y)
    first, second = (0, 1) if sign > 0 else (1, 0)
    expected = f"prefers blob {first} of 0 to blob {second} of {sign} for every sample"
    assert hyperplane_meaning(clf, 0) == expected


@pytest.mark.parametrize("design", DESIGNS)
def test_text_of_each_design(design):
    clf = DESIGNS[design].fit(IRIS[0], LABELS)
    sections = export_text(clf, max_items=3).split("\n\n")
    shown = [sections[0], sections[-1]] if design == "readout" else sections
    assert "\n\n".join(shown) == TEXTS[design]


def test_every_item_is_listed_where_there_is_room():
    clf = region_design(error_threshold=None, random_state=0).fit(IRIS[0], LABELS)
    lines = export_text(clf, max_items=100).splitlines()
    assert sum("training samples, around" in line for line in lines) == len(clf.blobs_)
    assert sum("separates blob" in line for line in lines) == len(clf.hyperplanes_)
    assert sum("→  " in line for line in lines) == len(clf.regions_)
    assert "more" not in lines[-1]


def test_a_rule_is_true_of_the_samples_it_counts():
    clf = DESIGNS["region"].fit(IRIS[0], LABELS)
    signs = clf.hyperplanes_.log_odds(IRIS[0]) > 0
    for line in export_text(clf).split("regions;")[1].splitlines()[1:]:
        rule, _, result = line.partition("→")
        code = np.array([">" in part for part in rule.split(",")])
        here = (signs == code).all(axis=1)
        label, count = result.split()[0], result.split("(")[1].split(" of ")
        assert (LABELS[here] == label).sum() == int(count[0])
        assert here.sum() == int(count[1].split()[0])


def test_shares_of_features_sum_to_one_and_thresholds_have_one_feature():
    clf = DESIGNS["readout"].fit(*IRIS)
    shares = feature_shares(clf)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert hyperplane_meaning(clf, 0) == "is the threshold x0 = 4.6"
    assert shares[0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_wrong_numbers_are_refused():
    clf = DESIGNS["region"].fit(*IRIS)
    with pytest.raises(ValueError, match="hyperplane must be 0 to 1, got 2"):
        hyperplane_meaning(clf, 2)
    with pytest.raises(ValueError, match="max_items must be at least 1, got 0"):
        export_text(clf, max_items=0)


@pytest.mark.parametrize("design", [*DESIGNS, "regions"])
@pytest.mark.parametrize(
    "data", [IRIS, load_wine(return_X_y=True), CLEAR], ids=["iris", "wine", "clear"]
)
def test_importance_ranks_features_as_permutation_does(design, data):
    X, y = data
    clf = CLASSIFIERS[design].fit(X, y)
    permuted = permutation_importance(clf, X, clf.predict(X), n_repeats=5, random_state=0)
    ours = feature_importance(clf, X).values
    assert spearmanr(ours, permuted.importances_mean)[0] > 0.75
    assert np.argmax(ours) in np.argsort(permuted.importances_mean)[-2:]


def test_a_feature_that_is_not_used_has_no_importance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[:, 1] = 7.0
    importance = feature_importance(region_design(1, random_state=0).fit(X, X[:, 0] > 0), X)
    assert importance.values[1] == 0.0
    assert 0.3 < importance.values[0] < 0.7
    assert importance.ranking.tolist() == [0, 1]
    assert str(importance).splitlines()[2] == "x1    0.000            0"


def test_text_lists_the_regions_that_add_most():
    *_, clf = with_trees()
    trees = clf.network_.stages.trees
    head, first, second, more = export_text(clf, max_items=2).splitlines()[-4:]
    assert head.startswith(f"{len(trees)} leaves in {len(trees.roots)} trees correct the readout.")
    largest = np.sort(np.abs(trees.values).max(axis=1))[::-1]
    for line, size in zip((first, second), largest, strict=False):
        assert abs(float(line.split()[0])) == pytest.approx(size, abs=5e-4)
    assert more == f"  … and {len(trees) - 2} more"


@pytest.mark.parametrize("design", ["readout", "blob"])
def test_curves_are_changes_of_log_odds(design):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    clf = FFMLPClassifier(design=design, max_leaves=0, random_state=0).fit(X, y)
    before = clf.decision_function(X)
    for column, curve in enumerate(effect_curves(clf, X)):
        assert curve.column == f"x{column}"
        assert (np.diff(curve.values) > 0).all()
        assert curve.values[[0, -1]].tolist() == [X[:, column].min(), X[:, column].max()]
        for place in (0, len(curve.values) // 2, -1):
            moved = X.copy()
            moved[:, column] = curve.values[place]
            change = clf.decision_function(moved) - before
            expected = np.percentile(change, [25, 50, 75])
            found = [part[place, 1] for part in (curve.low, curve.middle, curve.high)]
            np.testing.assert_allclose(found, expected, atol=1e-9)
            assert curve.middle[place, 0] == pytest.approx(-curve.middle[place, 1], abs=1e-9)


@pytest.mark.parametrize("design", TABLE_DESIGNS)
def test_categories_are_values_by_name_and_missing_cells_are_none(design):
    X, y = mixed_table()
    curves = {curve.column: curve for curve in effect_curves(designed(design, X, y), X)}
    assert list(curves) == ["age", "sex", "fare", "town"]
    counts = X["town"].value_counts()
    assert set(curves["town"].values) <= set(counts.index)
    assert counts[curves["town"].values[0]] == counts.max()
    assert [curves[name].is_number for name in curves] == [True, False, True, False]
    assert np.isfinite(curves["age"].values).all()
    for curve in curves.values():
        assert np.isfinite(curve.middle).all()
        assert (curve.low <= curve.middle).all()
        assert (curve.middle <= curve.high).all()


def test_chosen_columns_and_unknown_ones():
    X, y = IRIS
    clf = region_design(random_state=0).fit(X, y)
    chosen = effect_curves(clf, X, ["x2", 0])
    assert [curve.column for curve in chosen] == ["x2", "x0"]
    assert [curve.column for curve in effect_curves(clf, X, "x1")] == ["x1"]
    assert len(chosen[0].values) <= 32
    with pytest.raises(ValueError, match="Unknown feature 'x9'"):
        effect_curves(clf, X, ["x9"])


def test_a_column_without_values_has_an_empty_curve():
    X, y = mixed_table()
    clf = designed("readout", X, y)
    (curve,) = effect_curves(clf, X[:5].assign(age=np.nan), ["age"])
    assert len(curve.values) == 0
    assert curve.middle.shape == (0, len(clf.classes_))


def test_a_class_that_is_never_predicted_has_no_lead():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    y[:3] = "c"
    clf = region_design(1, error_threshold=0.9, random_state=0).fit(X, y)
    scores = clf.network_.stages.scores(np.zeros((1, len(clf.hyperplanes_))))[0]
    never = np.flatnonzero(~np.isfinite(scores))
    assert len(never)
    for curve in effect_curves(clf, X):
        assert not curve.middle[:, never].any()
        assert np.isfinite(curve.middle).all()


TEXTS = {
    "region": """\
region design: 4 features → 4 half-spaces → 3 regions → 3 classes

6 blobs
  0  setosa, 22.8% of the training samples, around x2 = 1.424, x3 = 0.2058, x0 = 4.89
  1  setosa, 10.5% of the training samples, around x2 = 1.544, x3 = 0.3333, x0 = 5.257
  2  versicolor, 18.8% of the training samples, around x2 = 4.526, x3 = 1.409, x0 = 6.142
  … and 3 more

2 hyperplanes
  h0  separates blob 1 of setosa from blob 4 of virginica; mostly x2 65%, x3 23%, x0 6%
  h1  separates blob 2 of versicolor from blob 4 of virginica; mostly x2 46%, x3 34%, x1 14%

3 regions; a sample in none of them belongs to the one it violates least
  h0 < 0, h1 < 0  →  virginica (50 of 53 training samples)
  h0 > 0, h1 > 0  →  setosa (50 of 50 training samples)
  h0 < 0, h1 > 0  →  versicolor (47 of 47 training samples)""",
    "blob, gaussianised": """\
blob design, of gaussianised features: 4 features → 24 half-spaces → 6 blobs → 3 classes

6 blobs
  0  setosa, 5.8% of the training samples, around x2 = 1.354, x3 = 0.1513, x0 = 4.814
  1  setosa, 27.5% of the training samples, around x2 = 1.453, x3 = 0.2453, x0 = 5.015
  2  versicolor, 19.5% of the training samples, around x2 = 4.543, x3 = 1.408, x0 = 6.151
  … and 3 more

12 hyperplanes
  h0  separates blob 0 of setosa from blob 2 of versicolor; mostly x2 45%, x3 43%, x1 10%
  h1  separates blob 0 of setosa from blob 3 of versicolor; mostly x2 43%, x3 40%, x1 9%
  h2  separates blob 0 of setosa from blob 4 of virginica; mostly x2 50%, x3 33%, x0 9%
  … and 9 more

The score of a blob is the sum of its log-probabilities, one per half-space, times
0.1953. A softmax turns scores into shares; those of a class add up.
  blob 0 of setosa: h0 > 0, h1 > 0, h2 > 0, h3 > 0
  blob 1 of setosa: h4 > 0, h5 > 0, h6 > 0, h7 > 0
  blob 2 of versicolor: h8 > 0, h9 > 0, h0 < 0, h4 < 0
  … and 3 more""",
    "readout": """\
readout design: 4 features → 286 half-spaces → 3 evidence → 3 classes

Strongest evidence, in log-odds per standard deviation beyond the hyperplane:
  setosa: +0.72 x2 above 3.3, +0.72 x2 below 3.3, +0.41 x3 above 1
  versicolor: -1.18 x2 above 3.3, -1.18 x2 below 3.3, -0.94 x3 above 1.5
  virginica: +0.90 x3 above 1.5, +0.90 x3 below 1.5, +0.77 x3 above 1.4""",
}
