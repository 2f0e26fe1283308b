import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from forgeries import files_with_a_changed_type, payload_of, with_schema, wrapped

from ffmlp import FFMLPClassifier
from ffmlp.files.columns import Columns
from ffmlp.files.interface import Interface
from ffmlp.files.predictor import read_predictor
from ffmlp.files.tables import Dialect
from ffmlp.files.tabular import TableModel, pipeline

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

DATA = Path(__file__).parent / "data"
DESIGNS = ("region", "blob", "readout")
COLUMNS = {
    "numbers": Columns(("a", "b"), (), {}),
    "categories": Columns((), ("colour", "town"), {}),
    "both": Columns(("a", "b"), ("colour", "town"), {}),
}


def table(n_rows, seed=0):
    """Numbers and categories, some of them missing; most towns are rare."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n_rows),
            "b": rng.gamma(1.0, size=n_rows),
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "town": [f"town {number}" for number in rng.geometric(0.05, n_rows)],
        }
    ).astype({"colour": object, "town": object})
    hidden = frame.mask(rng.random(frame.shape) < 0.1)
    return hidden, np.where((frame.a + 2 * (frame.colour == "red") + frame.b) > 2, "yes", "no")


def model_of(columns, design="readout"):
    X, y = table(300)
    clf = FFMLPClassifier(design=design, random_state=0)
    fitted = pipeline(columns, clf).fit(X[columns.names], y)
    interface = Interface(
        columns.numbers, columns.categories, "answer", None, Dialect(("-",), ","), {"rows": 300}
    )
    return TableModel.of(interface, fitted)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_predictor_says_what_the_model_says(design, kind, tmp_path):
    model = model_of(COLUMNS[kind], design)
    model.save(tmp_path / "m")
    predictor = read_predictor(tmp_path / "m")
    for name in ("numbers", "categories", "target", "id_column", "dialect", "facts", "kinds"):
        assert getattr(predictor, name) == getattr(model, name)
    new, _ = table(4000, seed=1)
    new.loc[:50, "colour"] = "purple"
    new.loc[20:70, "town"] = "elsewhere"
    features = new[model.columns]
    np.testing.assert_array_equal(predictor.labels, model.labels)
    np.testing.assert_array_equal(predictor.probabilities(features), model.probabilities(features))
    np.testing.assert_array_equal(predictor.classes(features), model.classes(features))


@pytest.mark.parametrize("read", [read_predictor, TableModel.load])
def test_a_table_model_of_format_1_is_still_read(read):
    model = read(DATA / "table-1.model")
    expected = json.loads((DATA / "table-1.json").read_text(encoding="utf-8"))
    rows = pd.DataFrame(expected["rows"])[model.columns].astype(dict.fromkeys(model.categories, object))
    rows = rows.fillna(np.nan)
    assert model.labels[model.classes(rows)].tolist() == expected["labels"]
    np.testing.assert_allclose(model.probabilities(rows), expected["probabilities"], atol=1e-12)


cells = st.sampled_from([np.nan, "", "missing", "a", "b", "ä", *map(str, range(40))])


@hypothesis.given(st.lists(cells, min_size=2, max_size=80), st.lists(cells, min_size=1, max_size=9))
@hypothesis.settings(deadline=None)
def test_inputs_are_those_of_scikit_learns_encoder(known, new):
    hypothesis.assume(len(set(map(str, known))) > 1)
    columns = Columns(("a",), ("c",), {})
    numbers = np.linspace(0, 1, len(known))
    X = pd.DataFrame({"a": numbers, "c": pd.Series(known, dtype=object)})
    clf = FFMLPClassifier(design="region", n_components=1)
    fitted = pipeline(columns, clf).fit(X, np.arange(len(known)) % 2)
    preparation = TableModel.of(Interface(("a",), ("c",), "y", None, Dialect(), {}), fitted).preparation
    frame = pd.DataFrame({"a": [np.nan] * len(new), "c": pd.Series(new, dtype=object)})
    np.testing.assert_array_equal(preparation.inputs(frame), fitted[0].transform(frame))


def test_other_models_are_left_to_skops(tmp_path):
    X, y = table(100)
    FFMLPClassifier(design="blob").fit(X[["a"]].fillna(0.0), y).save(tmp_path / "m")
    assert read_predictor(tmp_path / "m") is None
    model_of(COLUMNS["numbers"]).save(tmp_path / "m")
    assert read_predictor(tmp_path / "m") is not None

    def newer(text):
        return json.dumps({**json.loads(text), "protocol": 3})

    (tmp_path / "m").write_bytes(wrapped(with_schema(payload_of(tmp_path / "m"), newer)))
    assert read_predictor(tmp_path / "m") is None


@pytest.mark.parametrize("design", DESIGNS)
def test_changed_type_names_with_a_fitting_checksum_run_nothing(design, tmp_path, monkeypatch):
    """A ValueError, or a model that predicts the same."""
    model = model_of(COLUMNS["both"], design)
    path = tmp_path / "m"
    model.save(path)
    payload = payload_of(path)
    ran = []
    monkeypatch.setattr("os.system", ran.append)
    monkeypatch.setattr("builtins.eval", ran.append)
    features, _ = table(50, seed=2)
    expected = model.probabilities(features)
    n_refused = 0
    for content in files_with_a_changed_type(payload, 60):
        path.write_bytes(content)
        try:
            predictor = read_predictor(path)
        except ValueError:
            n_refused += 1
        else:
            np.testing.assert_array_equal(predictor.probabilities(features), expected)
    assert not ran
    assert n_refused


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"weights"', '"weightz"'),
        ('\\\\\\"medians\\\\\\": [', '\\\\\\"medians\\\\\\": [1.0, '),
        ('"network_"', '"networks_"'),
        ('\\\\\\"town 1\\\\\\"', "0"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(old, new, tmp_path):
    path = tmp_path / "m"
    model_of(COLUMNS["both"]).save(path)

    def change(text):
        assert old in text
        return text.replace(old, new)

    path.write_bytes(wrapped(with_schema(payload_of(path), change)))
    with pytest.raises(ValueError, match="m holds no usable model"):
        read_predictor(path)


def test_predicting_a_file_imports_neither_scikit_learn_nor_scipy(tmp_path):
    model_of(COLUMNS["both"]).save(tmp_path / "m")
    table(3000, seed=3)[0].to_csv(tmp_path / "new.csv", sep=";", decimal=",", index=False)
    program = (
        "import sys; from ffmlp.cli import main; "
        "assert main(['predict', 'm', 'new.csv', '-o', 'o.csv', '--proba', '--quiet']) == 0; "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'sklearn', 'scipy', 'skops'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
