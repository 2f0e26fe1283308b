import numpy as np
import pytest
from data_files import columns_and_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from ffmlp.inputs.columns import IndexedColumn
from ffmlp.tables.tables import Dialect
from ffmlp.tabular import table_columns
from ffmlp.tabular.dates import DMY, MDY, YMD, DateColumn
from ffmlp.tabular.table_columns import Tallies

pytest.importorskip("pandas")


def test_numbers_and_categories_of_a_file_from_a_spreadsheet(file):
    content = (
        b'\xef\xbb\xbfa,"b",c\r\n1,x,TRUE\r\n\r\n2.5e1,"y\r\n""z"", w",FALSE\r\n?, x,\r\n-4,NA,TRUE\r\n'
    )
    columns, rows = columns_and_rows(file(content))
    assert (columns.numbers, columns.categories) == (("a",), ("b", "c"))
    np.testing.assert_array_equal(rows["a"], [1, 25, np.nan, -4])
    assert rows["b"][:3] == ["x", 'y\r\n"z", w', "x"]
    assert np.isnan(rows["b"][3])
    assert rows["c"][:2] == ["TRUE", "FALSE"]  # as written
    assert np.isnan(rows["c"][2])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\nu,2\n" + b"x" * 200_000 + b",many\nu,4\nu,6\n", "t.csv, line 3, column 2 ('b'): 'many'"),
        (
            b"a,b\n1,2\n3,4\n5,many\n7,8\n",
            "t.csv, line 4, column 2 ('b'): 'many' is not a number, but 3 of 4 cells in this column "
            "are. If it stands for a missing value, add --missing 'many'; if the column is categorical, "
            "add --categorical 'b'.",
        ),
        (b"a;b\n1,5;x\n2,5;y\n", "line 2, column 1 ('a'): expected a number, got '1,5'. For decimal"),
        (
            b'a,b\n"1,000",x\n"-12,345,678.9",y\n5,y\n',
            "t.csv, line 2, column 1 ('a'): expected a number, got '1,000'. Remove the thousands "
            "separators. For decimal commas, add --decimal ','.",
        ),
        (b'a;b\n"1,000";x\n"0,125";y\n', "got '1,000'. For decimal commas, add --decimal ','."),
        (b"a,b\n7,\n7,\n", "has no usable feature (a: all values are 7; b: it is empty)."),
    ],
)  # fmt: skip
def test_errors_say_where(file, content, message):
    with pytest.raises(ValueError) as error:
        columns_and_rows(file(content))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_stray_text_can_be_a_category_or_a_missing_value(file):
    path = file(b"a,b\n1,2\n3,4\n5,many\n7,8\n")
    columns, rows = columns_and_rows(path, categorical=["b"])
    assert (columns.numbers, columns.categories) == (("a",), ("b",))
    assert rows["b"] == ["2", "4", "many", "8"]
    columns, rows = columns_and_rows(path, dialect=Dialect(("many",)))
    assert columns.numbers == ("a", "b")
    np.testing.assert_array_equal(rows["b"], [2, 4, np.nan, 8])


def test_useless_columns_are_left_out_with_a_reason(file):
    lines = [f"{row},{row % 7},7,,text {row}" for row in range(100)]
    columns, _ = columns_and_rows(file(("\n".join([",a,const,empty,free", *lines])).encode()))
    assert (columns.numbers, columns.categories) == (("a",), ())
    assert columns.unused == {
        "column 1": "it has no name",
        "const": "all values are 7",
        "empty": "it is empty",
        "free": "free text, 100 distinct values in 100 cells",
    }


def test_a_text_or_nothing_are_two_categories(file):
    lines = [f"{row},{'X' if row % 3 else ''},{7 if row % 3 else ''}" for row in range(60)]
    path = file("\n".join(["a,flag,seven", *lines]).encode())
    columns, rows = columns_and_rows(path)
    assert (columns.numbers, columns.categories) == (("a",), ("flag",))
    assert columns.unused == {"seven": "all values are 7"}
    assert [cell == "X" for cell in rows["flag"]] == [row % 3 > 0 for row in range(60)]
    columns, _ = columns_and_rows(path, categorical=["seven"])
    assert columns.categories == ("flag", "seven")


def test_thousands_are_no_categories_with_decimal_commas_either(file):
    lines = [f"{row % 7 + 1}.{row % 10}00,00;{row % 3},5" for row in range(60)]
    path = file("\n".join(["a;b", *lines]).encode())
    with pytest.raises(ValueError, match=r"'1\.000,00'\. Remove the thousands separators\.$"):
        columns_and_rows(path, dialect=Dialect(decimal=","))


@pytest.mark.parametrize(
    ("first", "order"),
    [
        ("2024-01-31", YMD),
        ("31.01.2024", DMY),
        ("1/31/2024", MDY),
        ("2024-01-31T08:30:00Z", YMD),
        ("2024-01-31 08:30:00.25+01:00", YMD),
    ],
)
@pytest.mark.parametrize("n_days", [3, 30])
def test_dates_become_the_parts_that_vary(file, first, order, n_days):
    days = [first.replace("31", f"{30 - row % n_days:02d}") for row in range(60)]
    days[7] = ""
    lines = [f"{row % 9},{day},1.{row % 3}.2024.1" for row, day in enumerate(days)]
    path = file("\n".join(["a,day,version", *lines]).encode())
    columns, rows = columns_and_rows(path)
    assert columns.dates == (DateColumn("day", order, ("weekday", "day of year")),)
    assert columns.numbers == ("a", "day (weekday)", "day (day of year)")
    assert (columns.categories, columns.unused) == (("version",), {})
    assert columns.sources == ["a", "version", "day"]
    expected = [30 - row % n_days for row in range(60)]
    expected[7] = np.nan
    np.testing.assert_array_equal(rows["day (day of year)"], expected)
    assert columns.notes == (
        f"'day' has dates, such as {days[0]}: the model uses weekday, day of year. Add --ignore 'day' "
        "to leave it out.",
    )
    forced = columns_and_rows(path, categorical=["day"])[0]
    assert (forced.categories, forced.dates) == (("day", "version"), ())


def test_the_order_of_day_and_month_is_noted_if_no_date_decides_it(file):
    dates = [f"{1 + row % 12}/{1 + row % 7}/2024" for row in range(40)]
    columns, _ = columns_and_rows(file("\n".join(["when", *dates]).encode()))
    assert columns.dates[0].order == MDY
    assert columns.notes[1] == (
        "'when': 1/1/2024 is read as month, day, year, and no date in the file decides it. If that is "
        "wrong, write dates as 2024-01-31."
    )


@pytest.mark.parametrize(
    ("date", "other", "order"),
    [
        ("2024-01-{}", "soon", "year, month, day"),
        ("2024-01-{}", "2024-02-30", "year, month, day"),
        ("{}/1/2024", "1/31/2024", "day, month, year"),
    ],
)
def test_a_text_among_dates_is_an_error(file, date, other, order):
    lines = [date.format(1 + row) for row in range(20)] + [other]
    with pytest.raises(ValueError, match="not a date") as error:
        columns_and_rows(file("\n".join(["when", *lines]).encode()))
    assert str(error.value).endswith(
        f"t.csv, line 22, column 1 ('when'): {other!r} is not a date ({order}), but 20 of 21 cells in "
        f"this column are. If it stands for a missing value, add --missing {other!r}; if the column is "
        "categorical, add --categorical 'when'."
    )


def test_the_name_of_a_part_must_be_free(file):
    lines = [f"2024-01-{1 + row:02d},{row}" for row in range(20)]
    with pytest.raises(ValueError, match="Rename one of them, or add --ignore 'when'") as error:
        columns_and_rows(file("\n".join(["when,when (weekday)", *lines]).encode()))
    assert "'when (weekday)' is the name of a part of it and of another column" in str(error.value)


def notes_on(file, name, values):
    lines = [f"{value},{row % 7}" for row, value in enumerate(values)]
    return columns_and_rows(file("\n".join([f"{name},other", *lines]).encode()), n_rows=3)[0].notes


@pytest.mark.parametrize(
    ("name", "values", "is_noted"),
    [
        ("x", range(30), True),
        ("patient_id", [row * 7 % 30 for row in range(30)], True),
        ("PassengerId", [row * 7 % 30 for row in range(30)], True),
        ("humid", [row * 7 % 30 for row in range(30)], False),
        ("x", range(19), False),
        ("x", [row + 0.5 for row in range(30)], False),
        ("id", [row // 2 for row in range(30)], False),
        ("id", [*range(29), ""], False),
    ],
)
def test_integers_like_ids_are_noted(file, name, values, is_noted):
    note = (
        f"'{name}' is an integer that differs in every row, as an id does, and is used as a number. If "
        f"it is an id, add --id '{name}' or --ignore '{name}'."
    )
    assert notes_on(file, name, values) == ((note,) if is_noted else ())


@pytest.mark.parametrize(
    ("unit", "is_noted"), [("{} mm", True), ("{}kg", True), ("{} m/s", True), ("{}%", True),
                           ("${}", True), ("{} °C", True), ("{}th", False), ("q{}", False)]
)  # fmt: skip
def test_numbers_with_a_unit_are_noted(file, unit, is_noted):
    note = (
        f"'length' has numbers with a unit, such as {unit.format(10)!r}, which are used as categories. "
        "Remove the unit to use them as numbers, or add --ignore 'length'."
    )
    found = notes_on(file, "length", [unit.format(10 + row % 9) for row in range(40)])
    assert found == ((note,) if is_noted else ())
    assert notes_on(file, "drive", [f"{2 + row % 2}WD" for row in range(40)]) == ()


def test_many_numbers_with_a_unit_are_left_out_with_that_reason(file):
    lines = [f"{row}.5 mm,{row % 7}" for row in range(40)]
    columns, _ = columns_and_rows(file("\n".join(["length,other", *lines]).encode()))
    reason = "its numbers have a unit, such as '0.5 mm'; remove the unit to use them"
    assert columns.unused == {"length": reason}


def test_categories_that_are_spelt_alike_are_noted(file):
    note = (
        "'size' has categories that differ only in case or spaces: 'Very Large' and 'very  large'. If "
        "they are the same, write them alike in the file."
    )
    sizes = ["small", "very  large", "Very Large"]
    assert notes_on(file, "size", [sizes[row % 3] for row in range(40)]) == (note,)
    assert notes_on(file, "size", [sizes[row % 2] for row in range(40)]) == ()
    # These mean the same.
    truths = ["TRUE", "true", "no"]
    assert notes_on(file, "size", [truths[row % 3] for row in range(40)]) == ()


CELLS = st.sampled_from(
    ["1", "2.5", "1,5", "12,345", "red", "Red", "2024-01-31", "3/4/2024", "39 mm", None]
)


def texts(cells):
    distinct = list(dict.fromkeys(cell for cell in cells if cell is not None))
    return IndexedColumn(
        np.array([distinct.index(cell) if cell is not None else -1 for cell in cells]), distinct
    )


def of_cells(numbers, cells):
    return Tallies.of({"n": np.array(numbers, float), "t": texts(cells)}, Dialect())


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 4.5, np.nan]), CELLS), min_size=2, max_size=30),
    st.data(),
)
def test_tallies_of_blocks_add_up_to_those_of_all_rows(rows, data):
    numbers, cells = zip(*rows, strict=True)
    cut = data.draw(st.integers(1, len(rows) - 1))
    later = data.draw(st.integers(cut, len(rows)))
    parts = [slice(0, cut), slice(cut, later), slice(later, None)]
    first, second, third = (of_cells(numbers[part], cells[part]) for part in parts)
    whole = of_cells(numbers, cells)
    assert first + second + third == whole
    assert first + (second + third) == whole


@pytest.mark.parametrize("many_first", [False, True])
def test_too_many_distinct_values_are_not_kept(monkeypatch, many_first):
    monkeypatch.setattr(table_columns, "_MAX_DISTINCT", 5)
    few, many = of_cells([1, 2], ["a", "b"]), of_cells(range(9), [f"text {row}" for row in range(9)])
    both = many + few if many_first else few + many
    assert both.n_rows == 11
    assert both.columns["n"].distinct == frozenset()
    assert len(both.columns["t"].distinct) == 5
    for tally in both.columns.values():
        assert (tally.n_distinct, tally.n_compared) == (9, 9)
