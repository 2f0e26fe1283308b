"""Effect curves against predicting again, sample by sample."""

import numpy as np
import pytest
from problems import DESIGNS, IRIS, designed, mixed_table, region_design
from sklearn.datasets import load_iris

from ffmlp import FFMLPClassifier, effect_curves

pd = pytest.importorskip("pandas")


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


@pytest.mark.parametrize("design", DESIGNS)
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
