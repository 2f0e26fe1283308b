import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shlex import split

import pytest
from commands import ended, names_in, refused

from ffmlp.cli import main
from ffmlp.report.records import read_records
from ffmlp.reproduction import experiments
from ffmlp.reproduction.reported import ROWS

pytest.importorskip("tqdm")
pytest.importorskip("matplotlib")
pytest.importorskip("daqp")

# In this process, so that what a test replaces is replaced.
IRIS = ["reproduce", "--rows", "iris", "--splits", "1", "--quick", "--jobs", "1"]


@pytest.fixture
def no_sweep(monkeypatch):
    monkeypatch.setattr(experiments, "_sweep_runs", lambda *arguments: iter(()))


def test_reproduce_writes_a_report(tmp_path, no_sweep, capsys):
    out = tmp_path / "out"
    assert main([*IRIS, "--out", str(out)]) == 0
    names = {path.name for path in out.iterdir()}
    assert names == {"figures", "report.html", "report.md", "runs", "runs.csv", "settings.json"}
    # The paper has no figure of this row: only the overview is drawn.
    assert [path.name for path in (out / "figures").iterdir()] == ["overview.png"]
    assert "Iris" in (out / "report.md").read_text(encoding="utf-8")
    before = (out / "runs.csv").read_text(encoding="utf-8")
    assert main([*IRIS, "--out", str(out)]) == 0
    assert (out / "runs.csv").read_text(encoding="utf-8") == before
    # Other settings do not touch what is there.
    others = ["--rows", "iris", "--splits", "2", "--quick", "--out", out]
    assert "holds runs with other settings" in refused(capsys, "reproduce", *others)
    assert (out / "runs.csv").read_text(encoding="utf-8") == before


def test_reproduce_draws_the_figures_of_its_rows(tmp_path, no_sweep, capsys):
    command = ["reproduce", "--rows", "two_moons", "--splits", "1", "--quick", "--out", str(tmp_path)]
    assert main([*command, "--jobs", "1"]) == 0
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert f"{len(drawn)} figures" in capsys.readouterr().out
    assert {"overview.png", "sets-two_moons.png", "two-new-moons.png"} <= drawn
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(drawn)
    assert page.index("data:image/png;base64,") < page.index("<nav")  # a picture opens the report
    linked = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert all(f"(figures/{name})" in linked for name in drawn)


def test_after_an_interruption_the_same_command_ends_as_if_there_had_been_none(
    tmp_path, no_sweep, monkeypatch, capsys
):
    two = ["reproduce", "--rows", "iris", "wine", "--splits", "1", "--quick", "--jobs", "1"]
    run_split = experiments.run_split

    def interrupted(row, settings, split):
        if row.key == "wine":
            raise KeyboardInterrupt
        return run_split(row, settings, split)

    monkeypatch.setattr(experiments, "run_split", interrupted)
    assert main([*two, "--out", str(tmp_path / "a")]) == 130
    assert "run the same command again to continue" in capsys.readouterr().err
    iris = (tmp_path / "a" / "runs" / "iris-00.csv").read_bytes()
    monkeypatch.setattr(experiments, "run_split", run_split)
    assert main([*two, "--out", str(tmp_path / "a")]) == 0
    assert main([*two, "--out", str(tmp_path / "b")]) == 0
    assert (tmp_path / "a" / "runs" / "iris-00.csv").read_bytes() == iris  # not run twice
    times = dict.fromkeys(("seconds", "gmm", "boundaries", "regions", "classes"))
    first, second = (
        [replace(run, **times) for run in read_records(tmp_path / name / "runs.csv", experiments.Run)]
        for name in "ab"
    )
    assert first == second


def test_two_processes_give_the_same_runs_as_one(tmp_path, capsys):
    """Nothing can be replaced in other processes, so this runs the real thing on the smallest row."""
    command = ["reproduce", "--rows", "iris", "--splits", "2", "--quick"]
    for jobs in "12":
        assert main([*command, "--jobs", jobs, "--out", str(tmp_path / jobs)]) == 0
    times = dict.fromkeys(("seconds", "gmm", "boundaries", "regions", "classes"))
    first, second = (
        [replace(run, **times) for run in read_records(tmp_path / jobs / "runs.csv", experiments.Run)]
        for jobs in "12"
    )
    assert first == second


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the processes from /proc")
def test_sigterm_ends_the_command_and_its_processes(tmp_path):
    program = "import sys; from ffmlp.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "reproduce", "--rows", "iris", "--jobs", "2"]
    process = subprocess.Popen([*command, "--out", str(tmp_path / "out")], start_new_session=True)
    try:
        while not list(tmp_path.glob("out/runs/*.csv")):  # the other processes are at work
            assert process.poll() is None
            time.sleep(0.1)
        process.terminate()
        assert process.wait(timeout=60) == 143
        deadline = time.monotonic() + 30
        while processes_of(process.pid):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def processes_of(session):
    """The processes of a session that are still running."""
    states = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                states.append(stat)
    return states


def test_a_file_in_the_way_is_left_alone(tmp_path, capsys):
    file = tmp_path / "out"
    file.write_text("mine")
    assert str(file) in refused(capsys, *IRIS, "--out", file)
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--rows mars", f"unknown row 'mars'. Known: {', '.join(row.key for row in ROWS)}."),
        ("--splits 0", "--splits must be at least 1, got 0"),
        ("--jobs 0", "--jobs must be at least 1, got 0"),
        ("--seed -1", "--seed must be at least 0 and below 2^31, got -1"),
        ("--rows pima --pima nowhere.csv", "no data set of these rows is available"),
        ("--out /dev/null/x", "/dev/null"),
    ],
)
def test_wrong_input_is_reported_with_exit_code_2(arguments, message, here, capsys):
    assert ended("reproduce", *split(arguments)) == 2
    assert message in capsys.readouterr().err
    assert names_in(here) == []


@pytest.mark.parametrize("extra", ["daqp", "tqdm", "matplotlib"])
def test_a_missing_extra_is_reported_with_exit_code_2(extra, here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, extra, None)
    advice = "is required for ffmlp reproduce. Install it with: pip install 'ffmlp[reproduce]'"
    assert advice in refused(capsys, "reproduce")
    assert names_in(here) == []
