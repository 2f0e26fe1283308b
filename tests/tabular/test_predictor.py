import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from data_files import block_of
from forgeries import files_with_a_changed_type, recorded_calls, refusal, unpickled, with_pickled_arrays
from problems import DESIGNS

from ffmlp import FFMLPClassifier, save
from ffmlp.parameters import checked_samples
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.predictor import Predictor, read_predictor
from ffmlp.tabular.table_columns import Features
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

COLUMNS = {
    "numbers": Features(("a", "b"), ()),
    "categories": Features((), ("colour", "town")),
    "both": Features(("a", "b"), ("colour", "town")),
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
    clf = FFMLPClassifier(**DESIGNS.get(design, {"design": design}), random_state=0)
    clf.fit(X[columns.features], y)
    features, facts = (columns.numbers, columns.categories), {"rows": 300}
    return TableModel(*features, "answer", None, Dialect(("-",), ","), facts, clf)


@pytest.mark.parametrize("design", [*DESIGNS, "paper"])
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
    features = new[model.features]
    np.testing.assert_array_equal(predictor.network.labels, model.labels)
    block = block_of(features, model.kinds)
    np.testing.assert_array_equal(predictor.probabilities(block), model.probabilities(features))
    np.testing.assert_array_equal(predictor.classes(block), model.probabilities(features).argmax(axis=1))


def test_a_block_is_a_frame_again_whatever_its_columns_are_called():
    frame = pd.DataFrame({"a": [1.0, np.nan], "self": pd.Series(["x", np.nan], dtype=object)})
    block = block_of(frame, {"a": "number", "self": "text"})
    pd.testing.assert_frame_equal(block.frame(["a"], ["self"]).astype({"self": object}), frame)


texts = st.sampled_from(["", "missing", "a", "b", " b", "ä", "1", "1.0", "-2.00", *map(str, range(40))])
cells = st.one_of(st.just(np.nan), texts)


@hypothesis.given(st.lists(cells, min_size=8, max_size=60), st.lists(cells, min_size=1, max_size=9))
@hypothesis.settings(deadline=None, max_examples=25)
def test_inputs_of_a_block_are_those_of_its_frame(known, new):
    X = pd.DataFrame({"a": np.linspace(0, 1, len(known)), "c": pd.Series(known, dtype=object)})
    clf = FFMLPClassifier(design="region", n_components=1, categorical_features=["c"])
    clf.fit(X, np.arange(len(known)) // 4 % 2)
    frame = pd.DataFrame({"a": [np.nan] * len(new), "c": pd.Series(new, dtype=object)})
    parts = Features(("a",), ("c",))
    fields = *(parts.numbers, parts.categories), "y", None, Dialect(), {}, clf.network_
    inputs = Predictor(*fields)._inputs(block_of(frame, parts.kinds))
    np.testing.assert_array_equal(inputs, checked_samples(clf, frame))


def test_models_of_data_frames_are_read_and_others_need_names(tmp_path):
    X, y = table(300)
    clf = FFMLPClassifier(design="blob", random_state=0).fit(X, y)
    save(clf, tmp_path / "m", {"source": "here"})
    predictor = read_predictor(tmp_path / "m")
    assert (predictor.numbers, predictor.categories) == (("a", "b"), ("colour", "town"))
    assert predictor.facts == {"metadata": {"source": "here"}}
    block = block_of(X, predictor.kinds)
    np.testing.assert_array_equal(predictor.probabilities(block), clf.predict_proba(X))
    save(FFMLPClassifier(design="blob").fit(X[["a"]].fillna(0.0).to_numpy(), y), tmp_path / "m")
    assert "m has no feature names" in refusal(tmp_path / "m")


@pytest.mark.parametrize("design", DESIGNS)
def test_changed_type_names_with_a_fitting_checksum_run_nothing(design, tmp_path, monkeypatch):
    """Not read, or a model that predicts the same."""
    model = model_of(COLUMNS["both"], design)
    path = tmp_path / "m"
    model.save(path)
    ran = recorded_calls(monkeypatch)
    features, _ = table(50, seed=2)
    expected = model.probabilities(features)
    n_refused = 0
    for content in files_with_a_changed_type(path.read_bytes(), 30, ["network"]):
        path.write_bytes(content)
        try:
            predictor = read_predictor(path)
        except ValueError:
            assert refusal(path)
            n_refused += 1
        else:
            block = block_of(features, predictor.kinds)
            np.testing.assert_array_equal(predictor.probabilities(block), expected)
    assert not ran
    assert n_refused > 20


def test_pickled_arrays_are_not_read(tmp_path):
    path = tmp_path / "m"
    model_of(COLUMNS["numbers"]).save(path)
    path.write_bytes(with_pickled_arrays(path.read_bytes()))
    assert "m does not hold a usable model" in refusal(path)
    assert not unpickled


def with_hyperplanes(clf, **changes):
    return {"network_": replace(clf.network_, hyperplanes=replace(clf.hyperplanes_, **changes))}


def with_trees(clf, **changes):
    stages = replace(clf.network_.stages, regions=replace(clf.regions_, **changes))
    return {"network_": replace(clf.network_, stages=stages)}


@pytest.mark.parametrize(
    "change",
    [
        lambda clf: {"network_": replace(clf.network_, labels=clf.network_.labels[:1])},
        lambda clf: {"network_": replace(clf.network_, labels=clf.network_.labels[:, None])},
        lambda clf: with_hyperplanes(clf, weights=np.nan * clf.hyperplanes_.weights),
        lambda clf: with_hyperplanes(clf, biases=clf.hyperplanes_.biases.astype(str)),
        lambda clf: with_hyperplanes(clf, pairs=clf.hyperplanes_.pairs + 1000),
        lambda clf: with_trees(clf, counts=clf.regions_.counts[:1]),
        lambda clf: with_trees(clf, codes=clf.regions_.codes[:, :0]),
        lambda clf: with_trees(clf, counts=0 * clf.regions_.counts),
    ],
)
def test_a_classifier_whose_parts_do_not_fit_is_not_read(change, tmp_path):
    model, path = model_of(COLUMNS["numbers"], "region"), tmp_path / "m"
    for name, part in change(model.classifier).items():
        setattr(model.classifier, name, part)
    model.save(path)
    assert "m does not hold a usable model" in refusal(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda knots, scores: {"knots": [knots[0][::-1], *knots[1:]]},
        lambda knots, scores: {"knots": [knots[0][1:], *knots[1:]]},
        lambda knots, scores: {"knots": [knots[0].astype(np.float32), *knots[1:]]},
        lambda knots, scores: {"scores": [scores[0] * np.nan, *scores[1:]]},
        lambda knots, scores: {"knots": knots[1:]},
    ],
)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_features_without_a_usable_map_are_not_read(change, is_compiled, tmp_path, monkeypatch):
    if not is_compiled:
        monkeypatch.setattr("ffmlp.inputs.features.compiled", None)
    model, path = model_of(COLUMNS["numbers"]), tmp_path / "m"
    network = model.classifier.network_
    scores = network.hyperplanes.gaussianisation
    changed = {name: tuple(part) for name, part in change(scores.knots, scores.scores).items()}
    planes = replace(network.hyperplanes, gaussianisation=replace(scores, **changed))
    model.classifier.network_ = replace(network, hyperplanes=planes)
    model.save(path)
    assert "m does not hold a usable model" in refusal(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda metadata: metadata["table"].update(missing=3),
        lambda metadata: metadata["table"].update(missing=[3]),
        lambda metadata: metadata["table"].update(missing=None),
        lambda metadata: metadata["table"].update(decimal="abc"),
        lambda metadata: metadata.update(order=None),
        lambda metadata: metadata.update(rows="many"),
        lambda metadata: metadata["table"].update(numbers=[1, 2]),
        lambda metadata: metadata["table"].update(categories=None),
    ],
)
def test_changed_metadata_are_told(change, tmp_path):
    model, path = model_of(COLUMNS["both"]), tmp_path / "m"
    metadata = model.to_metadata()
    change(metadata)
    save(model.classifier, path, metadata)
    assert "m does not hold a usable model" in refusal(path)


def test_predicting_a_file_imports_neither_scikit_learn_nor_scipy(tmp_path):
    model_of(COLUMNS["both"]).save(tmp_path / "m")
    table(3000, seed=3)[0].to_csv(tmp_path / "new.csv", sep=";", decimal=",", index=False)
    program = (
        "import sys; from ffmlp.cli import main; "
        "assert main(['predict', 'm', 'new.csv', '-o', 'o.csv', '--proba', '--quiet']) == 0; "
        "used = {name.partition('.')[0] for name in sys.modules}; "
        "print(sorted(used & {'sklearn', 'scipy', 'pandas'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
