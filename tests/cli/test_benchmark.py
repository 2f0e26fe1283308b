import sys
from shlex import split

import numpy as np
import pytest
from commands import names_in, refused

from ffmlp.benchmark import peers, sets
from ffmlp.benchmark.sets import labelled
from ffmlp.cli import main

pytest.importorskip("tqdm")

SMALL = "f,g,label\n" + "".join(f"{row},{-row},{'ab'[row > 9]}\n" for row in range(20))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of one set, which is not where the command runs."""
    data, here = tmp_path / "data", tmp_path / "here"
    data.mkdir()
    here.mkdir()
    (data / "small.csv").write_text(SMALL, encoding="utf-8")
    monkeypatch.chdir(here)
    return data


def test_benchmark_writes_a_report_and_resumes(folder, tmp_path, capsys):
    arguments = ["benchmark", "--data", str(folder), "--splits", "2", "--models", "ffmlp", "lda"]
    assert main(arguments) == 0
    out = tmp_path / "here" / "benchmark"
    names = {path.name for path in out.iterdir()}
    assert {"report.html", "report.md", "runs.csv", "settings.json"} <= names
    assert "4 runs: benchmark/report.html" in capsys.readouterr().out
    before = (out / "runs.csv").read_text(encoding="utf-8")
    assert main([*arguments, "qda"]) == 0
    after = (out / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert set(before.splitlines()) <= set(after)
    assert len(after) == 7
    shown = capsys.readouterr().out
    assert all(model in shown for model in ("ffmlp", "lda", "qda"))
    assert "holds runs with other settings" in refused(capsys, *arguments, "--seed", "1")
    assert (out / "runs.csv").read_text(encoding="utf-8").splitlines() == after


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--models mars",
            "Unknown model 'mars'. Available: ffmlp, ffmlp-smooth, ffmlp-region, ffmlp-paper, ",
        ),
        (
            "--models lda gone",
            "no_such is required for the model 'gone'. Install it with: pip install no_such",
        ),
        ("--splits 0", "--splits must be at least 1, got 0"),
        ("--train-rows all 1", "--train-rows must be at least 2, the number of classes of small, got 1"),
        ("--jobs -1", "--jobs must be at least 1, got -1"),
        ("--seed -1", "--seed must be at least 0 and below 2^31, got -1"),
        ("--data nowhere", "nowhere: unknown file type. Use .csv, .tsv (also with .gz, "),
        ("--data no.csv", "no.csv does not exist"),
        ("--target lable", "small.csv has no column 'lable' (--target). Did you mean 'label'?"),
        ("--ignore F", "small.csv has no column 'F' (--ignore). Did you mean 'f'?"),
        ("--out /dev/null/x", "/dev/null"),
        ("--train-rows 0", "--train-rows must be all or an integer of at least 1, got '0'"),
        ("--train-rows 3000 -5", "--train-rows must be all or an integer of at least 1, got '-5'"),
        ("--train-rows many", "--train-rows must be all or an integer of at least 1, got 'many'"),
        ("--train-rows 1e4", "--train-rows must be all or an integer of at least 1, got '1e4'"),
        ("--train-rows", "--train-rows needs at least one value"),
        ("--large", "--large and --data cannot be used together"),
        ("--max-rows 3000", "unknown option '--max-rows'"),
    ],
)
def test_wrong_input_is_reported_with_exit_code_2(
    folder, tmp_path, capsys, monkeypatch, arguments, message
):
    monkeypatch.setitem(peers.MODELS, "gone", print)
    monkeypatch.setitem(peers.PACKAGES, "gone", "no_such")
    assert message in refused(capsys, "benchmark", "--data", folder, *split(arguments))
    assert names_in(tmp_path / "here") == []


def test_several_numbers_of_training_rows(folder, tmp_path, capsys):
    arguments = ["benchmark", "--data", str(folder), "--splits", "1", "--models", "lda", "--train-rows"]
    assert main([*arguments, "all", "08", "8"]) == 0
    shown = capsys.readouterr().out
    assert "2 runs:" in shown
    assert shown.index("Summary, 8 training rows at most") < shown.index("Summary, all training rows")
    lines = (tmp_path / "here" / "benchmark" / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[:5] for line in lines[1:]] == [
        ["small", "8", "0", "lda", "8"],
        ["small", "all", "0", "lda", "12"],
    ]
    # Other numbers can be added later.
    assert main([*arguments, "10"]) == 0
    assert "3 runs:" in capsys.readouterr().out


def test_large_sets_have_three_numbers_of_training_rows(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = labelled("one", np.arange(20.0)[:, None], np.arange(20) > 9)
    reason = "no_such is required for the large sets."
    monkeypatch.setattr(sets, "large", lambda: ([one], {"two": reason}))
    assert main(["benchmark", "--large", "--splits", "1", "--models", "lda"]) == 0
    captured = capsys.readouterr()
    assert f"two not run: {reason}" in captured.err
    text = (tmp_path / "benchmark" / "runs.csv").read_text(encoding="utf-8")
    assert [line.split(",")[1] for line in text.splitlines()[1:]] == ["3000", "30000", "all"]


def test_a_bad_file_is_reported_before_anything_is_run(folder, tmp_path, capsys):
    (folder / "zebra.csv").write_text("f,label\n1,a\n2,a\nx,b\n3,b\n", encoding="utf-8")
    error = refused(capsys, "benchmark", "--data", folder, "--models", "lda")
    assert "zebra.csv, line 4, column 1 ('f'): 'x' is not a number" in error
    assert names_in(tmp_path / "here") == []


def test_categories_and_missing_cells_are_compared_with_the_same_splits(folder, tmp_path, capsys):
    lines = [
        f"{'' if row % 7 == 0 else row},{'ab'[row > 19]},{'uvw'[row % 3]},{row}" for row in range(40)
    ]
    mixed = folder / "mixed.csv"
    mixed.write_text("\n".join(["x,kind,town,number", *lines]), encoding="utf-8")
    options = ["--target", "kind", "--ignore", "number", "--splits", "1"]
    options += ["--models", "ffmlp-region", "lda"]
    assert main(["benchmark", "--data", str(mixed), *options]) == 0
    assert "2 runs:" in capsys.readouterr().out
    lines = (tmp_path / "here" / "benchmark" / "runs.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["mixed", "mixed"]


def test_columns_can_only_be_named_with_data(folder, capsys):
    for option in ("--target", "--categorical", "--ignore"):
        error = refused(capsys, "benchmark", option, "label", "--models", "lda")
        assert "--target, --categorical and --ignore name columns of --data." in error


def test_models_that_are_not_installed_are_reported(folder, capsys, monkeypatch):
    monkeypatch.setattr(peers, "MODELS", {name: peers.MODELS[name] for name in ("lda", "qda")})
    monkeypatch.setitem(peers.PACKAGES, "qda", "no_such")
    assert main(["benchmark", "--data", str(folder), "--splits", "1"]) == 0
    captured = capsys.readouterr()
    assert "qda not run: no_such is required for the model 'qda'" in captured.err
    assert "1 run:" in captured.out


def test_missing_tqdm_is_reported_with_exit_code_2(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    error = refused(capsys, "benchmark", "--data", folder)
    advice = "Install it with: pip install 'ffmlp[benchmark]'"
    assert error == f"ffmlp: tqdm is required for ffmlp benchmark. {advice}"
    assert names_in(tmp_path / "here") == []
