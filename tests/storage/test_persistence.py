import io
import json
import sys
import zipfile
from copy import copy
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from forgeries import (
    files_with_a_changed_type,
    nodes_of,
    payload_of,
    recorded_calls,
    with_schema,
    wrapped,
)
from problems import DESIGNS, IRIS, designed
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import ffmlp
from ffmlp import FFMLPClassifier
from ffmlp.storage.model_files import FORMAT_VERSION
from ffmlp.storage.persistence import load_with_metadata

pd = pytest.importorskip("pandas")

DATA = Path(__file__).parents[1] / "data"
X, Y = IRIS
NAMES = np.array(["setosa", "versicolor", "virginica"])


def fitted(design, **parameters):
    return designed(design, X, Y, **parameters)


@pytest.mark.parametrize(("design", "gaussianise"), [*product(DESIGNS, (False, True)), ("paper", False)])
def test_a_model_comes_back_as_it_was(design, gaussianise, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    chance = np.random.RandomState(3)
    clf = designed(design, frame, NAMES[Y], gaussianise=gaussianise, random_state=chance)
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    frame = pd.DataFrame(np.vstack([X, 10 * X - 30]), columns=list("abcd"))
    np.testing.assert_array_equal(again.predict(frame), clf.predict(frame))
    np.testing.assert_array_equal(again.predict_proba(frame), clf.predict_proba(frame))
    np.testing.assert_array_equal(again.feature_names_in_, list("abcd"))
    assert str(again.selection_) == str(clf.selection_)
    assert again.network_.meaning(2, 0) == clf.network_.meaning(2, 0)
    assert again.pruning_path_.kept.tolist() == clf.pruning_path_.kept.tolist()
    assert again.random_state.randint(1000) == clf.random_state.randint(1000)
    again.fit(X, Y)


def test_parameters_and_labels_of_any_kind(tmp_path):
    weights = {name: number + 1.0 for number, name in enumerate(NAMES)}
    components = dict.fromkeys(NAMES, np.int64(2))
    clf = FFMLPClassifier(
        components,
        design="region",
        error_threshold=np.float64(0.1),
        class_weight=weights,
        random_state=0,
    ).fit(X.astype(np.float32), NAMES[Y].astype(object))
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    assert again.get_params() == clf.get_params()
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    np.testing.assert_array_equal(again.fit(X, NAMES[Y]).predict(X), clf.fit(X, NAMES[Y]).predict(X))


def test_columns_that_are_passed_through(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    columns = ColumnTransformer([("scaled", StandardScaler(), ["a", "b"])], remainder="passthrough")
    pipeline = make_pipeline(columns, FFMLPClassifier(design="blob", random_state=0)).fit(frame, Y)
    ffmlp.save(pipeline, tmp_path / "m")
    np.testing.assert_array_equal(ffmlp.load(tmp_path / "m").predict(frame), pipeline.predict(frame))


def messy_pipeline():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 0] > 5, "long", "short"))
    frame.loc[3, "e"], frame.loc[4, "a"] = np.nan, np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False))
    columns = ColumnTransformer([("numbers", numbers, list("abcd")), ("words", words, ["e"])])
    return make_pipeline(columns, FFMLPClassifier(design="blob", random_state=0)).fit(frame, Y), frame


def test_a_pipeline_is_saved_with_its_preprocessing_and_metadata(tmp_path):
    pipeline, frame = messy_pipeline()
    metadata = {"target": "species", "columns": ["a", "b"], "accuracy": 0.98, "id": None}
    ffmlp.save(pipeline, tmp_path / "m", metadata)
    saved = load_with_metadata(tmp_path / "m")
    assert saved.metadata == metadata
    np.testing.assert_array_equal(saved.estimator.predict_proba(frame), pipeline.predict_proba(frame))
    ffmlp.save(pipeline, tmp_path / "m")
    assert load_with_metadata(tmp_path / "m").metadata == {}


@pytest.mark.parametrize(
    ("design", "version"),
    [
        *product(("region", "blob", "readout"), range(1, FORMAT_VERSION + 1)),
        ("paper", 2),
        ("regions", 2),
    ],
)
def test_models_of_every_format_are_still_read(design, version):
    """The files were written when the format was made; predictions are kept beside them."""
    clf = ffmlp.load(DATA / f"{design}-{version}.model")
    expected = json.loads((DATA / f"{design}-{version}.json").read_text(encoding="utf-8"))
    samples = np.array(expected["samples"])
    assert clf.predict(samples).tolist() == expected["labels"]
    np.testing.assert_allclose(clf.predict_proba(samples), expected["probabilities"], atol=1e-12)
    assert clf.network_.meaning(1, 0) == expected["first_neuron"]
    assert clone(clf).get_params() == clf.get_params()
    assert (clf.max_leaves, clf.all_pairs) == (
        500 if design == "regions" else 0,
        False,
    )  # newer: as before
    assert (clf.n_leaves_ > 0) == (design in ("paper", "region", "regions"))


@pytest.fixture(scope="module")
def with_trees():
    return fitted("readout with trees")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("hyperplanes", lambda part: part + 10_000),
        ("hyperplanes", lambda part: part.astype(float)),
        ("children", lambda part: part - 10_000),
        ("children", lambda part: np.where(part > 0, 0, part)),  # a circle
        ("children", lambda part: np.where(part < 0, -1, part)),  # one region in many places
        ("roots", lambda part: part[::-1]),
        ("roots", lambda part: part[1:]),
        ("thresholds", lambda part: part[1:]),
        ("thresholds", lambda part: np.where(part > 0, np.nan, part)),
        ("values", lambda part: part[:, 1:]),
        ("values", lambda part: np.vstack([part, part])),
        ("values", lambda part: part * np.inf),
    ],
)
def test_regions_that_are_not_leaves_of_trees_are_refused(with_trees, part, change, tmp_path):
    clf, network = copy(with_trees), with_trees.network_
    trees = network.stages.trees
    trees = replace(trees, **{part: change(getattr(trees, part))})
    clf.network_ = replace(network, stages=replace(network.stages, trees=trees))
    ffmlp.save(clf, tmp_path / "m")
    with pytest.raises(ValueError, match="does not hold a usable model"):
        ffmlp.load(tmp_path / "m")


def test_maps_that_fall_are_refused(tmp_path):
    """Distances and properties for verifiers rely on maps that rise."""
    clf = fitted("readout", gaussianise=True)
    maps = clf.network_.hyperplanes.gaussianisation
    falling = replace(maps, scores=tuple(scores[::-1] for scores in maps.scores))
    planes = replace(clf.network_.hyperplanes, gaussianisation=falling)
    clf.network_ = replace(clf.network_, hyperplanes=planes)
    ffmlp.save(clf, tmp_path / "m")
    with pytest.raises(ValueError, match="scores must not fall"):
        ffmlp.load(tmp_path / "m")


def test_only_the_fields_of_regions_are_saved(with_trees, tmp_path):
    low, _ = with_trees.network_.stages.trees.boxes  # computed once, then kept
    ffmlp.save(with_trees, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m").network_.stages.trees
    assert "boxes" not in vars(again)
    np.testing.assert_array_equal(again.boxes[0], low)


def test_parts_of_a_model_go_by_tags_not_by_python_paths(tmp_path):
    pipeline, _ = messy_pipeline()
    ffmlp.save(pipeline, tmp_path / "m")
    schema = json.loads(zipfile.ZipFile(io.BytesIO(payload_of(tmp_path / "m"))).read("schema.json"))
    named = {node["__module__"] for node in nodes_of(schema)}
    assert not [name for name in named if name.startswith(("ffmlp", "sklearn"))]
    tags = {node["__class__"] for node in nodes_of(schema) if node["__module__"] == "tag"}
    assert tags >= {"classifier", "network", "blob-stages", "sklearn-Pipeline", "sklearn-OneHotEncoder"}


@pytest.mark.parametrize("design", DESIGNS)
def test_random_damage_is_refused(design, tmp_path):
    """Flipped, cut and swapped bytes and changed header characters, 112 for each design."""
    clf = fitted(design)
    path, damaged = tmp_path / "m", tmp_path / "damaged"
    ffmlp.save(clf, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for round_number in range(112):
        content = bytearray(whole)
        # Every other time the header: it is a small part of the file.
        reach = 90 if round_number % 2 else len(content)
        i, j = rng.integers(reach, size=2)
        kind = round_number // 2 % 4
        if kind == 0:
            content[i] ^= 1 << rng.integers(8)
        elif kind == 1:
            del content[i:]
        elif kind == 2:
            content[i], content[j] = content[j], content[i]
        else:
            content[i : i + 10] = rng.bytes(10)
        if content == whole:
            continue
        damaged.write_bytes(content)
        with pytest.raises(ValueError, match="damaged"):
            ffmlp.load(damaged)


@pytest.mark.parametrize("design", DESIGNS)
def test_changed_type_names_with_a_fitting_checksum_run_nothing(design, tmp_path, monkeypatch):
    """Types exchanged for others, trusted or not: a ValueError, or a model that predicts the same."""
    clf = fitted(design)
    path, forged = tmp_path / "m", tmp_path / "forged"
    ffmlp.save(clf, path)
    payload = payload_of(path)
    ran = recorded_calls(monkeypatch)
    n_refused = 0
    for content in files_with_a_changed_type(payload, 70):
        forged.write_bytes(content)
        try:
            again = ffmlp.load(forged)
        except ValueError:
            n_refused += 1
        else:
            np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
            np.testing.assert_array_equal(again.network_.forward(X), clf.network_.forward(X))
    assert not ran
    assert n_refused > 35


def test_what_is_wrong_with_a_file_is_said(tmp_path):
    path = tmp_path / "m"
    ffmlp.save(fitted("blob"), path)
    whole, payload = path.read_bytes(), payload_of(path)

    def message(content):
        path.write_bytes(content)
        with pytest.raises(ValueError) as caught:
            ffmlp.load(path)
        assert str(path) in str(caught.value)
        return str(caught.value)

    assert "is empty" in message(b"")
    assert "not a model file" in message(b"PK\x03\x04 something else")
    assert "format version 3" in message(wrapped(payload, version=3))
    assert "first line is damaged" in message(wrapped(payload, version=0))
    assert "was truncated" in message(whole[:-1])
    assert "or extended" in message(whole + b" ")
    assert "first line is damaged" in message(whole[:30])
    assert "checksum" in message(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "does not hold a usable model" in message(wrapped(b"no zip"))
    untrusted = with_schema(payload, lambda text: text.replace('"blobs"', '"scaling"'))
    assert "a part of type scaling (ObjectNode), which is not trusted" in message(wrapped(untrusted))
    headless = with_schema(payload, lambda text: text.replace('"classifier"', '"sklearn-Pipeline"'))
    assert "does not hold a usable model" in message(wrapped(headless))
    incomplete = with_schema(payload, lambda text: text.replace('"means"', '"meanz"'))
    assert "has no means" in message(wrapped(incomplete))
    superfluous = with_schema(payload, lambda text: text.replace('"proved_minimum"', '"proved"'))
    assert "unknown proved" in message(wrapped(superfluous))
    with pytest.raises(ValueError, match="is a folder"):
        ffmlp.load(tmp_path)
    with pytest.raises(ValueError, match="not a regular file"):
        ffmlp.load("/dev/null")
    with pytest.raises(FileNotFoundError):
        ffmlp.load(tmp_path / "missing")


def test_what_cannot_be_saved_leaves_no_file(tmp_path):
    path = tmp_path / "m"
    clf = fitted("blob")
    with pytest.raises(NotFittedError):
        ffmlp.save(FFMLPClassifier(), path)
    with pytest.raises(ValueError, match="ends with one, got LogisticRegression"):
        ffmlp.save(LogisticRegression(), path)
    with pytest.raises(ValueError, match=r"numpy\.square"):
        ffmlp.save(make_pipeline(FunctionTransformer(np.square), clf).fit(X, Y), path)
    with pytest.raises(ValueError, match="plain JSON"):
        ffmlp.save(clf, path, {"when": {1, 2}})
    with pytest.raises(ValueError, match="keys are strings"):
        ffmlp.save(clf, path, {1: "one"})
    with pytest.raises(ValueError, match="is a folder"):
        ffmlp.save(clf, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_parameters_may_be_missing_from_a_file(tmp_path):
    path = tmp_path / "m"
    ffmlp.save(fitted("blob", penalty=7.0), path)
    payload = payload_of(path)
    schema = json.loads(zipfile.ZipFile(io.BytesIO(payload)).read("schema.json"))
    (node,) = (node for node in nodes_of(schema) if node["__class__"] == "classifier")
    number = list(node["content"]["content"]).index("penalty")
    del node["content"]["content"]["penalty"]
    del node["content"]["key_types"]["content"][number]
    path.write_bytes(wrapped(with_schema(payload, lambda _: json.dumps(schema))))
    again = ffmlp.load(path)
    assert again.penalty == FFMLPClassifier().penalty
    assert again.design == "blob"


def test_fields_with_a_default_may_be_missing_from_a_file(tmp_path):
    """A later version can add fields and still read the files of this one."""
    path = tmp_path / "m"
    ffmlp.save(fitted("region"), path)
    payload = payload_of(path)
    schema = json.loads(zipfile.ZipFile(io.BytesIO(payload)).read("schema.json"))
    for node in nodes_of(schema):
        if node["__class__"] == "pruning-path":
            number = [field.name for field in fields(ffmlp.PruningPath)].index("proved_minimum")
            del node["content"]["content"]["proved_minimum"]
            del node["content"]["key_types"]["content"][number]
    path.write_bytes(wrapped(with_schema(payload, lambda _: json.dumps(schema))))
    assert ffmlp.load(path).pruning_path_.proved_minimum == 1


def test_without_skops_it_says_what_to_install(tmp_path, monkeypatch):
    clf = fitted("blob")
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"ffmlp\[persistence\]"):
        ffmlp.save(clf, tmp_path / "m")
    with pytest.raises(ImportError, match=r"ffmlp\[persistence\]"):
        ffmlp.load(tmp_path / "m")
