"""Parquet files of a kilobyte may have gigabytes of text: blocks have fewer rows then."""

import itertools

import pytest
from data_files import frames_of_parts, rows_of_parts

from ffmlp.tables.opening import open_table

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
parquet_tables = pytest.importorskip("ffmlp.tables.parquet_tables")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

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
