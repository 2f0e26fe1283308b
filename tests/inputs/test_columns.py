"""Cells, inputs and words of the columns of a table."""

import numpy as np
import pytest

from ffmlp.inputs.columns import (
    UNKNOWN,
    CategoryColumn,
    Columns,
    NumberColumn,
    category_cells,
    category_name,
)
from ffmlp.inputs.imputation import Imputation


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, ""), (np.nan, ""), (float("nan"), ""), (np.float32("nan"), ""), ("", ""), ("  ", ""),
        (1, "1"), (1.0, "1"), ("1.0", "1"), ("1.00", "1"), ("-2.0", "-2"), (np.int64(7), "7"),
        (np.float64(7), "7"), (0.5, "0.5"), ("0.50", "0.50"), ("1.0.0", "1.0.0"), ("v1.0", "v1.0"),
        ("01.0", "01"), ("1.", "1."), (True, "True"), (np.True_, "True"), ("True", "True"),
        (" a ", "a"), ("a b", "a b"), ("\ta", "\ta"), (np.str_("u"), "u"),
        ("nan", "nan"), ("None", "None"),
    ],
)  # fmt: skip
def test_the_name_of_a_category(value, name):
    assert category_name(value) == name
    assert category_name(category_name(value)) == name


def test_missing_cells_of_pandas_have_no_name():
    pd = pytest.importorskip("pandas")
    assert category_name(pd.NA) == ""
    assert category_name(pd.NaT) == ""


def town(seen_missing=True):
    """Five towns and the share of one class in each."""
    shares = np.array([[0.1], [0.3], [0.4], [0.7], [0.9], [0.45 if seen_missing else 0.5], [0.5]])
    return CategoryColumn("town", ("Ayr", "Bath", "Cork", "Deal", "Ely"), (1,), shares)


def table(imputation=None, seen_missing=True):
    """Two numbers around a column of categories with two shares, and one with a single share."""
    shares = np.array([[0.2, 0.7], [0.6, 0.1], [0.3, 0.3], [0.3, 0.4]])
    colour = CategoryColumn("colour", ("blue", "red"), (0, 2), shares)
    parts = NumberColumn("x", 1.5), colour, town(seen_missing), NumberColumn("y", -2.0)
    return Columns(parts, imputation)


def test_cells_of_categories():
    np.testing.assert_array_equal(
        category_cells(town().categories, ["Ely", "Ayr", "", "nowhere", "missing", "ely"]),
        [4, 0, np.nan, UNKNOWN, UNKNOWN, UNKNOWN],
    )


def test_inputs_of_cells():
    cells = np.array([[0.5, 1, 4, 7.0], [2.0, np.nan, UNKNOWN, 8.0], [np.nan, UNKNOWN, np.nan, np.nan]])
    columns = table()
    np.testing.assert_array_equal(
        columns.inputs(cells),
        [[0.5, 0.6, 0.1, 0.9, 7.0], [2.0, 0.3, 0.3, 0.5, 8.0], [1.5, 0.3, 0.4, 0.45, -2.0]],
    )
    assert np.isnan(columns.encoded(cells)).sum() == 2
    np.testing.assert_array_equal(columns.owners, [0, 1, 1, 2, 3])
    np.testing.assert_array_equal(columns.firsts, [0, 1, 3, 4])
    np.testing.assert_array_equal(columns.fills, [1.5, 0.0, 0.0, 0.0, -2.0])
    assert columns.names == ("x", "colour", "town", "y")
    assert len(columns) == 4
    labels = np.array(["a", "b", "c"])
    shares = "share of a by colour", "share of c by colour", "share of b by town"
    assert columns.input_names(labels) == ("x", *shares, "y")


def test_an_imputation_replaces_medians():
    limits = np.full(5, -99.0), np.full(5, 99.0)
    blob = np.zeros(1), np.arange(5.0)[None], np.eye(5)[None]
    columns = table(Imputation(np.zeros(5), np.ones(5), *limits, *blob))
    filled = columns.inputs(np.array([[np.nan, 0, 0, np.nan]]))
    np.testing.assert_array_equal(filled, [[0.0, 0.2, 0.7, 0.1, 4.0]])


def test_numbers_are_their_own_inputs():
    columns = Columns((NumberColumn("x", 1.0), NumberColumn("y", 2.0)))
    cells = np.ones((3, 2), np.float32)
    assert columns.are_inputs
    assert columns.inputs(cells) is cells
    filled = columns.inputs(np.array([[np.nan, 5.0]], np.float32))
    assert filled.dtype == np.float32
    np.testing.assert_array_equal(filled, [[1.0, 5.0]])
    assert not table().are_inputs


def test_what_a_cell_holds():
    words = [town().value(cell) for cell in (0.0, 4.0, np.nan, UNKNOWN)]
    assert words == ["Ayr", "Ely", "missing", "unknown"]
    assert [NumberColumn("x", 0.0).value(cell) for cell in (2.5, np.nan)] == [2.5, "missing"]


def test_a_point_of_the_inputs_in_words():
    assert NumberColumn("x", 0.0).near(np.array([1234.56])) == "= 1235"
    assert town().near(np.array([0.68])) == "like Deal"
    assert town().near(np.array([0.46])) == "like missing"
    assert town(seen_missing=False).near(np.array([0.46])) == "like Cork"


def between(columns, limits):
    """The categories between limits of some inputs."""
    low, high = np.full(5, -np.inf), np.full(5, np.inf)
    for number, (least, most) in limits.items():
        low[number], high[number] = least, most
    return columns.between(low, high)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.3, 0.4, "town is Cork"),
        (0.2, 0.4, "town is Bath or Cork"),
        (0.5, np.inf, "town is Deal or Ely"),
        (-np.inf, 0.5, "town is Ayr or Bath or Cork or missing"),
        (-np.inf, np.inf, "town is one of 6 categories (Ayr, Bath, Cork, …)"),
        (0.46, 0.6, "town is no known category"),
    ],
)
def test_categories_between_two_limits(low, high, words):
    limits = {} if np.isinf(low) and np.isinf(high) else {2: words}
    assert between(table(), {3: (low, high)}) == limits
    assert town().between(np.array([low]), np.array([high])) == words
    assert between(table(), {0: (low, high), 4: (low, high)}) == {}


def test_limits_of_several_shares_are_one_set_of_categories():
    found = between(table(), {1: (-np.inf, 0.5), 2: (0.2, np.inf), 3: (0.3, 0.4)})
    assert found == {1: "colour is blue or missing", 2: "town is Cork"}
    assert between(table(), {1: (0.9, np.inf), 2: (0.9, np.inf)}) == {1: "colour is no known category"}


def test_missing_cells_are_named_only_if_training_had_any():
    columns = table(seen_missing=False)
    assert not columns.parts[2].knows_missing
    assert between(columns, {3: (0.35, 0.5)}) == {2: "town is Cork"}
    assert between(table(), {3: (0.35, 0.5)}) == {2: "town is Cork or missing"}
    assert between(table(), {2: (0.2, np.inf)}) == {1: "colour is blue or missing"}  # the second share


def test_values_of_inputs_are_added_up_by_column():
    np.testing.assert_array_equal(table().summed(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), [1, 5, 4, 5])


def test_only_numbers_that_are_there_can_change():
    cells = np.array([[0.5, 1, 4, np.nan], [np.nan, np.nan, UNKNOWN, 8.0]])
    np.testing.assert_array_equal(
        table().changeable(cells), [[True, False, False, False, False], [False] * 4 + [True]]
    )


def test_booleans_are_known_however_they_are_written():
    values = [True, np.True_, "true", "TRUE", 1, 1.0, "1", False, "false", 0, None, "yes"]
    names = [category_name(value) for value in values]
    expected = [1] * 7 + [0] * 3 + [np.nan, UNKNOWN]
    np.testing.assert_array_equal(category_cells(("False", "True"), names), expected)
    np.testing.assert_array_equal(category_cells(("1", "2"), ["1", "True"]), [0, UNKNOWN])


def test_a_column_whose_categories_are_all_unique_has_words():
    column = CategoryColumn("id", (), (1,), np.full((2, 1), 0.4))
    assert column.near(np.array([0.4])) == "of any category"
