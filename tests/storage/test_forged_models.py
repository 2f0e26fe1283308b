"""Model files with a fitting checksum whose content does harm: all readers refuse them alike."""

from copy import copy
from dataclasses import MISSING, fields, replace

import numpy as np
import pytest
from forgeries import DATA, attributes, forged, nodes_of, refusal, table_model

import ffmlp
from ffmlp.network.trees import Trees
from ffmlp.storage import persistence
from ffmlp.storage.forms import FORMS, Maybe
from ffmlp.tabular.predictor import read_predictor
from ffmlp.tabular.table_model import TableModel

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")


def test_a_blob_without_a_hyperplane_is_refused(models, tmp_path):
    """Their number squared would be memory."""
    clf = copy(models["blob"])
    many = np.zeros(2 * len(clf.hyperplanes_) + 1, int)
    clf.network_ = with_stages(clf, blobs=many, neuron_classes=many)["network_"]
    table_model(clf).save(tmp_path / "m")
    assert "no hyperplane" in refusal(tmp_path / "m")


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
        "readout with trees", lambda clf: with_stages(clf, power=1e307)
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
        "readout with trees",
        lambda clf: with_trees(clf, hyperplanes=clf.network_.stages.trees.hyperplanes + np.int32(9999)),
    ),
    "a power that is NaN": ("readout with trees", lambda clf: with_stages(clf, power=np.nan)),
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
    trained = ffmlp.network.trained.TrainedStages(
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
    trees = Trees(
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
