/* What Python writes for the tests of the modules, and what these leave for it: see test_engine.py. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

function pathOf(name) {
  const folder = process.env.FFMLP_VECTORS;
  assert(folder, "FFMLP_VECTORS must name the folder that pytest tests/web/test_engine.py fills.");
  return join(folder, `${name}.json`);
}

/** The JSON values of a file. */
export function vectors(name) {
  return JSON.parse(readFileSync(pathOf(name), "utf8"));
}

/** Leave JSON values for the tests in Python. */
export function leave(name, values) {
  writeFileSync(pathOf(name), JSON.stringify(values));
}

/** Rows of numbers, one after the other; null stands for NaN. */
export function floats(rows) {
  return Float64Array.from(rows.flat(Infinity), (value) => value ?? NaN);
}

/** Numbers differ by at most atol + rtol · |expected|, as in `numpy.testing.assert_allclose`. */
export function near(found, expected, { rtol = 1e-9, atol = 1e-9, about = "" } = {}) {
  const wanted = floats([expected]);
  assert.equal(found.length, wanted.length, about);
  found.forEach((value, i) => {
    const isNear = Math.abs(value - wanted[i]) <= atol + rtol * Math.abs(wanted[i]);
    if (!isNear && !Object.is(value, wanted[i])) {
      assert.fail(`${about}: ${value} is not ${wanted[i]} at ${i}`);
    }
  });
}
