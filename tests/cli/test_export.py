import numpy as np
import pytest
from commands import refused

import ffmlp
from ffmlp.cli import main
from ffmlp.inputs.data_frames import columns_of, table_cells
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
pytest.importorskip("tqdm")


@pytest.fixture(scope="module", params=["readout", "paper", "region", "blob"])
def model(request, tmp_path_factory):
    """The path of a model with missing values and with many categories."""
    folder = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "label": rng.normal(size=n),  # a column may have the name of an output
            "height (cm)": rng.gamma(2, size=n),
            "town": [f"town {number}" for number in np.minimum(rng.geometric(0.06, n), 60)],
            "colour": rng.choice(["red", "green", None], n),
        }
    )
    frame.loc[rng.choice(n, 20), "height (cm)"] = np.nan
    frame["class"] = np.where((frame["label"] > 0) ^ (frame["colour"] == "red"), 7, -1)
    frame.to_csv(folder / "t.csv", index=False)
    arguments = ["--target", "class", "--design", request.param, "--categorical", "town", "--quiet"]
    assert main(["fit", str(folder / "t.csv"), "-o", str(folder / "t.model"), *arguments]) == 0
    return folder / "t.model"


def new_rows():
    """Rows as the model was made from, and unknown and missing ones."""
    towns = ["town 1", "town 59", "nowhere", np.nan, "town 2", "infrequent_sklearn"]
    colours = ["red", "green", np.nan, "missing", "blue", "red"]
    return pd.DataFrame(
        {
            "label": [0.5, -1e6, np.nan, 0.0, 3.0, 1e300],
            "height (cm)": [1.0, np.nan, 2.0, 1e6, -5.0, 0.0],
            "town": pd.Series(towns, dtype=object),
            "colour": pd.Series(colours, dtype=object),
        }
    )


def test_onnx_answers_as_the_model_by_the_names_of_its_columns(model, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path / "m.onnx"
    assert main(["export", str(model), "--to", "onnx", "-o", str(path)]) == 0
    loaded = TableModel.load(model)
    seen = pd.read_csv(model.parent / "t.csv", dtype={"town": str})[loaded.features]
    rows = pd.concat([seen.astype(new_rows().dtypes), new_rows()[loaded.features]], ignore_index=True)
    session = runtime.InferenceSession(str(path))
    assert [node.name for node in session.get_inputs()] == loaded.features
    assert [node.name for node in session.get_outputs()] == ["label_", "probabilities"]
    inputs = {name: rows[[name]].to_numpy(np.float64) for name in loaded.numbers}
    inputs |= {name: rows[[name]].fillna("").to_numpy(object) for name in loaded.categories}
    labels, probabilities = session.run(None, inputs)
    np.testing.assert_array_equal(labels, loaded.classifier.predict(rows))
    np.testing.assert_allclose(probabilities, loaded.classifier.predict_proba(rows), atol=1e-9)
    assert labels.dtype == np.int64


def test_columns_may_have_names_like_those_inside_of_the_graph(tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 2)), columns=["ffmlp_0", "ffmlp__inner_input"])
    frame.assign(y=np.where(frame["ffmlp_0"] > 0, "a", "b")).to_csv(tmp_path / "t.csv", index=False)
    data, model, path = (str(tmp_path / name) for name in ("t.csv", "m.model", "m.onnx"))
    assert main(["fit", data, "--target", "y", "-o", model, "--quiet"]) == 0
    assert main(["export", model, "--to", "onnx", "-o", path]) == 0
    inputs = {name: frame[[name]].to_numpy() for name in frame}
    labels = runtime.InferenceSession(path).run(["label"], inputs)[0]
    np.testing.assert_array_equal(
        labels, TableModel.load(tmp_path / "m.model").classifier.predict(frame)
    )


def test_torch_answers_as_the_network(model, tmp_path, capsys):
    torch = pytest.importorskip("torch")
    path = tmp_path / "m.pt2"
    assert main(["export", str(model), "--to", "torch", "-o", str(path)]) == 0
    assert "its columns: label, height (cm), town, colour; categories" in capsys.readouterr().out
    clf = ffmlp.load(model)
    frame = pd.read_csv(model.parent / "t.csv").astype({"colour": object})
    frame = pd.concat([frame, new_rows()[:-1]], ignore_index=True)[clf.feature_names_in_]
    cells = table_cells(columns_of(frame), clf.network_.columns.schema)
    module = torch.export.load(path).module()
    for rows in (cells, cells[:7]):
        expected = clf.network_.forward(clf.network_.inputs(rows))
        np.testing.assert_allclose(module(torch.tensor(rows)).detach(), expected, rtol=1e-7, atol=1e-9)


def test_text_names_every_hyperplane(model, tmp_path, capsys):
    path = tmp_path / "m.txt"
    assert main(["export", str(model), "--to", "text", "-o", str(path)]) == 0
    clf = ffmlp.load(model)
    text = path.read_text(encoding="utf-8")
    assert all(ffmlp.hyperplane_meaning(clf, plane) in text for plane in range(len(clf.hyperplanes_)))
    assert "already exists" in refused(capsys, "export", model, "--to", "text", "-o", path)


@pytest.mark.parametrize(
    ("kind", "suffix"), [("onnx", ".onnx"), ("torch", ".pt2"), ("text", ".txt or .md")]
)
@pytest.mark.parametrize("name", ["m.pt", "m.foo", "m"])
def test_other_names_are_refused_before_anything_is_read(here, capsys, kind, suffix, name):
    error = refused(capsys, "export", "no.model", "--to", kind, "-o", name)
    assert error == f"ffmlp: {name}: the file name must end with {suffix}."
