import bz2
import gzip
import io
import lzma

import numpy as np
import pytest

from ffmlp.tables.tables import NAME, NUMBER, TEXT, Dialect, open_table
from ffmlp.tables.text_files import even_share
from ffmlp.tables.text_tables import TextTable
from ffmlp.tabular.columns import infer

pd = pytest.importorskip("pandas")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


@pytest.fixture
def file(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def columns_and_rows(path, categorical=(), dialect=Dialect(), n_rows=2):  # noqa: B008
    """What the columns are, and the rows from blocks so small that some rows are in later ones."""
    table = open_table(path, dialect)
    columns = infer(table, categorical, ())
    return columns, pd.concat(table.blocks(n_rows, columns.kinds)).to_dict("list")


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
    ("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_files(file, suffix, compress):
    content = compress(b"a\tb\n1\t2\n3\t4\n")
    assert columns_and_rows(file(content, f"t.tsv.{suffix}"))[1] == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(ValueError, match=rf"c\.tsv\.{suffix} cannot be decompressed"):
        columns_and_rows(file(content[: len(content) // 2], f"c.tsv.{suffix}"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv is empty."),
        (b"\n \n", "t.csv is empty."),
        (b"a,b\n", "t.csv has a header, but no rows."),
        (b"1,2\n3,4\n", "t.csv, line 1: the first line must name the columns, but it has numbers only"),
        (b",\n3,4\n", "t.csv, line 1: there are no names of columns."),
        (b"a,b,a\n1,2,3\n", "t.csv, line 1: columns 1 and 3 are both named 'a'."),
        (b"a,b\n1,2\n\n3,4,5\n", "t.csv, line 4: the header has 2 columns, this line has 3."),
        (b"a,b\n1,2,3\n4,5,6\n", "t.csv, line 2: the header has 2 columns, this line has 3."),
        (b'a,b\n"1\n",2\n3,4\n5\n', "t.csv, line 5: the header has 2 columns, this line has 1."),
        (b"a,b\n1,2\n3,\xff\n", "t.csv, line 3: this is not utf-8. Save it as UTF-8, or name its"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "t.csv, line 3: a quote is opened and never closed."),
        (b'a,b\n1,2\n3,4\n"5,6\n7,8\n', "t.csv, line 4: a quote is opened and never closed."),
        (b"a,b\nu,2\n" + b"x" * 200_000 + b",many\nu,4\nu,6\n", "t.csv, line 3, column 2 ('b'): 'many'"),
        (b"a,b\n1,2\n3,inf\n", "t.csv, line 3, column 2 ('b'): numbers must be finite, got inf."),
        (
            b"a,b\n1,2\n3,4\n5,many\n7,8\n",
            "t.csv, line 4, column 2 ('b'): 'many' is no number, but 3 of 4 cells of this column are. "
            "If it stands for a missing value, add --missing 'many'; if the column holds categories, "
            "--categorical 'b'.",
        ),
        (b"a;b\n1,5;x\n2,5;y\n", "line 2, column 1 ('a'): a number is needed, got '1,5'. Decimal"),
        (
            b'a,b\n"1,000",x\n"-12,345,678.9",y\n5,y\n',
            "t.csv, line 2, column 1 ('a'): a number is needed, got '1,000'. Separators of thousands "
            "must be removed; only decimal commas need --decimal ','.",
        ),
        (b'a;b\n"1,000";x\n"0,125";y\n', "got '1,000'. Decimal commas need --decimal ','."),
        (b'a,b\n1,2\n""\n3,4\n', "t.csv, line 3: the header has 2 columns, this line has 1."),
        (
            b'a,b\n1,"x\n2,y\n\n3,"y"\n4,z\n',
            "t.csv, line 2: a quote is opened here; that which closes it, in line 5, must end the cell, "
            "but 'y\"' follows. Quotes inside a quoted cell must be doubled.",
        ),
        (b'a,b\n1,"x\n2,"\n3,"y" z\n', "t.csv, line 4: a quote is opened here; that which closes it"),
        (b'"a"s,b\n1,2\n3,4\n', "t.csv, line 1: a quote is opened here; that which closes it"),
        (b"a,b\n7,\n7,\n", "has no feature to learn from (a: all its values are 7; b: it is empty)."),
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


def test_decimal_commas_and_other_encodings(file):
    path = file("größe;b\n1,5;x\n2,5;y\n".encode("latin-1"))
    columns, rows = columns_and_rows(path, dialect=Dialect(decimal=",", encoding="latin-1"))
    assert columns.numbers == ("größe",)
    assert rows["größe"] == [1.5, 2.5]


def written(encoding):
    return "größe,b\n1,2\n3,4\n".encode(encoding)


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [
        (written("utf-16"), "utf-8", "line 1: this is not utf-8. This is UTF-16: add --encoding utf-16"),
        (written("utf-32"), "utf-8", "line 1: this is not utf-8. This is UTF-32: add --encoding utf-32"),
        (written("utf-16-le"), "utf-8", "This may be UTF-16: add --encoding utf-16-le."),
        (b"\0a\0,\0b\0\n\0001\0,\0002", "utf-8", "This may be UTF-16: add --encoding utf-16-be."),
        (written("utf-16-le"), "utf-16", "line 1: this is not utf-16. This may be UTF-16: add"),
        (written("utf-8"), "utf-16", "line 1: this is not utf-16. Name another --encoding, or none if"),
        (written("utf-16")[:-1], "utf-16", "line 3: this is not utf-16. Name another --encoding"),
        (written("utf-16") + b"\x00\xd8\n\0\n\0", "utf-16", "line 4: this is not utf-16. Name another"),
        (written("utf-8") * 9000 + b"\xff\n", "utf-8", "line 27001: this is not utf-8. Save it as"),
        (gzip.compress(b"a,b\n1,2\n"), "utf-8", "This is compressed: its name should end with .gz."),
        (b"PK\x03\x04\x14\0\0\0[Content", "utf-8", "This is a spreadsheet or a zip archive: save the"),
        (b"a\0b,c\n1,2\n", "utf-8", "line 1: there are zero bytes in it. This is no text, or none in"),
    ],
)  # fmt: skip
def test_files_in_another_encoding_are_told_with_what_to_do(file, content, encoding, message):
    path = file(content)
    with pytest.raises(ValueError) as error:
        columns_and_rows(path, dialect=Dialect(encoding=encoding))
    assert str(error.value).startswith(f"{path}, line ")
    assert message in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_can_be_read(file, encoding):
    assert columns_and_rows(file(written(encoding)), dialect=Dialect(encoding=encoding))[1] == {
        "größe": [1, 3], "b": [2, 4]
    }  # fmt: skip


def test_columns_that_tell_nothing_are_left_out_with_a_reason(file):
    lines = [f"{row},{row % 7},7,,text {row}" for row in range(100)]
    columns, _ = columns_and_rows(file(("\n".join([",a,const,empty,free", *lines])).encode()))
    assert (columns.numbers, columns.categories) == (("a",), ())
    assert columns.unused == {
        "column 1": "it has no name",
        "const": "all its values are 7",
        "empty": "it is empty",
        "free": "100 different texts in 100 cells are no categories",
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


def test_a_number_in_the_first_block_does_not_hide_a_text_in_a_later_one(file):
    path = file(b"a,b\n1,2\n3,4\n5,x\n")
    with pytest.raises(ValueError, match=r"line 4, column 2 \('b'\): a number is needed, got 'x'"):
        list(open_table(path).blocks(1, {"b": "number"}))


def test_other_files_are_refused(file, tmp_path):
    with pytest.raises(ValueError, match=r"t\.xlsx: a file of data must be \.csv, \.tsv"):
        open_table(file(b"x", "t.xlsx"))
    with pytest.raises(ValueError, match="there is no such file"):
        open_table(tmp_path / "gone.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="this is a folder"):
        open_table(tmp_path / "folder.csv")


def test_parquet(file, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "a": [1, 2, None],
            "b": ["x", None, "y"],
            "c": [True, False, True],
            "day": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"]),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    columns, rows = columns_and_rows(tmp_path / "t.parquet")
    assert (columns.numbers, columns.categories) == (("a",), ("b", "c"))
    assert columns.unused == {"day": "it holds dates"}
    np.testing.assert_array_equal(rows["a"], [1, 2, np.nan])
    assert rows["b"][::2] == ["x", "y"]
    assert np.isnan(rows["b"][1])
    assert rows["c"] == ["True", "False", "True"]
    pd.DataFrame({"a": range(4), "b": [b"x", b"y\xff", None, b"x"]}).to_parquet(tmp_path / "b.parquet")
    columns, rows = columns_and_rows(tmp_path / "b.parquet")
    assert columns.categories == ("b",)
    assert rows["b"][:2] == ["x", "y\\xff"]
    with pytest.raises(ValueError, match=r"t\.parquet, row 1, column 2 \('b'\): a number is needed"):
        list(open_table(tmp_path / "t.parquet").blocks(2, {"b": "number"}))
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        columns_and_rows(file(b"PAR1 and no more", "u.parquet"))


def outcome(frames):
    """The rows of frames, or that they could not be had."""
    try:
        # A file without rows may have no frame, or an empty one.
        frame = pd.concat([pd.DataFrame(columns=["a", "b"]), *frames], ignore_index=True)
        return [["" if pd.isna(cell) else cell for cell in row] for row in frame.to_numpy().tolist()]
    except ValueError:  # of several mistakes, either may be told
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
def test_blank_lines_are_no_rows_where_a_row_has_one_cell(file, kind):
    table = open_table(file(b"a\n1\n\n2\r\n\r\n\t\n3\n \n\n"))
    assert rows_of_parts(table, 2, {"a": kind})["a"].astype(str).str[0].tolist() == ["1", "2", "3"]


def frames_of_parts(table, n_rows, kinds):
    ids = [name for name, kind in kinds.items() if kind == NAME]
    features = {name: kind for name, kind in kinds.items() if kind != NAME}
    for part in table.parts(n_rows, features, *ids):
        block = part()
        names = ([name for name, kind in features.items() if kind == own] for own in (NUMBER, TEXT))
        yield block.frame(*names).assign(**dict.fromkeys(ids, block.ids))[list(kinds)]


def rows_of_parts(table, n_rows, kinds):
    return pd.concat(frames_of_parts(table, n_rows, kinds))


@pytest.mark.parametrize("n_rows", [1, 2, 5, 6, 7, 1000])
@pytest.mark.parametrize("ends", [("", ","), (",", ""), (", ", "")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_delimiter_at_the_end_of_some_lines_is_told_where(file, n_rows, ends, quote):
    lines = [f"{quote}{row}{quote},2{ends[row == 5]}\n" for row in range(9)]
    table = open_table(file(("a,b\n" + "".join(lines)).encode()))
    cells = [3 if "," in end else 2 for end in ends]
    message = rf"line 7: this line has {cells[1]} cells, those before have {cells[0]}\. A delimiter at"
    with pytest.raises(ValueError, match=message):
        list(table.blocks(n_rows, {"b": "number"}))
    with pytest.raises(ValueError, match=message):
        rows_of_parts(open_table(table.path), n_rows, {"b": "number"})
    same = open_table(file(("a,b\n" + lines[0] * 9).encode(), "same.csv"))
    assert rows_of_parts(same, n_rows, {"b": "number"})["b"].tolist() == [2] * 9


def test_a_line_that_is_too_long_is_seen_wherever_it_is(file):
    # So many that pandas, in a block of its own, begins anew within them.
    header = ",".join(f"f{number}" for number in range(100))
    lines = ["1" + 99 * ",2"] * 20_000
    for row in (8191, 8192, 16384):
        longer = [*lines[:row], f"{lines[row]},3", *lines[row + 1 :]]
        table = open_table(file("\n".join([header, *longer, ""]).encode()))
        with pytest.raises(ValueError, match=rf"line {row + 2}: the header has 100 columns, this line"):
            rows_of_parts(table, 50_000, {"f0": "number"})


@pytest.mark.parametrize("kind", ["name", "text", "number"])
def test_short_lines_are_told_whatever_the_last_column_is(file, kind):
    content = b"a,b,id\n1,2,3\n1,2,\n1\n1,2,3\n"
    for n_rows in (1, 2, 100):
        with pytest.raises(ValueError, match="line 4: the header has 3 columns, this line has 1"):
            rows_of_parts(open_table(file(content)), n_rows, {"a": "number", "id": kind})
        with pytest.raises(ValueError, match="line 4: the header has 3 columns, this line has 1"):
            list(open_table(file(content)).blocks(n_rows, {"a": "number", "id": kind}))


def test_an_empty_cell_in_quotes_is_a_row_of_a_file_with_one_column(file):
    table = open_table(file(b'a\nx\n""\n\ny\n'))
    (block,) = table.blocks(10, {"a": "text"})
    np.testing.assert_array_equal(block["a"].isna(), [False, True, False])
    assert table.place(2, "a").endswith("line 5, column 1 ('a')")


def broken_quotes(text, delimiter):
    """Whether a text follows on a quoted cell, or a quote is never closed; letter by letter."""
    state = "start"
    for letter, following in zip(text, text[1:] + "\n", strict=True):
        is_border = letter in f"\r\n{delimiter}"
        if state in ("quoted", "doubled"):
            if state == "doubled":
                state = "quoted"
            elif letter == '"':
                state = "doubled" if following == '"' else "closed"
        elif is_border:
            state = "start"
        elif state == "closed":
            if letter != " ":
                return True
        elif state == "start" and letter != " ":
            state = "quoted" if letter == '"' else "plain"
    return state in ("quoted", "doubled")


CELLS_WITH_QUOTES = st.one_of(
    st.sampled_from(["x", '"x"', ' "x" ', '"x""y"', '"é\n"', '"D"', 'x"', '"x', '"x"y', '"" "x"']),
    st.lists(st.sampled_from(['"', '"', "x", " ", "\r\n"]), max_size=5).map("".join),
)


@hypothesis.example([["x", '"x'], ["y", '"z']], ",")
@hypothesis.example([["x", '5" '], ["y", '"z" ']], ";")
@hypothesis.given(
    st.lists(st.lists(CELLS_WITH_QUOTES, min_size=2, max_size=2)), st.sampled_from(",;\t|")
)
def test_broken_quotes_are_told_and_no_others(tmp_path_factory, rows, delimiter):
    content = "\n".join(["aDb", *map("D".join, rows)]).replace("D", delimiter)
    path = tmp_path_factory.getbasetemp() / "quotes.csv"
    path.write_text(content, newline="")
    try:
        for _ in TextTable.of(path, Dialect(), delimiter).blocks(2, {"b": "text"}):
            pass
    except ValueError as error:
        message = str(error)
    else:
        message = ""
    is_told = "must end the cell" in message or "never closed" in message
    if not message or is_told:  # else something was wrong before
        assert is_told == broken_quotes(content, delimiter)


@hypothesis.given(
    st.lists(
        st.tuples(st.text('ab",;|\t\n é', min_size=1).map(str.strip).filter(bool), st.integers(0, 9)),
        min_size=1,
    ),
    st.sampled_from(",;\t|"),
    st.sampled_from(["", " ", "   "]),
    st.integers(1, 3),
)
def test_cells_in_quotes_are_read_as_they_were(tmp_path_factory, rows, delimiter, space, n_rows):
    lines = [
        space + '"' + cell.replace('"', '""') + '"' + space + delimiter + space + f'"{number}"'
        for cell, number in rows
    ]
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_text("\n".join([f"a{delimiter}b", *lines]), newline="")
    table = TextTable.of(path, Dialect(), delimiter)
    parsed = rows_of_parts(table, n_rows, {"a": "text", "b": "number"})
    assert list(parsed.itertuples(index=False, name=None)) == rows


def test_quotes_where_pandas_ends_to_read(file):
    # It reads so many letters at once.
    row = '"x ""y"",\n", "2" \n'
    for before in range(2**18 - 30, 2**18 + 2):
        text = "a,b\n" + "x" * (before - 7) + ",1\n" + row
        (block,) = open_table(file(text.encode())).blocks(10, {"a": "text", "b": "number"})
        assert block["a"][1] == 'x "y",\n'
        assert block["b"].tolist() == [1, 2]
        with pytest.raises(ValueError, match="line 4: a quote is opened here; that which closes it"):
            list(open_table(file((text[:-1] + "z\n").encode())).blocks(10, {"b": "number"}))


def test_decimal_commas_and_spaces_after_tokens_are_told_where(file):
    with pytest.raises(ValueError, match=r"line 3, column 2 \('b'\): a number is needed, got 'NA '\."):
        list(open_table(file(b"a,b\n1,2\n3,NA \n")).blocks(10, {"b": "number"}))
    with pytest.raises(ValueError, match=r"got '1,5'\. Decimal commas need --decimal ','"):
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


@hypothesis.given(st.integers(1, 10**9), st.integers(1, 10**7), st.sampled_from([1, 2, 4, 8]))
def test_threads_get_as_many_blocks_each(total, most, n_threads):
    share = even_share(total, most)
    n_blocks = -(-total // share)
    assert 1 <= share <= most
    assert n_blocks <= max(1, 2 * -(-total // most)) + 8
    if total >= 8 * most and share >= 1000:  # otherwise whole bytes are too coarse
        assert n_blocks % n_threads == 0


USUAL = ["", "NA", "1", "-0", "+3", "007", "2.5", "-.5", "1e5", "1E-3", " 2", "3 ", "1e400", "inf"]
LONG = ["9007199254740993", "9223372036854775807", "18446744073709551615", "1" * 40, "0.1" + "2" * 30]
NO_NUMBERS = ["True", "false", "text", "1_0", "0x1", "1,5", "1+2j", "2020-01-01", "\u0663"]
cells = st.sampled_from(USUAL + LONG + NO_NUMBERS)


@hypothesis.given(st.lists(cells, min_size=1, max_size=6))
@hypothesis.settings(deadline=None)
def test_what_pandas_finds_are_the_numbers_that_it_is_told_to_read(tmp_path_factory, column):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_text("a;b\n1;x\n", encoding="utf-8")
    table, kinds = TextTable.of(path, Dialect(), None), {"a": NUMBER, "b": TEXT}
    lines = "".join(f"{cell};x\n" for cell in column).encode()

    def told():
        options = {**table._options(kinds), "skipinitialspace": True}
        return pd.read_csv(io.BytesIO(lines), header=None, dtype=table._types(kinds), **options)

    try:
        expected = told()
    except ValueError:
        with pytest.raises(ValueError):
            table._numbers_and_texts(lines, kinds)
    else:
        pd.testing.assert_frame_equal(table._numbers_and_texts(lines, kinds), expected, rtol=1e-15)
