"""A Parquet file means what a CSV file of the same data means."""

import datetime
import decimal
import itertools

import numpy as np
import pytest
from data_files import columns_and_rows, frames_of_parts, rows_of_parts

from ffmlp.tables.blocks import values
from ffmlp.tables.opening import open_table
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.table_columns import infer

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
parquet_tables = pytest.importorskip("ffmlp.tables.parquet_tables")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

BIG = 2**53 + 1  # no float


@pytest.fixture
def parquet(tmp_path):
    def write(columns, name="t.parquet"):
        pq.write_table(pa.table(columns), tmp_path / name)
        return tmp_path / name

    return write


def cells(path, kinds, n_rows=100, dialect=Dialect(), kept=()):  # noqa: B008
    """The columns of a file, with None for missing cells."""
    frame = rows_of_parts(open_table(path, dialect), n_rows, kinds, kept)
    return {
        name: [None if pd.isna(cell) else cell for cell in frame[name].astype(object)] for name in frame
    }


def test_bytes_are_texts_and_errors_name_the_cell(file, parquet):
    columns, rows = columns_and_rows(parquet({"a": range(4), "b": [b"x", b"y\xff", None, b"x"]}))
    assert columns.categories == ("b",)
    assert rows["b"][:2] == ["x", "y\\xff"]
    with pytest.raises(ValueError, match=r"t\.parquet, row 1, column 2 \('b'\): expected a number"):
        list(open_table(parquet({"a": [1], "b": ["x"]})).blocks(2, {"b": "number"}))
    with pytest.raises(ValueError, match="cannot be read as Parquet"):
        columns_and_rows(file(b"PAR1 and no more", "u.parquet"))


@pytest.mark.parametrize("n_rows", [1, 2, 100])
def test_text_of_integers_does_not_depend_on_the_block(parquet, n_rows):
    columns = {
        "k": pa.array([2, None, BIG], pa.int64()),
        "u": pa.array([None, 2**64 - 1, 0], pa.uint64()),
        "c": pa.array([7, None, 8], pa.int8()).dictionary_encode(),
    }
    for kinds, kept in ((dict.fromkeys(columns, "text"), ()), ({}, tuple(columns))):
        assert cells(parquet(columns), kinds, n_rows, kept=kept) == {
            "k": ["2", None, str(BIG)],
            "u": [None, str(2**64 - 1), "0"],
            "c": ["7", None, "8"],
        }
    numbers = cells(parquet(columns), dict.fromkeys(columns, "number"), n_rows)
    assert numbers == {"k": [2, None, 2.0**53], "u": [None, 2.0**64, 0], "c": [7, None, 8]}


@pytest.mark.parametrize("n_rows", [1, 100])
def test_texts_of_other_types(parquet, n_rows):
    day, second = datetime.datetime(2024, 1, 31), datetime.datetime(2024, 1, 31, 8, 30, 5)
    columns = {
        "bool": pa.array([True, None, False]),
        "float": pa.array([1.0, None, 1e20]),
        "float32": pa.array([0.1, float("nan"), -0.0], pa.float32()),
        "decimal": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-2")], pa.decimal128(5, 2)),
        "date": pa.array([day.date(), None, day.date()]),
        "timestamp": pa.array([day, None, second]),
        "zone": pa.array([day, None, second], pa.timestamp("us", "UTC")),
        "time": pa.array([second.time(), None, day.time()]),
        "large": pa.array(["x", None, " y"], pa.large_string()),
        "bytes": pa.array([b"x", None, b"y\xff "]),
        "category": pa.array(["NA", None, " y "]).dictionary_encode(),
        "list": pa.array([[1, 2], None, [3, 4]]),
        "null": pa.nulls(3),
    }
    assert cells(parquet(columns), dict.fromkeys(columns, "text"), n_rows) == {
        "bool": ["True", None, "False"],
        "float": ["1.0", None, "1e+20"],
        "float32": ["0.1", None, "-0.0"],
        "decimal": ["1.10", None, "-2.00"],
        "date": ["2024-01-31", None, "2024-01-31"],
        "timestamp": ["2024-01-31", None, "2024-01-31 08:30:05"],
        "zone": ["2024-01-31 00:00:00+00:00", None, "2024-01-31 08:30:05+00:00"],
        "time": ["08:30:05", None, "00:00:00"],
        "large": ["x", None, "y"],
        "bytes": ["x", None, "y\\xff"],
        "category": [None, None, "y"],
        "list": ["[1 2]", None, "[3 4]"],
        "null": [None, None, None],
    }


def test_what_stands_for_missing_values(parquet):
    columns = {
        "text": ["NA", " ? ", "", "None", "-999", "-999.0", "-", "x "],
        "integer": [-999, 1, None, 2, 3, 4, 5, 6],
        "float": [-999.0, 1.5, None, 2, 3, 4, 5, float("nan")],
    }
    path, dialect = parquet(columns), Dialect(("-999", "-"))
    assert cells(path, dict.fromkeys(columns, "text"), dialect=dialect) == {
        "text": [None, None, None, "None", None, None, None, "x"],
        "integer": [None, "1", None, "2", "3", "4", "5", "6"],
        "float": [None, "1.5", None, "2.0", "3.0", "4.0", "5.0", None],
    }
    kinds = {"integer": "number", "float": "number"}
    assert cells(path, kinds, dialect=dialect, kept=["text"]) == {
        "integer": [None, 1, None, 2, 3, 4, 5, 6],
        "float": [None, 1.5, None, 2, 3, 4, 5, None],
        "text": columns["text"],  # kept cells are what they are
    }
    inferred = next(open_table(path, dialect).inferred(100, ()))
    assert np.isnan(inferred["integer"]).tolist() == [True, False, True, *[False] * 5]


def test_numbers_stored_as_text(parquet):
    path, dialect = parquet({"a": ["1,5", "NA", "-9", " 2"]}), Dialect(("-9",), ",")
    assert infer(open_table(path, dialect), (), ()).numbers == ("a",)
    assert cells(path, {"a": "number"}, 1, dialect) == {"a": [1.5, None, None, 2]}
    message = r"row 1, column 1 \('a'\): expected a number, got '1,5'\."
    with pytest.raises(ValueError, match=message):
        cells(path, {"a": "number"})
    categories = pa.array(["1", "x", "2"]).dictionary_encode()
    with pytest.raises(ValueError, match=r"row 2, .* got 'x'\. If .* --missing 'x'\."):
        cells(parquet({"a": categories}), {"a": "number"}, 1)
    with pytest.raises(ValueError, match=r"row 2, .* numbers must be finite, got inf"):
        cells(parquet({"a": [1.0, np.inf]}), {"a": "number"}, 1)


def test_broken_content_is_one_line_with_the_name_of_the_file(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x", "y"] * 1000}), path)
    content = bytearray(path.read_bytes())
    content[8:60] = b"\x99" * 52
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.parquet cannot be read as Parquet: .*\Z"):
        cells(path, {"a": "text"})


def test_a_page_that_differs_from_its_checksum_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    numbers = np.random.default_rng(0).normal(size=1000)
    pq.write_table(pa.table({"a": numbers}), path, use_dictionary=False, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    assert cells(path, {"a": "number"})["a"] == numbers.tolist()
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.parquet cannot be read as Parquet: .*checksum"):
        cells(path, {"a": "number"})


def test_a_footer_with_another_number_of_rows_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1.0] * 77}), path)
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # The first 77, doubled in the footer, is that of the whole file.
    footer = content[start:].replace(bytes([154, 1]), bytes([152, 1]), 1)
    path.write_bytes(content[:start] + footer)
    problem = "it says that it has 76 rows, but its row groups have 77"
    with pytest.raises(ValueError, match=rf"t\.parquet cannot be read as Parquet: {problem}"):
        cells(path, {"a": "number"})


def test_a_time_beyond_the_calendar_is_one_line_with_the_name_of_the_file(tmp_path):
    path = tmp_path / "t.parquet"
    times = pa.array([2**62], pa.int64()).view(pa.time64("us"))
    pq.write_table(pa.table({"a": times}), path)
    with pytest.raises(ValueError, match=r"t\.parquet cannot be read as Parquet: .*\Z"):
        cells(path, {"a": "text"})


@hypothesis.given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False))), st.integers(0, 9))
def test_values_of_an_array_are_those_that_it_shows(numbers, start):
    array = pa.array(numbers, pa.float64())[start:]
    expected = [-1 if number is None else number for number in numbers[start:]]
    assert values(array, -1).tolist() == expected


def test_an_index_of_pandas_is_a_column_if_it_has_a_name(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": ["x", "y", "x"]})
    path = tmp_path / "t.parquet"
    frame[frame["a"] > 2].to_parquet(path)
    assert open_table(path).columns == ("a", "b")
    assert cells(path, {"b": "text", "a": "number"}) == {"b": ["y", "x"], "a": [2.5, 3.5]}
    frame.set_index("b").to_parquet(path)
    assert open_table(path).columns == ("a", "b")
    assert cells(path, {"b": "text", "a": "number"}) == {"b": ["x", "y", "x"], "a": [1.5, 2.5, 3.5]}
    assert list(next(open_table(path).inferred(10, ()))) == ["a", "b"]


@st.composite
def frames(draw):
    """A random frame of each type of column; texts have at least three values."""
    n_rows = draw(st.integers(1, 8))

    def column(*values):
        return draw(st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows))

    texts = ("x", " x", "y ", "z", "NA", "?", "", " null", "None", "-999", "-999.0", "a\nb", 'q"')
    return pd.DataFrame(
        {
            "integer": pd.array([1, 2, *column(-999, 0, 7, BIG, None)], "Int64"),
            "unsigned": pd.array([1, 2, *column(0, 2**64 - 1)], "uint64"),
            "float": [1.0, 2.0, *column(-999.0, -0.0, 0.25, 1e20, np.nan)],
            "text": ["x", "w", *column(*texts)],
            "category": pd.Categorical(["x", "w", *column("x", "z", "NA", None)]),
            "logical": pd.array([True, False, *column(True, False, None)], "boolean"),
            "day": [datetime.date(2024, 1, 30)] * 2 + column(datetime.date(2024, 1, 31), None),
            "name": pd.array([1, 2, *column(-999, BIG, None)], "Int64"),
            "constant": [5] * (n_rows + 2),
            "empty": pd.array([None] * (n_rows + 2), "Int64"),
        }
    )


@hypothesis.settings(max_examples=40)
@hypothesis.given(frames(), st.integers(1, 11), st.sampled_from([(), ("-999",)]))
def test_the_same_table_as_csv_and_as_parquet(tmp_path_factory, frame, n_rows, missing):
    folder, dialect = tmp_path_factory.getbasetemp(), Dialect(missing)
    frame.to_csv(folder / "same.csv", index=False)
    frame.to_parquet(folder / "same.parquet", row_group_size=3)
    numbers = ("integer", "unsigned", "float")
    for chosen in ("text", "number"):
        kinds = dict.fromkeys(frame.drop(columns="name"), "text") | dict.fromkeys(numbers, chosen)
        expected = cells(folder / "same.csv", kinds, dialect=dialect, kept=["name"])
        expected["name"] = [name or None for name in expected["name"]]  # no null is in a text file
        assert cells(folder / "same.parquet", kinds, n_rows, dialect, ["name"]) == expected
    for categorical in ((), numbers):
        columns = [
            inferred(open_table(folder / name, dialect), categorical)
            for name in ("same.csv", "same.parquet")
        ]
        assert columns[0] == columns[1]


def inferred(table, categorical):
    """The columns of a file, or the reason why they are not clear."""
    try:
        return infer(table, categorical, ["name"])
    except ValueError as error:
        return str(error).partition(": ")[2]


def undecodable(cells=(b"a", b"\xff\xfe", b"b")):
    """A column of strings that are not UTF-8, which Arrow writes as they are."""
    ends = np.cumsum([0, *map(len, cells)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(cells), *map(pa.py_buffer, (ends, b"".join(cells))))


@pytest.mark.parametrize("arrow_type", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("kinds", [{"c": "text"}, {"c": "number"}, {"a": "number"}, {}])
def test_cells_that_are_not_utf_8_are_located(parquet, kinds, arrow_type):
    path = parquet({"a": [1.0, 2.0, 3.0], "c": undecodable().cast(arrow_type)})
    place = r"t\.parquet, row 2, column 2 .'c'.: not valid UTF-8, got b'.xff.xfe'.*\Z"
    with pytest.raises(ValueError, match=place):
        cells(path, kinds, n_rows=2, kept=() if "c" in kinds else ("c",))
    with pytest.raises(ValueError, match=place):
        list(open_table(path).inferred(2, []))


def test_categories_that_are_not_utf_8_are_one_line(parquet):
    column = pa.DictionaryArray.from_arrays(pa.array([0, 2, 1]), undecodable())
    with pytest.raises(ValueError, match=r"t\.parquet cannot be read as Parquet: .*\Z"):
        cells(parquet({"c": column}), {"c": "text"})


# A file of a kilobyte may have gigabytes of text: blocks have fewer rows then.
KINDS = {"a": "number", "c": "text"}


@pytest.mark.parametrize("is_category", [False, True])
def test_blocks_of_long_texts_have_few_rows(tmp_path, is_category):
    texts = pa.array(["x" * 500_000]).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1000), texts.dictionary)
    path = tmp_path / "t.parquet"
    # Without the Arrow schema, a text is a text, however it is written.
    table = pa.table({"a": range(1000), "c": column})
    pq.write_table(table, path, compression="zstd", store_schema=is_category)
    assert path.stat().st_size < 5000
    n_rows, before = 0, pa.total_allocated_bytes()
    for part in open_table(path).parts(1000, KINDS):
        assert pa.total_allocated_bytes() - before < 150e6
        block = part()
        assert len(block) < 70
        assert block.numbers[:, 0].tolist() == list(range(n_rows, n_rows + len(block)))
        assert [len(text) for text in block.texts[0].distinct] == [500_000]
        n_rows += len(block)
    assert n_rows == 1000


@pytest.mark.parametrize("n_rows", [1, 10, 1000, 4000, 10_000])
def test_other_blocks_have_as_many_rows_as_asked_for(tmp_path, n_rows):
    frame = pd.DataFrame({"a": range(7000), "c": ["red", "green", "x" * 100, None] * 1750})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=3500)
    table = open_table(tmp_path / "t.parquet")
    found = [len(part()) for part in itertools.islice(table.parts(n_rows, KINDS), 8)]
    assert found == ([n_rows] * (7000 // n_rows) + [7000 % n_rows])[: len(found)]
    assert [*map(len, itertools.islice(table.blocks(n_rows, KINDS), 8))] == found


@hypothesis.settings(deadline=None, max_examples=60)
@hypothesis.given(
    st.lists(st.sampled_from([None, "", "x", "y" * 10, "z" * 60, "w" * 300]), min_size=1, max_size=60),
    st.integers(1, 25), st.integers(1, 70), st.integers(1, 30), st.booleans(),
)  # fmt: skip
def test_rows_do_not_depend_on_the_length_of_texts(
    tmp_path_factory, texts, group, of_section, of_block, is_category
):
    frame = pd.DataFrame({"a": range(len(texts)), "c": texts}, dtype=object).astype({"a": float})
    path = tmp_path_factory.getbasetemp() / "t.parquet"
    frame.astype({"c": "category" if is_category else object}).to_parquet(path, row_group_size=group)
    table, kept = open_table(path), () if len(texts) % 2 else ("c",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_tables, "_MOST_BYTES", 200)
        patch.setattr(parquet_tables, "_FIRST_ROWS", 3)
        patch.setattr(parquet_tables, "_GROWTH", 2)
        rows = [
            rows_of_parts(part, of_block, KINDS if not kept else {"a": "number"}, kept)
            for part in table.sections(of_section)
        ]
        sizes = [len(block) for block in frames_of_parts(table, of_block, KINDS)]
    found = pd.concat(rows)
    assert found["a"].tolist() == frame["a"].tolist()
    assert found["c"].astype(object).fillna("").tolist() == frame["c"].fillna("").tolist()
    assert max(sizes) <= of_block
    if len(sizes) > 1 and set(texts) == {"w" * 300}:
        assert max(sizes[1:]) <= 2


@pytest.mark.parametrize("arrow_type", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_a_text_that_is_longer_than_a_row_is_refused(tmp_path, monkeypatch, arrow_type):
    monkeypatch.setattr(parquet_tables, "LONGEST_ROW", 100)
    texts = pa.array(["x" * 100] * 4 + [None, "y" * 101], arrow_type)
    pq.write_table(pa.table({"a": [1.0] * 6, "c": texts}), tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    place = r"t\.parquet, row 6, column 2 \('c'\): longer than 100 bytes\."
    for one in (table, list(table.sections(4))[-1]):
        with pytest.raises(ValueError, match=place):
            rows_of_parts(one, 3, KINDS)
    assert len(rows_of_parts(table, 3, {"a": "number"})) == 6
