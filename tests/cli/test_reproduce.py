import sys

import pytest

from ffmlp.cli import main
from ffmlp.reports.records import read_records
from ffmlp.reproduction import experiments
from ffmlp.reproduction.paper import ROWS

pytest.importorskip("torch")
pytest.importorskip("tqdm")
pytest.importorskip("matplotlib")

IRIS = ["reproduce", "--rows", "iris", "--splits", "1", "--quick"]


@pytest.fixture
def no_sweep(monkeypatch):
    monkeypatch.setattr(experiments, "_sweep_runs", lambda row, settings: iter(()))


def test_reproduce_writes_a_report(tmp_path, no_sweep, capsys):
    out = tmp_path / "out"
    assert main([*IRIS, "--out", str(out)]) == 0
    names = {path.name for path in out.iterdir()}
    assert names == {"figures", "report.html", "report.md", "runs", "runs.csv", "settings.json"}
    assert list((out / "figures").iterdir()) == []  # the paper has none of this row
    assert "Iris" in (out / "report.md").read_text(encoding="utf-8")
    before = (out / "runs.csv").read_text(encoding="utf-8")
    assert main([*IRIS, "--out", str(out)]) == 0
    assert (out / "runs.csv").read_text(encoding="utf-8") == before
    # Other settings do not touch what is there.
    assert main(["reproduce", "--rows", "iris", "--splits", "2", "--quick", "--out", str(out)]) == 2
    assert "holds runs with other settings" in capsys.readouterr().err
    assert (out / "runs.csv").read_text(encoding="utf-8") == before


def test_reproduce_draws_the_figures_of_its_rows(tmp_path, no_sweep, monkeypatch, capsys):
    monkeypatch.setattr(experiments, "N_EPOCHS", 15)  # the fewest that the tables know
    command = ["reproduce", "--rows", "two_moons", "--splits", "1", "--quick", "--out", str(tmp_path)]
    assert main(command) == 0
    assert "3 figures" in capsys.readouterr().out
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert drawn == {"sets-two_moons.png", "two-new-moons.png", "robustness-two_moons.png"}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 3
    linked = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert all(f"(figures/{name})" in linked for name in drawn)


def test_after_an_interruption_the_same_command_ends_as_if_there_had_been_none(
    tmp_path, no_sweep, monkeypatch, capsys
):
    two = ["reproduce", "--rows", "iris", "wine", "--splits", "1", "--quick"]
    run_row = experiments.run_row

    def interrupted(row, settings):
        for number, run in enumerate(run_row(row, settings)):
            if row.key == "wine" and number == 3:
                raise KeyboardInterrupt
            yield run

    monkeypatch.setattr(experiments, "run_row", interrupted)
    assert main([*two, "--out", str(tmp_path / "a")]) == 130
    assert "run the same command again to continue" in capsys.readouterr().err
    iris = (tmp_path / "a" / "runs" / "iris.csv").read_bytes()
    monkeypatch.setattr(experiments, "run_row", run_row)
    assert main([*two, "--out", str(tmp_path / "a")]) == 0
    assert main([*two, "--out", str(tmp_path / "b")]) == 0
    assert (tmp_path / "a" / "runs" / "iris.csv").read_bytes() == iris  # not run twice
    untimed = [
        [
            (run.row, run.method, run.split, run.train_accuracy, run.test_accuracy, run.d_2)
            for run in runs
        ]
        for runs in (read_records(tmp_path / name / "runs.csv", experiments.Run) for name in "ab")
    ]
    assert untimed[0] == untimed[1]


def test_a_file_in_the_way_is_left_alone(tmp_path, capsys):
    file = tmp_path / "out"
    file.write_text("mine")
    assert main([*IRIS, "--out", str(file)]) == 2
    assert str(file) in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "mars"], "unknown row 'mars'. Known: xor, three_blobs,"),
        (["--splits", "0"], "--splits must be at least 1, got 0"),
        (["--out", "/dev/null/x"], "/dev/null"),
    ],
)
def test_wrong_input_is_reported_with_exit_code_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_unknown_row_lists_all_known_ones(capsys):
    assert main(["reproduce", "--rows", "mars"]) == 2
    message = capsys.readouterr().err
    assert all(row.key in message for row in ROWS)


@pytest.mark.parametrize("extra", ["torch", "tqdm", "matplotlib"])
def test_a_missing_extra_is_reported_with_exit_code_2(extra, capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, extra, None)
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce"]) == 2
    assert (
        "is required for ffmlp reproduce. Install it with: pip install 'ffmlp[reproduce]'"
        in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []
