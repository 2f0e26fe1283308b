import json

import numpy as np
import pytest
from commands import refused
from sklearn import metrics
from sklearn.datasets import load_iris

import ffmlp
from ffmlp.cli import main

for package in ("pandas", "pyarrow", "tqdm"):
    pytest.importorskip(package)


@pytest.fixture(scope="module")
def noisy(trained):
    """A model of Iris with a category, and the table with noise, some of which is predicted wrongly."""
    path, frame = trained
    noise = np.random.default_rng(0).normal(scale=0.7, size=(len(frame), 4))
    data = load_iris()
    frame = frame.assign(species=data.target_names[data.target])
    frame[["a", "b", "c", "d"]] += noise
    return path, frame


def evaluate(noisy, *arguments):
    return main(["evaluate", str(noisy[0]), *map(str, arguments)])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_scores_are_those_of_scikit_learn(noisy, here, capsys, monkeypatch, name):
    monkeypatch.setattr("ffmlp.tabular.scores._ROWS_AT_ONCE", 40)
    path, frame = noisy
    frame.to_csv("t.csv", index=False)
    frame.to_parquet("t.parquet")
    assert evaluate(noisy, name, "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    probability = ffmlp.load(path).predict_proba(frame.drop(columns=["flower", "species"]))
    predicted, truth = np.unique(frame["species"])[probability.argmax(axis=1)], frame["species"]
    assert found["accuracy"] == np.mean(predicted == truth) < 1.0
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(truth, predicted))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, probability))
    expected = metrics.roc_auc_score(truth, probability, multi_class="ovr")
    assert found["auc"] == pytest.approx(expected)
    assert [one["n_rows"] for one in found["classes"]] == [50, 50, 50]
    for score, key in ((metrics.precision_score, "precision"), (metrics.recall_score, "recall")):
        expected = score(truth, predicted, average=None)
        np.testing.assert_allclose([one[key] for one in found["classes"]], expected)
    assert found["majority"] == {
        "label": "setosa", "accuracy": pytest.approx(1 / 3), "balanced_accuracy": pytest.approx(1 / 3),
        "log_loss": pytest.approx(np.log(3)), "auc": 0.5,
    }  # fmt: skip
    assert (found["n_rows"], found["n_unlabelled"], found["unknown"]) == (150, 0, {})


def test_the_text_has_two_tables(noisy, here, capsys):
    noisy[1].iloc[::10].to_csv("t.csv", index=False)
    assert evaluate(noisy, "t.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert evaluate(noisy, "t.csv") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[:3] == ["t.csv: 15 rows", "", "                      model  majority"]
    assert lines[3] == f"accuracy              {found['accuracy']:.3f}     0.333"
    assert lines[4] == f"balanced accuracy     {found['balanced_accuracy']:.3f}     0.333"
    assert lines[5] == f"log-loss              {found['log_loss']:.3f}     1.099"
    assert lines[6] == f"AUC                   {found['auc']:.3f}     0.500"
    assert lines[7] == (
        "(majority: always 'setosa', the most frequent class of the training data, with the shares of "
        "its classes as probabilities)"
    )
    assert lines[9] == "class          rows  precision   recall"
    one = found["classes"][1]
    assert lines[11] == f"versicolor        5      {one['precision']:.3f}    {one['recall']:.3f}"
    assert evaluate(noisy, "t.csv", "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_missing_and_unknown_labels(noisy, here, capsys):
    frame = noisy[1].copy()
    frame.loc[:9, "species"] = None
    frame.loc[10:19, "species"] = "pampas"
    frame.to_csv("t.csv", index=False)
    assert evaluate(noisy, "t.csv", "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == (
        "note: left out 10 rows without 'species'.\n"
        "note: t.csv, column species: 10 rows with a class that the model has not seen, for example "
        "'pampas'. They count as errors; log-loss and AUC leave them out.\n"
    )
    found = json.loads(captured.out)
    assert (found["n_rows"], found["n_unlabelled"], found["unknown"]) == (140, 10, {"pampas": 10})
    frame[20:].to_csv("known.csv", index=False)
    assert evaluate(noisy, "known.csv", "--json") == 0
    known = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == pytest.approx(known["accuracy"] * 130 / 140)
    assert found["balanced_accuracy"] == pytest.approx(known["balanced_accuracy"] * 3 / 4)
    assert (found["log_loss"], found["auc"]) == (known["log_loss"], known["auc"])
    pampas = {"label": "pampas", "n_rows": 10, "precision": None, "recall": 0.0}
    assert found["classes"][3] == pampas
    assert found["majority"]["accuracy"] == pytest.approx(30 / 140)


@pytest.mark.parametrize(
    ("label", "message"),
    [("species", "t.csv: column 'species' is empty."), (
        "Species",
        "t.csv has no column 'species' (the target of the model). Did you mean 'Species'? Columns: a, "
        "b, c, d, size, flower, Species.",
    )],
)  # fmt: skip
def test_a_file_needs_labels(noisy, here, capsys, label, message):
    noisy[1].drop(columns="species").assign(**{label: None}).to_csv("t.csv", index=False)
    assert refused(capsys, "evaluate", noisy[0], "t.csv") == f"ffmlp: {message}"


def test_only_unknown_labels_have_no_log_loss(noisy, here, capsys):
    noisy[1].assign(species="pampas").to_csv("t.csv", index=False)
    assert evaluate(noisy, "t.csv", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["accuracy"], found["log_loss"], found["auc"]) == (0.0, None, None)
    assert evaluate(noisy, "t.csv") == 0
    assert "log-loss                  –         –\n" in capsys.readouterr().out


def test_a_model_without_a_table_has_no_majority_class(here, capsys):
    data = load_iris(as_frame=True)
    ffmlp.save(
        ffmlp.FFMLPClassifier(design="blob", random_state=0).fit(data.data, data.target), "m.model"
    )
    data.data.assign(**{"class": data.target}).to_csv("t.csv", index=False)
    assert main(["evaluate", "m.model", "t.csv", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert found["majority"] is None
    assert found["accuracy"] > 0.9


@pytest.mark.parametrize("given", [["p*.parquet"], ["folder"], ["p0.parquet", "c1.csv", "p2.parquet"]])
def test_several_files_are_evaluated_like_one(noisy, here, capsys, given):
    (here / "folder").mkdir()
    noisy[1].to_csv("all.csv", index=False)
    for number in range(3):
        part = noisy[1][50 * number : 50 * number + 50]
        part.to_csv(f"c{number}.csv", index=False)
        for name in (f"p{number}.parquet", f"folder/{number}.parquet"):
            part.to_parquet(name)
    assert evaluate(noisy, "all.csv", "--json") == 0
    one = json.loads(capsys.readouterr().out)
    assert evaluate(noisy, *given, "--json") == 0
    many = json.loads(capsys.readouterr().out)
    assert many.pop("data") == (given[0] if len(given) == 1 else "p0.parquet and 2 other files")
    assert many == {name: value for name, value in one.items() if name != "data"}
    part.drop(columns="a").to_parquet("p2.parquet")
    error = refused(capsys, "evaluate", noisy[0], "p*.parquet")
    assert "p2.parquet lacks 'a', unlike p0.parquet" in error
