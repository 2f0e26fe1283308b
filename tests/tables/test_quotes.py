import csv
import io
import tracemalloc

import numpy as np
import pytest
from data_files import rows_of_parts

from ffmlp.tables import text_files
from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import Dialect
from ffmlp.tables.text_files import delimiters_outside, is_open_after, without_leading_spaces
from ffmlp.tables.text_tables import TextTable

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies


def test_an_empty_cell_in_quotes_is_a_row_of_a_file_with_one_column(file):
    table = open_table(file(b'a\nx\n""\n\ny\n'))
    (block,) = table.blocks(10, {"a": "text"})
    np.testing.assert_array_equal(block["a"].isna(), [False, True, False])
    assert table.location(2, "a").endswith("line 5, column 1 ('a')")


def broken_quotes(text, delimiter):
    """Whether text follows a quoted cell, or a quote is never closed; character by character."""
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
def test_unbalanced_quotes_are_reported_and_no_others(tmp_path_factory, rows, delimiter):
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
    is_reported = "must end the cell" in message or "never closed" in message
    if not message or is_reported:  # else something was wrong before
        assert is_reported == broken_quotes(content, delimiter)


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


PIECES = ['"', '""', "a", ",", " ", "  ", "\n", "\r\n", "\t", ',"', '",', '", "', "é"]


@hypothesis.settings(max_examples=500)
@hypothesis.given(st.lists(st.sampled_from(PIECES)).map("".join), st.sampled_from(",;\t"))
@hypothesis.example('"a, b", c\n5" d, "e, f"\n', ",")
@hypothesis.example('  "a"  ,\t b\n \t \nc,"\n  d"\n', ",")
def test_spaces_before_cells_are_those_that_the_csv_module_skips(text, delimiter):
    lines = f"{text}\n".replace(",", delimiter)
    try:
        hypothesis.assume(not is_open_after(lines.encode(), delimiter))
    except ValueError:
        hypothesis.reject()
    cleaned = without_leading_spaces(lines.encode(), delimiter).decode()
    found = csv.reader(io.StringIO(cleaned, newline=""), delimiter=delimiter)
    expected = csv.reader(io.StringIO(lines, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows, same = ([row for row in each if "".join(row).strip() or row[1:]] for each in (found, expected))
    assert rows == same


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_a_cell_of_spaces_takes_no_longer_than_others(delimiter):
    """Such a row took minutes: one step for each space."""
    spaces = 2_000_000 * b" "
    row = delimiter.encode().join([b"a", spaces + b"b", spaces + b'"c"' + spaces + b"\n"])
    cleaned = without_leading_spaces(row, delimiter)
    assert cleaned == delimiter.encode().join([b"a", b"b", b'"c"' + spaces + b"\n"])
    assert not is_open_after(row, delimiter)


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("end", ["\n", ', "open\n', '"", c" ,d\n'])
def test_many_quotes_are_read_without_their_places(delimiter, end, monkeypatch):
    """Their places would take 24 times the memory of the lines."""
    lines = f'"a, ""b""", "c",  d\n "e" ,f{end}'.replace(",", delimiter).encode()
    usual = [is_open_after(lines, delimiter), without_leading_spaces(lines, delimiter)]
    monkeypatch.setattr(text_files, "_MOST_QUOTES", 1)
    assert [is_open_after(lines, delimiter), without_leading_spaces(lines, delimiter)] == usual


def test_a_cell_of_many_quotes_takes_little_memory(monkeypatch):
    """What could be gone back to took more than 50 times the memory of the cell."""
    monkeypatch.setattr(text_files, "_MOST_QUOTES", 1)
    cell = b'"' + 500_000 * b'"",' + b'"'
    tracemalloc.start()
    assert not is_open_after(b"a, " + cell + b"\n", ",")
    assert without_leading_spaces(b"a, " + cell + b"\n", ",") == b"a," + cell + b"\n"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 15 * len(cell)


@hypothesis.given(st.lists(CELLS_WITH_QUOTES, min_size=1), st.sampled_from(",;\t|"), st.integers(0, 9))
def test_delimiters_outside_quotes_are_those_between_cells(cells, delimiter, most):
    line = delimiter.join(["x", *cells]).replace("\r", "").replace("\n", "")
    hypothesis.assume(not broken_quotes(line, delimiter))
    cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    found = delimiters_outside(line, delimiter, most)
    assert found == len(cells) - 1 or most < found < len(cells)
    assert delimiters_outside(f'x{delimiter}y"{delimiter}{line}', delimiter, 99, True) == len(cells)
    assert delimiters_outside(f"x{delimiter}y", delimiter, 99, True) == 0
