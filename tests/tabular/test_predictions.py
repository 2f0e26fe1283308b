import subprocess
import sys

import numpy as np
import pytest
from commands import refused

import ffmlp
from ffmlp.cli import main
from ffmlp.tabular.predictions import threads_and_rows

pd = pytest.importorskip("pandas")
for package in ("pyarrow", "tqdm"):
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


def test_a_text_after_many_numbers_is_reported_in_one_line(trained, here, capsys):
    path, frame = trained
    more = {f"more {number}": 0 for number in range(28)}
    many = pd.concat([frame] * 260, ignore_index=True).assign(**more).astype(object)
    many.iloc[-1, 0] = "x"
    many.to_csv("new.csv", index=False)
    error = refused(capsys, "predict", path, "new.csv", "-o", "o.csv", "--block-rows", "50000")
    place = f"new.csv, line {len(many) + 1}, column 1 ('a')"
    assert error.startswith(f"ffmlp: {place}: expected a number, got 'x'.")
