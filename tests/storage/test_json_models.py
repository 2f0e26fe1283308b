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
from ffmlp.storage import json_models
from ffmlp.storage.json_form import json_form

pd = pytest.importorskip("pandas")

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame({"length": X[:, 0], "width": X[:, 1], "colour": np.array(["a", "b", "c"])[Y]})


def content(clf):
    """What a file has of a classifier."""
    plan, path, blobs = clf.selection_.plan, clf.pruning_path_, clf.blobs_
    return {
        "ffmlp": "classifier",
        "version": 1,
        "plan": {
            "tag": "plan", "design": plan.design, "gaussianise": plan.gaussianise,
            "discriminant": plan.discriminant, "n_components": list(plan.n_components),
            "error_threshold": plan.error_threshold, "penalty": plan.penalty, "shrink": plan.shrink,
        },
        "network": json_form(clf.network_),
        "blobs": {
            "tag": "blobs",
            **{
                name: json_form(getattr(blobs, name))
                for name in ("classes", "means", "covariances", "weights")
            },
        },
        "pruning_path": {
            "tag": "pruning-path",
            **{name: json_form(getattr(path, name)) for name in ("kept", "deleted", "error_rates")},
            "initial_error_rate": path.initial_error_rate,
        },
    }  # fmt: skip


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
    for package in ("tqdm", "skops"):
        pytest.importorskip(package)
    clf, out = load(written, tmp_path), tmp_path / "out.csv"
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    files = [str(tmp_path / name) for name in ("network.json", "data.csv")]
    assert main(["predict", *files, "-o", str(out)]) == 0
    assert pd.read_csv(out).iloc[:, 0].tolist() == clf.predict(FRAME).tolist()


def test_what_is_loaded_can_be_saved_as_a_model_file(tmp_path, written):
    pytest.importorskip("skops")
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
WRONG = [
    (("ffmlp",), "model"),
    (("version",), 2),
    (("version",), True),
    (("more",), 1),
    (("network",), None),
    (("network",), KeyError),
    (("network", "tag"), "classifier"),
    (("network", "stages", "tag"), "hyperplanes"),
    (("network", "stages", "tag"), "paper-stages"),
    (("network", "stages", "penalty"), 0.5),
    (("network", "stages", "penalty"), "large"),
    (("network", "stages", "penalty"), True),
    (("network", "unknown"), 1),
    (("network", "feature_names"), "abc"),
    (("network", "labels", "dtype"), "datetime64[s]"),
    (("network", "labels", "values"), [0, 0, 1]),
    (("network", "labels", "shape"), [4]),
    (("network", "columns", "parts"), []),
    (("network", "columns", "parts", 2, "categories"), ["a", "a", "c"]),
    (("network", "columns", "parts", 2, "classes"), [7, 8]),
    (("network", "columns", "parts", 0, "fill"), None),
    ((*PLANES, "weights", "shape"), [-1, 4]),
    ((*PLANES, "weights", "shape"), [10**9, 10**9]),
    ((*PLANES, "weights", "shape"), "ab"),
    ((*PLANES, "biases"), [1.0]),
    ((*PLANES, "biases", "more"), 1),
    ((*PLANES, "pairs", "dtype"), "object"),
    ((*REGIONS, "counts", "dtype"), "object"),
    ((*REGIONS, "codes", "dtype"), "int64"),
    (("blobs", "weights", "values"), [0.0] * 6),
    (("blobs", "classes", "values"), [2, 1, 1, 0, 0, 0]),
    (("plan", "design"), "paper"),
    (("plan", "design"), "os.system"),
    (("plan", "n_components"), [0, 1, 1]),
    (("plan", "n_components"), [1]),
    (("pruning_path", "kept", "values"), [0, 0]),
    (("pruning_path", "initial_error_rate"), "small"),
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
    with pytest.raises(ValueError, match="not finite"):
        load(huge, tmp_path)
    biases = np.array([np.inf] * written["network"]["hyperplanes"]["biases"]["shape"][0])
    with pytest.raises(ValueError, match="not finite"):
        load(changed(written, (*PLANES, "biases"), json_form(biases)), tmp_path)


def test_sizes_are_limited(tmp_path, written, monkeypatch):
    text = json.dumps(written)
    monkeypatch.setattr(json_models, "MOST_BYTES", len(text) - 1)
    with pytest.raises(ValueError, match="too large"):
        load(text, tmp_path)
    monkeypatch.setattr(json_models, "MOST_BYTES", len(text))
    monkeypatch.setattr(json_models, "MOST_CONTAINERS", 10)
    with pytest.raises(ValueError, match="more than 10 lists"):
        load(text, tmp_path)


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
