"""The design in JavaScript against ffmlp.design: the same blobs give the same network."""

from pathlib import Path

import numpy as np
import pytest
from browser import chromium, console_errors
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine

from ffmlp import FFMLPClassifier, datasets
from ffmlp.design.mixtures import (
    Mixture,
    assignment,
    labelled_blobs,
    lloyd,
    maximization,
    maximize_likelihood,
    nearest,
    seeds,
)
from ffmlp.design.scaling import Scaling
from ffmlp.web.joining import joined_script, one_page

TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    page = folder / "engine.html"
    with chromium(folder / "profile") as browser:
        script = joined_script(str(Path(__file__).with_name("engine.js")))
        page.write_text(one_page("engine", "", "", script), encoding="utf-8")
        browser.get(page.as_uri())
        yield lambda name, **given: browser.execute_script(f"return engine.{name}(arguments[0])", given)
        assert console_errors(browser) == []


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
    found = datasets.load(name)
    return found.X[:700], found.y[:700], 3, 0.1


def as_samples(X, y):
    labels, numbers = np.unique(y, return_inverse=True)
    return {"X": X.tolist(), "y": numbers.tolist(), "C": len(labels)}


def standardised(blobs, X):
    scaling = Scaling.of(X, np.ones(len(X)))
    return {
        "classes": blobs.classes.tolist(),
        "means": ((blobs.means - scaling.mean) / scaling.scale).tolist(),
        "covariances": (blobs.covariances / np.outer(scaling.scale, scaling.scale)).tolist(),
        "weights": blobs.weights.tolist(),
    }


def places(X):
    """Points among the samples and far from them."""
    rng = np.random.default_rng(0)
    low, high = X.min(axis=0), X.max(axis=0)
    return np.vstack([X[:20], rng.uniform(low - (high - low), high + (high - low), (80, X.shape[1]))])


def plan(design, threshold, penalty=1000.0):
    return {"design": design, "threshold": threshold, "penalty": penalty}


def check_network(found, clf, points):
    path, network = clf.pruning_path_, clf.network_
    assert found["path"]["deleted"] == path.deleted.tolist()
    assert found["path"]["kept"] == path.kept.tolist()
    assert_allclose(found["path"]["errorRates"], path.error_rates, **TOLERANCE)
    assert_allclose(found["path"]["initialErrorRate"], path.initial_error_rate, **TOLERANCE)
    assert found["neuronClasses"] == network.stages.neuron_classes.tolist()
    assert clf.classes_[found["classes"]].tolist() == clf.predict(points).tolist()
    assert_allclose(found["probabilities"], clf.predict_proba(points), **TOLERANCE)
    assert_allclose(found["responses"], np.hstack(network.responses(points)), rtol=1e-9, atol=1e-7)
    if clf.regions_ is not None:
        assert found["codes"] == clf.regions_.codes.ravel().tolist()
        assert found["counts"] == clf.regions_.counts.ravel().tolist()
        unseen = network.stages.places(network.hyperplanes, points).unseen
        if network.stages.design == "region":
            assert np.array(found["silent"], bool).tolist() == unseen.tolist()


@pytest.mark.parametrize("name", ["xor", "nine_blobs", "circle_and_ring", "iris", "wine", "grid"])
def test_region_design(engine, name):
    X, y, k, threshold = problem(name)
    clf = FFMLPClassifier(
        k, design="region", error_threshold=threshold, random_state=0, keep_statistics=True
    ).fit(X, y)
    points = places(X)
    found = engine(
        "fromBlobs",
        samples=as_samples(X, y),
        blobs=standardised(clf.blobs_, X),
        plan=plan("region", threshold),
        points=points.tolist(),
    )
    planes = clf.statistics_.hyperplanes
    assert_allclose(np.reshape(found["weights"], planes.weights.shape), planes.weights, **TOLERANCE)
    assert_allclose(found["biases"], planes.biases, **TOLERANCE)
    assert found["pairs"] == planes.pairs.ravel().tolist()
    assert found["nRegions"] == len(clf.statistics_.regions)
    check_network(found, clf, points)


@pytest.mark.parametrize(("name", "penalty"), [("xor", 1.0), ("nine_blobs", 30.0), ("iris", 1000.0)])
def test_paper_design_of_known_blobs(engine, name, penalty):
    X, y, _, threshold = problem(name)
    members = 3 * y + np.arange(len(y)) % 3
    clf = FFMLPClassifier(design="paper", error_threshold=threshold, penalty=penalty)
    clf.fit(X, y, blobs=members)
    points = places(X)
    found = engine(
        "fromMembers",
        samples=as_samples(X, y),
        members=members.tolist(),
        plan=plan("paper", threshold, penalty),
        points=points.tolist(),
    )
    check_network(found, clf, points)


@pytest.mark.parametrize(
    ("name", "threshold"), [("xor", 0.0), ("two_moons", 0.2), ("iris", 0.0), ("wine", 0.2)]
)
def test_blob_design(engine, name, threshold):
    X, y, k, _ = problem(name)
    clf = FFMLPClassifier(
        k, design="blob", gaussianise=False, error_threshold=threshold, random_state=0
    ).fit(X, y)
    points = places(X)
    found = engine(
        "fromBlobs",
        samples=as_samples(X, y),
        blobs=standardised(clf.blobs_, X),
        plan=plan("blob", threshold),
        points=points.tolist(),
    )
    assert_allclose(found["temperature"], clf.network_.stages.temperature, rtol=1e-9)
    check_network(found, clf, points)


def test_temperature_of_many_samples(engine):
    """More samples than are looked at for doubt: some of them stand for all."""
    X, y = datasets.load("nine_blobs").X, datasets.load("nine_blobs").y
    X, y = np.vstack([X, X + 1e-3]), np.concatenate([y, y])
    clf = FFMLPClassifier(8, design="blob", gaussianise=False, error_threshold=None, random_state=0).fit(
        X, y
    )
    blobs = standardised(clf.blobs_, X)
    points = places(X)
    given = {"samples": as_samples(X, y), "blobs": blobs, "points": points.tolist()}
    found = engine("fromBlobs", plan=plan("blob", 0.0), **given)
    assert_allclose(found["temperature"], clf.network_.stages.temperature, rtol=1e-9)
    check_network(found, clf, points)


@pytest.mark.parametrize("shrink", [False, True])
def test_blobs_of_known_members(engine, shrink):
    X, y, _, _ = problem("wine")
    members = 40 * y + np.arange(len(y)) % 9
    weight, unscaled = np.ones(len(y)), Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    blobs = labelled_blobs(X, y, members, weight, unscaled, shrink=shrink)
    found = engine("labelled", samples=as_samples(X, y), members=members.tolist(), shrink=shrink)
    assert found["classes"] == blobs.classes.tolist()
    for name in ("means", "covariances", "weights"):
        assert_allclose(found[name], getattr(blobs, name).ravel(), rtol=1e-8, atol=1e-8)


def test_expectation_maximisation(engine):
    X, *_ = problem("wine")
    Z = Scaling.of(X, np.ones(len(X))).apply(X)
    weight = np.ones(len(Z))
    means = seeds(Z, weight, 3, np.random.RandomState(0))
    after = lloyd(Z, weight, means)
    start = maximization(assignment(after, Z, weight, nearest(Z, after)))
    ended = maximize_likelihood(Z, weight, start)
    given = {name: getattr(start, name).tolist() for name in Mixture.__dataclass_fields__}
    found = engine("mixture", Z=Z.tolist(), start=given, means=means.tolist())
    assert_allclose(found["lloyd"], after.ravel(), **TOLERANCE)
    for name in Mixture.__dataclass_fields__:
        assert_allclose(found[name], getattr(ended, name).ravel(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "design", "k"),
    [
        ("xor", "region", 2),
        ("nine_blobs", "paper", 3),
        ("two_moons", "blob", 4),
        ("four_moons", "region", 4),
    ],
)
def test_whole_designs_are_as_accurate(engine, name, design, k):
    """Blobs depend on the random numbers; what is designed from them is about as good."""
    train, test = datasets.load(name).split(0)
    clf = FFMLPClassifier(k, design=design, gaussianise=False, error_threshold=None, random_state=0)
    whole = engine(
        "whole",
        samples=as_samples(train.X, train.y),
        plan={**plan(design, 0.0), "k": k},
        seed=1,
        points=test.X.tolist(),
    )
    assert_allclose(sum(whole["blobWeights"]), 1.0)
    accuracy = np.mean(np.array(whole["classes"]) == test.y)
    assert accuracy > clf.fit(train.X, train.y).score(test.X, test.y) - 0.04


def test_a_step_of_backpropagation(engine):
    """One batch has all samples, so that their order does not matter."""
    X, y = load_iris(return_X_y=True)
    Z, y, rate = Scaling.of(X, np.ones(len(X))).apply(X)[::6], y[::6], 0.3
    found = engine(
        "trained", Z=Z.tolist(), y=y.tolist(), sizes=[4, 6, 5, 3], learningRate=rate, epochs=1
    )
    layers = [(np.reshape(w, (len(b), -1)), np.array(b)) for w, b in found["before"]]
    values = [Z]
    for number, (weights, biases) in enumerate(layers):
        sums = values[-1] @ weights.T + biases
        values.append(sums if number == 2 else np.maximum(sums, 0.0))
    slope = (softmax(values[-1], axis=1) - np.eye(3)[y]) / len(y)
    for number in (2, 1, 0):
        weights, biases = layers[number]
        after = np.reshape(found["after"][number][0], weights.shape), found["after"][number][1]
        assert_allclose(after[0], weights - rate * slope.T @ values[number], **TOLERANCE)
        assert_allclose(after[1], biases - rate * slope.sum(axis=0), **TOLERANCE)
        slope = slope @ weights * (values[number] > 0)


def test_backpropagation_learns(engine):
    X, y = load_iris(return_X_y=True)
    Z = Scaling.of(X, np.ones(len(X))).apply(X)
    found = engine(
        "trained", Z=Z.tolist(), y=y.tolist(), sizes=[4, 8, 8, 3], learningRate=0.1, epochs=200
    )
    assert np.mean(np.array(found["classes"]) == y) > 0.95
