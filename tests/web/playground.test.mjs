/* What the playground does before anything is drawn: sets, CSV files, designs, links, saved networks. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { predictorOf } from "../../src/ffmlp/web/design/prediction.js";
import { FileProblem } from "../../src/ffmlp/web/playground/csv.js";
import { Editor, withNewLine } from "../../src/ffmlp/web/playground/editing.js";
import {
  packedText,
  restoreState,
  sharedState,
  unpackedValue,
} from "../../src/ffmlp/web/playground/fragment.js";
import { savedText } from "../../src/ffmlp/web/playground/saving.js";
import { explanation } from "../../src/ffmlp/web/playground/texts.js";
import { viewOf } from "../../src/ffmlp/web/playground/view.js";
import { Workbench } from "../../src/ffmlp/web/playground/workbench.js";
import { floats, leave, vectors } from "./vectors.mjs";

const { points, sets, tables } = vectors("playground");

function benchOf(set, design = "region") {
  const bench = new Workbench();
  bench.settings.design = design;
  bench.loadSet(set);
  return bench;
}

function benchOfTable(text) {
  const bench = new Workbench();
  bench.loadCsv(text, "table.csv");
  return bench;
}

for (const set of sets) {
  test(`${set}: every design is accurate`, () => {
    for (const [design, least] of [
      ["paper", 0.84],
      ["blob", 0.7],
      ["region", 0.85],
    ]) {
      const { accuracy } = benchOf(set, design);
      assert(accuracy.train > least && accuracy.test > least - 0.02, `${design}: ${accuracy.train}`);
    }
  });
}

test("a table of 10 000 rows and 20 columns", () => {
  const bench = benchOfTable(tables.large);
  assert.deepEqual([bench.samples.N, bench.table.notes], [20, []]);
  assert(bench.accuracy.test > 0.8);
  assert.match(explanation(bench, "classes", 0), /cut through 20 inputs/);
});

test("a table of another dialect", () => {
  const { table } = benchOfTable("\ufeffa;b;y\r\n1,5;2;u\r\n2,5;3;v\r\n3,5;;u\r\n\r\n1,0;5;v\r\n");
  assert.deepEqual([...table.X].slice(0, 4), [1.5, 2, 2.5, 3]);
  assert.deepEqual([table.labels, table.notes], [["u", "v"], []]);
});

const lines = (n, line) => Array.from({ length: n }, (_, i) => line(i)).join("");
const NONSENSE = {
  "": "empty",
  "   \n \n": "empty",
  "a,b,c": "one line",
  "a\n1\n2": "one column",
  "a,b\n1,2\n3": "Line 3 does not have the 2 cells",
  'a,b\n"1,2\n3,4': "never closed",
  "a,a\n1,x\n2,y": "Two columns have the name",
  [`a,b\n1.5,0.1\n2.5,0.2\n${lines(40, (i) => `${i}.25,${i}.75\n`)}`]: "2 and 20 distinct",
  "\x00\x01\x02PNG": "not a text file",
  "a,class\n1,x\n2,y": "two columns besides",
  [`name,class\n${lines(60, (i) => `n${i},${i % 2}\n`)}`]: "No column is left",
  [`a,b,class\n${lines(9, () => "1e300,1,x\n2e300,3,y\n")}`]: "“a” has numbers beyond 1e+140",
  [`<html><body>${"lorem ipsum ".repeat(50)}`]: "one line",
};

test("nonsense is refused and leaves everything as it was", () => {
  const bench = new Workbench();
  const before = savedText(bench);
  for (const [text, words] of Object.entries(NONSENSE)) {
    const isExpected = (error) => error instanceof FileProblem && error.message.includes(words);
    assert.throws(() => bench.loadCsv(text, "table.csv"), isExpected, words);
    assert.equal(savedText(bench), before);
    assert.equal(bench.settings.set, "nine_blobs");
  }
});

async function checkLink(bench) {
  const text = await packedText(sharedState(bench, { stage: "regions", step: 0 }));
  const opened = new Workbench();
  restoreState(opened, await unpackedValue(text));
  assert.deepEqual(opened.samples, bench.samples);
  assert.equal(savedText(opened), savedText(bench));
}

test("a link carries settings and changes by hand", async () => {
  const bench = benchOf("two_moons");
  bench.change({ noise: 0.2, k: 3 });
  bench.addSample(0.5, 0.5, 1);
  bench.moveSample(3, 0.1, 0.2);
  bench.removeSample(0);
  bench.setPlanes({ ...bench.planes, biases: bench.planes.biases.map((bias) => bias + 0.1) });
  await checkLink(bench);
});

test("a link carries a small table", () => checkLink(benchOfTable(tables.mixed)));

for (const fragment of ["x", "%", "AAAA", "q1YqSy0qzszPU7IyqgUA"]) {
  test(`the damaged link ${fragment} is refused`, () =>
    assert.rejects(async () => restoreState(new Workbench(), await unpackedValue(fragment))));
}

test("lines are added, shifted, turned and nudged where the pointer is", () => {
  const bench = benchOf("two_moons");
  const view = viewOf(bench.samples, bench.drawn, 600, 400, true);
  const page = { view, stage: "hyperplanes", step: 0, tool: "planes", brush: 0, selected: -1 };
  const editor = new Editor(bench, page, {
    setPlanes: (planes, isQuick) => bench.setPlanes(planes, isQuick),
    select: (l) => (page.selected = l),
    moved: () => {},
  });
  const added = bench.planes.n;
  const isNear = (place) => editor.planeNear(place, 1) === added;
  editor.press([20, 20])([120, 30]);
  assert.deepEqual([bench.planes.n, page.selected], [added + 1, added]);
  assert(isNear([20, 20]) && isNear([120, 30]));
  editor.press([20, 20])([20, 60]);
  assert(isNear([20, 60]) && isNear([120, 70]));
  assert(editor.nudge("ArrowDown") && isNear([20, 68]));
  const before = bench.planes.weights.slice(2 * added);
  assert(editor.nudge("r") && !editor.nudge("x"));
  assert.notDeepEqual(bench.planes.weights.slice(2 * added), before);
  assert(bench.isEdited);
});

for (const design of ["region", "paper", "blob"]) {
  test(`a network of the ${design} design is saved`, () => {
    const bench = benchOf("four_moons", design);
    const view = viewOf(bench.samples, bench.drawn, 600, 400, true);
    bench.setPlanes(withNewLine(bench, view, { a: 0.8, b: 0.6, c: -360, length: 0.05 }));
    const { classes } = predictorOf(bench.network)(floats(points));
    leave(`saved_${design}`, { text: savedText(bench), classes: [...classes] });
  });
}

test("a network of a table is saved", () => {
  const bench = benchOfTable(tables.mixed);
  assert.deepEqual(bench.table.labels, ["a", "b, c", 'd "e"']);
  leave("saved_table", { text: savedText(bench), classes: [...bench.predicted.classes] });
});
