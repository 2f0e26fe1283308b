/* What the page shows: settings, samples and the design that follows from them.

A change redoes what depends on it: the table, the samples, the blobs with their hyperplanes, or the
layers above these. */

import { lowerLayers, regionStages, upperLayers } from "../design/designs.js";
import { selectedPlanes } from "../design/lda.js";
import { predictorOf } from "../design/prediction.js";
import { selectedRegions } from "../design/regions.js";
import { FileProblem, parsedCsv } from "./csv.js";
import { SETS, generatedTable } from "./sets.js";
import { likelyTarget, tableColumns, tabledSamples } from "./tables.js";

const MOST_BLOBS = 8;
const MOST_HYPERPLANES = 400;
// What has to be redone after a change of each setting; the others only change the view.
const LEVELS = ["table", "samples", "blobs", "upper"];
const CHANGES = {
  set: "table",
  noise: "table",
  seed: "table",
  target: "table",
  inputs: "samples",
  axes: "samples",
  k: "blobs",
  design: "blobs",
  threshold: "upper",
  penalty: "upper",
};

/** The settings of a set as it is first shown. */
function settingsOf(set) {
  const { noise, k, threshold } = SETS[set];
  return {
    set,
    noise,
    k,
    threshold,
    seed: 1,
    penalty: 1000,
    design: "region",
    inputs: "drawn",
    axes: [0, 1],
    target: null,
  };
}

/** The threshold of a design: pruning takes blobs apart, so that a blob design keeps all hyperplanes. */
export function usualThreshold({ set, design }) {
  if (design === "blob") return 0;
  return set === "csv" ? 0.05 : SETS[set].threshold;
}

const noEdits = () => ({ moved: new Map(), added: [], removed: new Set() });

export class Workbench {
  constructor(settings = settingsOf("nine_blobs")) {
    this.settings = settings;
    this.csv = null;
    this.edits = noEdits();
    this.redo("table");
  }

  /** Show one of the paper's sets, with its settings. */
  loadSet(set) {
    const { penalty, design } = this.settings;
    this.settings = { ...settingsOf(set), penalty, design };
    this.settings.threshold = usualThreshold(this.settings);
    this.csv = null;
    this.edits = noEdits();
    this.redo("table");
  }

  /** Show a CSV file; a FileProblem leaves everything as it was. */
  loadCsv(text, name, settings = {}) {
    const parsed = parsedCsv(text);
    const columns = tableColumns(parsed);
    const target = settings.target ?? likelyTarget(columns);
    const before = { settings: this.settings, csv: this.csv, edits: this.edits };
    this.csv = { name, text, columns };
    this.settings = {
      ...this.settings,
      set: "csv",
      k: 2,
      inputs: "all",
      axes: null,
      seed: 1,
      ...settings,
      target,
    };
    this.settings.threshold = settings.threshold ?? usualThreshold(this.settings);
    this.edits = noEdits();
    this.tryRedo(before);
  }

  /** Change settings and redo what depends on them; a FileProblem leaves everything as it was. */
  change(changes) {
    const before = { settings: this.settings, csv: this.csv, edits: this.edits };
    this.settings = { ...this.settings, ...changes };
    const levels = Object.keys(changes).map((name) => LEVELS.indexOf(CHANGES[name]));
    if (levels.includes(0)) this.edits = { ...noEdits(), added: this.edits.added };
    this.tryRedo(before, LEVELS[Math.min(...levels)]);
  }

  /** Draw another input along an axis; the two are exchanged if the other axis has it.

  Samples that were moved or added in the old inputs are as they were. */
  setAxis(axis, input) {
    const axes = [...this.settings.axes];
    if (axes[1 - axis] === input) axes[1 - axis] = axes[axis];
    axes[axis] = input;
    const isUnchanged = !this.edits.moved.size && !this.edits.added.length;
    this.settings = { ...this.settings, axes };
    this.edits = { ...noEdits(), removed: this.edits.removed };
    if (this.settings.inputs === "all" && isUnchanged) this.drawn = this.settings.axes;
    else this.redo("samples");
  }

  tryRedo(before, level = "table") {
    try {
      this.redo(level);
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      Object.assign(this, before);
      this.redo("table");
      throw error;
    }
  }

  /** Redo one level and all after it. */
  redo(level, isQuick = false) {
    const first = LEVELS.indexOf(level);
    if (first <= 0) this.makeTable();
    if (first <= 1) this.makeSamples();
    if (first <= 2) this.makeBlobs();
    this.makeUpper(isQuick);
  }

  makeTable() {
    const { set, noise, seed, target } = this.settings;
    this.table =
      set === "csv" ? tabledSamples(this.csv.columns, target, seed) : generatedTable(set, noise, seed);
    const { N } = this.table;
    if (N < 2) throw new FileProblem("The picture needs two columns besides the class. Add one.");
    this.settings.axes ??= tellingAxes(this.table);
  }

  /** The inputs of the design: all, or the two that are drawn. */
  get inputs() {
    const { inputs, axes } = this.settings;
    return inputs === "all" ? [...this.table.names.keys()] : axes;
  }

  /** Two different inputs to draw, whatever was chosen for another table. */
  checkAxes() {
    const axes = this.settings.axes.map((axis) => Math.min(axis, this.table.N - 1));
    if (axes[0] === axes[1]) axes[1] = axes[0] === 0 ? 1 : 0;
    this.settings.axes = axes;
  }

  makeSamples() {
    this.checkAxes();
    const { table, edits, inputs } = this;
    const { axes } = this.settings;
    const [N, C] = [inputs.length, table.C];
    this.drawn = this.settings.inputs === "all" ? axes : [0, 1];
    const kept = [...Array(table.n).keys()].filter((i) => !edits.removed.has(i));
    const n = kept.length + edits.added.length;
    const all = { X: new Float64Array(n * N), y: new Int32Array(n), n, N, C, isTest: new Uint8Array(n) };
    this.sources = [...kept, ...edits.added.keys()]; // a row of the table, or an added sample
    this.nKept = kept.length;
    kept.forEach((row, i) => {
      inputs.forEach((input, j) => (all.X[i * N + j] = table.X[row * table.N + input]));
      all.y[i] = table.y[row];
      all.isTest[i] = table.isTest[row];
      const moved = edits.moved.get(row);
      if (moved) this.drawn.forEach((j, axis) => (all.X[i * N + j] = moved[axis]));
    });
    this.base = meanOf(all.X, N, kept.length);
    edits.added.forEach(([across, up, label], a) => {
      const i = kept.length + a;
      all.X.set(this.base, i * N);
      [across, up].forEach((value, axis) => (all.X[i * N + this.drawn[axis]] = value));
      all.y[i] = label;
    });
    this.samples = all;
    this.train = partOf(all, 0);
    this.test = partOf(all, 1);
  }

  /** The largest number of blobs per class that keeps the hyperplanes few. */
  get mostBlobs() {
    const pairs = (this.table.C * (this.table.C - 1)) / 2;
    return Math.max(1, Math.min(MOST_BLOBS, Math.floor(Math.sqrt(MOST_HYPERPLANES / pairs))));
  }

  makeBlobs() {
    this.settings.k = Math.min(this.settings.k, this.mostBlobs);
    const { scaling, blobs, planes } = lowerLayers(this.train, this.settings, this.settings.seed);
    Object.assign(this, { scaling, blobs, planes, isEdited: false });
  }

  /** Hyperplanes that a person has changed; quick ones keep the temperature of a blob design. */
  setPlanes(planes, isQuick = false) {
    this.planes = planes;
    this.isEdited = true;
    this.makeUpper(isQuick);
  }

  makeUpper(isQuick) {
    const temperature = isQuick ? this.network?.stages.temperature : undefined;
    const plan = { ...this.settings, temperature };
    const upper = upperLayers(this.train, plan, this.blobs, this.planes);
    this.regionTable = upper.table;
    this.path = upper.path;
    this.network = upper.network;
    const predict = predictorOf(this.network);
    this.predicted = predict(this.samples.X);
    this.accuracy = accuracies(this.samples, this.predicted.classes);
  }

  /** The network after so many deletions, as regions: what pruning looks at. */
  networkAtStep(step) {
    const gone = new Set(this.path.deleted.slice(0, step));
    const kept = [...Array(this.planes.n).keys()].filter((l) => !gone.has(l));
    const regions = selectedRegions(this.regionTable, kept);
    const stages = regionStages({ ...this.settings, design: "region" }, regions);
    return { planes: selectedPlanes(this.planes, kept), stages };
  }

  /** Samples and hyperplanes as they were before any change by hand. */
  undoEdits() {
    this.edits = noEdits();
    this.redo("samples");
  }

  addSample(across, up, label) {
    this.edits.added.push([across, up, label]);
    this.redo("samples");
  }

  moveSample(i, across, up) {
    if (i < this.nKept) this.edits.moved.set(this.sources[i], [across, up]);
    else this.edits.added[this.sources[i]].splice(0, 2, across, up);
    this.redo("samples");
  }

  /** Remove a sample, unless it is the last training sample of its class. */
  removeSample(i) {
    const label = this.samples.y[i];
    const left = this.train.y.reduce((count, other) => count + (other === label ? 1 : 0), 0);
    if (!this.samples.isTest[i] && left <= 1) return;
    if (i < this.nKept) this.edits.removed.add(this.sources[i]);
    else this.edits.added.splice(this.sources[i], 1);
    this.redo("samples");
  }
}

/** The two inputs that vary most between classes, relative to their variance within. */
function tellingAxes({ X, y, n, N, C }) {
  const ratios = Array.from({ length: N }, (_, j) => {
    const [counts, sums] = [new Float64Array(C), new Float64Array(C)];
    let squares = 0;
    for (let i = 0; i < n; i++) {
      counts[y[i]] += 1;
      sums[y[i]] += X[i * N + j];
      squares += X[i * N + j] ** 2;
    }
    const mean = sums.reduce((sum, part) => sum + part, 0) / n;
    const explained = sums.reduce((sum, part, c) => sum + part ** 2 / counts[c], 0);
    return (explained - n * mean ** 2) / Math.max(squares - explained, 1e-9 * squares, 1e-300);
  });
  return [...ratios.keys()]
    .sort((a, b) => ratios[b] - ratios[a])
    .slice(0, 2)
    .sort((a, b) => a - b);
}

function meanOf(X, N, n) {
  const mean = new Float64Array(N);
  for (let i = 0; i < n * N; i++) mean[i % N] += X[i] / n;
  return mean;
}

/** The training (0) or test (1) samples among all. */
function partOf({ X, y, n, N, C, isTest }, wanted) {
  const rows = [...Array(n).keys()].filter((i) => isTest[i] === wanted);
  const part = {
    X: new Float64Array(rows.length * N),
    y: new Int32Array(rows.length),
    n: rows.length,
    N,
    C,
  };
  rows.forEach((row, i) => {
    part.X.set(X.subarray(row * N, (row + 1) * N), i * N);
    part.y[i] = y[row];
  });
  return part;
}

/** The share of right classes among training and test samples; NaN where there are none. */
export function accuracies({ y, isTest }, classes) {
  const [right, all] = [
    [0, 0],
    [0, 0],
  ];
  for (let i = 0; i < y.length; i++) {
    all[isTest[i]] += 1;
    if (classes[i] === y[i]) right[isTest[i]] += 1;
  }
  return { train: right[0] / all[0], test: right[1] / all[1] };
}
