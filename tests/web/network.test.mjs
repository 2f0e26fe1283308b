/* Stored networks predict, explain and search for changes as in Python. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { explained } from "../../src/ffmlp/web/explain/explain.js";
import { Blobs } from "../../src/ffmlp/web/network/blobs.js";
import { fromJson } from "../../src/ffmlp/web/network/json_form.js";
import { nearestChange } from "../../src/ffmlp/web/robustness/nearest_change.js";
import { floats, leave, near, vectors } from "./vectors.mjs";

for (const { name, cells, isClear, atol, expected, ...model } of vectors("networks")) {
  test(`${name}: probabilities, familiarity and attributions`, () => {
    const [network, blobs] = [fromJson(model.network), new Blobs(fromJson(model.blobs))];
    cells.forEach((row, i) => {
      const compare = (found, key) => near(found, [expected[key][i]], { atol, about: `${key} ${i}` });
      const own = floats(row);
      const why = explained(network, blobs, own);
      compare(why.inputs, "inputs");
      compare(why.probabilities, "probabilities");
      compare([network.familiar.measured(network.hyperplanes, why.inputs).score], "familiarity");
      if (!isClear[i]) return; // rounding decides a tie
      for (const key of ["winner", "rival", "blob", "lead"]) compare([why[key]], key);
      for (const key of ["attributions", "reference"]) compare(why[key], key);
    });
  });
}

test("random networks, and what backpropagation makes of them, predict", () => {
  for (const { network: form, cells, probabilities } of vectors("random_networks")) {
    const network = fromJson(form);
    cells.forEach((row, i) => {
      near(network.probabilities(network.inputs(floats(row))), probabilities[i], { atol: 1e-12 });
    });
  }
});

test("every row has a change of class", () => {
  const answers = vectors("change_problems").map(({ cells, ranges, ...model }) => {
    const [network, blobs] = [fromJson(model.network), new Blobs(fromJson(model.blobs))];
    const problem = { network, blobs, units: floats(model.units), ranges };
    return cells.map((row) => {
      const own = floats(row);
      const change = nearestChange(problem, own, [...own.keys()], Infinity);
      assert(change);
      return { ...change, cells: [...change.cells] };
    });
  });
  leave("changes", answers);
});
