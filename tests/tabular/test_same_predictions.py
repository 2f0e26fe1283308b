"""One path: a data frame, its CSV and Parquet files and the ONNX model give the same predictions."""

from pathlib import Path

import numpy as np
import pytest
from problems import mixed_table

import ffmlp
from ffmlp.cli import main
from ffmlp.inputs.columns import CategoryColumn, category_name
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
for package in ("tqdm", "pyarrow"):
    pytest.importorskip(package)

N_TRAINING, N_NEW = 300, 200


def codes_and_decimals():
    """Integer codes with gaps, decimals as categories, booleans, and texts that need quotes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "ward": rng.integers(1, 6, 500).astype(float),
            "dose": rng.choice(["0.5", "1.0", "1.50", "high"], 500),
            "smoker": rng.choice([True, False], 500),
            "remark": rng.choice(["none", 'a "b", c', "d;e", " f ", "ä–ß", "x\ty"], 500),
            "x": rng.normal(size=500) * 1e-7,
            "y": rng.integers(-3, 4, 500),
        }
    )
    frame["label"] = np.where((frame["ward"] > 2) ^ (frame["remark"] == "none"), 1, 0)
    return frame.mask(rng.random(frame.shape) < 0.05)


def votes():
    """Answers of two or three words, few of them missing."""
    rng = np.random.default_rng(1)
    answers = np.where(rng.random((500, 8)) < 0.5, "yes", "no")
    frame = pd.DataFrame(answers, columns=[f"vote {number}" for number in range(8)])
    frame["region"] = rng.choice(["north", "south", "abroad"], 500)
    frame["label"] = np.where((answers[:, :5] == "yes").sum(axis=1) > 2, "democrat", "republican")
    return frame.mask(rng.random(frame.shape) < [0.05] * 9 + [0.0])


def animals():
    """Flags of 0 and 1, one count, a name of its own for most rows, seven classes of unequal size."""
    rng = np.random.default_rng(2)
    label = rng.choice(7, 500, p=[0.4, 0.2, 0.13, 0.1, 0.08, 0.05, 0.04])
    flags = ((label[:, None] >> np.arange(6) % 3) + (rng.random((500, 6)) < 0.1)) % 2
    frame = pd.DataFrame(flags, columns=["hair", "feathers", "eggs", "milk", "fins", "tail"])
    frame["legs"] = np.array([4, 2, 0, 0, 4, 6, 8])[label]
    frame["name"] = [f"animal {number}" for number in rng.integers(0, 400, 500)]
    frame["label"] = label + 1
    return frame


def survey():
    """Counts with many zeros, ordered answers, a column that never varies and one that is empty."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 500),
            "children": rng.poisson(0.7, 500),
            "income": np.exp(rng.normal(8, 1, 500)).round(2),
            "opinion": rng.choice(["strongly agree", "agree", "disagree", "don't know"], 500),
            "wave": 3,
            "comment": np.nan,
            "county": rng.choice([f"county {number}" for number in range(60)], 500),
        }
    )
    score = frame["age"] / 20 + frame["children"] - 2.0 * (frame["opinion"] == "agree")
    frame["label"] = pd.cut(score + rng.normal(size=500), [-9, 2, 4, 99], labels=["a", "b", "c"])
    frame["label"] = frame["label"].astype(str)
    return frame.mask(rng.random(frame.shape) < [0.1, 0, 0.2, 0, 0, 0, 0.02, 0])


TABLES = {
    "mixed": lambda: mixed_table(500)[0].assign(label=mixed_table(500)[1]),
    "codes": codes_and_decimals,
    "votes": votes,
    "animals": animals,
    "survey": survey,
}
CATEGORICAL = {"codes": ["ward", "dose"]}


@pytest.mark.parametrize("name", TABLES)
def test_files_frames_and_onnx_predict_the_same(name, tmp_path, monkeypatch):
    check(TABLES[name](), CATEGORICAL.get(name, []), tmp_path, monkeypatch)


def check(frame, categorical, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    order = np.random.default_rng(0).permutation(len(frame))
    training, new = frame.iloc[order[:N_TRAINING]], frame.iloc[order[-N_NEW:]].reset_index(drop=True)
    training.to_csv("training.csv", index=False)
    options = ["--design", "readout", "--max-leaves", "0", "--test-size", "0", "--quiet"]
    options += ["--categorical", *categorical] if categorical else []
    assert main(["fit", "training.csv", "--target", "label", "-o", "m.model", *options, "--force"]) == 0
    dates = [column.name for column in TableModel.load(Path("m.model")).dates]
    if dates:  # a data frame has no parts of them
        return check(frame.drop(columns=dates), categorical, tmp_path, monkeypatch)
    clf = ffmlp.load("m.model")
    parts = {part.name: part for part in clf.network_.columns.parts}
    new = with_gaps(new[list(parts)], parts)
    expected = clf.predict_proba(new)
    new.to_csv("new.csv", index=False)
    new.to_parquet("new.parquet")
    for source in ("new.csv", "new.parquet"):
        command = ["predict", "m.model", source, "-o", "o.parquet", "--proba", "--force", "--quiet"]
        assert main([*command, "--block-rows", "64"]) == 0
        found = pd.read_parquet("o.parquet")
        np.testing.assert_array_equal(found.iloc[:, -len(clf.classes_) :], expected)
        np.testing.assert_array_equal(found["predicted_label"], clf.predict(new))
    check_onnx(clf, new, expected)


# Unknown categories; there is none among booleans.
UNKNOWN = {"boolean": None, "floating": 99.0, "integer": 99}


def with_gaps(rows, parts):
    """Rows with missing cells in all columns, and unknown categories in some."""
    rng = np.random.default_rng(1)
    rows = rows.astype(object)
    for name, part in parts.items():
        if isinstance(part, CategoryColumn):
            kind = pd.api.types.infer_dtype(rows[name], skipna=True)
            rows.loc[rng.random(len(rows)) < 0.05, name] = UNKNOWN.get(kind, "never seen")
        else:
            rows[name] = rows[name].astype(float)
        rows.loc[rng.random(len(rows)) < 0.1, name] = np.nan
    return rows


def check_onnx(clf, rows, expected):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    assert main(["export", "m.model", "--to", "onnx", "-o", "m.onnx", "--quiet"]) == 0
    session = runtime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    inputs = {
        part.name: rows[[part.name]].map(category_name).to_numpy(object)
        if isinstance(part, CategoryColumn)
        else rows[[part.name]].to_numpy(float)
        for part in clf.network_.columns.parts
    }
    label, probabilities = session.run(None, inputs)
    np.testing.assert_allclose(probabilities, expected, atol=1e-12)
    clear = np.ptp(np.partition(expected, -2, axis=1)[:, -2:], axis=1) > 1e-9
    np.testing.assert_array_equal(label[clear], clf.predict(rows)[clear])
