"""The JavaScript port predicts and explains as Python does, in a browser."""

from dataclasses import replace

import numpy as np
import pandas as pd
from browser import chromium, console_errors
from problems import designed, four_moons
from random_readouts import random_readout
from sklearn.datasets import load_iris

from ffmlp.explanations.explain import explained
from ffmlp.model.trained_stages import TrainedStages
from ffmlp.reports.explorer import blobs_form
from ffmlp.storage.json_form import json_form
from ffmlp.validation import checked_cells
from ffmlp.web.joining import WEB, joined_script, one_page

ROWS = 50
SCRIPT = (
    f"""
import {{ explained }} from "{WEB}/explanations/explain.js";
import {{ Blobs }} from "{WEB}/model/blobs.js";
import {{ fromJson }} from "{WEB}/model/json_form.js";
"""
    """
globalThis.answers = JSON.parse(document.getElementById("data").textContent).map((given) => {
  const network = fromJson(given.network);
  const blobs = given.blobs && new Blobs(fromJson(given.blobs));
  const cells = fromJson(given.cells);
  return Array.from({ length: cells.rows }, (_, row) => {
    const own = cells.row(row);
    const x = network.inputs(own);
    const answer = { inputs: [...x], probabilities: [...network.probabilities(x)] };
    if (network.familiar) Object.assign(answer, network.familiar.measured(network.hyperplanes, x));
    if (!blobs) return answer;
    const why = explained(network, blobs, own);
    for (const name of ["attributions", "reference"]) answer[name] = [...(why[name] ?? [])];
    return Object.assign(answer, { lead: why.lead, winner: why.winner, rival: why.rival, blob: why.blob });
  });
});
"""
)


def mixed_table(seed=0, n=600):
    """A table of numbers and categories with missing cells, and three classes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "income": rng.lognormal(3, 1, n),
            "height": rng.normal(170, 9, n),
            "city": rng.choice(["Bonn", "Kiel", "Ulm", "Hof"], n),
            "plan": rng.choice(["free", "paid"], n),
        }
    )
    score = frame["age"] / 12 + np.log(frame["income"]) + 2 * (frame["plan"] == "paid")
    score += (frame["city"] == "Kiel") * rng.normal(1, 0.3, n)
    y = np.array(["low", "middle", "high"])[np.digitize(score + rng.normal(0, 0.4, n), [6.2, 8.2])]
    for name in ("age", "income", "city"):
        frame.loc[rng.random(n) < 0.15, name] = np.nan
    return frame, y


PROBLEMS = {"numbers": load_iris(return_X_y=True), "moons": four_moons(600), "table": mixed_table()}


def classifiers():
    """A classifier of every design for every problem, with and without gaussianised features."""
    for design in ("region", "paper", "blob", "readout", "readout with regions"):
        for name, (X, y) in PROBLEMS.items():
            if design == "readout with regions" and name == "numbers":
                continue  # regions do not help there
            for mapped in (False,) if design == "paper" else (False, True):
                clf = designed(design, X, y, gaussianise=mapped)
                yield f"{design}, {name}, gaussianised: {mapped}", clf, X
    X, y = PROBLEMS["moons"]
    yield "few neurons", designed("readout", X, y, max_neurons=12), X


def cells_of(clf, X):
    """Rows of the data, and rows between and beyond them: other regions, extrapolation."""
    cells = np.asarray(checked_cells(clf, X), np.float64)[:: len(X) // ROWS][:ROWS]
    numbers, far = clf.network_.table.is_number, cells.copy()
    noise = np.random.default_rng(1).normal(size=cells.shape) * np.nanstd(cells, axis=0)
    far[:, numbers] += noise[:, numbers]
    return np.concatenate([cells, far])


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


def answers(folder, cases):
    """What JavaScript says of each case: a list with a dict for each row."""
    (folder / "entry.js").write_text(SCRIPT, encoding="utf-8")
    page = one_page("Model", "", "", joined_script(str(folder / "entry.js")), cases)
    (folder / "page.html").write_text(page, encoding="utf-8")
    with chromium(folder / "profile") as browser:
        browser.get((folder / "page.html").as_uri())
        found = browser.execute_script("return globalThis.answers;")
        assert console_errors(browser) == []
    return found


def stacked(rows, name):
    return np.array([row[name] for row in rows])


def test_probabilities_and_attributions_are_those_of_python(tmp_path):
    models = list(classifiers())
    cells = [cells_of(clf, X) for _, clf, X in models]
    given = [
        {"network": json_form(clf.network_), "blobs": blobs_form(clf), "cells": json_form(own)}
        for (_, clf, _), own in zip(models, cells, strict=True)
    ]
    for (name, clf, _), own, rows in zip(models, cells, answers(tmp_path, given), strict=True):
        expected = explained(clf.network_, clf.blobs_, own)
        near = {"rtol": 1e-9, "atol": 1e-9, "err_msg": name}
        np.testing.assert_allclose(stacked(rows, "inputs"), expected.samples, **near)
        np.testing.assert_allclose(stacked(rows, "probabilities"), expected.probabilities, **near)
        familiarity = clf.network_.familiarity(expected.samples, 0.99)
        np.testing.assert_allclose(stacked(rows, "score"), familiarity.scores, **near)
        np.testing.assert_array_equal(stacked(rows, "winner"), expected.predicted, name)
        np.testing.assert_array_equal(stacked(rows, "rival"), expected.rivals, name)
        np.testing.assert_array_equal(stacked(rows, "blob"), expected.reference_blobs, name)
        np.testing.assert_allclose(stacked(rows, "attributions"), expected.attributions, **near)
        np.testing.assert_allclose(stacked(rows, "reference"), expected.references, **near)
        np.testing.assert_allclose(stacked(rows, "lead"), expected.leads, **near)


def test_random_and_trained_networks_predict_as_python_does(tmp_path):
    rng = np.random.default_rng(0)
    networks = [random_readout(rng) for _ in range(20)]
    networks += [trained(network) for network in networks]
    samples = [rng.normal(size=(ROWS, len(network.feature_names))) * 3 for network in networks]
    given = [
        {"network": json_form(network), "cells": json_form(own)}
        for network, own in zip(networks, samples, strict=True)
    ]
    for network, own, rows in zip(networks, samples, answers(tmp_path, given), strict=True):
        np.testing.assert_allclose(
            stacked(rows, "probabilities"), network.probabilities(own), rtol=1e-9, atol=1e-12
        )
