"""Model files with a fitting checksum whose content does harm: all readers refuse them alike."""

import json
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from forgeries import changed, honest_model, refusal, refusal_of_the_whole, table_model

import ffmlp
from ffmlp.network.trees import Trees
from ffmlp.tabular.predictor import read_predictor

pytest.importorskip("pandas")


def test_a_blob_without_a_hyperplane_is_refused(models, tmp_path):
    """Their number squared would be memory."""
    clf = copy(models["blob"])
    many = np.zeros(2 * len(clf.hyperplanes_) + 1, int)
    clf.network_ = with_stages(clf, blobs=many, neuron_classes=many)["network_"]
    table_model(clf).save(tmp_path / "m")
    assert "no hyperplane" in refusal(tmp_path / "m")


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


# Of what a prediction does not use.
CHANGES_OF_THE_REST = {
    "a blob of a class that does not exist": (
        lambda clf: {"blobs_": replace(clf.blobs_, classes=clf.blobs_.classes + 9)}
    ),
    "blobs of other classes": (
        lambda clf: {"blobs_": replace(clf.blobs_, classes=clf.blobs_.classes[::-1])}
    ),
    "blobs of another number of inputs": (
        lambda clf: {"blobs_": replace(clf.blobs_, means=clf.blobs_.means[:, 1:])}
    ),
    "blobs without covariances of all inputs": (
        lambda clf: {"blobs_": replace(clf.blobs_, covariances=clf.blobs_.covariances[:, 1:, 1:])}
    ),
    "a plan that does not exist": (
        lambda clf: {"selection_": replace(clf.selection_, best=len(clf.selection_.plans))}
    ),
    "a negative plan": lambda clf: {"selection_": replace(clf.selection_, best=-1)},
    "losses of other plans": (
        lambda clf: {"selection_": replace(clf.selection_, log_losses=np.zeros(99))}
    ),
    "a path that is not made of indices": (
        lambda clf: {"pruning_path_": replace(clf.pruning_path_, kept=np.zeros(3))}
    ),
    "a path that keeps other hyperplanes": (
        lambda clf: {"pruning_path_": replace(clf.pruning_path_, kept=clf.pruning_path_.kept + 1)}
    ),
    "timings that are not numbers": lambda clf: {"timings_": {"step": "long"}},
    "statistics that are a network": lambda clf: {"statistics_": clf.network_},
    "a parameter of another kind": lambda clf: {"penalty": "large"},
}


@pytest.mark.parametrize("change", CHANGES_OF_THE_REST.values(), ids=CHANGES_OF_THE_REST)
def test_what_does_not_fit_beside_the_network_is_refused(models, change, tmp_path):
    clf = copy(models["blob"])
    for attribute, value in change(clf).items():
        setattr(clf, attribute, value)
    table_model(clf).save(tmp_path / "m")
    assert "does not hold a usable model" in refusal_of_the_whole(tmp_path / "m")


CHANGES = {
    "a label twice": (
        "blob", lambda clf: with_network(clf, labels=clf.classes_[[0, 0, *range(2, len(clf.classes_))]])
    ),
    "a label too many": ("blob", lambda clf: with_network(clf, labels=np.append(clf.classes_, "zebra"))),
    "labels in columns": ("blob", lambda clf: with_network(clf, labels=clf.classes_[:, None])),
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
        lambda clf: with_network(clf, labels=clf.classes_[:1]),
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
    with pytest.raises(ValueError, match="on the way to a leaf"):
        trees.check(n_nodes, 2)


def with_a_missing_part(form, members):
    del form["network"]["hyperplanes"]["biases"]


def with_an_unknown_part(form, members):
    form["network"]["hyperplanes"]["more"] = None


def with_a_list_for_an_object(form, members):
    form["network"] = [form["network"]]


def with_a_missing_array(form, members):
    del members[form["network"]["hyperplanes"]["biases"]]


def with_an_array_twice(form, members):
    familiar = form["network"]["familiar"]
    familiar["axes"] = familiar["centres"]


def with_numbers_for_an_array(form, members):
    form["network"]["hyperplanes"]["biases"] = [[1.0], 2.0]


def with_deep_metadata(form, members):
    return json.dumps(form).replace('"rows": 10', '"rows": ' + 20_000 * "[" + 20_000 * "]")


def with_names_that_are_no_flag(form, members):
    form["has_column_names"] = 1


def with_another_top_level(form, members):
    form["more"] = form["metadata"]


@pytest.mark.parametrize(
    "change",
    [
        *(with_a_missing_part, with_an_unknown_part, with_a_list_for_an_object, with_a_missing_array),
        *(with_an_array_twice, with_numbers_for_an_array, with_deep_metadata),
        *(with_names_that_are_no_flag, with_another_top_level),
    ],
)
def test_forms_of_another_structure_are_refused(change, tmp_path):
    (tmp_path / "m").write_bytes(changed(honest_model(), change))
    assert "does not hold a usable model" in refusal(tmp_path / "m")


@pytest.mark.parametrize("parameter", ["penalty", "more"])
def test_all_parameters_and_no_others_are_in_a_file(parameter, tmp_path):
    def change(form, members):
        parameters = form["classifier"]["parameters"]
        value = parameters.pop("penalty")
        if parameter != "penalty":
            parameters |= {"penalty": value, parameter: value}

    (tmp_path / "m").write_bytes(changed(honest_model(), change))
    assert parameter in refusal_of_the_whole(tmp_path / "m")
