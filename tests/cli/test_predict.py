import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from commands import names_in, refused
from sklearn.datasets import load_iris

import ffmlp
from ffmlp.cli import main

pd = pytest.importorskip("pandas")
for package in ("pyarrow", "tqdm"):
    pytest.importorskip(package)

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(ffmlp.__file__).parents[1])}


def predict(trained, *arguments):
    return main(["predict", str(trained[0]), *map(str, arguments)])


def test_extra_and_reordered_columns_are_noted(trained, here, capsys):
    frame = trained[1].drop(columns="flower")
    frame.to_csv("plain.csv", index=False)
    assert predict(trained, "plain.csv", "-o", "plain.out.csv") == 0
    lacks_id = "has no column 'flower': predictions are written without an id.\n"
    assert capsys.readouterr().err == f"note: plain.csv {lacks_id}"
    frame.assign(more=1, most=2).to_csv("extra.csv", index=False)
    assert predict(trained, "extra.csv", "-o", "extra.out.csv", "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == (
        f"note: extra.csv: the model does not use columns 'more', 'most'.\nnote: extra.csv {lacks_id}"
    )
    result = json.loads(captured.out)
    assert len(result["notes"]) == 2
    assert (result["rows"], result["columns"]) == (150, ["predicted_species"])
    frame[["size", "d", "c", "b", "a"]].to_csv("order.csv", index=False)
    assert predict(trained, "order.csv", "-o", "order.out.csv") == 0
    assert capsys.readouterr().err == (
        "note: order.csv: the columns are in another order; they are matched by name.\n"
        f"note: order.csv {lacks_id}"
    )
    plain = (here / "plain.out.csv").read_bytes()
    assert (here / "extra.out.csv").read_bytes() == (here / "order.out.csv").read_bytes() == plain


def test_another_id_column_is_kept_as_it_is_written(trained, here):
    trained[1].assign(code=[f"{row:05d}" for row in range(150)]).to_csv("new.csv", index=False)
    assert predict(trained, "new.csv", "-o", "o.csv", "--id", "code") == 0
    assert (here / "o.csv").read_text().splitlines()[:2] == ["code,predicted_species", "00000,setosa"]


@pytest.mark.parametrize("name", ["predicted_species", "probability_setosa"])
def test_an_id_column_with_the_name_of_an_output_is_refused(trained, here, capsys, name):
    trained[1].rename(columns={"flower": name}).to_csv("new.csv", index=False)
    error = refused(capsys, "predict", trained[0], "new.csv", "-o", "o.csv", "--proba", "--id", name)
    assert f"new.csv: column '{name}' has the same name as a column of the output." in error
    assert names_in(here) == ["new.csv"]


ROW = "a,b,c,d,size\n5,3,1.4,0.2,small\n"


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("a,b,size\n1,2,small\n", "", "new.csv lacks columns 'c', 'd' of the model. It has 'a', 'b', "),
        (
            "A,b,c,Size\n1,2,3,small\n",
            "",
            "new.csv lacks columns 'a', 'd', 'size' of the model. Did you mean 'A' for 'a', 'Size'"
            " for 'size'? It has 'A', 'b', 'c', 'Size'.",
        ),
        (ROW + "1,2,x,4,small\n", "", "new.csv, line 3, column 3 ('c'): expected a number, got 'x'."),
        (ROW + "1,2,inf,4,small\n", "", "new.csv, line 3, column 3 ('c'): numbers must be finite"),
        (ROW + "1,2,3\n", "", "new.csv, line 3: the header has 5 columns, this line has 3."),
        (ROW, "--id code", "new.csv has no column 'code' (--id). Columns: a, b, c, d, size."),
        (ROW, "--id a", "--id 'a' is a feature of the model."),
        (ROW, "--block-rows 0", "--block-rows must be at least 1 and below 2^31, got 0."),
        (
            ROW,
            "--block-rows 99999999999999999999",
            "--block-rows must be at least 1 and below 2^31, got 999",
        ),
        (ROW, "-o o.xlsx", "o.xlsx: unknown file type. Use .csv, .tsv"),
        (ROW, "-o new.csv", "new.csv is an input of this command. Choose another name"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_with_exit_code_2(trained, here, capsys, content, arguments, message):
    (here / "new.csv").write_text(content)
    assert message in refused(capsys, "predict", trained[0], "new.csv", "-o", "o.csv", *split(arguments))
    assert names_in(here) == ["new.csv"]
    assert (here / "new.csv").read_text() == content


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_other_files_than_models_are_refused(here, capsys, content):
    (here / "new.csv").write_text(ROW)
    if content is not None:
        (here / "m.model").write_bytes(content)
    assert "ffmlp: m.model" in refused(capsys, "predict", "m.model", "new.csv", "-o", "o.csv")


def test_an_error_in_a_late_block_leaves_no_file_and_the_old_one_as_it_was(trained, here, capsys):
    frame = trained[1].astype({"c": object})
    frame.loc[140, "c"] = "x"
    frame.to_csv("new.csv", index=False)
    (here / "o.csv").write_text("old")
    command = ["predict", trained[0], "new.csv", "-o", "o.csv", "--block-rows", "10", "--force"]
    assert "new.csv, line 142, column 3 ('c')" in refused(capsys, *command)
    assert names_in(here) == ["new.csv", "o.csv"]
    assert (here / "o.csv").read_text() == "old"


# Blocks are predicted only once the signal has come, so that the command cannot be done before it.
UNTIL_THE_SIGNAL = """
import signal, sys, threading
from ffmlp.cli import main
from ffmlp.tabular import predictions

predicted, came = predictions._predicted, threading.Event()

def interrupt(*arguments):
    came.set()
    raise KeyboardInterrupt

def patient(*arguments, **options):
    sys.stdout.write("predicting\\n")  # at once: there are several threads
    sys.stdout.flush()
    came.wait(60)
    return predicted(*arguments, **options)

signal.signal(signal.SIGINT, interrupt)
predictions._predicted = patient
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (signal.SIGINT, 130, b"ffmlp: interrupted; no partial file is left.\n"),
        pytest.param(
            signal.SIGKILL, -9, b"", marks=pytest.mark.skipif(sys.platform != "linux", reason="Linux")
        ),
    ],
)
def test_a_signal_from_outside_leaves_no_file(number, code, message, trained, here):
    trained[1].to_csv("new.csv", index=False)
    arguments = ["predict", str(trained[0]), "new.csv", "-o", "o.csv", "--block-rows", "5"]
    command = [sys.executable, "-c", UNTIL_THE_SIGNAL, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ENVIRONMENT, **pipes) as process:
        assert process.stdout.readline() == b"predicting\n"  # the file is open now
        process.send_signal(number)
        assert process.communicate(timeout=60)[1] == message
    assert process.returncode == code
    assert names_in(here) == ["new.csv"]


def test_a_model_without_a_table_goes_by_its_feature_names(here, capsys):
    data = load_iris(as_frame=True)
    clf = ffmlp.FFMLPClassifier(design="blob", random_state=0).fit(data.data, data.target)
    ffmlp.save(clf, "m.model")
    data.data.to_csv("new.csv", index=False)
    assert main(["predict", "m.model", "new.csv", "-o", "o.csv"]) == 0
    assert (pd.read_csv("o.csv")["predicted_class"] == data.target).mean() > 0.9
    nameless = ffmlp.FFMLPClassifier(design="blob").fit(*load_iris(return_X_y=True))
    ffmlp.save(nameless, "n.model")
    assert "n.model has no feature names" in refused(
        capsys, "predict", "n.model", "new.csv", "-o", "p.csv"
    )


def test_a_model_of_complete_numbers_takes_medians(here):
    data = load_iris(as_frame=True)
    clf = ffmlp.FFMLPClassifier(design="blob", random_state=0).fit(data.data, data.target)
    ffmlp.save(clf, "m.model")
    data.data.mask(data.data > 7.5).to_csv("new.csv", index=False)
    assert main(["predict", "m.model", "new.csv", "-o", "o.csv"]) == 0
    completed = data.data.mask(data.data > 7.5, data.data.quantile(0.5, interpolation="lower"), axis=1)
    expected = clf.predict(completed).tolist()
    assert pd.read_csv("o.csv")["predicted_class"].tolist() == expected


def test_text_files_are_quoted_where_needed(trained, here):
    frame = trained[1].head(3).assign(flower=['a "b"', "c,d\ne", None])
    frame.to_csv("new.csv", index=False)
    for name, delimiter in (("o.csv", ","), ("o.tsv", "\t")):
        assert predict(trained, "new.csv", "-o", name) == 0
        with (here / name).open(newline="") as file:
            rows = list(csv.reader(file, delimiter=delimiter))
        assert rows[0] == ["flower", "predicted_species"]
        assert [row[0] for row in rows[1:]] == ['a "b"', "c,d\ne", ""]


def test_a_file_without_rows_is_refused(trained, here, capsys):
    (here / "new.csv").write_text("a,b,c,d,size\n")
    trained[1].head(0).to_parquet("new.parquet")
    for source in ("new.csv", "new.parquet"):
        error = refused(capsys, "predict", trained[0], source, "-o", "o.csv")
        assert error == f"ffmlp: {source} has a header but no rows."
    assert names_in(here) == ["new.csv", "new.parquet"]


def test_progress_is_printed_in_lines_unless_quiet(trained, here, capsys, monkeypatch):
    monkeypatch.setattr("ffmlp.cli.console._SECONDS_BETWEEN_LINES", -1.0)
    trained[1].to_csv("new.csv", index=False)
    assert predict(trained, "new.csv", "-o", "o.csv") == 0
    assert capsys.readouterr().err == "predicting: 150 rows\n"
    assert predict(trained, "new.csv", "-o", "o.csv", "--force", "--quiet") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("rows", ["1", "7", "1000"])
def test_unseen_categories_are_noted(trained, here, capsys, rows):
    frame = trained[1].head(20).assign(size=["huge"] * 3 + ["large"] * 10 + ["tiny"] + ["small"] * 6)
    frame.loc[frame.index[-1], "size"] = np.nan
    frame.to_csv("new.csv", index=False)
    arguments = ["new.csv", "-o", "o.csv", "--block-rows", rows, "--json"]
    assert predict(trained, *arguments) == 0
    captured = capsys.readouterr()
    unseen = "4 cells have a category that the model has not seen, for example 'huge'."
    note = f"new.csv, column size: {unseen}"
    assert captured.err == f"note: {note}\n"
    assert json.loads(captured.out)["notes"] == [note]


def test_predictions_go_to_standard_output(trained, here, capsys):
    trained[1].head(30).assign(more=1).to_csv("new.csv", index=False)
    assert predict(trained, "new.csv", "-o", "o.csv", "--proba", "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert predict(trained, "new.csv", "-o", "-", "--proba") == 0
    captured = capsys.readouterr()
    assert captured.out == (here / "o.csv").read_text()
    assert captured.err == "note: new.csv: the model does not use column 'more'.\n"
    assert names_in(here) == ["new.csv", "o.csv"]
    error = refused(capsys, "predict", trained[0], "new.csv", "-o", "-", "--json")
    assert error == "ffmlp: --json and -o - both print to standard output. Use one of them."


@pytest.mark.skipif(os.name == "nt", reason="needs pipes of POSIX")
@pytest.mark.parametrize("command", [["predict", "-o", "-"], ["evaluate", "--json"]])
def test_a_reader_that_closes_the_pipe_ends_the_command_quietly(trained, here, command):
    pd.concat([trained[1].assign(species="setosa")] * 100).to_csv("new.csv", index=False)
    name, *options = command
    run = [sys.executable, "-m", "ffmlp.cli", name, str(trained[0]), "new.csv", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(run, **pipes, env=ENVIRONMENT) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("name", ["o.csv", "o.parquet"])
@pytest.mark.parametrize("block_rows", ["7", "1000"])
def test_columns_of_the_input_are_kept_as_they_are_written(trained, here, name, block_rows):
    frame = trained[1].assign(a=[f"{value:.3f}" for value in trained[1]["a"]], more="NA")
    frame.to_csv("new.csv", index=False)
    read = (
        pd.read_parquet
        if name == "o.parquet"
        else lambda path: pd.read_csv(path, dtype=str, na_values=[""])
    )

    def columns(*options):
        arguments = ["new.csv", "-o", name, "--force", "--block-rows", block_rows, "--quiet", *options]
        assert predict(trained, *arguments) == 0
        return read(name)

    out = columns("--keep", "more", "a")
    assert out.columns.tolist() == ["flower", "more", "a", "predicted_species"]
    assert out["a"].tolist() == frame["a"].tolist()
    out = columns("--keep", "--row-numbers", "--proba")
    assert out.columns[:9].tolist() == ["row", *frame.columns, "predicted_species"]
    assert out["row"].astype(int).tolist() == list(range(1, 151))
    assert out["b"].astype(float).tolist() == frame["b"].tolist()
    assert out["flower"].tolist() == frame["flower"].tolist()
    assert columns("--row-numbers").columns.tolist() == ["row", "flower", "predicted_species"]
    assert columns("--keep", "flower", "flower").columns.tolist() == ["flower", "predicted_species"]


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ("row", ["--keep", "--row-numbers"], "new.csv: column 'row' has the same name as a column of "
         "the output. Rename it, or do not keep it."),
        ("predicted_species", ["--keep"], "new.csv: column 'predicted_species' has the same name as a "
         "column of the output. Rename it, or do not keep it."),
        ("Code", ["--keep", "code"], "new.csv has no column 'code' (--keep). Did you mean 'Code'? Col"
         "umns: a, b, c, d, size, flower, Code."),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_kept(trained, here, capsys, column, options, message):
    trained[1].assign(**{column: 1}).to_csv("new.csv", index=False)
    error = refused(capsys, "predict", trained[0], "new.csv", "-o", "o.csv", *options)
    assert error == f"ffmlp: {message}"
    assert names_in(here) == ["new.csv"]


def test_standard_input_is_a_table(trained, here):
    frame = trained[1].head(30)
    frame.to_csv("new.csv", index=False)
    assert predict(trained, "new.csv", "-o", "o.csv", "--quiet") == 0
    options = [str(trained[0]), "-", "-o", "-", "--keep", "flower"]
    run = [sys.executable, "-m", "ffmlp.cli", "predict", *options]
    done = subprocess.run(
        run, input=(here / "new.csv").read_bytes(), capture_output=True, env=ENVIRONMENT, check=True
    )
    assert (done.stdout, done.stderr) == ((here / "o.csv").read_bytes(), b"")


@pytest.mark.parametrize("name", ["o.csv", "o.tsv.gz", "o.parquet"])
def test_unfamiliar_rows_are_flagged(trained, here, capsys, name):
    frame = trained[1].copy()
    frame.loc[[3, 70], frame.select_dtypes("float").columns[0]] = 1e4
    frame.to_csv("new.csv", index=False)
    options = ["--flag-unfamiliar", "--proba", "--row-numbers", "--keep", "--block-rows", "40"]
    assert predict(trained, "new.csv", "-o", name, *options) == 0
    read = {"o.tsv.gz": lambda path: pd.read_csv(path, sep="\t"), "o.parquet": pd.read_parquet}
    written = read.get(name, pd.read_csv)(name)
    flags = written["unfamiliar"]
    assert set(flags) == {0, 1}
    assert flags[[3, 70]].all()
    assert 2 <= flags.sum() <= 4  # about one row in 100 more
    assert written.columns[-1] == "unfamiliar"
    assert f", {flags.sum()} unfamiliar\n" in capsys.readouterr().out
    assert predict(trained, "new.csv", "-o", name, "--force", "--json", "--flag-unfamiliar") == 0
    assert json.loads(capsys.readouterr().out)["unfamiliar"] == flags.sum()


def test_a_model_must_know_where_its_training_rows_were_to_flag_others(trained, here, capsys):
    clf = ffmlp.load(trained[0])
    clf.network_ = replace(clf.network_, familiar=None)
    ffmlp.save(clf, "m.model")
    trained[1].to_csv("new.csv", index=False)
    for command in (
        ["predict", "--flag-unfamiliar", "-o", "o.csv"],
        ["drift", "new.csv", "-o", "d.png"],
    ):
        name, *options = command
        error = refused(capsys, name, "m.model", "new.csv", *options)
        assert "m.model does not store where its training rows were" in error
