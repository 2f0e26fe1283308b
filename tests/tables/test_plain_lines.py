import csv
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from ffmlp.tables.plain_lines import n_delimiters, plain_block
from ffmlp.tables.tables import NUMBER, TEXT, Dialect

hypothesis = pytest.importorskip("hypothesis")
compiled = pytest.importorskip("ffmlp.tables._plain_lines")
st = hypothesis.strategies


def block_of(lines, kinds, columns=None, id_column=None, delimiter=",", decimal="."):
    columns = list(kinds) if columns is None else columns
    return plain_block(lines, delimiter, Dialect(decimal=decimal), columns, kinds, id_column)


def plain_numbers(lines, delimiter, decimal, columns, wanted):
    kinds = dict.fromkeys(wanted, NUMBER)
    block = block_of(lines, kinds, columns, delimiter=delimiter, decimal=decimal)
    return None if block is None else block.numbers


def number(text, decimal="."):
    numbers = plain_numbers(f"{text}\n".encode(), ";", decimal, ["a"], ["a"])
    return None if numbers is None else numbers.item()


WRITTEN = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


@hypothesis.settings(max_examples=2000)
@hypothesis.given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.from_regex(WRITTEN, fullmatch=True),
        st.tuples(st.integers(0, 10**20), st.integers(-30, 30)).map(
            lambda parts: "{}e{}".format(*parts)
        ),
    )
)
@hypothesis.example("0." + 30 * "0" + 19 * "9")
@hypothesis.example("00000000000000000000001.5")
@hypothesis.example("1" + 400 * "0")
@hypothesis.example("-0.0")
@hypothesis.example("0e9999")
@hypothesis.example("0.99999999999999999999")
# In extended precision, these are halfway between two doubles, but they are not.
@hypothesis.example("61420390151305818e-10")
@hypothesis.example("18446744073709551616")
def test_a_number_is_the_double_nearest_to_what_is_written(text):
    found, expected = number(text), float(text)
    if math.isinf(expected):
        assert found is None
    else:
        assert (found, math.copysign(1, found)) == (expected, math.copysign(1, expected))


@hypothesis.given(st.floats(1e-25, 1e25), st.integers(-1, 1))
def test_halfway_between_two_doubles_the_even_one_is_nearest(low, aside):
    half = (Fraction(low) + Fraction(math.nextafter(low, math.inf))) / 2
    # As many decimals as it has, and one more for what is a little aside.
    decimals = half.denominator.bit_length()
    digits = half * 10**decimals + aside
    assert digits.denominator == 1
    text = f"{digits.numerator}e-{decimals}"
    assert number(text) == float(text)


NOT_PLAIN = [
    "", " ", "x", "-", ".", "e5", "-.e1", "1e", "1e+", "1e12345", "1e999", "+1", "--1", " 1", "1 ",
    "1_000", "1,5", "1.5.1", "0x1A", "nan", "inf", "-inf", "NA", "True", "1\0", "\0", "1f", "١",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_pandas(text):
    assert number(text) is None


def test_the_decimal_mark_is_the_one_that_is_asked_for():
    assert number("-1,25", ",") == -1.25
    assert number("1.25", ",") is None
    # What needs more than one rounding is read by C, in which the mark is a point.
    assert number("1,00000000000000000000000001", ",") is None
    assert plain_numbers(b"1,2\n", ",", ",", ["a"], ["a"]) is None


def test_columns_go_by_name_and_others_may_hold_anything():
    lines = b"1,any thing,,3\r\n4,,-5e0,\r\n"
    found = plain_numbers(lines, ",", ".", ["a", "", "b", "c"], ["c", "b", "a"])
    np.testing.assert_array_equal(found, [[3, np.nan, 1], [np.nan, -5, 4]])
    assert plain_numbers(lines, ",", ".", ["a", "x", "b", "c"], ["x"]) is None


OTHER_LENGTHS = [
    b"", b"\n", b"1,2\n3\n", b"1\n2,3\n", b"1,2\n3,4,5\n", b"1,2\n\n3,4\n", b"1,2\n3,4",
    b"1,2\r3,4\n", b"1,2\n3,4\r\r\n", b"1,2,\n3,4,\n",
]  # fmt: skip


@pytest.mark.parametrize("lines", OTHER_LENGTHS)
def test_lines_of_other_lengths_are_left_to_pandas(lines):
    assert plain_numbers(lines, ",", ".", ["a", "b"], ["a", "b"]) is None


def test_names_are_as_they_are_written():
    lines = "1,a é ;1 \n-2,\n3,007\r\n".encode()
    block = block_of(lines, {"a": NUMBER}, ["a", "name"], "name")
    np.testing.assert_array_equal(block.numbers, [[1], [-2], [3]])
    assert block.ids.tolist() == ["a é ;1 ", "", "007"]
    assert block.texts == ()


@pytest.mark.parametrize("text", [b" a", b"a\0b", b"a\rb", b"\xff"])
def test_texts_that_pandas_has_to_read(text):
    lines = text + b",1\n"
    assert block_of(lines, {"a": NUMBER}, ["name", "a"], "name") is None
    assert block_of(lines, {"name": TEXT, "a": NUMBER}) is None
    assert block_of(lines, {"name": TEXT}, ["name", "a"]) is None


def test_texts_that_nobody_wants_must_be_texts_too():
    assert block_of(b"1,\xc3\xa9\n", {"a": NUMBER}, ["a", "b"]) is not None
    assert block_of(b"1,\xff\n", {"a": NUMBER}, ["a", "b"]) is None


@pytest.mark.parametrize("token", ["-999", "1_000", "1.5", "inf"])
def test_numbers_that_stand_for_missing_values_are_left_to_pandas(token):
    assert plain_block(b"1\n", ",", Dialect((token,)), ["a"], {"a": NUMBER}, None) is None
    assert plain_block(b"1\n", ",", Dialect(("none",)), ["a"], {"a": NUMBER}, None) is not None


@hypothesis.given(st.lists(st.text("abé ?\t\xa0", max_size=3), min_size=1, max_size=30))
def test_texts_have_their_place_among_the_distinct_ones(texts):
    block = block_of("".join(f"{text},1,\n" for text in texts).encode(), {"t": TEXT}, ["t", "", "u"])
    if any(text.startswith(" ") for text in texts):
        assert block is None
        return
    trimmed = [text.rstrip(" ") for text in texts]
    (column,) = block.texts
    assert list(column.distinct) == list(
        dict.fromkeys(text for text in trimmed if text not in ("", "?"))
    )
    found = [None if place < 0 else column.distinct[place] for place in column.indices]
    assert found == [None if text in ("", "?") else text for text in trimmed]
    assert [None if cell != cell else cell for cell in column.cells()] == found
    assert block.numbers.shape == (len(texts), 0)


@pytest.mark.parametrize("n_distinct", [4096, 4097])
def test_too_many_different_texts_are_no_categories(n_distinct):
    lines = "".join(f"{number % n_distinct}\n" for number in range(5000)).encode()
    block = block_of(lines, {"t": TEXT})
    if n_distinct > 4096:
        assert block is None
    else:
        assert list(block.texts[0].distinct) == [str(number) for number in range(n_distinct)]
        np.testing.assert_array_equal(block.texts[0].indices, np.arange(5000) % n_distinct)


def test_quotes_around_a_cell_are_no_part_of_it():
    lines = b'"1.5","a, b "," c"\r\n-2,"","x"\n'
    block = block_of(lines, {"a": NUMBER, "b": TEXT}, ["a", "b", "c"], "c")
    np.testing.assert_array_equal(block.numbers, [[1.5], [-2]])
    assert block.texts[0].cells().tolist()[0] == "a, b"
    assert block.texts[0].indices.tolist() == [0, -1]
    assert block.ids.tolist() == [" c", "x"]


@pytest.mark.parametrize("cell", ['"1', '"1"2', '""', '"x"', '"1" ', '" 1"', '1"', '"1""'])
def test_numbers_in_quotes_that_pandas_has_to_read(cell):
    assert number(cell) is None


@pytest.mark.parametrize("cell", ['"a""b"', '"a', '"a"b', ' "a"', '"a\n"', '"a\r"', '"a\0"'])
def test_texts_in_quotes_that_pandas_has_to_read(cell):
    assert block_of(f"{cell},1\n".encode(), {"t": TEXT, "a": NUMBER}) is None


@hypothesis.settings(max_examples=500)
@hypothesis.given(st.lists(st.sampled_from(['"', '""', "a", ",", " ", "\n", "\r\n"])).map("".join))
@hypothesis.example('"a,""b",c\n"",""""\r\n')
@hypothesis.example('a"b",c\n')
@hypothesis.example('"a"b",c\n')
def test_delimiters_outside_of_quotes_are_those_that_the_csv_module_sees(lines):
    count = n_delimiters(lines.encode(), ",")
    if count is None:
        assert '"' in lines
    else:
        rows = list(csv.reader(lines.splitlines(keepends=True)))
        assert count == sum(len(row) - 1 for row in rows if row)
        assert all("\n" not in cell for row in rows for cell in row)


def test_quotes_may_span_lines_unless_someone_looks(monkeypatch):
    assert n_delimiters(b'"a,",b\n', ",") == 1
    assert n_delimiters(b'a,"\n",b\n', ",") is None
    monkeypatch.setattr("ffmlp.tables.plain_lines.compiled", None)
    assert n_delimiters(b'"a,",b\n', ",") is None
    assert n_delimiters(b"a,,b\n", ",") == 2


@hypothesis.given(st.binary(), st.lists(st.integers(-3, 3), max_size=4), st.integers(1, 5))
def test_nothing_is_read_or_written_beyond_the_buffers(lines, places, n_rows):
    n_numbers, n_texts = max([-1, *places]) + 1, -min([-1, *places]) - 1
    numbers, bounds = np.full(n_numbers * n_rows + 2, 7.0), np.full(2 * n_texts * n_rows + 2, 7)
    inner = np.array(places, np.int32), n_rows, numbers[1:-1], bounds[1:-1]
    compiled.read_columns(lines, ",", ".", *inner)
    assert numbers[0] == numbers[-1] == bounds[0] == bounds[-1] == 7


def test_buffers_of_other_kinds_are_refused():
    places, numbers, bounds = np.array([0, -2], np.int32), np.zeros(1), np.zeros(2, np.int64)
    assert compiled.read_columns(b"1,a\n", ",", ".", places, 1, numbers, bounds)
    for arguments in [
        ("1,a\n", ",", ".", places, 1, numbers, bounds),
        (b"1,a\n", ",,", ".", places, 1, numbers, bounds),
        (b"1,a\n", ",", ".", None, 1, numbers, bounds),
        (b"1,a\n", ",", ".", places, 1, b"constant", bounds),
        (b"1,a\n", ",", ".", places, 1, np.zeros((4, 2))[:, 0], bounds),
        (b"1,a\n", ",", ".", places, 0, numbers, bounds),
        (b"1,a\n", ",", ".", places, 2, numbers, np.zeros(4, np.int64)),
        (b"1,a\n", ",", ".", places, 2, np.zeros(2), bounds),
    ]:
        with pytest.raises((TypeError, BufferError, ValueError)):
            compiled.read_columns(*arguments)
    for wrong in ([-1, 0], [0, 3], [2, 1]):
        with pytest.raises(ValueError, match="bounds beyond the lines"):
            compiled.cut(b"1\n", np.array(wrong))
        with pytest.raises(ValueError, match="bounds beyond the lines"):
            compiled.distinct(b"1\n", np.array(wrong), np.zeros(1, np.int32))
    with pytest.raises(ValueError, match="as many places as texts"):
        compiled.distinct(b"1\n", np.array([0, 1]), np.zeros(2, np.int32))
