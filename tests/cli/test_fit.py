import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shlex import split

import numpy as np
import pytest
from commands import names_in, refused
from sklearn.datasets import load_iris, load_wine

import ffmlp
from ffmlp.cli import fit as fit_command
from ffmlp.cli import main

pd = pytest.importorskip("pandas")
pytest.importorskip("tqdm")


def named(load):
    """A set of scikit-learn with the names of its classes."""
    data = load(as_frame=True)
    return data.data.assign(species=data.target_names[data.target])


def messy():
    """Missing values, categories, a constant, free text with quoted newlines, an id."""
    rng = np.random.default_rng(0)
    n = 300
    colour, weight, height = (
        rng.choice(["red", "green", "blue"], n),
        rng.normal(size=n),
        rng.gamma(2, size=n),
    )
    state = np.where((colour == "red") & (weight > 0), "sick", np.where(height > 3, "very sick", "well"))
    frame = pd.DataFrame(
        {
            "patient": [f"p{number}" for number in range(n)],
            "colour": colour,
            "weight": weight,
            "height": height,
            "ward": 7,
            "remark": [f"one line\nanother, {number}" for number in range(n)],
            "smoker": rng.choice(["TRUE", "FALSE"], n),
            "state": state,
        }
    )
    frame.loc[rng.choice(n, 20), "weight"] = np.nan
    frame.loc[rng.choice(n, 20), "colour"] = None
    frame.loc[3, "state"] = None
    return frame


def fit(*arguments):
    return main(["fit", *map(str, arguments)])


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_fit_prints_accuracy_size_and_time_and_saves(here, capsys, load):
    frame = named(load)
    frame.to_csv("data.csv", index=False)
    assert fit("data.csv", "--target", "species", "-o", "data.model") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    first, accuracy, network, *_, saved = captured.out.splitlines()
    assert first == (
        f"data.csv: {len(frame)} rows, {frame.shape[1] - 1} features ({frame.shape[1] - 1} numeric, "
        "0 categorical) → species (3 classes)"
    )
    assert float(accuracy.split()[1]) > 0.9
    assert re.search(r"rows \(held out\); majority class: 0\.\d{3}$", accuracy)
    assert re.fullmatch(r"network: .* neurons \((readout|blob) design\), fitted in [0-9.]+ s", network)
    assert saved.startswith("saved:    data.model (")
    model = ffmlp.load("data.model")
    assert (model.predict(frame.drop(columns="species")) == frame["species"]).mean() > 0.95
    assert names_in(here) == ["data.csv", "data.model"]


def test_the_design_options_have_the_defaults_of_the_classifier():
    parser = argparse.ArgumentParser()
    fit_command.add_options(parser)
    options = vars(parser.parse_args(["data.csv", "--target", "y", "-o", "m.model"]))
    defaults = ffmlp.FFMLPClassifier().get_params()
    for name in ("design", "n_components", "max_neurons", "max_leaves"):
        assert options[name] == defaults[name]


@pytest.mark.parametrize(("limit", "least", "most"), [("0", 0, 0), ("40", 2, 40), ("auto", 41, 10**6)])
def test_leaves_are_limited_and_counted(here, capsys, limit, least, most):
    named(load_iris).to_csv("data.csv", index=False)
    given = ["data.csv", "--target", "species", "--design", "readout", "--max-leaves", limit]
    assert fit(*given, "-o", "data.model") == 0
    lines = capsys.readouterr().out.splitlines()
    network = ffmlp.load("data.model").network_
    n_leaves = network.layer_sizes[2] - len(network.labels)
    assert least <= n_leaves <= most
    said = [line for line in lines if line.startswith("trees:")]
    text = f"trees:    {n_leaves} leaves, which correct the readout"
    assert said == ([text] if n_leaves else [])
    assert main(["inspect", "data.model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leaves"] == n_leaves


def test_a_messy_file_does_what_a_person_expects(here, capsys):
    messy().to_csv("m.csv", index=False, encoding="utf-8-sig", lineterminator="\r\n", na_rep="?")
    arguments = ["m.csv", "--target", "state", "--id", "patient", "--cv", "3", "-o", "m.model", "--json"]
    assert fit(*arguments) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert result["numbers"] == ["weight", "height"]
    assert result["categories"] == ["colour", "smoker"]
    assert result["rows"] == 299
    assert result["evaluation"]["accuracy"] > 0.85 > result["evaluation"]["majority"]
    assert captured.err.splitlines() == [
        "note: ward is not used: all values are 7.",
        "note: remark is not used: free text, 300 distinct values in 300 cells.",
        "note: left out 1 row without 'state'.",
    ]
    clf = ffmlp.load("m.model")
    known = {part.name: getattr(part, "categories", None) for part in clf.network_.columns.parts}
    assert known == {
        "weight": None,
        "height": None,
        "colour": ("blue", "green", "red"),
        "smoker": ("False", "True"),
    }
    in_order = [name for name in messy().columns if name in known]
    assert clf.feature_names_in_.tolist() == in_order  # that of the file
    assert len(clf.predict(messy()[in_order].replace("?", None))) == 300


def test_numbers_can_be_categories_and_columns_ignored(here, capsys):
    lines = [f"{row % 3},{row % 5},{row},{'ab'[row % 3 == 1]}" for row in range(60)]
    (here / "t.csv").write_text("\n".join(["code,noise,id,label", *lines]))
    options = ["--categorical", "code", "--ignore", "id", "noise", "--quiet"]
    assert fit("t.csv", "--target", "label", "-o", "t.model", *options) == 0
    assert capsys.readouterr().out == ""
    (code,) = ffmlp.load("t.model").network_.columns.parts
    assert (code.name, code.categories) == ("code", ("0", "1", "2"))


def test_labels_are_integers_where_they_are_written_so(here):
    lines = [f"{row},{row // 20 - 1}" for row in range(60)]
    (here / "t.csv").write_text("\n".join(["x,label", *lines]))
    assert fit("t.csv", "--target", "label", "-o", "t.model", "--test-size", "0") == 0
    assert ffmlp.load("t.model").classes_.tolist() == [-1, 0, 1]


def test_a_small_network_can_be_asked_for(here, capsys):
    named(load_iris).to_csv("data.csv", index=False)
    arguments = ("--target", "species", "--max-neurons", "20", "--json", "-o", "small.model")
    assert fit("data.csv", *arguments) == 0
    assert sum(json.loads(capsys.readouterr().out)["layers"][1:]) <= 20


def test_an_existing_file_is_refused_before_anything_is_read(here, capsys):
    (here / "there.model").write_text("mine")
    (here / "link.model").symlink_to("nowhere")
    for name in ("there.model", "link.model"):
        error = refused(capsys, "fit", "gone.csv", "--target", "t", "-o", name)
        advice = "Choose another name, or add --force to overwrite it."
        assert error == f"ffmlp: {name} already exists. {advice}"
    assert (here / "there.model").read_text() == "mine"
    named(load_iris).to_csv("data.csv", index=False)
    assert fit("data.csv", "--target", "species", "-o", "there.model", "--force", "--quiet") == 0
    assert ffmlp.load("there.model").classes_.tolist() == ["setosa", "versicolor", "virginica"]


TABLE = "x,y,id,label\n" + "".join(f"{row},{row % 7},{row},{'ab'[row > 30]}\n" for row in range(60))


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (
            TABLE,
            "--target Lable",
            "t.csv has no column 'Lable' (--target). Did you mean 'label'? Columns: x, y, id, label.",
        ),
        (TABLE, "--target ''", "t.csv has no column '' (--target)."),
        (TABLE, "--target label --ignore X", "(--ignore). Did you mean 'x'? Columns: x"),
        (TABLE, "--target label --categorical 'Y '", "(--categorical). Did you mean 'y'? Col"),
        (TABLE, "--target label --id i", "no column 'i' (--id). Did you mean 'id'? Col"),
        (TABLE, "--target label --ignore label", "column 'label' can have only one role"),
        (
            TABLE,
            "--target x",
            "t.csv, column 1 ('x'): the target has 60 distinct values in 60 rows. ffmlp predicts class",
        ),
        (TABLE, "--target label --test-size 1", "--test-size must be at least 0 and below 1"),
        (TABLE, "--target label --cv 1", "--cv must be at least 2, got 1."),
        (TABLE, "--target label --seed -1", "--seed must be at least 0"),
        (TABLE, "--target label --encoding mars", "unknown --encoding 'mars'."),
        (TABLE, "--target label --encoding rot13", "unknown --encoding 'rot13'. Ex"),
        (TABLE, "--target label --n-components 0 --design blob", "n_components"),
        (TABLE, "--target label --max-neurons 3", "max_neurons must be at least 5 for 2 cl"),
        (TABLE, "--target label --max-leaves -1", "max_leaves must be an int of at least"),
        (TABLE, "--target label -o no/where.model", "the folder no does not exist."),
        (
            TABLE,
            "--target label -o u.csv",
            "u.csv looks like a data file. Choose another name for the model, for example -o u.model.",
        ),
        (TABLE + "1,2,3,c\n", "--target label", "class 'c' has 1 row, but the evaluation needs 2"),
        (TABLE + "1,2,3,\n1,many,3,a\n", "--target label", "t.csv, line 63, column 2 ('y'): "),
        ("x,label\n1,a\n2,a\n", "--target label", "2 classes are needed, but all 2 rows have 'a'."),
        ("x,label\n1,\n2,?\n", "--target label", "t.csv: column 'label' is empty."),
        ("label\na\nb\n", "--target label", "t.csv has no usable feature (no other columns)."),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_with_exit_code_2(here, capsys, content, arguments, message):
    (here / "t.csv").write_text(content)
    assert message in refused(capsys, "fit", "t.csv", "-o", "t.model", *split(arguments))
    assert names_in(here) == ["t.csv"]


def test_many_columns_are_not_all_listed(here, capsys):
    (here / "t.csv").write_text(",".join(f"c{number}" for number in range(3000)) + "\n")
    names = "".join(f"c{number}, " for number in range(20))
    error = refused(capsys, "fit", "t.csv", "--target", "label", "-o", "t.model")
    assert error.endswith(f"Columns: {names}… 2980 more.")


def test_a_huge_cell_is_not_shown_whole(here, capsys):
    (here / "t.csv").write_text(TABLE + f"{'z' * 200_000},1,2,a\n")
    error = refused(capsys, "fit", "t.csv", "--target", "label", "-o", "t.model")
    assert error.startswith("ffmlp: t.csv, line 62, column 1 ('x'): 'zzz")
    assert error.endswith("zzz'; if the column is categorical, add --categorical 'x'.")
    assert len(error) < 2100


def test_names_with_line_breaks_stay_on_one_line(here, capsys):
    lines = [f"1,{row}.5,{row // 20}\n" for row in range(40)]
    (here / "t.csv").write_text('"a\n\x1b[1mb",x,label\n' + "".join(lines))
    error = refused(capsys, "fit", "t.csv", "--target", "lable", "-o", "t.model")
    assert error.endswith("Columns: a\\n\\x1b[1mb, x, label.")
    assert fit("t.csv", "--target", "label", "-o", "t.model") == 0
    assert capsys.readouterr().err == "note: a\\n\\x1b[1mb is not used: all values are 1.\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_neither_read_nor_replaced(here, capsys):
    (here / "t.csv").write_text(TABLE)
    for name in ("pipe.model", "pipe.csv"):
        os.mkfifo(name)
    error = refused(capsys, "fit", "t.csv", "--target", "label", "-o", "pipe.model", "--force")
    assert error == "ffmlp: pipe.model is not a regular file. Choose another name."
    assert (here / "pipe.model").is_fifo()
    error = refused(capsys, "fit", "pipe.csv", "--target", "label", "-o", "t.model")
    assert "pipe.csv is not a regular file" in error


def test_a_terminal_without_arrows_is_not_an_error(here):
    (here / "t.csv").write_text(TABLE)
    command = [sys.executable, "-m", "ffmlp.cli", "fit", "t.csv", "--target", "label", "-o", "t.model"]
    source = str(Path(ffmlp.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"categorical) \\u2192 label" in done.stdout


def test_an_encoding_has_many_names(here):
    (here / "t.csv").write_text(TABLE, encoding="utf-8-sig")
    arguments = ["--target", "label", "--ignore", "id", "--encoding", "UTF8", "-o", "t.model", "--quiet"]
    assert fit("t.csv", *arguments) == 0
    assert ffmlp.load("t.model").feature_names_in_.tolist() == ["x", "y"]  # without the mark


def test_ctrl_c_leaves_no_model(here, capsys, monkeypatch):
    named(load_iris).to_csv("data.csv", index=False)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("ffmlp.tabular.table_model.save", interrupted)
    assert fit("data.csv", "--target", "species", "-o", "data.model") == 130
    assert capsys.readouterr().err == "ffmlp: interrupted; no partial file is left.\n"
    assert names_in(here) == ["data.csv"]


@pytest.mark.parametrize("package", ["pandas", "tqdm"])
def test_a_missing_package_is_reported(here, capsys, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    error = refused(capsys, "fit", "data.csv", "--target", "species", "-o", "data.model")
    advice = "Install it with: pip install 'ffmlp[cli]'"
    assert error == f"ffmlp: {package} is required for ffmlp fit. {advice}"


def fit_labels(here, capsys, labels):
    """The notes of a fit to these labels, which nothing explains."""
    rng = np.random.default_rng(0)
    lines = [f"{x:.4f},{label}" for x, label in zip(rng.normal(size=len(labels)), labels, strict=True)]
    (here / "t.csv").write_text("\n".join(["x,label", *lines]))
    arguments = ["--target", "label", "--design", "blob", "--n-components", "1", "--json", "--force"]
    assert fit("t.csv", *arguments, "-o", "t.model") == 0
    captured = capsys.readouterr()
    notes = json.loads(captured.out)["notes"]
    assert captured.err == "".join(f"note: {note}\n" for note in notes)
    return notes


def test_odd_labels_are_noted(here, capsys):
    notes = fit_labels(here, capsys, ["Yes", "yes", "no"] * 40)
    assert notes[0] == (
        "'label' has classes that differ only in case or spaces: 'Yes' and 'yes'. If they are the same, "
        "write them alike in the file."
    )
    notes = fit_labels(here, capsys, [row % 21 + 5 for row in range(210)])
    assert notes[0] == (
        "'label' has 21 integer classes, from 5 to 25. ffmlp predicts classes, not numbers: if it is a "
        "number, group it into a few classes first."
    )
    assert not [note for note in fit_labels(here, capsys, [*range(20)] * 9) if "integer classes" in note]


def test_many_columns_are_noted(here, capsys, monkeypatch):
    monkeypatch.setattr(fit_command, "_MANY_COLUMNS", 0)
    assert fit_labels(here, capsys, ["a", "b"] * 20)[0].startswith(
        "1 column: time, memory and the model"
    )


def test_a_model_no_better_than_the_majority_class_is_noted(here, capsys):
    (note,) = fit_labels(here, capsys, ["a"] * 190 + ["b"] * 10)
    assert note == (
        "the model is no better than the majority class: accuracy 0.960, majority class 0.960. The "
        "columns may say little about 'label'."
    )


def test_more_columns_than_a_fit_can_take_are_refused(here, capsys):
    names = [f"c{number}" for number in range(5001)]
    (here / "wide.csv").write_text(",".join([*names, "y"]) + "\n" + ",".join(["1"] * 5002) + "\n")
    error = refused(capsys, "fit", "wide.csv", "--target", "y", "-o", "w.model")
    assert "wide.csv has 5001 columns beside the target, more than 5000." in error
