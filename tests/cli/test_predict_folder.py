import json
from shlex import split

import numpy as np
import pytest
from commands import names_in, refused

from ffmlp.cli import main

pd = pytest.importorskip("pandas")
for package in ("pyarrow", "tqdm"):
    pytest.importorskip(package)

PARTS = {"a": slice(0, 60), "b": slice(60, 61), "c": slice(61, 150), "d": slice(150, 150)}
NAMES = [f"{name}.parquet" for name in PARTS]


@pytest.fixture
def data(trained, here):
    """The features in several files, one of them without rows."""
    (here / "data").mkdir()
    for name, rows in PARTS.items():
        trained[1][rows].to_parquet(f"data/{name}.parquet")
    return here


def predict(trained, *arguments):
    return main(["predict", str(trained[0]), *map(str, arguments)])


@pytest.mark.parametrize("given", [["data/*.parquet"], ["data"], [f"data/{name}" for name in NAMES]])
@pytest.mark.parametrize(
    "options", [[], ["--proba", "--row-numbers", "--flag-unfamiliar", "--keep", "a", "size"], ["--keep"]]
)
def test_each_file_gets_its_predictions_in_the_order_of_its_rows(trained, data, capsys, given, options):
    assert predict(trained, *given, "-o", "out", *options) == 0
    assert " rows in 4 files in " in capsys.readouterr().out
    assert names_in(data / "out") == NAMES
    assert names_in(data) == ["data", "out"]
    for name in NAMES[:-1]:
        assert predict(trained, f"data/{name}", "-o", f"one-{name}", *options) == 0
        pd.testing.assert_frame_equal(pd.read_parquet(f"out/{name}"), pd.read_parquet(f"one-{name}"))
    empty, other = pd.read_parquet("out/d.parquet"), pd.read_parquet("out/a.parquet")
    assert not len(empty)
    assert empty.dtypes.to_dict() == other.dtypes.to_dict()


def test_text_files_become_parquet_files(trained, data):
    for name in ("b", "c"):
        pd.read_parquet(f"data/{name}.parquet").to_csv(f"{name}.new.csv.gz", index=False)
    assert predict(trained, "*.csv.gz", "data/a.parquet", "-o", "out") == 0
    assert names_in(data / "out") == ["a.parquet", "b.new.parquet", "c.new.parquet"]
    assert predict(trained, "data", "-o", "other") == 0
    found, wanted = pd.read_parquet("out/c.new.parquet"), pd.read_parquet("other/c.parquet")
    pd.testing.assert_frame_equal(found, wanted)


def test_the_result_and_notes_are_those_of_all_files(trained, data, capsys):
    for name in ("a", "c"):
        frame = pd.read_parquet(f"data/{name}.parquet")
        frame.loc[frame.index[:2], "size"] = "huge"
        frame.to_parquet(f"data/{name}.parquet")
    assert predict(trained, "data/*.parquet", "-o", "out", "--json", "--flag-unfamiliar") == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert (result["output"], result["rows"], result["files"]) == ("out", 150, NAMES)
    flagged = sum(pd.read_parquet(f"out/{name}")["unfamiliar"].sum() for name in NAMES)
    assert result["unfamiliar"] == flagged
    (note,) = result["notes"]
    unseen = "4 cells have a category that the model has not seen, for example 'huge'."
    assert note == f"data/*.parquet, column size: {unseen}"
    assert captured.err == f"note: {note}\n"


def test_an_error_in_a_late_file_leaves_nothing(trained, data, capsys):
    frame = pd.read_parquet("data/c.parquet")
    frame["a"] = frame["a"].where(np.arange(len(frame)) != 70, np.inf)
    frame.to_parquet("data/c.parquet")
    error = refused(capsys, "predict", trained[0], "data", "-o", "out")
    assert "data/c.parquet, row 71, column 1 ('a'): numbers must be finite" in error
    assert names_in(data) == ["data"]
    (data / "out").mkdir()
    (data / "out" / "old.parquet").write_text("old")
    assert predict(trained, "data", "-o", "out", "--force") == 2
    assert names_in(data / "out") == ["old.parquet"]
    assert names_in(data) == ["data", "out"]


def test_a_folder_is_replaced_as_a_whole(trained, data, capsys):
    (data / "out").mkdir()
    (data / "out" / "old.parquet").write_text("old")
    error = refused(capsys, "predict", trained[0], "data", "-o", "out")
    assert error == "ffmlp: out already exists. Choose another name, or add --force to replace it."
    assert predict(trained, "data", "-o", "out", "--force") == 0
    assert names_in(data / "out") == NAMES
    assert names_in(data) == ["data", "out"]


def with_other_columns(here):
    pd.read_parquet("data/b.parquet").rename(columns={"a": "A"}).to_parquet("data/b.parquet")


def with_other_files(here):
    (here / "out").mkdir()
    (here / "out" / "thesis.txt").write_text("mine")


def with_a_folder_of_such_a_name(here):
    (here / "out" / "measured.parquet").mkdir(parents=True)
    (here / "out" / "measured.parquet" / "part-0.parquet").touch()


def with_a_link(here):
    (here / "real").mkdir()
    (here / "out").symlink_to("real")


def with_the_same_name(here):
    (here / "more").mkdir()
    pd.read_parquet("data/b.parquet").to_csv("more/b.csv", index=False)


def without_rows(here):
    for name in ("a", "b", "c"):
        pd.read_parquet("data/d.parquet").to_parquet(f"data/{name}.parquet")


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (None, "gone/*.parquet -o out", "no file matches gone/*.parquet."),
        (None, "gone[.csv -o out.csv", "no file matches gone[.csv."),
        (None, "data -o data --force", "data has data/a.parquet, an input of this command."),
        (None, "data -o -", "- is not a folder. Predictions of several files need a folder."),
        (None, "data -o data/a.parquet", "data/a.parquet is not a folder."),
        (None, "data -o no/out", "no/out: the folder no does not exist."),
        (with_other_columns, "data -o out", "data/b.parquet lacks 'a' and also has 'A', unlike"),
        (with_other_files, "data -o out --force", "out has thesis.txt, so it is not replaced."),
        (
            with_a_folder_of_such_a_name,
            "data -o out --force",
            "out has measured.parquet, so it is not replaced.",
        ),
        (None, "data -o out.csv", "out.csv looks like a text file. Predictions of several"),
        (
            with_the_same_name,
            "data more/*.csv -o out",
            "data/b.parquet and more/b.csv would both become out/b.parquet. Rename one.",
        ),
        (with_a_link, "data -o out --force", "out is a link. Give the name of a folder."),
        (without_rows, "data -o out", "data has no rows."),
    ],
)
def test_wrong_input_is_one_line_and_changes_nothing(trained, data, capsys, change, arguments, message):
    if change is not None:
        change(data)
    before = sorted(data.rglob("*"))
    assert message in refused(capsys, "predict", trained[0], *split(arguments))
    assert sorted(data.rglob("*")) == before
