import pickle
from pathlib import Path

import numpy as np
import pytest
from data_files import rows_of_parts
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import pandas as pd

from ffmlp.tables.opening import (
    LARGEST_SHARE,
    JoinedTable,
    is_large,
    is_one_file,
    memory_limit,
    open_table,
    open_tables,
)
from ffmlp.tables.tables import NUMBER, TEXT, Dialect

KINDS = {"x": NUMBER, "colour": TEXT}


def frame(n_rows, first=0):
    numbers = np.arange(first, first + n_rows)
    colours = np.array(["red", "dark, blue", "new\nline", None], object)
    return pd.DataFrame({"x": numbers / 4, "colour": colours[numbers % 4]})


def cells(frame):
    """The cells of the columns, whatever their types."""
    return (
        frame[["x", "colour"]]
        .astype({"colour": object})
        .fillna({"colour": "-"})
        .to_numpy(object)
        .tolist()
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 25), st.integers(1, 70), st.integers(1, 30))
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_sections_are_all_rows_in_order(tmp_path_factory, kind, n_rows, group, of_section, of_block):
    path = tmp_path_factory.mktemp("sections") / f"t.{kind}"
    if kind == "csv":
        frame(n_rows).to_csv(path, index=False, encoding="utf-8-sig")
    else:
        frame(n_rows).to_parquet(path, row_group_size=group)
    table = open_table(path)
    sections = [pickle.loads(pickle.dumps(section)) for section in table.sections(of_section)]
    found = pd.concat([rows_of_parts(section, of_block, KINDS) for section in sections])
    assert cells(found) == cells(frame(n_rows))
    if kind == "parquet":
        assert all(end - first <= of_section for first, end in (part.rows for part in sections))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_error_in_a_section_has_its_place_in_the_file(here, kind):
    odd = frame(40).astype({"x": object})
    odd["x"] = odd["x"].astype(str)
    odd.loc[33, "x"] = "many"
    odd["colour"] = "red"
    odd.to_csv("t.csv", index=False)
    odd.to_parquet("t.parquet", row_group_size=5)
    last = list(open_table(Path(f"t.{kind}")).sections(10))[-1]
    place = {"csv": "t.csv, line 35", "parquet": "t.parquet, row 34"}[kind]
    with pytest.raises(ValueError, match=rf"^{place}, column 1 \('x'\): expected a number, got 'many'"):
        rows_of_parts(last, 3, KINDS)


def test_files_are_one_table(here):
    frame(7).to_csv("a.csv", index=False)
    frame(5, 7)[["colour", "x"]].to_parquet("b.parquet")
    frame(6, 12).to_csv("c.csv.gz", index=False)
    table = open_tables([Path("a.csv"), Path("b.parquet"), Path("c.csv.gz")])
    assert isinstance(table, JoinedTable)
    assert str(table.path) == "a.csv and 2 other files"
    assert table.names == ["a.csv", "b.parquet", "c.csv.gz"]
    assert cells(pd.concat(table.blocks(4, KINDS))) == cells(frame(18))
    sections = [rows_of_parts(part, 3, KINDS) for part in table.sections(4)]
    assert len(sections) > 4
    assert cells(pd.concat(sections)) == cells(frame(18))
    # Lines are those in which rows begin: a row before has a quoted line break.
    assert table.location(6, "x") == "a.csv, line 9, column 1 ('x')"
    assert table.location(7, "x") == "b.parquet, row 1, column 2 ('x')"
    assert table.location(13, "colour") == "c.csv.gz, line 3, column 2 ('colour')"


def test_patterns_and_folders_are_expanded_in_order(here):
    (here / "data" / "old").mkdir(parents=True)
    for number in (2, 0, 1):
        frame(3, 3 * number).to_parquet(f"data/part-{number}.parquet")
    for name in ("_temporary.parquet", ".hidden.parquet", "readme.txt", "old/part-9.parquet"):
        (here / "data" / name).write_text("not data")
    wanted = [f"data/part-{number}.parquet" for number in range(3)]
    for given_path in ("data", "data/part-*.parquet", str(here / "data/part-?.parquet")):
        table = open_tables([Path(given_path)])
        assert [str(Path(name).resolve()) for name in table.names] == [
            str(here / name) for name in wanted
        ]
        assert str(table.path) == given_path
        assert not is_one_file([Path(given_path)])


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(here):
    frame(3).to_csv("a[1].csv", index=False)
    frame(3).to_csv("a1.csv", index=False)
    assert is_one_file([Path("a[1].csv")])
    assert open_tables([Path("a[1].csv")]).names == ["a[1].csv"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.rename(columns={"x": "X"}), "b.parquet lacks 'x' and also has 'X', unlike a.parq"),
        (lambda f: f.assign(more=1), "b.parquet also has 'more', unlike a.parquet. All files must have"),
        (lambda f: f.drop(columns="colour"), "b.parquet lacks 'colour', unlike a.parquet."),
        (
            lambda f: f.astype({"x": str}),
            "b.parquet: column 'x' holds texts, but numbers in a.parquet. Give it the same type in all",
        ),
        (lambda f: f.assign(colour=True), "b.parquet: column 'colour' holds booleans, but texts in"),
        (lambda f: f.assign(colour=pd.Timestamp("2024-01-31")), "'colour' holds dates or times, but"),
    ],
)  # fmt: skip
def test_a_file_that_differs_is_named(here, change, message):
    frame(5).to_parquet("a.parquet")
    change(frame(5)).to_parquet("b.parquet")
    with pytest.raises(ValueError) as caught:
        open_tables([Path("*.parquet")])
    assert message in str(caught.value)


def test_types_that_mean_the_same_do_not_differ(here):
    frame(8).to_parquet("a.parquet")
    frame(8).assign(x=range(8)).to_parquet("b.parquet")  # integers
    frame(8).assign(x=np.float32(1), colour=None).to_parquet("c.parquet")
    frame(8).astype({"colour": "category"}).to_parquet("d.parquet")
    assert len(pd.concat(open_tables([Path("*.parquet")]).blocks(5, KINDS))) == 32


def test_a_type_is_compared_with_the_first_file_that_has_it(here):
    for name, cells in {"a": None, "b": 1.5, "c": "text"}.items():
        pd.DataFrame({"x": [cells], "y": ["a"]}).to_parquet(f"{name}.parquet")
    with pytest.raises(ValueError, match=r"c.parquet: column 'x' holds texts, but numbers in b.parquet"):
        open_tables([Path("*.parquet")])


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["*.csv"], r"no file matches \*.csv. Check the pattern and the folder."),
        (
            ["folder"],
            "folder is a folder without Parquet files. For other files, give a pattern in quotes,",
        ),
        (["a.parquet", "gone.parquet"], "gone.parquet does not exist."),
        (["a.parquet", "-"], r"standard input \(-\) must be the only file."),
        (["a.parquet", "*.parquet"], "^a.parquet is given 2 times. Give each file once."),
        (["a.parquet", "folder"], "folder is a folder without Parquet files."),
    ],
)
def test_wrong_names_are_reported(here, paths, message):
    frame(3).to_parquet("a.parquet")
    (here / "folder").mkdir()
    with pytest.raises(ValueError, match=message):
        open_tables(list(map(Path, paths)))


@pytest.mark.parametrize(("name", "encoding"), [("t.csv.gz", "utf-8"), ("t.csv", "utf-16")])
def test_files_that_cannot_be_cut_are_one_section_unless_they_are_too_large(
    here, monkeypatch, name, encoding
):
    frame(50).to_csv(name, index=False, encoding=encoding)
    table = open_table(Path(name), Dialect(encoding=encoding))
    (section,) = table.sections(5)
    assert len(rows_of_parts(section, 9, KINDS)) == 50
    monkeypatch.setattr("ffmlp.tables.text_tables._MOST_BYTES_IN_ONE", 100)
    with pytest.raises(ValueError, match=rf"^{name} is (compressed|in utf-16), so that it can only be"):
        list(table.sections(5))


def test_the_memory_of_a_table_is_estimated(here, monkeypatch):
    frame(1000).to_parquet("a.parquet")
    frame(1000).to_csv("b.csv", index=False)
    assert open_table(Path("a.parquet")).n_bytes >= 16_000
    assert open_table(Path("b.csv")).n_bytes == (here / "b.csv").stat().st_size
    table = open_tables([Path("a.parquet"), Path("b.csv")])
    assert table.n_bytes == sum(file.n_bytes for file in table.files)
    enough = table.n_bytes / LARGEST_SHARE * 1.01
    for limit, large in ((enough, False), (table.n_bytes, True), (None, False)):
        monkeypatch.setattr("ffmlp.tables.opening.memory_limit", lambda limit=limit: limit)
        assert is_large(table) == large


@pytest.mark.skipif(memory_limit() is None, reason="the memory is not known here")
def test_the_limits_of_a_container_count(tmp_path, monkeypatch):
    limits = [tmp_path / "memory.max", tmp_path / "gone"]
    limits[0].write_text("max\n")
    monkeypatch.setattr("ffmlp.tables.opening._LIMITS", limits)
    whole = memory_limit()
    assert whole > 2**27
    limits[0].write_text("1048576\n")
    assert memory_limit() == 2**20
