"""Explanations of tables speak of columns: categories by name, missing cells as missing."""

import numpy as np
import pytest
from problems import DESIGNS, designed, mixed_table, unseen_rows

from ffmlp import FFMLPClassifier, feature_importance

pd = pytest.importorskip("pandas")
COLUMNS = {"age", "sex", "fare", "town"}


@pytest.fixture(scope="module", params=DESIGNS)
def fitted(request):
    X, y = mixed_table()
    return designed(request.param, X, y), X


def test_attributions_are_one_for_each_column_and_add_up(fitted):
    clf, X = fitted
    rows = pd.concat([X[:20], unseen_rows()[:4]], ignore_index=True)
    for reference in (None, rows[1:2], unseen_rows()[1:4]):
        made = clf.explain(rows, reference)
        assert made.attributions.shape == (len(rows), 4)
        np.testing.assert_allclose(
            made.attributions.sum(axis=1) + made.reference_leads, made.leads, rtol=1e-6, atol=1e-9
        )
        for page in made:
            assert {reason.column for reason in page.reasons} == COLUMNS


def test_cells_are_shown_as_they_are(fitted):
    clf, _ = fitted
    shown = [
        {reason.column: reason.value for reason in page.reasons} for page in clf.explain(unseen_rows())
    ]
    assert shown[0] == {"age": 30.0, "sex": "man", "fare": 20.0, "town": "Ayr"}
    assert shown[1] == {"age": "missing", "sex": "woman", "fare": 20.0, "town": "unknown"}
    assert shown[2] == {"age": 30.0, "sex": "missing", "fare": "missing", "town": "Ely"}
    assert shown[3] == {"age": "missing", "sex": "unknown", "fare": "missing", "town": "missing"}


def test_no_text_speaks_of_shares(fitted):
    clf, X = fitted
    made = clf.explain(pd.concat([X[:3], unseen_rows()], ignore_index=True))
    text = str(made) + "".join(page._repr_html_() for page in made)
    assert "share of" not in text
    for part in ("sex = man", "age = missing", "  man, there like "):
        assert part in text


PAGE = """\
Class died, probability 0.800; next is lived, 0.200.

Compared with the centre of blob 1 of class lived. The lead over lived: +1.87 here,
-1.12 there.

The difference of +3.00, by column
    +3.00  sex  man, there like woman
    +0.00  age  20, there 38

Between the two is 1 hyperplane.
What the strongest add:
    +3.00  blob 0 (died) over blob 1 (lived), crossed after 37% of the way here

In region 1, with training samples: 16 of class died, 4 of class lived."""


def test_a_page_about_a_tiny_table():
    number = np.arange(40)
    frame = pd.DataFrame({"sex": ["man", "woman"] * 20, "age": np.tile([20.0, 30.0, 40.0, 50.0], 10)})
    y = np.where((frame["sex"] == "man") ^ (number % 5 == 4), "died", "lived")
    clf = FFMLPClassifier(1, design="region", gaussianise=False, random_state=0).fit(frame, y)
    page, other = map(str, clf.explain(pd.DataFrame({"sex": ["man", None], "age": [20.0, np.nan]})))
    assert page == PAGE
    assert "  missing, there like woman" in other


def test_a_counterfactual_leaves_categories_and_missing_numbers_alone(fitted):
    clf, X = fitted
    rows = pd.concat([X[:12], unseen_rows()[1:4]], ignore_index=True)
    made = clf.explain(rows, counterfactual=True, norm="inf")
    inputs = clf.network_.table.owners
    fixed = np.isin(inputs, [1, 3]) | rows[["age", "sex", "fare", "town"]].isna().to_numpy()[:, inputs]
    change = made.robustness.points - made.samples
    reached = np.isfinite(made.robustness.distance)
    assert reached.any()
    np.testing.assert_array_equal(change[reached][fixed[reached]], 0.0)
    assert not reached[-1]  # both numbers of this row are missing
    for page in made:
        if page.counterfactual is not None:
            assert {name for name, *_ in page.counterfactual.changes} <= {"age", "fare"}
    frame = made.to_frame()
    assert [name for name in frame if name.startswith("change_")] == ["change_age", "change_fare"]


def test_limits_of_changes_by_column(fitted):
    clf, X = fitted
    row = X.dropna()[:1]
    with pytest.raises(ValueError, match="feature 'sex' is categorical"):
        clf.robustness(row, "inf", bounds={"sex": (0, 1)})
    with pytest.raises(ValueError, match="All features are frozen"):
        clf.robustness(row, "inf", frozen=["age", "fare"])
    with pytest.raises(
        ValueError, match=r"Unknown feature 'share of lost by sex'.*named \['age', 'sex'"
    ):
        clf.robustness(row, "inf", frozen=["share of lost by sex"])
    with pytest.raises(ValueError, match="scale must be 4 positive numbers"):
        clf.robustness(row, "inf", scale=np.ones(6))
    rows = X.dropna()[:8]
    found = clf.robustness(rows, "inf", frozen=["fare"], bounds={"age": (0, 120)})
    reached = np.isfinite(found.distance)
    assert reached.any()
    change = found.points - clf.explain(rows).samples
    np.testing.assert_array_equal(change[reached, 1:], 0.0)
    same = clf.robustness(rows, "inf", frozen=[2, "sex"], bounds={0: (0, 120)})
    np.testing.assert_array_equal(same.distance, found.distance)


def test_importance_is_one_value_for_each_column(fitted):
    clf, X = fitted
    importance = feature_importance(clf, X)
    assert importance.feature_names == ("age", "sex", "fare", "town")
    assert importance.values.shape == (4,)
    assert ((importance.values >= 0) & (importance.values <= 1)).all()
    assert str(importance).count("\n") == 4
    assert importance.ranking[-1] == 2  # the fare says nothing that the age does not


def test_importance_of_a_column_is_that_of_exchanging_it_all_ways(fitted):
    clf, X = fitted
    X = X[:20]
    own, importance = clf.predict(X), feature_importance(clf, X)
    for number, name in enumerate(X):
        changed = [
            np.mean(clf.predict(X.assign(**{name: X[name].iloc[[row] * 20].to_numpy()})) != own)
            for row in range(20)
        ]
        assert importance.values[number] == pytest.approx(np.mean(changed))
    expected = np.abs(clf.explain(X).attributions).mean(axis=0)
    np.testing.assert_allclose(importance.attributions, expected)


def test_a_given_reference_is_shown_as_it_is(fitted):
    clf, X = fitted
    (page,) = clf.explain(X[:1], unseen_rows()[1:2])
    shown = {reason.column: reason.reference for reason in page.reasons}
    assert shown == {"age": "missing", "sex": "woman", "fare": "20", "town": "unknown"}


def test_nothing_is_proved_about_rows_whose_missing_numbers_depend_on_the_others():
    X, y = mixed_table()
    clf = FFMLPClassifier(design="readout", max_neurons=30, random_state=0).fit(X, y)
    assert clf.network_.table.imputation is not None
    found = clf.robustness(X[:25], "inf")
    missing = X[:25][["age", "fare"]].isna().any(axis=1).to_numpy()
    assert missing.any()
    assert not found.exact[missing].any()
    assert not found.lower[missing].any()
    assert found.exact[~missing].any()
    reached, categories = np.isfinite(found.distance), np.isin(clf.network_.table.owners, [1, 3])
    change = found.points - clf.explain(X[:25]).samples
    np.testing.assert_array_equal(change[reached][:, categories], 0.0)
    for row in np.flatnonzero(reached):
        moved = X.iloc[[row]].copy()
        for name, place in (("age", 0), ("fare", 2)):
            if moved[name].notna().all():
                moved[name] = found.points[row, clf.network_.table.firsts[place]]
        assert clf.predict(moved)[0] == clf.classes_[found.classes[row]] != clf.predict(X.iloc[[row]])[0]


def test_rare_categories_are_as_familiar_as_others():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.integers(12, size=300).astype(str), "b": rng.integers(9, size=300).astype(str)}
    )
    y = (X["a"].astype(int) + rng.integers(4, size=300) > 7).astype(int)
    found = FFMLPClassifier(random_state=0).fit(X, y).familiarity(X)
    assert np.mean(~found.familiar) <= 0.02


def test_inputs_are_called_by_their_columns():
    X, y = mixed_table()
    network = FFMLPClassifier(design="region", random_state=0).fit(X, y).network_
    meanings = [network.meaning(0, neuron) for neuron in range(network.layer_sizes[0])]
    owners = [network.table.names[owner] for owner in network.table.owners]
    assert meanings == [f"feature {name}" for name in owners]
    assert set(owners) == set(X)
    assert "share of" not in network._repr_html_()
