from itertools import product

import numpy as np
import pytest
from problems import IRIS, four_moons, mixed_table

from ffmlp import FFMLPClassifier
from ffmlp.network.blobs import feature_units
from ffmlp.robustness import recourse as recourse_module

pytest.importorskip("pandas")

TABLE, LABELS = mixed_table()
# Complete rows, as in a missing number nothing can be proved.
ROWS = TABLE.dropna()[:4]
SMALL = FFMLPClassifier(max_neurons=24, design="readout").fit(TABLE, LABELS)
REGIONS = FFMLPClassifier(random_state=0, max_leaves=200, design="readout").fit(TABLE, LABELS)
OF_IRIS = FFMLPClassifier(design="readout", max_neurons=30, random_state=0).fit(*IRIS)


def changed_rows(rows, answers):
    """The rows after the first change of each."""
    after = rows.copy()
    for place, answer in enumerate(answers):
        for name, (_, new) in answer[0].columns.items():
            after.iloc[place, rows.columns.get_loc(name)] = new
    return after


@pytest.mark.parametrize("clf", [SMALL, REGIONS], ids=["small", "regions"])
def test_every_change_gives_another_class_and_costs_what_it_says(clf):
    answers = clf.recourse(ROWS)
    after = changed_rows(ROWS, answers)
    assert (clf.predict(after) != clf.predict(ROWS)).all()
    assert clf.predict(after).tolist() == [answer[0].label for answer in answers]
    assert all(answer[0].cheapest == (clf is SMALL) for answer in answers)
    for answer, (_, row) in zip(answers, ROWS.iterrows(), strict=True):
        for name, (old, new) in answer[0].columns.items():
            assert old == row[name]
            assert old != new


@pytest.mark.parametrize("clf", [SMALL, REGIONS], ids=["small", "regions"])
def test_limits_hold(clf):
    answers = clf.recourse(
        ROWS, frozen=["town"], rising=["age"], integer=["age"], bounds={"fare": (0.0, 150.0)},
        categories={"sex": ["woman"]}, max_changed=2,
    )  # fmt: skip
    for answer in answers:
        for change in answer.changes:
            assert 1 <= len(change.columns) <= 2
            assert "town" not in change.columns
            if "age" in change.columns:
                old, new = change.columns["age"]
                assert new > old
                assert new == round(new)
            if "fare" in change.columns:
                assert 0.0 <= change.columns["fare"][1] <= 150.0
            if "sex" in change.columns:
                assert change.columns["sex"][1] == "woman"
    assert any(len(answer) for answer in answers)


@pytest.mark.parametrize("clf", [SMALL, REGIONS], ids=["small", "regions"])
def test_a_wanted_class_is_reached(clf):
    for answer in clf.recourse(ROWS, wanted="saved"):
        assert len(answer) == 1 or "already" in answer.reason
        assert all(change.label == "saved" for change in answer.changes)


def test_nothing_on_a_grid_is_cheaper():
    ages, fares = np.linspace(5, 80, 60), np.linspace(-40, 160, 60)
    sexes, towns = ["man", "woman"], ["Ayr", "Bath", "Cork", "Deal", "Ely"]
    units = feature_units(SMALL.blobs_, SMALL.hyperplanes_)[SMALL.network_.table.firsts]
    unit = dict(zip(TABLE, units, strict=True))
    for place, answer in enumerate(SMALL.recourse(ROWS)):
        row = ROWS.iloc[place]
        grid = ROWS.iloc[[place] * 36000].copy()
        points = list(product(ages, sexes, fares, towns))
        grid[["age", "sex", "fare", "town"]] = points
        cost = sum(np.abs(grid[name] - row[name]) / unit[name] for name in ("age", "fare"))
        cost = cost + sum((grid[name] != row[name]).astype(float) for name in ("sex", "town"))
        other = SMALL.predict(grid) != SMALL.predict(ROWS.iloc[[place]])[0]
        assert answer[0].cheapest
        assert cost[other].min() >= answer[0].cost * (1 - 1e-4)


def test_further_answers_leave_a_column_of_earlier_ones():
    for answer in SMALL.recourse(ROWS[:2], n_answers=3):
        sets = [set(change.columns) for change in answer.changes]
        assert len(sets) == 3
        for later, second in enumerate(sets):
            assert not any(first <= second for first in sets[:later])
        costs = [change.cost for change in answer.changes]
        assert costs == sorted(costs)


def test_answers_share_the_time_limit(monkeypatch):
    given, cheapest_change = [], recourse_module._cheapest_change

    def recorded(*arguments):
        given.append(arguments[-1])
        return cheapest_change(*arguments)

    monkeypatch.setattr(recourse_module, "_cheapest_change", recorded)
    (found,) = SMALL.recourse(ROWS[:1], n_answers=3, time_limit=30.0)
    assert len(found) == 3
    first, *others = given
    assert 0 < first <= 10
    assert all(seconds <= 30 for seconds in others)
    given.clear()
    (none,) = SMALL.recourse(ROWS[:1], frozen=list(TABLE), time_limit=30.0)
    assert len(none) == 0
    assert given[0] <= 30 / TABLE.shape[1]


def test_classes_that_are_numbers_are_called_classes():
    X, y = four_moons(240)
    clf = FFMLPClassifier(max_neurons=24, design="readout").fit(X, y)
    (found,) = clf.recourse(X[:1])
    assert str(found[0]).startswith(f"class {found[0].label}: ")
    explained = str(clf.explain(X[:1], counterfactual=True, norm="inf")[0])
    assert "; next is class " in explained
    assert "The lead over class " in explained
    assert "The smallest change to another class, class " in explained
    assert "standard deviations of the features (the largest change)" in explained


def test_costs_direct_the_change():
    (cheap,) = SMALL.recourse(ROWS[:1])
    dear = dict.fromkeys(cheap[0].columns, 50.0)
    (other,) = SMALL.recourse(ROWS[:1], costs=dear)
    assert not set(cheap[0].columns) & set(other[0].columns)


def test_gaussianised_features_are_proved_too():
    X, y = four_moons(240)
    clf = FFMLPClassifier(max_neurons=24, design="readout", gaussianise=True).fit(X, y)
    units = clf.recourse(X[:1], costs={0: 1.0})  # costs are in standard deviations
    assert units[0][0].cheapest
    for x, answer in zip(X[:4], clf.recourse(X[:4]), strict=True):
        assert answer[0].cheapest
        assert clf.predict(answer[0].cells[None])[0] == answer[0].label
        assert clf.predict(x[None])[0] != answer[0].label


def test_a_request_that_cannot_be_met_names_the_limits_in_the_way():
    X, y = IRIS
    clf = FFMLPClassifier(max_neurons=20, design="readout", gaussianise=False).fit(X, y)
    tight = {name: (X[0, j] - 0.01, X[0, j] + 0.01) for j, name in enumerate(["x0", "x1"])}
    (answer,) = clf.recourse(X[:1], wanted=2, frozen=["x2"], bounds=tight | {"x3": (0.1, 0.3)})
    assert not len(answer)
    assert answer.reason == (
        "No change gives class 2 within the limits. It is enough to drop this one: frozen of 'x2'."
    )
    (answer,) = clf.recourse(X[:1], wanted=0)
    assert str(answer) == "The row is already predicted to be of class 0."


def test_the_text_of_a_change():
    X, y = four_moons(240)
    clf = FFMLPClassifier(max_neurons=24, design="readout", gaussianise=False).fit(X, y)
    (answer,) = clf.recourse(X[:1], frozen=[1])
    change = answer[0]
    new = np.ceil(1e6 * change.columns["x0"][1]) / 1e6  # never nearer than it has to be
    assert str(answer) == (
        f"class {change.label}: x0 from {X[0, 0]:.6g} to {new:.6g}. Cost {change.cost:.4g}; no cheaper "
        "change exists (proved)."
    )


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"wanted": "rich"}, "wanted must be a class, got 'rich'. Classes: "),
        ({"frozen": ["hat"]}, "Unknown feature 'hat'"),
        ({"rising": ["sex"]}, "rising is for numbers, and feature 'sex' is categorical"),
        ({"bounds": {"sex": (0, 1)}}, "feature 'sex' is categorical. Bounds are for numbers"),
        ({"categories": {"age": [3]}}, "feature 'age' is a number. Limit it by bounds="),
        ({"categories": {"town": ["Rome"]}}, "categories of feature 'town' include 'Rome'"),
        ({"max_changed": 0}, "max_changed must be an int of at least 1, or None, got 0"),
        ({"costs": {"age": -1}}, r"costs\['age'\] must be a positive number, got -1"),
        ({"n_answers": 0}, "n_answers must be an int of at least 1, got 0"),
        ({"time_limit": -1}, "time_limit must be a positive number of seconds, got -1"),
        ({"costs": [1.0]}, r"costs must be a mapping of columns, such as \{0: …\}, got \[1.0\]"),
        ({"bounds": [(0, 1)]}, "bounds must be a mapping of columns"),
        ({"categories": ["a"]}, "categories must be a mapping of columns"),
        ({"frozen": None}, "frozen must be a sequence of features, got None"),
        ({"rising": 1.5}, "rising must be a sequence of features, got 1.5"),
        ({"wanted": np.array([1, 2])}, "wanted must be a class"),
        ({"max_changed": True}, "max_changed must be an int of at least 1, or None, got True"),
    ],
)
def test_wishes_of_the_wrong_kind_are_refused(wish, message):
    with pytest.raises(ValueError, match=message):
        SMALL.recourse(ROWS[:1], **wish)


def test_printed_values_give_the_promised_class():
    for row in IRIS[0][::30]:
        (found,) = OF_IRIS.recourse(row[None], max_changed=1)
        ((name, (old, _)),) = found[0].columns.items()
        text = str(found[0])
        assert f"{name} from {old:.6g} to " in text
        printed = row.copy()
        printed[int(name[1:])] = float(text.split(" to ")[1].split(". Cost")[0])
        assert OF_IRIS.predict(printed[None])[0] == found[0].label


def test_the_reach_of_a_search_is_named():
    (found,) = OF_IRIS.recourse([[1e6] * 4])
    expected = "No change gives another class, with numbers within 10 standard deviations of the row."
    assert found.reason == expected
