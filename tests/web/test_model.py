"""The JavaScript port predicts and explains as Python does, in a browser."""

from dataclasses import replace

import numpy as np
import pytest
from browser import chromium, console_errors
from problems import designed, four_moons, mixed_table
from random_readouts import random_readout
from sklearn.datasets import load_iris

from ffmlp.explain.explain import explained
from ffmlp.network.blobs import feature_units
from ffmlp.network.trained import TrainedStages
from ffmlp.parameters import checked_cells
from ffmlp.report.explorer import blobs_form
from ffmlp.robustness.distance import Effort, scaled_distances
from ffmlp.robustness.limits import checked_limits
from ffmlp.storage.form import write
from ffmlp.web.joining import WEB, joined_script, one_page

pytest.importorskip("pandas")

ROWS = 50
SCRIPT = (
    f"""
import {{ explained }} from "{WEB}/explanations/explain.js";
import {{ nearestChange }} from "{WEB}/explanations/nearest_change.js";
import {{ Blobs }} from "{WEB}/model/blobs.js";
import {{ fromJson }} from "{WEB}/model/json_form.js";
"""
    """
function changed(network, blobs, { units, ranges }, cells) {
  const problem = { network, blobs, units: fromJson(units), ranges };
  const found = nearestChange(problem, cells, [...cells.keys()], Infinity);
  return found && { ...found, cells: [...found.cells] };
}
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
    for (const name of ["lead", "winner", "rival", "blob"]) answer[name] = why[name];
    if (given.search) answer.change = changed(network, blobs, given.search, own);
    return answer;
  });
});
"""
)


PROBLEMS = {"numbers": load_iris(return_X_y=True), "moons": four_moons(600), "table": mixed_table()}


def classifiers():
    """A classifier of every design for every problem, with and without gaussianised features."""
    for design in ("region", "paper", "blob", "readout", "readout with regions"):
        for name, (X, y) in PROBLEMS.items():
            if design == "readout with regions" and name == "numbers":
                continue  # regions do not help there
            for mapped in (False,) if design == "paper" else (False, True):
                n_blobs = "auto" if design.startswith("readout") else 2
                clf = designed(design, X, y, n_blobs, gaussianise=mapped)
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


def shaken(network, seed):
    """The network with errors of 1e-9 in its responses, more than another language makes."""
    planes = network.hyperplanes
    errors = 1e-9 * np.random.default_rng(seed).normal(size=len(planes.biases))
    return replace(network, hyperplanes=replace(planes, biases=planes.biases + errors))


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
        {"network": write(clf.network_), "blobs": blobs_form(clf), "cells": write(own)}
        for (_, clf, _), own in zip(models, cells, strict=True)
    ]
    for (name, clf, _), own, rows in zip(models, cells, answers(tmp_path, given), strict=True):
        expected = explained(clf.network_, clf.blobs_, own)
        # Leads are differences of sums of responses, which are large where a category tells the class.
        largest = np.abs(clf.network_.hyperplanes.signed_responses(expected.samples)).max()
        near = {"rtol": 1e-9, "atol": 1e-9 + 1e-14 * largest, "err_msg": name}
        np.testing.assert_allclose(stacked(rows, "inputs"), expected.samples, **near)
        np.testing.assert_allclose(stacked(rows, "probabilities"), expected.probabilities, **near)
        familiarity = clf.network_.familiarity(expected.samples, 0.99)
        np.testing.assert_allclose(stacked(rows, "score"), familiarity.scores, **near)
        # Rounding decides a tie.
        ordered = np.sort(expected.probabilities, axis=1)
        clear = np.flatnonzero(ordered[:, -1] - ordered[:, -2] > 1e-9)
        assert len(clear) >= ROWS
        for key, values in {
            "winner": expected.predicted, "rival": expected.rivals, "blob": expected.reference_blobs,
            "attributions": expected.attributions, "reference": expected.references,
            "lead": expected.leads,
        }.items():  # fmt: skip
            found = stacked([rows[row] for row in clear], key)
            np.testing.assert_allclose(found, values[clear], **near)


def test_random_and_trained_networks_predict_as_python_does(tmp_path):
    rng = np.random.default_rng(0)
    networks = [random_readout(rng) for _ in range(20)]
    networks += [trained(network) for network in networks]
    samples = [rng.normal(size=(ROWS, len(network.feature_names))) * 3 for network in networks]
    given = [
        {"network": write(network), "cells": write(own)}
        for network, own in zip(networks, samples, strict=True)
    ]
    for network, own, rows in zip(networks, samples, answers(tmp_path, given), strict=True):
        np.testing.assert_allclose(
            stacked(rows, "probabilities"), network.probabilities(own), rtol=1e-9, atol=1e-12
        )


def test_changes_that_are_found_change_the_class_and_are_no_nearer_than_the_bounds(tmp_path):
    problems = [("region", "numbers"), ("readout", "moons"), ("readout with regions", "table")]
    models = [designed(design, *PROBLEMS[name], 2) for design, name in problems]
    cells = [
        cells_of(clf, PROBLEMS[name][0])[::10] for clf, (_, name) in zip(models, problems, strict=True)
    ]
    units = [feature_units(clf.blobs_, clf.network_.hyperplanes) for clf in models]
    given = []
    for clf, own, unit in zip(models, cells, units, strict=True):
        limits = np.nanmin(own, axis=0).tolist(), np.nanmax(own, axis=0).tolist()
        ranges = [{"low": low, "high": high, "whole": False} for low, high in zip(*limits, strict=True)]
        form = {"network": write(clf.network_), "blobs": blobs_form(clf), "cells": write(own)}
        given.append(form | {"search": {"units": write(unit), "ranges": ranges}})
    for clf, own, unit, rows in zip(models, cells, units, answers(tmp_path, given), strict=True):
        network, table = clf.network_, clf.network_.table
        moved = np.array([np.nan_to_num(row["change"]["cells"], nan=np.nan) for row in rows], float)
        scale = unit[table.firsts]
        distance = np.where(table.is_number, np.abs(moved - own) / scale, 0.0)
        np.testing.assert_allclose(
            [row["change"]["distance"] for row in rows], np.nansum(distance, axis=1), rtol=1e-9
        )
        np.testing.assert_array_equal(moved[:, ~table.is_number], own[:, ~table.is_number])
        winners = np.array([row["change"]["winner"] for row in rows])
        assert (winners != network.classes(network.inputs(own))).all()
        for seed in range(10):
            classes = shaken(network, seed).classes(network.inputs(moved))
            np.testing.assert_array_equal(classes, winners)
        samples = np.asarray(network.inputs(own), np.float64)
        limits = checked_limits(table, own, samples, 1, scale, (), None)
        proved = scaled_distances(network, clf.blobs_, samples, limits, Effort())
        complete = ~np.isnan(own).any(axis=1)
        found = np.nansum(distance, axis=1)
        assert (found >= proved.lower - 1e-6)[complete].all()
        # The search of Python, which takes longer, is seldom much better.
        assert np.median((found / proved.distance)[complete]) < 1.2
