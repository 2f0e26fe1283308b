"""The JavaScript modules predict, explain and design as Python does.

Python writes networks, samples and its results into a folder. Node runs the files `*.test.mjs`, which
compare the results with their own and leave answers that only Python can judge.
"""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from problems import designed, four_moons, mixed_table
from random_readouts import random_readout
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine

import ffmlp
from ffmlp import FFMLPClassifier, datasets
from ffmlp.design import mixtures
from ffmlp.design.scaling import Scaling
from ffmlp.explain.decisions import explained
from ffmlp.network.blobs import feature_units
from ffmlp.network.trained import TrainedStages
from ffmlp.parameters import checked_cells
from ffmlp.report.explorer import blobs_form
from ffmlp.robustness.distance import Effort, robustness
from ffmlp.robustness.limits import checked_limits
from ffmlp.storage.form import write

pd = pytest.importorskip("pandas")

ROWS = 30
PROBLEMS = {"numbers": load_iris(return_X_y=True), "moons": four_moons(600), "table": mixed_table()}
CHANGED = {"region": "numbers", "readout": "moons", "readout with trees": "table"}


@pytest.fixture(scope="module")
def changed():
    """Classifiers whose rows are given another class, and these rows."""
    models = [
        (designed(design, *PROBLEMS[name], 2), PROBLEMS[name][0]) for design, name in CHANGED.items()
    ]
    return [(clf, cells_of(clf, X)[::10]) for clf, X in models]


@pytest.fixture(scope="module")
def node(tmp_path_factory, changed):
    """The folder of vectors and answers, and the process that has read and written them."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed")
    folder = tmp_path_factory.mktemp("vectors")
    written = {
        "networks": list(explained_networks()),
        "random_networks": list(random_networks()),
        "change_problems": [change_problem(clf, cells) for clf, cells in changed],
        "designs": [*region_designs(), *paper_designs(), *blob_designs()],
        "labelled_blobs": [blobs_of_known_members(shrink) for shrink in (False, True)],
        "mixture": mixture(),
        "whole_designs": list(whole_designs()),
        "backprop_step": backprop_step(),
        "iris": standardised_iris(),
        "playground": playground(),
    }
    for name, values in written.items():
        text = json.dumps(values, default=lambda array: array.tolist(), allow_nan=False)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    tests = sorted(map(str, Path(__file__).parent.glob("*.test.mjs")))
    command = [program, "--test", "--test-reporter=spec", *tests]
    environment = os.environ | {"FFMLP_VECTORS": str(folder)}
    return folder, subprocess.run(command, env=environment, capture_output=True, text=True)


def answers(node, name):
    return json.loads((node[0] / f"{name}.json").read_text(encoding="utf-8"))


def test_the_tests_of_the_modules_pass(node):
    _, done = node
    assert done.returncode == 0, done.stdout + done.stderr


# Networks that predict and explain.


def classifiers():
    """A classifier of every design for every problem, with and without gaussianised features."""
    for design in ("region", "paper", "blob", "readout"):
        for name, (X, y) in PROBLEMS.items():
            for mapped in (False,) if design == "paper" else (False, True):
                n_blobs = "auto" if design == "readout" else 2
                clf = designed(design, X, y, n_blobs, gaussianise=mapped)
                yield f"{design}, {name}, gaussianised: {mapped}", clf, X
    for name, mapped in (("moons", False), ("table", True)):  # trees do not help the numbers
        X, y = PROBLEMS[name]
        yield f"trees, {name}", designed("readout with trees", X, y, gaussianise=mapped), X
    X, y = PROBLEMS["moons"]
    yield "few neurons", designed("readout", X, y, max_neurons=12), X
    # Gaps that several blobs of the imputation could fill.
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    yield "gaps", designed("blob", X, y, 2), X


def cells_of(clf, X):
    """Rows of the data, and rows between and beyond them: other regions, extrapolation."""
    cells = np.asarray(checked_cells(clf, X), np.float64)[:: len(X) // ROWS][:ROWS]
    numbers, far = clf.network_.table.is_number, cells.copy()
    noise = np.random.default_rng(1).normal(size=cells.shape) * np.nanstd(cells, axis=0)
    far[:, numbers] += noise[:, numbers]
    return np.concatenate([cells, far])


def with_gaps(cells):
    """Cells as JSON values: None where one is missing."""
    return np.where(np.isnan(cells), None, cells)


def explained_networks():
    for name, clf, X in classifiers():
        network, cells = clf.network_, cells_of(clf, X)
        why = explained(network, clf.blobs_, cells)
        # Rounding decides a tie.
        ordered = np.sort(why.probabilities, axis=1)
        is_clear = ordered[:, -1] - ordered[:, -2] > 1e-9
        assert is_clear.sum() >= ROWS
        # Leads are differences of sums of responses, which are large where a category tells the class.
        largest = np.abs(network.hyperplanes.signed_responses(why.samples)).max()
        yield {
            "name": name,
            "network": write(network),
            "blobs": blobs_form(clf),
            "cells": with_gaps(cells),
            "isClear": is_clear,
            "atol": 1e-9 + 1e-14 * largest,
            "expected": {
                "inputs": why.samples,
                "probabilities": why.probabilities,
                "familiarity": network.familiarity(why.samples, 0.99).scores,
                "winner": why.predicted,
                "rival": why.rivals,
                "blob": why.reference_blobs,
                "lead": why.leads,
                "attributions": why.attributions,
                "reference": why.references,
            },
        }


def trained(network):
    """The network with other weights, as backpropagation leaves it."""
    stages, rng = network.stages, np.random.default_rng(2)
    weights, biases = (
        tuple(part + 0.1 * rng.normal(size=part.shape) for part in parts)
        for parts in (stages.weights, stages.biases)
    )
    activations = ("relu", "identity", "softmax")
    return replace(
        network, stages=TrainedStages(weights, biases, activations, "evidence", stages.neuron_classes)
    )


def random_networks():
    rng = np.random.default_rng(0)
    networks = [random_readout(rng) for _ in range(20)]
    for network in [*networks, *map(trained, networks)]:
        samples = rng.normal(size=(ROWS, len(network.feature_names))) * 3
        probabilities = network.probabilities(samples)
        yield {"network": write(network), "cells": samples, "probabilities": probabilities}


# Nearest changes of class.


def change_problem(clf, cells):
    limits = zip(np.nanmin(cells, axis=0), np.nanmax(cells, axis=0), strict=True)
    return {
        "network": write(clf.network_),
        "blobs": blobs_form(clf),
        "cells": with_gaps(cells),
        "units": feature_units(clf.blobs_, clf.network_.hyperplanes),
        "ranges": [{"low": low, "high": high, "whole": False} for low, high in limits],
    }


@pytest.mark.parametrize("number", range(len(CHANGED)))
def test_changes_give_the_class_in_python_and_are_no_nearer_than_the_bounds(node, changed, number):
    clf, cells = changed[number]
    network, table, rows = clf.network_, clf.network_.table, answers(node, "changes")[number]
    scale = feature_units(clf.blobs_, network.hyperplanes)[table.firsts]
    moved = np.array([row["cells"] for row in rows], float)
    way = np.nansum(np.where(table.is_number, np.abs(moved - cells) / scale, 0.0), axis=1)
    np.testing.assert_allclose([row["distance"] for row in rows], way, rtol=1e-9)
    np.testing.assert_array_equal(moved[:, ~table.is_number], cells[:, ~table.is_number])
    winners = np.array([row["winner"] for row in rows])
    samples = np.asarray(network.inputs(cells), np.float64)
    assert (winners != network.classes(samples)).all()
    planes = network.hyperplanes
    for seed in range(10):  # errors of 1e-9 in the responses, more than another language makes
        errors = 1e-9 * np.random.default_rng(seed).normal(size=len(planes.biases))
        shaken = replace(network, hyperplanes=replace(planes, biases=planes.biases + errors))
        np.testing.assert_array_equal(shaken.classes(network.inputs(moved)), winners)
    limits = checked_limits(table, cells, samples, 1, scale, (), None)
    proved = robustness(network, clf.blobs_, cells, samples, limits, Effort())
    complete = ~np.isnan(cells).any(axis=1)
    assert (way >= proved.lower - 1e-6)[complete].all()
    # The search of Python, which takes longer, is seldom much better.
    assert np.median((way / proved.distance)[complete]) < 1.2


# Designs.


def problem(name):
    """Samples, labels, blobs per class and an error threshold."""
    if name == "iris":
        return *load_iris(return_X_y=True), 2, 0.05
    if name == "wine":
        return *load_wine(return_X_y=True), 2, 0.02
    if name == "grid":  # many equal samples and many ties between hyperplanes
        rng = np.random.default_rng(5)
        X = rng.integers(0, 4, (300, 3)).astype(float)
        return X, (X.sum(axis=1) + rng.integers(0, 2, 300)).astype(int) % 3, 3, 0.5
    if name == "many samples":  # more than are looked at for doubt: some of them stand for all
        return datasets.load("nine_blobs").X, datasets.load("nine_blobs").y, 10, 0.0
    loaded = datasets.load(name)
    return loaded.X[:700], loaded.y[:700], 3, 0.1


def as_samples(X, y):
    labels, numbers = np.unique(y, return_inverse=True)
    return {"X": X, "y": numbers, "C": len(labels)}


def standardised(blobs, X):
    scaling = Scaling.of(X, np.ones(len(X)))
    return {
        "classes": blobs.classes,
        "means": (blobs.means - scaling.mean) / scaling.scale,
        "covariances": blobs.covariances / np.outer(scaling.scale, scaling.scale),
        "weights": blobs.weights,
    }


def points_around(X):
    """Points among the samples and far from them."""
    rng = np.random.default_rng(0)
    low, high = X.min(axis=0), X.max(axis=0)
    return np.vstack([X[:20], rng.uniform(low - (high - low), high + (high - low), (80, X.shape[1]))])


def design_case(name, clf, X, y, **given):
    """What JavaScript is given, and the network that it must design."""
    path, network, points = clf.pruning_path_, clf.network_, points_around(X)
    expected = {
        "kept": path.kept,
        "deleted": path.deleted,
        "errorRates": [path.initial_error_rate, *path.error_rates],
        "neuronClasses": network.stages.neuron_classes,
        "classes": network.classes(points),
        "probabilities": clf.predict_proba(points),
        "responses": np.hstack(network.responses(points)),
    }
    if clf.regions_ is not None:
        expected |= {"codes": clf.regions_.codes.ravel(), "counts": clf.regions_.counts.ravel()}
    if network.stages.design == "region":
        planes = clf.statistics_.hyperplanes
        expected |= {
            "nRegions": len(clf.statistics_.regions),
            "planes": {"weights": planes.weights, "biases": planes.biases, "pairs": planes.pairs},
            "unseen": network.stages.places(network.hyperplanes, points).unseen.astype(int),
        }
    if network.stages.design == "blob":
        expected["temperature"] = network.stages.temperature
    plan = {"design": network.stages.design, "threshold": clf.error_threshold or 0.0, "penalty": 1000.0}
    given["plan"] = plan | given.get("plan", {})
    return {"name": name, "samples": as_samples(X, y), "points": points, "expected": expected, **given}


def region_designs():
    for name in ("xor", "nine_blobs", "circle_and_ring", "iris", "wine", "grid"):
        X, y, k, threshold = problem(name)
        clf = FFMLPClassifier(
            k, design="region", error_threshold=threshold, random_state=0, keep_statistics=True
        ).fit(X, y)
        yield design_case(f"region design, {name}", clf, X, y, blobs=standardised(clf.blobs_, X))


def paper_designs():
    for name, penalty in (("xor", 1.0), ("nine_blobs", 30.0), ("iris", 1000.0)):
        X, y, _, threshold = problem(name)
        members = 3 * y + np.arange(len(y)) % 3
        clf = FFMLPClassifier(design="paper", error_threshold=threshold, penalty=penalty)
        clf.fit(X, y, blobs=members)
        plan = {"penalty": penalty}
        yield design_case(f"paper design, {name}", clf, X, y, members=members, plan=plan)


def blob_designs():
    for name, threshold in (
        ("xor", 0.0), ("two_moons", 0.2), ("iris", 0.0), ("wine", 0.2), ("many samples", None),
    ):  # fmt: skip
        X, y, k, _ = problem(name)
        clf = FFMLPClassifier(
            k, design="blob", gaussianise=False, error_threshold=threshold, random_state=0
        ).fit(X, y)
        yield design_case(f"blob design, {name}", clf, X, y, blobs=standardised(clf.blobs_, X))


def blobs_of_known_members(shrink):
    X, y, _, _ = problem("wine")
    members = 40 * y + np.arange(len(y)) % 9
    weight, unscaled = np.ones(len(y)), Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    blobs = mixtures.labelled_blobs(X, y, members, weight, unscaled, shrink=shrink)
    expected = {name: getattr(blobs, name) for name in ("classes", "means", "covariances", "weights")}
    return {"samples": as_samples(X, y), "members": members, "shrink": shrink, "expected": expected}


def mixture():
    X, *_ = problem("wine")
    Z = Scaling.of(X, np.ones(len(X))).apply(X)
    weight = np.ones(len(Z))
    means = mixtures.seeds(Z, weight, 3, np.random.RandomState(0))
    after = mixtures.lloyd(Z, weight, means)
    start = mixtures.maximization(
        mixtures.assignment(after, Z, weight, mixtures.nearest(Z, after)), after
    )
    ended = mixtures.maximize_likelihood(Z, weight, start)
    return {"Z": Z, "means": means, "start": vars(start), "expected": vars(ended) | {"lloyd": after}}


def whole_designs():
    for name, design, k in (
        *(("xor", "region", 2), ("nine_blobs", "paper", 3)),
        *(("two_moons", "blob", 4), ("four_moons", "region", 4)),
    ):
        train, test = datasets.load(name).split(0)
        clf = FFMLPClassifier(k, design=design, gaussianise=False, error_threshold=None, random_state=0)
        yield {
            "name": f"{design} design, {name}",
            "samples": as_samples(train.X, train.y),
            "plan": {"design": design, "k": k, "threshold": 0.0, "penalty": 1000.0},
            "test": {"X": test.X, "y": test.y},
            "accuracy": clf.fit(train.X, train.y).score(test.X, test.y),
        }


# Backpropagation.


def standardised_iris(step=1):
    X, y = load_iris(return_X_y=True)
    return {"Z": Scaling.of(X, np.ones(len(X))).apply(X)[::step], "y": y[::step]}


def backprop_step():
    """Weights before and after a batch of all samples, so that their order does not matter."""
    samples, sizes, rate, rng = standardised_iris(6), [4, 6, 5, 3], 0.3, np.random.default_rng(0)
    layers = [
        (rng.normal(size=(n_out, n_in)) / np.sqrt(n_in), np.zeros(n_out))
        for n_in, n_out in pairwise(sizes)
    ]
    values = [samples["Z"]]
    for number, (weights, biases) in enumerate(layers):
        sums = values[-1] @ weights.T + biases
        values.append(sums if number == 2 else np.maximum(sums, 0.0))
    slope, after = (softmax(values[-1], axis=1) - np.eye(3)[samples["y"]]) / len(samples["y"]), []
    for number in (2, 1, 0):
        weights, biases = layers[number]
        after.insert(0, (weights - rate * slope.T @ values[number], biases - rate * slope.sum(axis=0)))
        slope = slope @ weights * (values[number] > 0)
    before, after = (
        [{"weights": weights, "biases": biases} for weights, biases in parts]
        for parts in (layers, after)
    )
    return samples | {"before": before, "after": after, "sizes": sizes, "learningRate": rate}


# The playground.


def two_classes(n_rows, n_columns):
    """Numbers of two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns)) + 0.8 * y[:, None] * (np.arange(n_columns) % 3 == 0)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(n_columns)]).round(5)
    return frame.assign(label=np.array(["no", "yes"])[y])


def three_classes():
    """Numbers and categories, some of them missing, and classes whose names need quotes."""
    frame, y = mixed_table(400)
    names = {"lost": "a", "saved": "b, c", "unknown": 'd "e"'}
    return frame.assign(kind=[names[label] for label in y])


POINTS = np.random.default_rng(0).uniform(-2, 4, (3000, 2))


def playground():
    tables = {"large": two_classes(10_000, 20), "mixed": three_classes()}
    return {
        "sets": datasets.SYNTHETIC,
        "points": POINTS,
        "tables": {name: frame.to_csv(index=False) for name, frame in tables.items()},
    }


@pytest.mark.parametrize("name", ["region", "paper", "blob", "table"])
def test_python_loads_what_the_page_saves(node, tmp_path, name):
    saved, path = answers(node, f"saved_{name}"), tmp_path / "network.json"
    path.write_text(saved["text"], encoding="utf-8")
    clf, samples = ffmlp.load(path), mixed_table(400)[0] if name == "table" else POINTS
    assert clf.predict(samples).tolist() == clf.classes_[saved["classes"]].tolist()
    if name == "table":
        assert clf.feature_names_in_.tolist() == samples.columns.tolist()
        parts = json.loads(saved["text"])["network"]["columns"]["parts"]
        assert parts[1]["type"] == "CategoryColumn"
    else:
        assert clf.network_.stages.design == name
