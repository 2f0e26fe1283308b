import math
import re
from fractions import Fraction

import numpy as np
import pytest

from ffmlp.files.plain_numbers import plain_block

hypothesis = pytest.importorskip("hypothesis")
compiled = pytest.importorskip("ffmlp.files._plain_numbers")
st = hypothesis.strategies


def plain_numbers(*arguments):
    block = plain_block(*arguments, None)
    return None if block is None else block.features


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
    "1_000", "1,5", "1.5.1", "0x1A", "nan", "inf", "-inf", "NA", "True", '"1"', "1\0", "\0", "1f", "١",
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
    lines = b"1,any thing,,3\r\n4,,-5e0,6\r\n"
    found = plain_numbers(lines, ",", ".", ["a", "", "b", "c"], ["c", "b", "a"])
    np.testing.assert_array_equal(found, [[3, np.nan, 1], [6, -5, 4]])
    assert plain_numbers(lines, ",", ".", ["a", "x", "b", "c"], ["x"]) is None


OTHER_LENGTHS = [
    b"", b"\n", b"1,2\n3\n", b"1\n2,3\n", b"1,2\n3,4,5\n", b"1,2\n\n3,4\n", b"1,2\n3,\n", b"1,2\n3,4",
    b"1,2\r3,4\n", b"1,2\n3,4\r\r\n", b"1,2,\n3,4,\n",
]  # fmt: skip


@pytest.mark.parametrize("lines", OTHER_LENGTHS)
def test_lines_of_other_lengths_are_left_to_pandas(lines):
    assert plain_numbers(lines, ",", ".", ["a", "b"], ["a", "b"]) is None


def test_names_are_as_they_are_written():
    lines = "1,a é ;1\n-2,\n3,007\r\n".encode()
    block = plain_block(lines, ",", ".", ["a", "name"], ["a"], "name")
    np.testing.assert_array_equal(block.features, [[1], [-2], [3]])
    assert block.ids.tolist() == ["a é ;1", "", "007"]


@pytest.mark.parametrize("name", [" a", "a\0b", "a\rb"])
def test_names_that_pandas_has_to_read(name):
    assert plain_block(f"{name},1\n".encode(), ",", ".", ["name", "a"], ["a"], "name") is None


def test_names_that_are_no_text_are_left_to_pandas():
    assert plain_block(b"\xff,1\n", ",", ".", ["name", "a"], ["a"], "name") is None


@hypothesis.given(st.binary(), st.lists(st.integers(-2, 3), max_size=4), st.integers(0, 5))
def test_nothing_is_read_or_written_beyond_the_buffers(lines, places, n_rows):
    n_wanted = max([-1, *places]) + 1
    numbers, bounds = np.full(n_wanted * n_rows + 2, 7.0), np.full(2 * n_rows + 2, 7)
    compiled.read_columns(lines, ",", ".", np.array(places, np.int32), numbers[1:-1], bounds[1:-1])
    assert numbers[0] == numbers[-1] == bounds[0] == bounds[-1] == 7


def test_buffers_of_other_kinds_are_refused():
    places, numbers, bounds = np.zeros(1, np.int32), np.zeros(1), np.zeros(2, np.int64)
    for arguments in [
        ("1\n", ",", ".", places, numbers, bounds),
        (b"1\n", ",,", ".", places, numbers, bounds),
        (b"1\n", ",", ".", None, numbers, bounds),
        (b"1\n", ",", ".", places, b"constant", bounds),
        (b"1\n", ",", ".", places, np.zeros((4, 2))[:, 0], bounds),
    ]:
        with pytest.raises((TypeError, BufferError, ValueError)):
            compiled.read_columns(*arguments)
    for wrong in ([-1, 0], [0, 3], [2, 1]):
        with pytest.raises(ValueError, match="bounds beyond the lines"):
            compiled.cut(b"1\n", np.array(wrong))
