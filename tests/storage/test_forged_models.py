"""Model files with a fitting checksum whose content does harm: all readers refuse them alike."""

import io
import json
import subprocess
import sys
import zipfile
from copy import copy, deepcopy
from dataclasses import MISSING, fields, replace
from pathlib import Path

import numpy as np
import pytest
from forgeries import nodes_of, payload_of, refusal, wrapped
from problems import DESIGNS, designed, mixed_table

import ffmlp
from ffmlp.model.region_trees import RegionTrees
from ffmlp.storage import archives, persistence
from ffmlp.storage.forms import FORMS, Maybe
from ffmlp.tables.tables import Dialect
from ffmlp.tabular.predictor import read_predictor
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")
DATA = Path(__file__).parents[1] / "data"
# Megabytes that a forged file may take beyond an honest one.
MOST_MEGABYTES = 300


def table_model(clf):
    numbers, categories = ("age", "fare"), ("sex", "town")
    return TableModel(numbers, categories, "class", None, Dialect(), {"rows": 10}, clf)


@pytest.fixture(scope="module")
def models():
    X, y = mixed_table()
    return {design: designed(design, X[["age", "fare", "sex", "town"]], y) for design in DESIGNS}


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def forged(change):
    """The stored model of a table after a change of its schema and of its other members."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(payload_of(DATA / "columns-2.model"))) as old:
        members = {name: old.read(name) for name in old.namelist()}
    schema = json.loads(members.pop("schema.json"))
    text = change(schema, members) or json.dumps(schema)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for name, member in members.items():
            new.writestr(name, member)
        new.writestr("schema.json", text)
    return wrapped(content.getvalue())


def attributes(schema, tag):
    (part,) = (node for node in nodes_of(schema) if node["__class__"] == tag)
    return part["content"]["content"]


def with_zeros(schema, members):
    """An array that is 1000 times as large as the file."""
    members["zeros.npy"] = npy(np.zeros(60_000_000, np.int64))
    attributes(schema, "pruning-path")["deleted"]["file"] = "zeros.npy"


def with_spaces(schema, members):
    return json.dumps(schema) + 400_000_000 * " "


def with_one_array_many_times(schema, members):
    members["zeros.npy"] = npy(np.zeros(4_000_000))
    timings, array = attributes(schema, "classifier")["timings_"], attributes(schema, "selection")
    for number in range(50):
        timings["content"][f"step {number}"] = {**array["log_losses"], "file": "zeros.npy"}
        timings["key_types"]["content"].append(deepcopy(timings["key_types"]["content"][0]))


def with_empty_lists(schema, members):
    return json.dumps({**schema, "more": [[] for _ in range(1_500_000)]})


def with_many_values(schema, members):
    """As large a schema as a file of 9 MB may have."""
    members["noise"] = np.random.default_rng(0).bytes(9_000_000)
    return json.dumps({**schema, "more": [[] for _ in range(3_000_000)]}, separators=(",", ":"))


def with_a_long_text_and_zeros(schema, members):
    """One character that takes 4 bytes in memory, and so do all others of its text."""
    members["noise"] = np.random.default_rng(0).bytes(9_000_000)
    members["zeros.npy"], members["more.npy"] = npy(np.zeros(5_300_000, int)), npy(np.zeros(5_300_000))
    path, metadata = attributes(schema, "pruning-path"), schema["content"]["metadata"]
    path["deleted"]["file"], path["error_rates"]["file"] = "zeros.npy", "more.npy"
    long = json.loads(json.loads(metadata["content"])) | {"more": 12_000_000 * "x" + "\N{GRINNING FACE}"}
    metadata["content"] = json.dumps(json.dumps(long, ensure_ascii=False), ensure_ascii=False)
    return json.dumps(schema, ensure_ascii=False)


def with_a_longer_array(schema, members):
    """The header of an array says that it is larger than it is."""
    name = attributes(schema, "hyperplanes")["biases"]["file"]
    members[name] = npy(np.zeros(10**6))[:200]


def with_an_array_that_nothing_names(schema, members):
    """It is not read; the model is as it was."""
    members["zeros.npy"] = npy(np.zeros(60_000_000))


SIZES = [
    *(with_zeros, with_spaces, with_one_array_many_times, with_empty_lists),
    *(with_many_values, with_a_longer_array),
]


@pytest.fixture(scope="module")
def forged_sizes(tmp_path_factory):
    """A folder of files with sizes that are not those of a model."""
    folder = tmp_path_factory.mktemp("forged")
    for change in SIZES:
        (folder / change.__name__).write_bytes(forged(change))
    return folder


@pytest.mark.parametrize("change", SIZES)
def test_sizes_are_limited_before_anything_is_unpacked(change, forged_sizes):
    message = refusal(forged_sizes / change.__name__)
    assert "does not hold a usable model" in message
    assert "bytes" in message


def megabytes_beyond(honest, paths, is_read):
    """The most memory that both readers take beyond a file, in a process of their own."""
    program = """
import resource, sys
from pathlib import Path
import ffmlp
from ffmlp.tabular.predictor import read_predictor
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
readers = ffmlp.load, read_predictor
for read in readers:
    read(Path(sys.argv[2]))
before = peak()
for path in map(Path, sys.argv[3:]):
    for read in readers:
        try:
            read(path)
            is_read = True
        except ValueError:
            is_read = False
        if is_read != (sys.argv[1] == "True"):
            raise SystemExit(f"{path} was {'read' if is_read else 'refused'}")
print(peak() - before)
"""
    arguments = [sys.executable, "-c", program, str(is_read), str(honest), *map(str, paths)]
    return int(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in another unit")


@on_linux
def test_forged_sizes_take_little_memory(forged_sizes, tmp_path):
    honest, unnamed = DATA / "columns-2.model", tmp_path / "unnamed.model"
    unnamed.write_bytes(forged(with_an_array_that_nothing_names))
    assert megabytes_beyond(honest, sorted(forged_sizes.iterdir()), False) < MOST_MEGABYTES
    assert megabytes_beyond(honest, [unnamed], True) < MOST_MEGABYTES


@on_linux
def test_long_texts_and_large_arrays_together_take_little_memory(tmp_path):
    """Each alone is as large as a file of 9 MB allows."""
    (tmp_path / "m").write_bytes(forged(with_a_long_text_and_zeros))
    assert megabytes_beyond(DATA / "columns-2.model", [tmp_path / "m"], False) < MOST_MEGABYTES


@on_linux
@pytest.mark.parametrize("design", DESIGNS)
def test_copies_of_one_hyperplane_take_little_memory(models, design, tmp_path):
    """They take some kilobytes in a file."""
    clf = copy(models[design])
    clf.network_ = with_copies(clf.network_, 300_000)
    table_model(models[design]).save(tmp_path / "honest")
    table_model(clf).save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 1_000_000
    assert megabytes_beyond(tmp_path / "honest", [tmp_path / "m"], True) < MOST_MEGABYTES


def with_copies(network, number):
    """The network with a number of copies of its first hyperplane, as both readers accept it."""
    some, stages = np.zeros(number, int), network.stages
    changes = {
        name: getattr(stages, name)[some] for name in ("pairs", "even", "odd") if hasattr(stages, name)
    }
    if hasattr(stages, "regions"):
        changes["regions"] = replace(
            stages.regions, codes=stages.regions.codes[:4, some], counts=stages.regions.counts[:4]
        )
    return replace(
        network, hyperplanes=network.hyperplanes.select(some), stages=replace(stages, **changes)
    )


def test_a_blob_without_a_hyperplane_is_refused(models, tmp_path):
    """Their number squared would be memory."""
    clf = copy(models["blob"])
    many = np.zeros(2 * len(clf.hyperplanes_) + 1, int)
    clf.network_ = with_stages(clf, blobs=many, neuron_classes=many)["network_"]
    table_model(clf).save(tmp_path / "m")
    assert "no hyperplane" in refusal(tmp_path / "m")


def test_what_compresses_well_is_saved_so_that_it_is_read(models, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "ARRAY_BYTES", 500_000)
    clf = copy(models["region"])
    clf.pruning_path_ = replace(
        clf.pruning_path_, deleted=np.zeros(10**6, int), error_rates=np.zeros(10**6)
    )
    ffmlp.save(clf, tmp_path / "m")
    assert len(ffmlp.load(tmp_path / "m").pruning_path_.deleted) == 10**6
    ffmlp.save(models["region"], tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < 50_000


def test_every_part_of_a_model_has_a_form():
    """The fields of each stored type; one with a default may be newer than a file."""
    parts = {tag: kind for tag, kind in persistence._PARTS.items() if tag != "classifier"}
    assert FORMS.keys() - {"classifier"} == parts.keys()
    for tag, kind in parts.items():
        defaults = {field.name: field.default is not MISSING for field in fields(kind)}
        newer = {name: isinstance(form, Maybe) and form.newer for name, form in FORMS[tag].items()}
        assert newer == defaults, tag


def with_stages(clf, **changes):
    return {"network_": replace(clf.network_, stages=replace(clf.network_.stages, **changes))}


def with_planes(clf, **changes):
    return {"network_": replace(clf.network_, hyperplanes=replace(clf.hyperplanes_, **changes))}


def with_regions(clf, **changes):
    return with_stages(clf, regions=replace(clf.network_.stages.regions, **changes))


def with_trees(clf, **changes):
    return with_stages(clf, trees=replace(clf.network_.stages.trees, **changes))


def with_network(clf, **changes):
    return {"network_": replace(clf.network_, **changes)}


def imputation_of(clf):
    return clf.network_.columns.imputation


def with_imputation(clf, **changes):
    filled = replace(imputation_of(clf), **changes)
    return with_network(clf, columns=replace(clf.network_.columns, imputation=filled))


def first(array, value):
    changed = array.copy()
    changed.flat[0] = value
    return changed


CHANGES = {
    "a blob of a class that does not exist": (
        "blob", lambda clf: {"blobs_": replace(clf.blobs_, classes=clf.blobs_.classes + 9)}
    ),
    "blobs of another number of inputs": (
        "blob", lambda clf: {"blobs_": replace(clf.blobs_, means=clf.blobs_.means[:, 1:])}
    ),
    "a plan that does not exist": (
        "blob", lambda clf: {"selection_": replace(clf.selection_, best=len(clf.selection_.plans))}
    ),
    "a negative plan": ("blob", lambda clf: {"selection_": replace(clf.selection_, best=-1)}),
    "losses of other plans": (
        "blob", lambda clf: {"selection_": replace(clf.selection_, log_losses=np.zeros(99))}
    ),
    "a path that is not made of indices": (
        "blob", lambda clf: {"pruning_path_": replace(clf.pruning_path_, kept=np.zeros(3))}
    ),
    "timings that are not numbers": ("blob", lambda clf: {"timings_": {"step": "long"}}),
    "labels that are not those of the network": (
        "blob", lambda clf: {"classes_": clf.classes_[::-1].copy()}
    ),
    "a label too many": ("blob", lambda clf: {"classes_": np.append(clf.classes_, "zebra")}),
    "other names of columns": (
        "blob", lambda clf: {"feature_names_in_": np.array(["a", "b", "c", "d"], object)}
    ),
    "columns too few": ("blob", lambda clf: {"n_features_in_": 3}),
    "a neuron of a blob that does not exist": (
        "blob", lambda clf: with_stages(clf, blobs=clf.network_.stages.blobs + 999)
    ),
    "a pair of neurons that do not exist": (
        "blob", lambda clf: with_stages(clf, pairs=clf.network_.stages.pairs + 999)
    ),
    "more classes than labels": ("blob", lambda clf: with_stages(clf, n_classes=99)),
    "no temperature": ("blob", lambda clf: with_stages(clf, temperature=0.0)),
    "an infinite temperature": ("readout", lambda clf: with_stages(clf, temperature=np.inf)),
    "infinite evidence": (
        "readout", lambda clf: with_stages(clf, even=first(clf.network_.stages.even, np.inf))
    ),
    "evidence that is infinite for far samples": (
        "readout", lambda clf: with_stages(clf, odd=first(clf.network_.stages.odd, 1e300))
    ),
    "a power that is too large for far samples": (
        "readout with regions", lambda clf: with_stages(clf, power=1e307)
    ),
    "precisions that are too large for far samples": (
        "readout", lambda clf: with_imputation(clf, precisions=1e300 * imputation_of(clf).precisions)
    ),
    "evidence that is NaN": (
        "readout", lambda clf: with_stages(clf, bias=clf.network_.stages.bias * np.nan)
    ),
    "sides that the hyperplanes do not have": ("readout", lambda clf: with_stages(clf, one_sided=True)),
    "one class": (
        "readout",
        lambda clf: {"classes_": clf.classes_[:1], **with_network(clf, labels=clf.classes_[:1])},
    ),
    "a blob and none": (
        "readout", lambda clf: with_planes(clf, pairs=first(clf.hyperplanes_.pairs[::-1], -1))
    ),
    "a threshold of two features": (
        "blob", lambda clf: with_planes(clf, pairs=np.full_like(clf.hyperplanes_.pairs, -1))
    ),
    "half a sample of another class": (
        "region", lambda clf: with_regions(clf, counts=first(clf.regions_.counts.astype(float), -0.5))
    ),
    "infinitely many samples": (
        "region", lambda clf: with_regions(clf, counts=first(clf.regions_.counts.astype(float), np.inf))
    ),
    "no regions": (
        "region",
        lambda clf: with_regions(clf, counts=clf.regions_.counts[:0], codes=clf.regions_.codes[:0]),
    ),
    "codes that are not flags": (
        "region", lambda clf: with_regions(clf, codes=clf.regions_.codes.astype(float))
    ),
    "a penalty that is NaN": ("region", lambda clf: with_stages(clf, penalty=np.nan)),
    "a tree of hyperplanes that do not exist": (
        "readout with regions",
        lambda clf: with_trees(clf, hyperplanes=clf.network_.stages.trees.hyperplanes + np.int32(9999)),
    ),
    "a power that is NaN": ("readout with regions", lambda clf: with_stages(clf, power=np.nan)),
    "familiar samples of other blobs": (
        "readout",
        lambda clf: with_network(
            clf, familiar=replace(clf.network_.familiar, centres=clf.network_.familiar.centres[1:])
        ),
    ),
    "no quantiles": (
        "readout",
        lambda clf: with_network(clf, familiar=replace(clf.network_.familiar, quantiles=np.zeros(0))),
    ),
    "a feature without a name": (
        "readout", lambda clf: with_network(clf, feature_names=clf.network_.feature_names[1:])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_values_that_do_not_fit_are_refused(models, name, tmp_path):
    design, change = CHANGES[name]
    clf = copy(models[design])
    table_model(clf).save(tmp_path / "m")
    assert read_predictor(tmp_path / "m") is not None
    for attribute, value in change(clf).items():
        setattr(clf, attribute, value)
    table_model(clf).save(tmp_path / "m")
    assert "does not hold a usable model" in refusal(tmp_path / "m")


def test_outputs_that_are_not_probabilities_are_refused(models, tmp_path):
    clf = copy(models["region"])
    stages = clf.network_.stages
    trained = ffmlp.model.trained_stages.TrainedStages(
        stages.weights, stages.biases, stages.activations, stages.neurons, stages.neuron_classes
    )
    clf.network_ = replace(clf.network_, stages=trained)
    table_model(clf).save(tmp_path / "m")
    assert "not probabilities" in refusal(tmp_path / "m")


def test_nodes_of_the_same_id_are_not_taken_for_each_other(tmp_path):
    """skops would put the first of them in the place of the others."""

    def change(schema, members):
        blobs = attributes(schema, "blobs")
        attributes(schema, "classifier")["random_state"]["__id__"] = 7
        for part in blobs.values():
            part["__id__"] = 7

    (tmp_path / "m").write_bytes(forged(change))
    assert isinstance(ffmlp.load(tmp_path / "m").blobs_.means, np.ndarray)


def test_trees_are_too_deep_for_the_stack():
    """A chain of nodes with as many hyperplanes: Shapley values would take a frame for each."""
    n_nodes = 200_000
    children = np.empty((n_nodes, 2), np.int32)
    children[:, 0], children[:, 1] = -1 - np.arange(n_nodes), np.arange(1, n_nodes + 1)
    children[-1, 1] = -1 - n_nodes
    hyperplanes, roots = np.arange(n_nodes, dtype=np.int32), np.zeros(1, np.int32)
    trees = RegionTrees(
        hyperplanes, np.zeros(n_nodes, np.float32), children, roots, np.zeros((n_nodes + 1, 2))
    )
    with pytest.raises(ValueError, match="on the way to a region"):
        trees.check(n_nodes, 2)


def without_a_key_type(schema, members):
    """skops would leave out the last item."""
    (network,) = (node for node in nodes_of(schema) if node["__class__"] == "network")
    network["content"]["key_types"]["content"].pop()


def with_other_keys(schema, members):
    schema["key_types"]["content"][0]["__class__"] = "int"


def with_a_slice_for_a_dict(schema, members):
    schema["__loader__"], schema["__class__"] = "SliceNode", "slice"


def with_an_array_stored_otherwise(schema, members):
    attributes(schema, "hyperplanes")["biases"]["type"] = "json"


def with_objects_of_another_shape(schema, members):
    attributes(schema, "classifier")["feature_names_in_"]["shape"] = {}


@pytest.mark.parametrize(
    "change",
    [
        *(without_a_key_type, with_other_keys, with_a_slice_for_a_dict),
        *(with_an_array_stored_otherwise, with_objects_of_another_shape),
    ],
)
def test_what_skops_reads_is_checked_for_both_readers(change, tmp_path):
    (tmp_path / "m").write_bytes(forged(change))
    assert "does not hold a usable model" in refusal(tmp_path / "m")


def test_errors_of_a_forged_pipeline_are_in_words():
    model = TableModel.load(DATA / "table-2.model")
    model.estimator.steps[0] = ("prepare", [])
    cells = {name: [1.0] for name in model.numbers} | {name: ["x"] for name in model.categories}
    with pytest.raises(ValueError, match=r"pipeline of the model cannot predict \(AttributeError: "):
        model.probabilities(pd.DataFrame(cells))
