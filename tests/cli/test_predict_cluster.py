"""`ffmlp predict --scheduler`: sections are predicted by workers, and written here."""

import json
import os
import random
import signal
import threading
import time

import pytest
from commands import names_in, refused

from ffmlp.cli import cluster, main

pd = pytest.importorskip("pandas")
for package in ("pyarrow", "tqdm"):
    pytest.importorskip(package)
distributed = pytest.importorskip("distributed")

from ffmlp.dask import partitions  # noqa: E402
from ffmlp.tables import opening  # noqa: E402

PARTS = {"a": slice(0, 60), "b": slice(60, 61), "c": slice(61, 150), "d": slice(150, 150)}
# A longer run than in CI: FFMLP_KILLS=20 pytest tests/cli/test_predict_cluster.py
N_KILLS = int(os.environ.get("FFMLP_KILLS", "1"))
EVERYTHING = ["--proba", "--row-numbers", "--flag-unfamiliar", "--keep", "a", "size"]


@pytest.fixture(scope="module")
def address():
    """The scheduler of two workers, which are threads of this process."""
    options = {"n_workers": 2, "threads_per_worker": 1, "protocol": "tcp", "dashboard_address": None}
    with distributed.LocalCluster(processes=False, **options) as running:
        yield running.scheduler_address


@pytest.fixture
def data(trained, here, monkeypatch):
    """The features in several files, one of them without rows, which are cut into many sections."""
    monkeypatch.setattr(opening, "_CELLS_AT_ONCE", 140)
    monkeypatch.setattr(opening, "_FEWEST_ROWS", 1)
    (here / "data").mkdir()
    for name, rows in PARTS.items():
        trained[1][rows].to_parquet(f"data/{name}.parquet", row_group_size=13)
    trained[1].to_csv("all.csv", index=False)
    return here


def predict(trained, *arguments):
    return main(["predict", str(trained[0]), *map(str, arguments)])


def check_same(one, other):
    """Two folders have the same predictions, to the last bit."""
    for name in PARTS:
        frames = (pd.read_parquet(f"{folder}/{name}.parquet") for folder in (one, other))
        pd.testing.assert_frame_equal(*frames, check_exact=True)


@pytest.mark.parametrize("options", [[], EVERYTHING, ["--keep"], ["--block-rows", "7", "--proba"]])
def test_a_folder_has_the_predictions_of_a_folder_made_here(trained, data, capsys, address, options):
    assert predict(trained, "data", "-o", "here", *options) == 0
    alone = capsys.readouterr()
    assert predict(trained, "data", "-o", "there", "--scheduler", address, *options) == 0
    found = capsys.readouterr()
    assert found.out.partition(" in 4 files")[0] == "there: 150 rows"
    assert found.err == alone.err
    assert names_in(data) == ["all.csv", "data", "here", "there"]
    check_same("here", "there")


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz", "out.parquet"])
def test_a_single_file_is_written_as_it_is_here(trained, data, capsys, address, name):
    options = [*EVERYTHING, "--escape-formulas", "--json"]
    assert predict(trained, "all.csv", "-o", name, *options) == 0
    alone = json.loads(capsys.readouterr().out)
    content = (data / name).read_bytes()
    assert predict(trained, "all.csv", "-o", name, *options, "--force", "--scheduler", address) == 0
    found = json.loads(capsys.readouterr().out)
    assert {**found, "seconds": 0} == {**alone, "seconds": 0}
    if name == "out.csv":
        assert (data / name).read_bytes() == content


def test_notes_of_workers_are_added_up(trained, data, capsys, address):
    for name in ("a", "c"):
        frame = pd.read_parquet(f"data/{name}.parquet")
        frame.loc[frame.index[::20], "size"] = "huge"
        frame.to_parquet(f"data/{name}.parquet", row_group_size=13)
    for number, options in enumerate(([], ["--scheduler", address])):
        assert predict(trained, "data", "-o", f"out{number}", *options) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first == second
    assert "column size: 8 cells have a category" in first


def damaged(path):
    path.write_bytes(b"PAR1 damaged PAR1")


def with_texts(path):
    frame = pd.read_parquet(path).astype({"a": object})
    frame.iloc[40, list(frame.columns).index("a")] = "many"
    frame.astype({"a": str}).to_parquet(path, row_group_size=13)


def without_column(path):
    pd.read_parquet(path).drop(columns="a").to_parquet(path)


@pytest.mark.parametrize("break_file", [damaged, with_texts, without_column])
@pytest.mark.parametrize("given", ["data", "data/c.parquet"])
def test_errors_are_those_without_a_cluster_and_nothing_is_written(
    trained, data, capsys, address, break_file, given
):
    break_file(data / "data/c.parquet")
    output = "out" if given == "data" else "out.parquet"
    first, second = (
        refused(capsys, "predict", trained[0], given, "-o", output, *options)
        for options in ([], ["--scheduler", address])
    )
    assert first == second
    assert "c.parquet" in first
    assert names_in(data) == ["all.csv", "data"]


def test_a_folder_without_rows_is_refused(trained, data, capsys, address):
    (data / "none").mkdir()
    trained[1][:0].to_parquet("none/d.parquet")
    error = refused(capsys, "predict", trained[0], "none", "-o", "out", "--scheduler", address)
    assert error == "ffmlp: none has no rows."
    assert not (data / "out").exists()


def test_standard_input_is_refused(trained, here, capsys):
    for command in (
        ["predict", trained[0], "-", "-o", "o.csv"],
        ["fit", "-", "--target", "y", "-o", "m"],
    ):
        error = refused(capsys, *command, "--scheduler", "tcp://127.0.0.1:9")
        assert "the workers of a cluster cannot read standard input." in error


def test_a_scheduler_that_does_not_answer_is_reported(trained, data, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "_PATIENCE", 0.3)
    nobody = ["--scheduler", "tcp://127.0.0.1:9"]
    error = refused(capsys, "predict", trained[0], "data", "-o", "out", *nobody)
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in error
    assert not (data / "out").exists()


def test_rows_and_the_time_left_are_reported(trained, data, capsys, monkeypatch, address):
    monkeypatch.setattr("ffmlp.cli.console._SECONDS_BETWEEN_LINES", -1.0)
    assert predict(trained, "data", "-o", "out", "--scheduler", address) == 0
    lines = capsys.readouterr().err.splitlines()
    assert any(line.endswith(" s left") for line in lines)
    assert lines[-1] == "predicting: 150 rows of 150"


def slow_itself(function):
    """The function of a section, after a while, so that there is time to lose a worker."""

    def later(part):
        time.sleep(0.1)
        return function(part)

    return later


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals")
def test_a_worker_that_is_killed_changes_nothing(trained, data, monkeypatch):
    monkeypatch.setattr(partitions, "_itself", slow_itself)
    assert predict(trained, "data", "-o", "here", *EVERYTHING) == 0
    rng, options = random.Random(0), {"threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, silence_logs="CRITICAL", **options) as running:
        for number in range(N_KILLS):
            running.wait_for_workers(2)
            victim = rng.choice([worker.process.pid for worker in running.workers.values()])
            killer = threading.Timer(rng.uniform(0.2, 2.5), os.kill, (victim, signal.SIGKILL))
            killer.start()
            arguments = ["-o", f"out{number}", "--scheduler", running.scheduler_address, *EVERYTHING]
            assert predict(trained, "data", *arguments) == 0
            killer.join()
            assert not running.scheduler.tasks  # nothing is left on the cluster
    for number in range(N_KILLS):
        check_same("here", f"out{number}")
    assert len(list(data.iterdir())) == 3 + N_KILLS


def test_a_cluster_without_workers_is_not_waited_for(trained, data, capsys, monkeypatch):
    monkeypatch.setattr(partitions, "_PATIENCE", 0.5)
    monkeypatch.setattr(partitions, "_itself", slow_itself)
    options = {"n_workers": 1, "threads_per_worker": 1, "protocol": "tcp", "dashboard_address": None}
    with distributed.LocalCluster(processes=False, silence_logs="CRITICAL", **options) as running:

        def leave():
            """The worker leaves once it has work, however long the command takes to begin."""
            while not running.scheduler.tasks:
                time.sleep(0.01)
            running.scale(0)

        leaving = threading.Thread(target=leave, daemon=True)
        leaving.start()
        address = running.scheduler_address
        error = refused(capsys, "predict", trained[0], "data", "-o", "out", "--scheduler", address)
        leaving.join(10)
    assert "No worker has been left for 0.5 seconds." in error
    assert names_in(data) == ["all.csv", "data"]
