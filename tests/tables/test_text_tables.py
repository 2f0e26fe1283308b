import gzip
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from data_files import columns_and_rows, rows_of_parts

from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import NUMBER, TEXT, Dialect

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
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


def rows_by_csv(table, kinds, kept):
    """The rows of a file by the csv module, cell by cell, with None for missing; or that it is wrong."""

    def number(cell):
        value = table.dialect.number(cell)
        if math.isinf(value):
            raise ValueError("numbers must be finite")
        return value if value == value else None

    def text(cell):
        trimmed = cell.strip(" ")
        return None if trimmed in table.dialect.missing_texts else trimmed

    columns = [(name, number if kind == NUMBER else text) for name, kind in kinds.items()]
    places = [
        (table.columns.index(name), read) for name, read in [*columns, *((name, str) for name in kept)]
    ]
    try:
        return [[read(cells[place]) for place, read in places] for _, cells in table.lines()]
    except ValueError:
        return "ValueError"


def rows_by_parts(table, n_rows, kinds, kept, n_threads):
    """The same by the parts of a table, in threads."""
    rows = []
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            for block in pool.map(lambda part: part(), table.parts(n_rows, kinds, kept)):
                columns = [
                    *block.numbers.T.tolist(),
                    *(np.array([*texts.distinct, None])[texts.indices] for texts in block.texts),
                ]
                columns += [cells.to_pylist() for cells in block.kept]
                rows += [
                    [cell if cell == cell else None for cell in row]
                    for row in zip(*columns, strict=True)
                ]
    except ValueError:  # of several errors, either may be reported
        return "ValueError"
    return rows


NUMBERS = ["1", "-2.5", "+3", " 4", "5 ", "1e5", ".5", "9007199254740993", "0.1" + "2" * 30, "1e-400"]
NO_NUMBERS = ["x", "é y", "inf", "1e400", "True", "1_0", "0x1", "1,5", "12:30", "2024-01-31", "\u0663"]
MISSING_CELLS = ["", "NA", " NA", "NA ", "?", "-999", "-999.0", '"NA"', '""']
QUOTED = [
    '"1"',
    '"a, b"',
    '"c ""d"""',
    ' "e" ',
    '"\n"',
    '"f\r\ng"',
    '5" pipe',
    '", "',
    '" h"',
    '"',
    '"i"j',
]
BETWEEN = [",", ",", ",", "\n", "\n", "\n", "\r\n", "\r", " ", "\t", "\n \n", "\n\t \n", ",\n", "  "]
HEADERS = ["a,b,c\n", '"a","b","c"\r\n', 'a,b,"c"\r', "\ufeffa,b,c\n", "\n a, b,c\n", '"a",b,"c\n"\n']
any_cell = st.sampled_from([*NUMBERS, *NO_NUMBERS, *MISSING_CELLS, *QUOTED])
a_number = st.sampled_from([*NUMBERS, *MISSING_CELLS, '"1"'])
# Most of these are tables; those of single pieces seldom are.
tables = st.lists(st.tuples(a_number, any_cell, any_cell).map(",".join)).map("\n".join)
pieces = st.lists(st.one_of(any_cell, st.sampled_from(BETWEEN))).map("".join)


@hypothesis.settings(max_examples=150, deadline=None)
@hypothesis.example("1, 2,\n3,4,5\n5,6,\n", HEADERS[0], 2, "t.csv", "utf-8", ())
@hypothesis.example('1,2,3\n3,4,5\n"5",6,7\n7,"8,9\n', HEADERS[0], 1, "t.csv", "utf-8", ())
@hypothesis.example("1,2,3\n3,4,5,\n", HEADERS[0], 1, "t.csv", "utf-8", ())
@hypothesis.example("1,2,3,\n3,4,5,\n", HEADERS[0], 1, "t.csv", "utf-8", ())
@hypothesis.example("1,2,3\n3\n", HEADERS[0], 1, "t.csv.gz", "utf-8", ())
@hypothesis.example("1,2,3\r3,4,5\r", HEADERS[2], 1, "t.csv", "utf-8", ())
@hypothesis.example('1,"x, y",z\n2,"a",5" pipe\n3, "c",d', HEADERS[3], 9, "t.csv", "utf-8", ())
@hypothesis.example('1,"x\n,y",z\n2,é,\n', HEADERS[5], 1, "t.csv", "utf-16", ("-999",))
@hypothesis.given(
    st.one_of(tables, pieces),
    st.sampled_from(HEADERS),
    st.sampled_from([1, 2, 3, 1000]),
    st.sampled_from(["t.csv", "t.csv", "t.csv.gz"]),
    st.sampled_from(["utf-8", "utf-8", "utf-16", "utf-8-sig"]),
    st.sampled_from([(), ("-999",), ("x", "1")]),
)
def test_rows_are_those_of_the_csv_module(
    tmp_path_factory, rows, header, n_rows, name, encoding, missing
):
    path = tmp_path_factory.getbasetemp() / name
    content = (header + rows).encode(encoding)
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    try:
        table = open_table(path, Dialect(missing, encoding=encoding))
    except ValueError:
        hypothesis.reject()
    hypothesis.assume(table.columns == ("a", "b", "c"))
    for kinds, kept in (({"a": NUMBER, "b": TEXT}, ("c",)), ({"c": TEXT}, ("a", "b", "c"))):
        expected = rows_by_csv(table, kinds, kept)
        for n_threads in (1, 3):
            assert rows_by_parts(table, n_rows, kinds, kept, n_threads) == expected


@pytest.mark.parametrize("kinds", [{"a": NUMBER}, {"a": TEXT}, {}])
def test_blank_lines_are_not_rows_of_a_file_with_one_column(file, kinds):
    table = open_table(file(b"a\n1\n\n2\r\n\r\n\t\n3\n \n\n"))
    kept = () if kinds else ("a",)
    assert rows_of_parts(table, 2, kinds, kept)["a"].astype(str).str[0].tolist() == ["1", "2", "3"]


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
    header = ",".join(f"f{number}" for number in range(100))
    lines = ["1" + 99 * ",2"] * 20_000
    for row in (8191, 8192, 16384):
        longer = [*lines[:row], f"{lines[row]},3", *lines[row + 1 :]]
        table = open_table(file("\n".join([header, *longer, ""]).encode()))
        with pytest.raises(ValueError, match=rf"line {row + 2}: the header has 100 columns, this line"):
            rows_of_parts(table, 50_000, {"f0": "number"})


@pytest.mark.parametrize("kinds", [{"a": "number", "id": "text"}, {"id": "number"}, {"a": "number"}])
def test_short_lines_are_reported_whatever_the_last_column_is(file, kinds):
    content = b"a,b,id\n1,2,3\n1,2,\n1\n1,2,3\n"
    kept = () if "id" in kinds else ("id",)
    for n_rows in (1, 2, 100):
        with pytest.raises(ValueError, match="line 4: the header has 3 columns, this line has 1"):
            rows_of_parts(open_table(file(content)), n_rows, kinds, kept)
        with pytest.raises(ValueError, match="line 4: the header has 3 columns, this line has 1"):
            list(open_table(file(content)).blocks(n_rows, kinds))


def test_decimal_commas_and_spaces_after_tokens_are_reported_with_their_place(file):
    with pytest.raises(ValueError, match=r"line 3, column 2 \('b'\): expected a number, got 'NA '\."):
        list(open_table(file(b"a,b\n1,2\n3,NA \n")).blocks(10, {"b": "number"}))
    with pytest.raises(ValueError, match=r"got '1,5'\. For decimal commas, add --decimal ','"):
        list(open_table(file(b"a;b\n1;2\n3;1,5\n")).blocks(10, {"b": "number"}))


def test_kept_cells_are_as_they_are_written(file):
    table = open_table(file(b"id,b\nNA,1\n?,NA\nnull,3\n 007 ,\n,+5\n"))
    rows = rows_of_parts(table, 10, {"b": "number"}, ("id", "b"))
    assert rows["id"].tolist() == ["NA", "?", "null", "007 ", ""]
    (block,) = (part() for part in table.parts(10, {"b": "number"}, ("id", "b")))
    np.testing.assert_array_equal(block.numbers[:, 0], [1, np.nan, 3, np.nan, 5])
    assert block.kept[1].to_pylist() == ["1", "NA", "3", "", "+5"]


def test_frames_have_as_many_rows_as_asked_for(file):
    table = open_table(file(b"a,b\n1,x\n22,NA\n3,longer\n4,y\n5555,z\n"))
    for n_rows in (1, 2, 3, 5, 100):
        found = list(table.blocks(n_rows, {"b": TEXT, "a": NUMBER}))
        assert [len(frame) for frame in found] == [n_rows] * (5 // n_rows) + [5 % n_rows] * (
            5 % n_rows > 0
        )
        assert pd.concat(found)["a"].tolist() == [1, 22, 3, 4, 5555]
        assert list(found[0]) == ["b", "a"]


def test_spaces_around_a_category_do_not_count(file):
    content = b'a,b\n1, red\n2,red  \n3,"red "\n4,NA \n5,blue\n'
    _, rows = columns_and_rows(file(content))
    assert rows["b"][:3] == ["red", "red", "red"]
    assert np.isnan(rows["b"][3])
    assert rows["b"][4] == "blue"


def test_a_byte_order_mark_within_a_file_is_part_of_its_cell(file):
    """Also at the beginning of a block, where Arrow would drop it."""
    path = file(b"a,b\n" + "\ufeffx,1\ny,2\n".encode() * 3)
    rows = rows_of_parts(open_table(path), 1, {"a": TEXT, "b": NUMBER})
    assert rows["a"].tolist() == ["\ufeffx", "y"] * 3
