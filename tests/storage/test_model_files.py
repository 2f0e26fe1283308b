import io
import zipfile
from copy import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from forgeries import changed, files_with_a_changed_type, payload_of, recorded_calls, with_text, wrapped
from problems import DESIGNS, IRIS, designed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ffmlp
from ffmlp import FFMLPClassifier
from ffmlp.network.trained import TrainedStages
from ffmlp.storage.model_files import load_with_metadata

pd = pytest.importorskip("pandas")

X, Y = IRIS
NAMES = np.array(["setosa", "versicolor", "virginica"])


def fitted(design, **parameters):
    return designed(design, X, Y, **parameters)


@pytest.mark.parametrize(("design", "gaussianise"), [*product(DESIGNS, (False, True)), ("paper", False)])
def test_a_model_comes_back_as_it_was(design, gaussianise, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    clf = designed(design, frame, NAMES[Y], gaussianise=gaussianise)
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    frame = pd.DataFrame(np.vstack([X, 10 * X - 30]), columns=list("abcd"))
    np.testing.assert_array_equal(again.predict(frame), clf.predict(frame))
    np.testing.assert_array_equal(again.predict_proba(frame), clf.predict_proba(frame))
    np.testing.assert_array_equal(again.feature_names_in_, list("abcd"))
    assert str(again.selection_) == str(clf.selection_)
    assert again.network_.meaning(2, 0) == clf.network_.meaning(2, 0)
    assert again.pruning_path_.kept.tolist() == clf.pruning_path_.kept.tolist()
    assert clone(again).get_params() == clf.get_params()
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


@pytest.mark.parametrize(
    "labels",
    [np.array([False, True]), np.array([3, -7]), np.array([3, 250], np.uint8), np.array([1.0, 2.0]),
     np.array(["a", "ä" * 40]), np.array(["a", "b"], object)],
)  # fmt: skip
def test_labels_have_the_type_that_they_had(labels, tmp_path):
    clf = designed("region", X, labels[(Y > 0).astype(int)], n_components={labels[0]: 1, labels[1]: 2})
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    assert again.predict(X).dtype == clf.predict(X).dtype
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert again.get_params() == clf.get_params()


@pytest.mark.parametrize("categorical", [["c"], ("c",), None, [2], np.array(["c"]), pd.Index(["c"])])
def test_parameters_of_several_parts(categorical, tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": Y.astype(float)})
    clf = designed("blob", frame, Y, categorical_features=categorical, class_weight={0: 1.0, 1: 2, 2: 3})
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    plain = categorical.tolist() if hasattr(categorical, "tolist") else categorical
    assert again.get_params() == clf.get_params() | {"categorical_features": plain}
    assert (again.fit(frame, Y).predict_proba(frame) == clf.predict_proba(frame)).all()


def test_metadata_come_back(tmp_path):
    clf = fitted("blob")
    metadata = {"target": "species", "columns": ["a", "b"], "accuracy": 0.98, "id": None}
    ffmlp.save(clf, tmp_path / "m", metadata)
    assert load_with_metadata(tmp_path / "m").metadata == metadata
    ffmlp.save(clf, tmp_path / "m")
    assert load_with_metadata(tmp_path / "m").metadata == {}


def test_statistics_and_trained_networks_come_back(tmp_path):
    clf = fitted("region", keep_statistics=True)
    ffmlp.save(clf, tmp_path / "m")
    again = ffmlp.load(tmp_path / "m")
    merged = ffmlp.merge([again, FFMLPClassifier().fit(X, Y, like=again)])
    assert merged.statistics_.regions.counts.sum() == 2 * len(X)
    stages = clf.network_.stages
    activations = ("relu", "relu", "softmax")
    stages = TrainedStages(
        stages.weights, stages.biases, activations, stages.neurons, stages.neuron_classes
    )
    clf.network_ = replace(clf.network_, stages=stages)
    ffmlp.save(clf, tmp_path / "m")
    np.testing.assert_array_equal(ffmlp.load(tmp_path / "m").predict_proba(X), clf.predict_proba(X))


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


def test_a_model_file_is_a_zip_of_json_and_arrays_by_their_names(tmp_path):
    ffmlp.save(fitted("blob"), tmp_path / "m")
    with zipfile.ZipFile(io.BytesIO(payload_of(tmp_path / "m"))) as members:
        weights = np.load(io.BytesIO(members.read("network.hyperplanes.weights.npy")))
        assert '"stages": {"type": "BlobStages", ' in members.read("model.json").decode()
    np.testing.assert_array_equal(weights, ffmlp.load(tmp_path / "m").hyperplanes_.weights)


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
    ran = recorded_calls(monkeypatch)
    n_refused = 0
    for content in files_with_a_changed_type(path.read_bytes(), 70):
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
    assert "format version 2" in message(wrapped(payload, version=2))
    assert "first line is damaged" in message(wrapped(payload, version=0))
    assert "was truncated" in message(whole[:-1])
    assert "or extended" in message(whole + b" ")
    assert "first line is damaged" in message(whole[:30])
    assert "checksum" in message(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "does not hold a usable model" in message(wrapped(b"no zip"))
    assert "has the wrong type scaling" in message(with_text(whole, '"Blobs"', '"scaling"'))
    assert "blobs has no means" in message(with_text(whole, '"means"', '"meanz"'))
    unknown = with_text(whole, '"proved_minimum"', '"proved": 1, "proved_minimum"')
    assert "unknown proved" in message(unknown)
    assert "a name is there twice" in message(with_text(whole, '"type": "Blobs"', '"axes": null'))
    assert "consist of a network" in message(changed(whole, lambda form, members: "{}"))
    assert "not an object" in message(changed(whole, lambda form, members: "[]"))
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
    for other in (LogisticRegression(), make_pipeline(StandardScaler(), clf)):
        with pytest.raises(ValueError, match=f"got {type(other).__name__}.*skops store pipelines"):
            ffmlp.save(other, path)
    chance = copy(clf).set_params(random_state=np.random.RandomState(0))
    with pytest.raises(ValueError, match=r"random_state is of type RandomState.*random_state=0\)"):
        ffmlp.save(chance, path)
    with pytest.raises(ValueError, match="plain JSON"):
        ffmlp.save(clf, path, {"when": {1, 2}})
    with pytest.raises(ValueError, match="keys are strings"):
        ffmlp.save(clf, path, {1: "one"})
    with pytest.raises(ValueError, match="is a folder"):
        ffmlp.save(clf, tmp_path)
    assert list(tmp_path.iterdir()) == []
