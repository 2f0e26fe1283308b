"""Classifiers as JSON files: what is read back, and what is refused."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import ffmlp
from ffmlp import FFMLPClassifier
from ffmlp.cli import main
from ffmlp.storage import model_files
from ffmlp.storage.form import write

pd = pytest.importorskip("pandas")

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame({"length": X[:, 0], "width": X[:, 1], "colour": np.array(["a", "b", "c"])[Y]})


def content(clf):
    """What a file has of a classifier."""
    attributes = ("blobs", "pruning_path", "selection", "timings")
    parameters = clf.get_params() | {"random_state": None}
    return {
        "ffmlp": "classifier",
        "version": 1,
        "metadata": {},
        "network": write(clf.network_),
        "has_column_names": hasattr(clf, "feature_names_in_"),
        "classifier": {
            **{name: write(getattr(clf, f"{name}_")) for name in attributes},
            "parameters": parameters,
            "statistics": None,
        },
    }


@pytest.fixture(scope="module")
def written():
    clf = FFMLPClassifier(2, design="region", error_threshold=0.1, random_state=0).fit(FRAME, Y)
    return content(clf)


def load(whole, folder):
    path = folder / "network.json"
    path.write_text(whole if isinstance(whole, str) else json.dumps(whole), encoding="utf-8")
    return ffmlp.load(path)


@pytest.mark.parametrize("gaussianise", [False, True])
@pytest.mark.parametrize("design", ["region", "paper", "blob"])
@pytest.mark.parametrize("samples", [X, FRAME], ids=["numbers", "table"])
def test_round_trip(tmp_path, design, samples, gaussianise):
    gaussianise = gaussianise and design != "paper"
    clf = FFMLPClassifier(2, design=design, gaussianise=gaussianise, error_threshold=0.1, random_state=0)
    clf.fit(samples, Y)
    whole = content(clf)
    if samples is X:
        whole["network"]["columns"] = None  # they have no names
    again = load(whole, tmp_path)
    assert np.array_equal(again.predict(samples), clf.predict(samples))
    assert np.array_equal(again.predict_proba(samples), clf.predict_proba(samples))
    assert np.array_equal(again.network_.inputs(np.zeros((1, samples.shape[1]))),
                          clf.network_.inputs(np.zeros((1, samples.shape[1]))))  # fmt: skip
    assert again.design == design
    assert repr(again.pruning_path_) == repr(clf.pruning_path_)
    assert repr(again.network_) == repr(clf.network_)


def test_whole_numbers_may_stand_for_missing_ones(tmp_path, written):
    """JavaScript writes 5.0 as 5."""
    parts = [part | {"fill": 5} for part in written["network"]["columns"]["parts"][:2]]
    numbers = FRAME[["length", "width"]]
    whole = content(FFMLPClassifier(2, design="region", random_state=0).fit(numbers, Y))
    clf = load(changed(whole, ("network", "columns", "parts"), parts), tmp_path)
    assert clf.network_.columns.fills.tolist() == [5.0, 5.0]


def test_the_command_line_predicts_with_it(tmp_path, written):
    pytest.importorskip("tqdm")
    clf, out = load(written, tmp_path), tmp_path / "out.csv"
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    files = [str(tmp_path / name) for name in ("network.json", "data.csv")]
    assert main(["predict", *files, "-o", str(out)]) == 0
    assert pd.read_csv(out).iloc[:, 0].tolist() == clf.predict(FRAME).tolist()


def test_what_is_loaded_can_be_saved_as_a_model_file(tmp_path, written):
    clf = load(written, tmp_path)
    ffmlp.save(clf, tmp_path / "network.model")
    again = ffmlp.load(tmp_path / "network.model")
    assert np.array_equal(again.predict(FRAME), clf.predict(FRAME))


def changed(whole, place, value):
    """A copy with another value at a place, such as ("blobs", "weights")."""
    copied = copy.deepcopy(whole)
    part = copied
    for key in place[:-1]:
        part = part[key]
    if value is KeyError:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return copied


PLANES = ("network", "hyperplanes")
REGIONS = ("network", "stages", "regions")
REST = ("classifier",)
WRONG = [
    (("ffmlp",), "model"),
    (("version",), 2),
    (("version",), 0),
    (("version",), True),
    (("more",), 1),
    (("metadata",), []),
    (("network",), None),
    (("network",), KeyError),
    (("network", "type"), "FFMLPClassifier"),
    (("network", "stages", "type"), "Hyperplanes"),
    (("network", "stages", "type"), "BlobStages"),
    (("network", "stages", "penalty"), 0.5),
    (("network", "stages", "penalty"), "large"),
    (("network", "stages", "penalty"), True),
    (("network", "unknown"), 1),
    (("network", "feature_names"), "abc"),
    (("network", "labels"), [0, "a", 1]),
    (("network", "labels"), [0, 0, 1]),
    (("network", "labels"), [0, 1, 2, 3]),
    (("network", "columns", "parts"), []),
    (("network", "columns", "parts", 2, "categories"), ["a", "a", "c"]),
    (("network", "columns", "parts", 2, "classes"), [7, 8]),
    (("network", "columns", "parts", 0, "fill"), None),
    ((*PLANES, "weights"), [[1.0], [2.0, 3.0]]),
    ((*PLANES, "weights"), [10**9, 10**9]),
    ((*PLANES, "weights"), "network.hyperplanes.weights.npy"),
    ((*PLANES, "biases"), [1.0]),
    ((*PLANES, "biases"), {"values": 1}),
    ((*PLANES, "pairs"), [["a", "b"]]),
    ((*REGIONS, "counts"), [["a", "b"]]),
    ((*REGIONS, "codes"), [[0, 1]]),
    ((*REST, "blobs", "weights"), [0.0] * 6),
    ((*REST, "blobs", "classes"), [2, 1, 1, 0, 0, 0]),
    ((*REST, "parameters", "design"), "os.system"),
    ((*REST, "parameters", "n_components"), None),
    ((*REST, "parameters", "n_components"), {"set": [1]}),
    ((*REST, "selection", "plans", 0, "n_components"), [1]),
    ((*REST, "pruning_path", "kept"), [0, 0]),
    ((*REST, "pruning_path", "initial_error_rate"), "small"),
]


@pytest.mark.parametrize(("place", "value"), WRONG, ids=range(len(WRONG)))
def test_changed_files_are_refused(tmp_path, written, place, value):
    with pytest.raises(ValueError, match=r"network\.json"):
        load(changed(written, place, value), tmp_path)


_UNTAGGED = '{"ffmlp": "classifier", "version": 1, "plan": 1e999, "network": {}, "blobs": [], '
TEXTS = [
    "{",
    "{}",
    '{"ffmlp": "classifier"}',
    '{"ffmlp": NaN}',
    '{"a": 1, "a": 2}',
    _UNTAGGED + '"pruning_path": 3}',
    '{"x":' * 30_000,
    '{"a": ' + "[" * 40_000,
    '{"a": ' + "9" * 10_000 + "}",
    "{\xff\xfe}",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_other_texts_are_refused(tmp_path, text):
    with pytest.raises(ValueError, match=r"network\.json"):
        load(text, tmp_path)


def test_numbers_that_are_not_finite_are_refused(tmp_path, written):
    huge = json.dumps(written).replace('"penalty": 1000.0', '"penalty": 1e999')
    assert huge != json.dumps(written)
    with pytest.raises(ValueError, match="not a finite number"):
        load(huge, tmp_path)
    biases = [float("inf")] * len(written["network"]["hyperplanes"]["biases"])
    with pytest.raises(ValueError, match="not a finite number"):
        load(changed(written, (*PLANES, "biases"), biases), tmp_path)


def test_sizes_are_limited(tmp_path, written, monkeypatch):
    with pytest.raises(ValueError, match="values in"):
        load('{"a": ' + json.dumps([[]] * 200_000), tmp_path)
    monkeypatch.setattr(model_files, "MOST_JSON_BYTES", len(json.dumps(written)) - 1)
    with pytest.raises(ValueError, match="too large"):
        load(written, tmp_path)


def places(part, place=()):
    """All places of values in a content."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        yield (*place, key)
        yield from places(value, (*place, key))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_changed_value_is_refused_or_predicts(tmp_path_factory, written, data):
    place = data.draw(st.sampled_from(list(places(written))))
    numbers = st.integers(-3, 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    others = st.sampled_from([None, True, [], {}, KeyError, *written.values()])
    whole = changed(written, place, data.draw(numbers | others | st.text(max_size=3)))
    try:
        clf = load(whole, tmp_path_factory.mktemp("changed"))
    except ValueError as error:
        message = str(error)
    else:
        message = None
        check_predictions(clf)
    assert message is None or "network.json" in message


def check_predictions(clf):
    cells = FRAME if hasattr(clf, "feature_names_in_") else X[:, : clf.n_features_in_]
    if not hasattr(clf, "feature_names_in_") or list(clf.feature_names_in_) == list(FRAME):
        assert set(clf.predict(cells).tolist()) <= set(clf.classes_.tolist())
        assert np.isfinite(clf.predict_proba(cells)).all()
