import gzip
import io

import numpy as np
import pytest
from data_files import columns_and_rows, frames_of_parts, rows_of_parts

from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import NAME, NUMBER, TEXT, Dialect
from ffmlp.tables.text_tables import TextTable

pd = pytest.importorskip("pandas")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_that_of_the_header(file, delimiter):
    content = f'"x, or; y"{delimiter}b\n1{delimiter}2\n3{delimiter}4\n'.encode()
    columns, rows = columns_and_rows(file(content))
    assert columns.numbers == ("x, or; y", "b")
    assert rows["b"] == [2, 4]


@pytest.mark.parametrize(
    ("content", "decimal", "names"),
    [
        ("length, cm;width, cm;y\n1;2;no\n3;4;yes\n", ".", ("length, cm", "width, cm", "y")),
        ("length, cm;width, cm;y\n1,5;2,5;no\n", ".", ("length, cm", "width, cm", "y")),
        ("length, cm;width, cm\n1,5;2,5\n", ",", ("length, cm", "width, cm")),
        ("a;b;c,d\n1,2;\n3,4\n", ".", ("a;b;c", "d")),
        ("a, or b|c\n1|2|\n", ".", ("a, or b", "c")),
        ('a;b,c\n"1;2",3\n"x\n",2\n', ".", ("a;b", "c")),
        ("a,b;c,d\n1;2,3\n4\n", ".", ("a", "b;c", "d")),  # none fits: the most frequent one
        ("a\n1\n2\n", ".", ("a",)),
    ],
)
def test_delimiter_splits_header_and_rows_alike(file, content, decimal, names):
    assert open_table(file(content.encode()), Dialect(decimal=decimal)).columns == names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv is empty."),
        (b"\n \n", "t.csv is empty."),
        (b"a,b\n", "t.csv has a header but no rows."),
        (b"1,2\n3,4\n", "t.csv, line 1: the column names are all numbers: 1, 2. Add a header"),
        (b",\n3,4\n", "t.csv, line 1: the columns have no names."),
        (b"a,b,a\n1,2,3\n", "t.csv, line 1: columns 1 and 3 are both named 'a'."),
        (b"a,b\n1,2\n\n3,4,5\n", "t.csv, line 4: the header has 2 columns, this line has 3."),
        (b"a,b\n1,2,3\n4,5,6\n", "t.csv, line 2: the header has 2 columns, this line has 3."),
        (b'a,b\n"1\n",2\n3,4\n5\n', "t.csv, line 5: the header has 2 columns, this line has 1."),
        (b"a,b\n1,2\n3,\xff\n", "t.csv, line 3: not valid utf-8. Save the file as UTF-8, or give its"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "t.csv, line 3: a quote is opened but never closed."),
        (b'a,b\n1,2\n3,4\n"5,6\n7,8\n', "t.csv, line 4: a quote is opened but never closed."),
        (b"a,b\n1,2\n3,inf\n", "t.csv, line 3, column 2 ('b'): numbers must be finite, got inf."),
        (b'a,b\n1,2\n""\n3,4\n', "t.csv, line 3: the header has 2 columns, this line has 1."),
        (
            b'a,b\n1,"x\n2,y\n\n3,"y"\n4,z\n',
            "t.csv, line 2: the quote opened here is closed on line 5, but 'y\"' follows it. A closing "
            "quote must end the cell; double the quotes inside a quoted cell.",
        ),
        (b'a,b\n1,"x\n2,"\n3,"y" z\n', "t.csv, line 4: the quote opened here is closed on line 4"),
        (b'"a"s,b\n1,2\n3,4\n', "t.csv, line 1: the quote opened here is closed on line 1"),
    ],
)  # fmt: skip
def test_errors_say_where(file, content, message):
    with pytest.raises(ValueError) as error:
        columns_and_rows(file(content))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_number_in_the_first_block_does_not_hide_a_text_in_a_later_one(file):
    path = file(b"a,b\n1,2\n3,4\n5,x\n")
    with pytest.raises(ValueError, match=r"line 4, column 2 \('b'\): expected a number, got 'x'"):
        list(open_table(path).blocks(1, {"b": "number"}))


def outcome(frames):
    """The rows of frames, or that there was an error."""
    try:
        # A file without rows may have no frame, or an empty one.
        frame = pd.concat([pd.DataFrame(columns=["a", "b"]), *frames], ignore_index=True)
        return [["" if pd.isna(cell) else cell for cell in row] for row in frame.to_numpy().tolist()]
    except ValueError:  # of several errors, either may be reported
        return "ValueError"


@hypothesis.example("1, 2\n3,4\n5,6\n", "a,b\n", 2, ".csv", TEXT)
@hypothesis.example('1,2\n3,4\n"5",6\n7,"8\n', "a,b\n", 1, ".csv", TEXT)
@hypothesis.example("1,2\n3,4,5\n", "a,b\n", 1, ".csv", TEXT)
@hypothesis.example("1,2\n3,4,,5\n", "a,b\n", 1, ".csv.gz", TEXT)
@hypothesis.example("1,2\n3\n", "a,b\n", 1, ".csv", TEXT)
@hypothesis.example("1,2\n\n\n3,inf\n", "a,b\n", 1, ".csv", TEXT)
@hypothesis.example("1,2\r3,4\r", "a,b\r", 1, ".csv", TEXT)
@hypothesis.example("1,x\r\n2, NA", "\n\ufeffa,b\r\n", 1, ".csv", TEXT)
@hypothesis.given(
    st.lists(
        st.sampled_from(["1", "-2.5", "x", "NA", "inf", ",", ",", "\n", "\n", "\r\n", '"', " "])
    ).map("".join),
    st.sampled_from(["a,b\n", '"a","b"\r\n', '"a",b\r', "\ufeffa,b\n", "\n a, b\n"]),
    st.integers(1, 3),
    st.sampled_from([".csv", ".csv.gz"]),
    st.sampled_from([TEXT, NUMBER, NAME]),
)
def test_parts_are_the_blocks(tmp_path_factory, rows, header, n_rows, suffix, kind):
    content = (header + rows).encode()
    path = tmp_path_factory.getbasetemp() / f"parts{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    try:
        table = open_table(path)
    except ValueError:
        hypothesis.reject()
    kinds = {"a": NUMBER, "b": kind}
    hypothesis.assume(set(table.columns) == set(kinds))
    parts = frames_of_parts(table, n_rows, kinds)
    assert outcome(parts) == outcome(open_table(path).blocks(1000, kinds))


@pytest.mark.parametrize("kind", [NUMBER, TEXT, NAME])
def test_blank_lines_are_not_rows_of_a_file_with_one_column(file, kind):
    table = open_table(file(b"a\n1\n\n2\r\n\r\n\t\n3\n \n\n"))
    assert rows_of_parts(table, 2, {"a": kind})["a"].astype(str).str[0].tolist() == ["1", "2", "3"]


@pytest.mark.parametrize("n_rows", [1, 2, 5, 6, 7, 1000])
@pytest.mark.parametrize("ends", [("", ","), (",", ""), (", ", "")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_trailing_delimiter_on_some_lines_is_reported_with_its_line(file, n_rows, ends, quote):
    lines = [f"{quote}{row}{quote},2{ends[row == 5]}\n" for row in range(9)]
    table = open_table(file(("a,b\n" + "".join(lines)).encode()))
    cells = [3 if "," in end else 2 for end in ends]
    message = rf"line 7: this line has {cells[1]} cells, earlier lines have {cells[0]}\. A trailing"
    with pytest.raises(ValueError, match=message):
        list(table.blocks(n_rows, {"b": "number"}))
    with pytest.raises(ValueError, match=message):
        rows_of_parts(open_table(table.path), n_rows, {"b": "number"})
    same = open_table(file(("a,b\n" + lines[0] * 9).encode(), "same.csv"))
    assert rows_of_parts(same, n_rows, {"b": "number"})["b"].tolist() == [2] * 9


def test_a_line_that_is_too_long_is_seen_wherever_it_is(file):
    # So many that pandas reads them in several chunks.
    header = ",".join(f"f{number}" for number in range(100))
    lines = ["1" + 99 * ",2"] * 20_000
    for row in (8191, 8192, 16384):
        longer = [*lines[:row], f"{lines[row]},3", *lines[row + 1 :]]
        table = open_table(file("\n".join([header, *longer, ""]).encode()))
        with pytest.raises(ValueError, match=rf"line {row + 2}: the header has 100 columns, this line"):
            rows_of_parts(table, 50_000, {"f0": "number"})


@pytest.mark.parametrize("kind", ["name", "text", "number"])
def test_short_lines_are_reported_whatever_the_last_column_is(file, kind):
    content = b"a,b,id\n1,2,3\n1,2,\n1\n1,2,3\n"
    for n_rows in (1, 2, 100):
        with pytest.raises(ValueError, match="line 4: the header has 3 columns, this line has 1"):
            rows_of_parts(open_table(file(content)), n_rows, {"a": "number", "id": kind})
        with pytest.raises(ValueError, match="line 4: the header has 3 columns, this line has 1"):
            list(open_table(file(content)).blocks(n_rows, {"a": "number", "id": kind}))


def test_decimal_commas_and_spaces_after_tokens_are_reported_with_their_place(file):
    with pytest.raises(ValueError, match=r"line 3, column 2 \('b'\): expected a number, got 'NA '\."):
        list(open_table(file(b"a,b\n1,2\n3,NA \n")).blocks(10, {"b": "number"}))
    with pytest.raises(ValueError, match=r"got '1,5'\. For decimal commas, add --decimal ','"):
        list(open_table(file(b"a;b\n1;2\n3;1,5\n")).blocks(10, {"b": "number"}))


def test_names_are_never_missing(file):
    table = open_table(file(b"id,b\nNA,1\n?,NA\nnull,3\n"))
    (block,) = table.blocks(10, {"id": "name", "b": "number"})
    assert block["id"].tolist() == ["NA", "?", "null"]
    np.testing.assert_array_equal(block["b"], [1, np.nan, 3])


def test_spaces_around_a_category_do_not_count(file):
    content = b'a,b\n1, red\n2,red  \n3,"red "\n4,NA \n5,blue\n'
    _, rows = columns_and_rows(file(content))
    assert rows["b"][:3] == ["red", "red", "red"]
    assert np.isnan(rows["b"][3])
    assert rows["b"][4] == "blue"


USUAL = ["", "NA", "1", "-0", "+3", "007", "2.5", "-.5", "1e5", "1E-3", " 2", "3 ", "1e400", "inf"]
LONG = ["9007199254740993", "9223372036854775807", "18446744073709551615", "1" * 40, "0.1" + "2" * 30]
NO_NUMBERS = ["True", "false", "text", "1_0", "0x1", "1,5", "1+2j", "2020-01-01", "\u0663"]
cells = st.sampled_from(USUAL + LONG + NO_NUMBERS)


@hypothesis.given(st.lists(cells, min_size=1, max_size=6))
@hypothesis.settings(deadline=None)
def test_numbers_that_pandas_infers_are_those_that_it_is_told_to_read(tmp_path_factory, column):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_text("a;b\n1;x\n", encoding="utf-8")
    table, kinds = TextTable.of(path, Dialect(), None), {"a": NUMBER, "b": TEXT}
    lines = "".join(f"{cell};x\n" for cell in column).encode()

    def read_as_numbers():
        options = {**table._options(kinds), "skipinitialspace": True}
        return pd.read_csv(io.BytesIO(lines), header=None, dtype=table._types(kinds), **options)

    try:
        expected = read_as_numbers()
    except ValueError:
        with pytest.raises(ValueError):
            table._numbers_and_texts(lines, kinds)
    else:
        pd.testing.assert_frame_equal(table._numbers_and_texts(lines, kinds), expected, rtol=1e-15)
