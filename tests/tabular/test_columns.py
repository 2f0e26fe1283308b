import numpy as np
import pytest
from data_files import columns_and_rows

from ffmlp.tables.tables import Dialect

pd = pytest.importorskip("pandas")


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "t.csv"
        path.write_bytes(content)
        return path

    return write


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


@pytest.mark.parametrize(
    "first",
    ["2024-01-31", "31.01.2024", "1/31/2024", "2024-01-31T08:30:00Z", "2024-01-31 08:30:00.25+01:00"],
)
@pytest.mark.parametrize("n_days", [3, 30])
def test_dates_are_left_out_as_those_of_parquet_are(file, first, n_days):
    days = [first.replace("31", f"{30 - row % n_days:02d}") for row in range(60)]
    days[7] = ""
    lines = [f"{row},{day},1.{row % 3}.2024.1" for row, day in enumerate(days)]
    path = file("\n".join(["a,day,version", *lines]).encode())
    columns, _ = columns_and_rows(path)
    assert (columns.numbers, columns.categories) == (("a",), ("version",))
    assert columns.unused == {"day": f"it holds dates, such as {days[0]}"}
    assert columns_and_rows(path, categorical=["day"])[0].categories == ("day", "version")
