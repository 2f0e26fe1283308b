"""Several files, and tables larger than memory, which small files stand for here."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from commands import refused
from sklearn.metrics import accuracy_score, log_loss

pytest.importorskip("pandas")
pytest.importorskip("tqdm")
pytest.importorskip("dask")

import dask
import pandas as pd

import ffmlp
from ffmlp.cli import cluster, main
from ffmlp.storage.model_files import load_with_metadata
from ffmlp.tables import opening
from ffmlp.tabular import large_tables

N_ROWS = 360
QUICK = ["--design", "blob", "--n-components", "1", "--force"]
LARGE = "--larger-than-memory"


def mixed():
    """Numbers, categories, dates, missing cells, a constant, an id and rows without a label."""
    rng = np.random.default_rng(0)
    colour, x = rng.choice(["red", "green", "blue"], N_ROWS), rng.normal(size=(N_ROWS, 2))
    frame = pd.DataFrame(
        {
            "name": [f"n{row}" for row in range(N_ROWS)],
            "colour": colour,
            "a": x[:, 0],
            "state": np.where(x[:, 0] + (colour == "red") > 0.5, "yes", "no"),
            "b": x[:, 1].round(2),
            "when": [f"{day:02d}.{1 + day % 12:02d}.2024" for day in rng.integers(1, 28, N_ROWS)],
            "ward": 7,
        }
    ).astype(object)
    for column in ("colour", "a", "b", "when"):
        frame.loc[rng.choice(N_ROWS, 15), column] = np.nan
    frame.loc[[3, 200], "state"] = None
    return frame.astype({"a": float, "b": float})


@pytest.fixture
def files(here):
    """The rows of a table in one file, in four files of each kind, and in a folder."""
    frame = mixed()
    frame.to_csv("all.csv", index=False)
    (here / "folder").mkdir()
    for number, first in enumerate(range(0, N_ROWS, 90)):
        part = frame[first : first + 90]
        part.to_csv(f"c{number}.csv", index=False)
        part.to_parquet(f"p{number}.parquet", row_group_size=25)
        part.to_parquet(f"folder/part.{number}.parquet")
    return here


@pytest.fixture
def many_sections(monkeypatch):
    """Sections of few rows, so that small files have many."""
    monkeypatch.setattr(opening, "_CELLS_AT_ONCE", 140)
    monkeypatch.setattr(opening, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(large_tables, "_ROWS_AT_ONCE", 7)


def fit(*arguments, target="state"):
    return main(["fit", *map(str, arguments), "--target", target])


FIT = ["fit", "p*.parquet", "--target", "state", "-o", "m.model"]


def facts(path):
    return load_with_metadata(path).metadata


@pytest.mark.parametrize(
    "given", [["c*.csv"], ["p*.parquet"], ["folder"], ["c0.csv", "p1.parquet", "c2.csv", "c3.csv"]]
)
def test_files_are_fitted_like_one(files, capsys, given):
    arguments = ["--id", "name", *QUICK]
    assert fit("all.csv", *arguments, "-o", "one.model") == 0
    one = capsys.readouterr()
    assert fit(*given, *arguments, "-o", "many.model") == 0
    many = capsys.readouterr()
    label = given[0] if len(given) == 1 else "c0.csv and 3 other files"
    without_time = [line.partition("fitted in")[0] for line in one.out.splitlines()[:-1]]
    assert [line.partition("fitted in")[0] for line in many.out.splitlines()[:-1]] == [
        line.replace("all.csv", label) for line in without_time
    ]
    assert many.err == one.err.replace("all.csv", label)
    X, first, second = features(), ffmlp.load("one.model"), ffmlp.load("many.model")
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    found, wanted = facts("many.model"), facts("one.model")
    assert found.pop("file") == label
    assert len(found.pop("files")) == 4
    del wanted["file"]
    for both in (found, wanted):
        del both["fit_seconds"], both["evaluation"]["seconds"]
    assert found == wanted


def features():
    """The features as the classifier takes them."""
    frame = mixed()
    when = pd.to_datetime(frame["when"], format="%d.%m.%Y")
    parts = {
        "when (month)": when.dt.month,
        "when (weekday)": when.dt.day_of_week + 1,
        "when (day of year)": when.dt.day_of_year,
    }
    return frame[["colour", "a", "b"]].assign(
        **{name: part.astype(float) for name, part in parts.items()}
    )


@pytest.mark.parametrize("given", [["c*.csv"], ["p*.parquet"]])
@pytest.mark.parametrize("design", [["--design", "blob"], ["--design", "readout", "--max-leaves", "40"]])
def test_sections_give_the_model_of_all_rows(files, many_sections, capsys, given, design):
    arguments = ["--id", "name", "--test-size", "0", "--force", *design]
    assert fit("all.csv", *arguments, "-o", "one.model") == 0
    notes = capsys.readouterr().err
    assert fit(*given, *arguments, "-o", "large.model", LARGE) == 0
    assert capsys.readouterr().err == notes
    X, one, large = features(), ffmlp.load("one.model"), ffmlp.load("large.model")
    assert type(large) is ffmlp.FFMLPClassifier
    assert large.classes_.dtype.kind == "U"
    np.testing.assert_array_equal(one.feature_names_in_, large.feature_names_in_)
    np.testing.assert_allclose(one.predict_proba(X), large.predict_proba(X), rtol=0, atol=1e-9)
    found, wanted = facts("large.model"), facts("one.model")
    for name in ("rows", "classes", "order", "unused", "row_hashes", "evaluation", "table"):
        assert found[name] == wanted[name], name


def test_the_evaluation_is_that_of_a_fit_to_the_rows_not_held_out(files, many_sections, monkeypatch):
    readers = []
    fitted = large_tables.fitted
    monkeypatch.setattr(
        large_tables, "fitted", lambda *a, **k: (readers.append(a[2]), fitted(*a, **k))[1]
    )
    assert fit("p*.parquet", "--id", "name", *QUICK, "-o", "m.model", LARGE, "--test-size", "0.3") == 0
    frame, X = mixed(), features()
    labelled = frame["state"].notna()
    X, y = X[labelled].reset_index(drop=True), frame["state"][labelled].to_numpy(str)
    held = readers[0].held_out(X[readers[0].features])
    assert 0.2 < held.mean() < 0.4
    clf = ffmlp.load("m.model")
    clf = ffmlp.FFMLPClassifier(**clf.get_params()).fit(X[readers[0].features][~held], y[~held])
    probability = clf.predict_proba(X[readers[0].features][held])
    evaluation = facts("m.model")["evaluation"]
    assert evaluation["method"] == "held out"
    assert evaluation["n_rows"] == held.sum()
    assert evaluation["accuracy"] == accuracy_score(y[held], clf.classes_[probability.argmax(axis=1)])
    assert evaluation["log_loss"] == pytest.approx(log_loss(y[held], probability), rel=1e-9)
    most = max(set(y[~held]), key=list(y[~held]).count)
    assert evaluation["majority"] == (y[held] == most).mean()
    assert sum(cell[2] for cell in evaluation["confusion"]) == held.sum()
    assert sum(row[0] for row in evaluation["reliability"]) == held.sum()


def test_which_rows_are_held_out_depends_on_the_seed_alone(files, many_sections):
    found = []
    for name, given, seed in (("a", "c*.csv", 0), ("b", "all.csv", 0), ("c", "all.csv", 1)):
        arguments = ["--id", "name", "--seed", seed, *QUICK, LARGE, "-o", f"{name}.model"]
        assert fit(given, *arguments) == 0
        found.append({**facts(f"{name}.model")["evaluation"], "seconds": 0})
    assert found[0]["confusion"] == found[1]["confusion"]
    assert found[0]["log_loss"] == pytest.approx(found[1]["log_loss"], rel=1e-9)
    assert found[1] != found[2]


def test_the_model_is_an_ordinary_one(files, capsys):
    assert fit("p*.parquet", "--id", "name", *QUICK, "-o", "m.model", LARGE, "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    for command in (["inspect"], ["evaluate", "all.csv"], ["explain", "all.csv", "--row", "2"]):
        assert main([command[0], "m.model", *command[1:]]) == 0
    assert "fitted to:   p*.parquet, 358 rows" in capsys.readouterr().out
    assert main(["predict", "m.model", "all.csv", "-o", "out.csv"]) == 0
    assert len(pd.read_csv("out.csv")) == N_ROWS
    assert main(["report", "m.model", "all.csv", "-o", "r.html"]) == 0
    assert "It was fitted to 358 rows of p*.parquet." in (files / "r.html").read_text()


def test_integer_labels_and_numbers_alone(here, capsys):
    rng = np.random.default_rng(0)
    for number in range(2):
        x = rng.normal(size=(100, 2))
        frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=np.where(x[:, 0] > 0, 10, 9))
        frame.to_parquet(f"p{number}.parquet")
    assert fit("p*.parquet", *QUICK, "-o", "m.model", LARGE, "--json", target="y") == 0
    result = json.loads(capsys.readouterr().out)
    assert list(result["classes"]) == ["9", "10"]
    assert result["files"] == ["p0.parquet", "p1.parquet"]
    assert ffmlp.load("m.model").classes_.tolist() == [9, 10]
    assert ffmlp.load("m.model").predict(pd.DataFrame({"a": [2.0], "b": [0.0]})).tolist() == [10]


def test_files_without_labels_or_rows_add_nothing(files, capsys):
    assert fit("p*.parquet", "--id", "name", *QUICK, "-o", "m.model", LARGE) == 0
    capsys.readouterr()
    mixed()[:50].assign(state=None).to_parquet("p4.parquet")
    mixed()[:0].to_parquet("p5.parquet")
    assert fit("p*.parquet", "--id", "name", *QUICK, "-o", "more.model", LARGE) == 0
    assert "note: left out 52 rows without 'state'.\n" in capsys.readouterr().err
    found, wanted = facts("more.model"), facts("m.model")
    for both in (found, wanted):
        del both["fit_seconds"], both["evaluation"]["seconds"], both["files"]
    assert found == wanted


def test_dask_is_not_imported_for_files_that_fit_into_memory(files):
    program = (
        "import sys; from ffmlp.cli import main\n"
        f"options = ['--target', 'state', '-o', 'm.model', '--quiet', *{QUICK}]\n"
        "assert main(['fit', 'p*.parquet', *options]) == 0\n"
        "assert main(['predict', 'm.model', 'p*.parquet', '-o', 'out', '--quiet']) == 0\n"
        "print([name for name in ('dask', 'distributed') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_missing_package_is_reported(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    what, advice = "tables larger than memory", "Install it with: pip install 'ffmlp[dask]'"
    assert refused(capsys, *FIT, LARGE) == f"ffmlp: dask is required for {what}. {advice}"


def test_a_cluster_gives_the_same_model(files, many_sections, capsys):
    distributed = pytest.importorskip("distributed")
    arguments = ["p*.parquet", "--id", "name", *QUICK]
    assert fit(*arguments, LARGE, "-o", "threads.model") == 0
    options = {"n_workers": 2, "threads_per_worker": 1, "protocol": "tcp", "dashboard_address": None}
    with distributed.LocalCluster(processes=False, **options) as running:
        address = running.scheduler_address
        assert fit(*arguments, "--scheduler", address, "-o", "cluster.model") == 0
        capsys.readouterr()
        (files / "p2.parquet").write_bytes(b"PAR1 damaged PAR1")
        assert fit(*arguments, "--scheduler", address, "-o", "other.model") == 2
    assert "p2.parquet cannot be read as Parquet" in capsys.readouterr().err
    assert not (files / "other.model").exists()
    X, first, second = features(), ffmlp.load("threads.model"), ffmlp.load("cluster.model")
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), rtol=0, atol=1e-9)
    found, wanted = (facts(f"{name}.model")["evaluation"] for name in ("cluster", "threads"))
    assert found["confusion"] == wanted["confusion"]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "mars", "udp://127.0.0.1:9"])
def test_a_scheduler_that_does_not_answer_is_reported(files, capsys, monkeypatch, address):
    monkeypatch.setattr(cluster, "_PATIENCE", 0.3)
    error = refused(capsys, *FIT, "--scheduler", address)
    message = f"no Dask scheduler answers at {address} (--scheduler). Start one with `dask scheduler`"
    assert error.startswith(f"ffmlp: {message}")
    assert dask.config.get("scheduler", None) is None


def test_a_scheduler_without_workers_is_reported(files, capsys, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_PATIENCE", 1)
    with distributed.LocalCluster(
        processes=False, n_workers=0, protocol="tcp", dashboard_address=None
    ) as running:
        address = running.scheduler_address
        error = refused(capsys, *FIT, "--scheduler", address)
    assert f"the Dask scheduler at {address} has no workers" in error


def changed(**columns):
    return mixed()[:90].assign(**columns)


TEXTS = pd.Series(["1.5", "many", *["2"] * 88])
WRONG = {
    "no file": (["q*.parquet"], None, "no file matches q*.parquet. Check the pattern and the folder."),
    "columns": (["p*.parquet"], changed(more=1), "p9.parquet also has 'more', unlike p0.parquet."),
    "types": (["p*.parquet"], changed(a="x"), "p9.parquet: column 'a' holds texts, but numbers in p0"),
    "dates": (["c*.csv"], changed(when="Monday"), "c9.csv, line 2, column 6 ('when'): 'Monday' is"),
    "texts": (["c*.csv"], changed(a=TEXTS), "c9.csv, line 3, column 3 ('a'): 'many' is not a"),
    "infinity": (["p*.parquet"], changed(b=np.inf), "ffmlp: p9.parquet, row 1, column 5 ('b'): numbers"),
    "classes": (["c9.csv"], changed(state="yes"), "c9.csv, column 4 ('state'): at least 2 classes"),
    "labels": (["c9.csv"], changed(state=range(90)), "the target has 90 distinct values in 90 rows."),
    "no labels": (["c9.csv"], changed(state=None), "c9.csv: column 'state' is empty."),
    "no rows": (["p9.parquet"], mixed()[:0], "p9.parquet has a header but no rows."),
    "rare": (["c9.csv"], changed(state=["q", *["r"] * 89]), "class 'q' has 1 row, but the evaluation"),
    "few rows": (["c9.csv", "--test-size", "1e-9"], changed(), "none of the 89 rows is held out."),
    "most rows": (["c9.csv", "--test-size", "0.9999"], changed(), "are not held out do not have two"),
    "folds": (["p*.parquet", "--cv", "3"], None, "--cv needs all rows in memory. Use --test-size"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_input_is_one_line_and_writes_nothing(files, many_sections, capsys, wrong):
    arguments, frame, message = WRONG[wrong]
    if frame is not None:
        frame.to_csv("c9.csv", index=False)
        frame.to_parquet("p9.parquet")
    before = sorted(files.iterdir())
    options = ["--target", "state", "--id", "name", *QUICK, "-o", "m.model", LARGE]
    assert message in refused(capsys, "fit", *arguments, *options)
    assert sorted(files.iterdir()) == before


def test_a_missing_target_and_cross_validation_of_large_files_are_reported(files, capsys, monkeypatch):
    error = refused(capsys, *FIT, LARGE, "--target", "State")
    assert "p*.parquet has no column 'State' (--target). Did you mean 'state'?" in error
    monkeypatch.setattr("ffmlp.tables.opening.memory_limit", lambda: 1000)
    error = refused(capsys, *FIT, "--cv", "3")
    assert "p*.parquet is too large for memory, and --cv needs all rows" in error


def test_too_many_labels_are_not_collected(files, many_sections, capsys, monkeypatch):
    monkeypatch.setattr(large_tables, "_MOST_CLASSES", 50)
    assert refused(capsys, *FIT, LARGE, "--target", "name") == (
        "ffmlp: p*.parquet, column 1 ('name'): the target has more than 50 distinct values. ffmlp "
        "predicts classes, not numbers."
    )


def test_an_input_is_not_overwritten(files, capsys):
    (files / "m.model").symlink_to("p1.parquet")
    assert "m.model is an input of this command." in refused(capsys, *FIT, "--force")


def test_large_files_are_read_in_sections_and_their_passes_reported(
    files, many_sections, capsys, monkeypatch
):
    monkeypatch.setattr("ffmlp.tables.opening.memory_limit", lambda: 1000)  # without being asked to
    monkeypatch.setattr("ffmlp.cli.console._SECONDS_BETWEEN_LINES", -1.0)
    assert fit("p*.parquet", "--id", "name", *QUICK, "-o", "m.model") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note:")]
    assert lines[0].startswith("reading columns, pass 1: 1 section of ")
    assert any(line.endswith(" s left") for line in lines)
    ends = [line for line in lines if line.endswith("358 rows of 358")]
    n_passes = int(re.search(r"pass \d+ of (\d+)", ends[-1])[1])
    assert ends[-n_passes:] == [
        f"fitting, pass {number} of {n_passes}: 358 rows of 358" for number in range(1, n_passes + 1)
    ]
    assert "evaluating, pass 1: 358 rows of 358" in ends
