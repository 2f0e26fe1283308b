import csv
import io
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

import ffmlp
from ffmlp.cli import main
from ffmlp.tabular.predictions import threads_and_rows

pd = pytest.importorskip("pandas")
for package in ("pyarrow", "tqdm", "skops"):
    pytest.importorskip(package)


def predict(trained, *arguments):
    return main(["predict", str(trained[0]), *map(str, arguments)])


@pytest.mark.parametrize("n_processors", [1, 2, 8, 100])
@pytest.mark.parametrize("n_cells", [1, 20, 700, 2000, 10**8])
def test_the_blocks_of_all_threads_have_equally_many_cells(n_processors, n_cells):
    n_threads, n_rows = threads_and_rows(n_processors, n_cells)
    assert 1 <= n_threads <= min(8, n_processors)
    assert 1 <= n_rows <= 40_000
    assert n_threads == 1 or n_rows >= 1500
    assert n_rows == 1 or n_rows * n_cells * n_threads <= 4_500_000
    assert n_rows == 40_000 or (n_rows + 1) * n_cells * n_threads > 4_500_000


def test_predictions_are_those_of_the_model_whatever_the_size_of_blocks(trained, here, capsys):
    path, frame = trained
    frame.to_csv("new.csv", index=False)
    model = ffmlp.load(path)
    probability = model.predict_proba(frame.drop(columns="flower"))
    for rows in ("1", "7", "150", "1000"):
        options = ["--proba", "--block-rows", rows, "--force"]
        assert predict(trained, "new.csv", "-o", "o.csv", *options) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        assert captured.out.startswith("o.csv: 150 rows in ")
        out = pd.read_csv("o.csv")
        assert out.columns.tolist() == [
            "flower", "predicted_species", "probability_setosa", "probability_versicolor",
            "probability_virginica",
        ]  # fmt: skip
        assert out["flower"].tolist() == frame["flower"].tolist()
        assert out["predicted_species"].tolist() == model.classes_[probability.argmax(axis=1)].tolist()
        np.testing.assert_allclose(out.iloc[:, 2:], probability, atol=1e-6)


@pytest.fixture(scope="module")
def of_numbers(trained):
    """A folder with a model of numbers alone, and a table of which some cells are missing."""
    path, frame = trained
    folder, numbers = path.parent, frame[["a", "b", "c", "d"]]
    numbers.assign(species=load_iris().target).to_csv(folder / "numbers.csv", index=False)
    arguments = ["--target", "species", "-o", str(folder / "numbers.model"), "--quiet"]
    assert main(["fit", str(folder / "numbers.csv"), *arguments]) == 0
    gone = np.random.default_rng(0).random((len(frame), 3)) < 0.1
    return folder / "numbers.model", numbers.mask(np.column_stack([gone, np.zeros(len(frame), bool)]))


@pytest.mark.parametrize("missing", ["", "NA", "-999"])
def test_numbers_are_predicted_alike_whatever_reads_them(of_numbers, here, monkeypatch, missing):
    model, frame = of_numbers
    frame.to_csv("new.csv", index=False, na_rep=missing)
    options = ["--proba", "--force", "--block-rows=40", "--missing=-999"]
    outputs = outputs_of_all_readers(model, options, here, monkeypatch)
    assert len(set(outputs)) == 1
    expected = ffmlp.load(model).predict_proba(frame)
    written = pd.read_csv(io.StringIO(outputs[0]))
    np.testing.assert_allclose(written.iloc[:, 1:], expected, atol=1e-6)


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize("name", ["flower {}", "flower {}, iris", 'the "{}"'])
def test_texts_are_predicted_alike_whatever_reads_them(trained, here, monkeypatch, quoting, name):
    path, frame = trained
    frame = frame.assign(flower=[name.format(number) for number in range(len(frame))])
    frame.loc[::7, "size"] = np.nan
    frame.loc[::9, "size"] = "huge"
    frame.loc[::5, "b"] = np.nan
    frame.to_csv("new.csv", index=False, quoting=quoting)
    options = ["--proba", "--force", "--block-rows=40"]
    outputs = outputs_of_all_readers(path, options, here, monkeypatch)
    assert len(set(outputs)) == 1
    written = pd.read_csv(io.StringIO(outputs[0]))
    assert written["flower"].tolist() == frame["flower"].tolist()
    expected = ffmlp.load(path).predict_proba(frame.drop(columns="flower"))
    np.testing.assert_allclose(written.iloc[:, 2:], expected, atol=1e-6)


def outputs_of_all_readers(model, options, here, monkeypatch):
    """What is written with compiled code, without it, and by a model that scikit-learn reads."""
    outputs = []
    for changed in (
        {},
        {"ffmlp.inputs.features.compiled": None},
        {"ffmlp.tabular.predictor.read_predictor": lambda path: None},
    ):
        with monkeypatch.context() as patch:
            for name, value in changed.items():
                patch.setattr(name, value)
            assert main(["predict", str(model), "new.csv", "-o", "o.csv", *options]) == 0
        outputs.append((here / "o.csv").read_text())
    return outputs


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_predictions_need_no_pandas(trained, here, name):
    path, frame = trained
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    frame.to_csv("new.csv", index=False, na_rep="NA")
    frame.to_parquet("new.parquet")
    code = (
        "import sys; from ffmlp.cli import main; "
        f"assert main(['predict', {str(path)!r}, {name!r}, '-o', 'o.csv', '--proba']) == 0; "
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert len(pd.read_csv("o.csv")) == len(frame)


def test_a_messy_file_is_predicted_as_the_plain_one(trained, here):
    """Single cells are NA, quoted, between spaces, or have a plus sign; a name has a line break."""
    frame = trained[1].head(50).assign(flower=[f"flower {number}" for number in range(50)])
    frame.loc[20, "a"] = np.nan
    frame.to_csv("plain.csv", index=False)
    rows = [line.split(",") for line in (here / "plain.csv").read_text().splitlines()]
    first = rows[0].index
    rows[21][first("a")] = " NA"
    rows[5][first("b")] = f'"{rows[5][first("b")]}"'
    rows[6][first("size")] = f' "{rows[6][first("size")]}" '
    rows[7][first("c")] = f"  {rows[7][first('c')]} "
    rows[8][first("d")] = f"+{rows[8][first('d')]}"
    rows[9][first("flower")] = '"a, ""b""\n c"'
    (here / "messy.csv").write_text("\n".join(map(", ".join, rows)) + "\n\n \n")
    outputs = []
    for name in ("plain.csv", "messy.csv"):
        for n_rows in ("1", "7", "100"):
            options = ["--proba", "--force", "--block-rows", n_rows]
            assert predict(trained, name, "-o", "o.csv", *options) == 0
            outputs.append((here / "o.csv").read_text().replace('"a, ""b""\n c"', "flower 8"))
    assert len(set(outputs)) == 1


def test_a_text_among_many_numbers_is_reported_in_one_line(of_numbers, here):
    model, frame = of_numbers
    columns = {f"more {number}": 0 for number in range(28)}
    many = pd.concat([frame] * 260, ignore_index=True).assign(**columns).astype(object)
    many.iloc[-1, 0] = "x"
    many.to_csv("new.csv", index=False)
    arguments = ["predict", str(model), "new.csv", "-o", "o.csv", "--block-rows", "50000", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "ffmlp.cli", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 2
    place = f"new.csv, line {len(many) + 1}, column 1 ('a')"
    assert done.stderr.startswith(f"ffmlp: {place}: expected a number, got 'x'.")
    assert len(done.stderr.splitlines()) == 1
