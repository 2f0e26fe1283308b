import pytest

from ffmlp import experiments
from ffmlp.cli import main
from ffmlp.experiments import Run
from ffmlp.report import MARK, tables, to_html, to_markdown


def some_runs():
    common = {"gmm": 0.001, "boundaries": 0.002, "regions": 0.0001, "classes": 0.0001}
    sizes = {"d_in": 4, "d_1": 4, "d_2": 3, "d_out": 3}
    runs = []
    for split, accuracy in enumerate((0.95, 0.97)):
        runs.append(Run("iris", "ff", split, "", 0.99, accuracy, 0.004, **common, **sizes))
        runs.append(Run("iris", "ff_heteroscedastic", split, "", 0.99, 0.97, 0.004, **common, **sizes))
        runs += [Run("iris", peer, split, "", 1.0, 0.9, 0.1) for peer in experiments.PEERS]
    runs.append(Run("iris", "bp_random_50", 0, "", 0.6, 0.65, 0.5))
    runs.append(Run("iris", "ff_optimal", 0, "", 0.98, 0.95, 0.1, **sizes, proved_minimum=2))
    runs.append(Run("iris", "sweep_ff", 0, "k=2", 0.98, 0.95, **sizes))
    runs.append(Run("iris", "sweep_bp_ff", 0, "k=2", 0.98, 0.93))
    return runs


def test_tables_set_the_papers_numbers_beside_ours():
    made = {table.title: table for table in tables(some_runs(), {"pima": "no <network>"})}
    (iris,) = made["Table II: accuracy on real sets"].lines
    assert iris[:3] == ["Iris", f"99.00 ± 0.00 / 96.67{MARK}", f"96.00 ± 1.00 / 98.33{MARK}"]
    assert iris[-1] == "– / 48.33"  # nothing was run with 15 epochs
    assert made["Is greedy pruning optimal?"].lines == [["Iris", "2", "2", "2", "proved", "0.10"]]
    assert made["Does heteroscedastic LDA help?"].lines[0][1:] == ["96.00", "97.00", "+1.00 ± 1.00"]
    assert made["Does backpropagation help larger networks?"].lines[0][-1] == "-2.00"
    assert made["Table III: time"].lines[0][-1] == "never (0 of 1)"
    assert made["Missing rows"].lines == [["pima", "no <network>"]]
    assert "Table I: accuracy on two-dimensional sets" not in made


def test_pages():
    made = tables(some_runs(), {"pima": "no <network>"})
    assert "| Iris | 2 | 2 | 2 | proved | 0.10 |" in to_markdown(made)
    page = to_html(made)
    assert "no &lt;network&gt;" in page
    assert "http" not in page  # nothing is fetched when it is opened


def test_reproduce_writes_a_report(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("tqdm")
    monkeypatch.setattr(experiments, "_sweep_runs", lambda row, settings: iter(()))
    out = tmp_path / "out"
    assert main(["reproduce", "--rows", "iris", "--splits", "1", "--quick", "--out", str(out)]) == 0
    names = {path.name for path in out.iterdir()}
    assert names == {"report.html", "report.md", "runs", "runs.csv", "settings.json"}
    assert "Iris" in (out / "report.md").read_text(encoding="utf-8")
    before = (out / "runs.csv").read_text(encoding="utf-8")
    assert main(["reproduce", "--rows", "iris", "--splits", "1", "--quick", "--out", str(out)]) == 0
    assert (out / "runs.csv").read_text(encoding="utf-8") == before
    # Other settings do not touch what is there.
    assert main(["reproduce", "--rows", "iris", "--splits", "2", "--quick", "--out", str(out)]) == 2
    assert "holds runs with other settings" in capsys.readouterr().err
    assert (out / "runs.csv").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "mars"], "unknown row 'mars'. Known: xor, three_blobs,"),
        (["--splits", "0"], "--splits must be at least 1, got 0"),
        (["--out", "/dev/null/x"], "/dev/null"),
    ],
)
def test_wrong_input_is_told_with_exit_code_2(arguments, message, capsys, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("tqdm")
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_missing_extra_is_told_with_exit_code_2(capsys, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setitem(__import__("sys").modules, "tqdm", None)
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce"]) == 2
    assert "pip install 'ffmlp[reproduce]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
