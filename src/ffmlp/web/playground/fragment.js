/* What is on the screen as the fragment of a link: settings and changes by hand, compressed. */

import { SETS } from "./sets.js";

// Longer links are cut by some programs.
export const LONGEST_LINK = 60000;

/** Plain values as a text for a link. */
export async function packedText(value) {
  const stream = new Blob([JSON.stringify(value)]).stream();
  const bytes = await collectedBytes(stream.pipeThrough(new CompressionStream("deflate-raw")));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** The plain values of such a text; an error if it is none. */
export async function unpackedValue(text) {
  const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) =>
    c.charCodeAt(0),
  );
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(new TextDecoder().decode(await collectedBytes(stream)));
}

async function collectedBytes(stream) {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** What a link has to know of a workbench and its view. */
export function sharedState(bench, { stage, step }) {
  const { settings, csv, edits, planes, isEdited } = bench;
  return {
    version: 1,
    settings,
    stage,
    step,
    csv: csv && { name: csv.name, text: csv.text },
    edits: { moved: [...edits.moved], added: edits.added, removed: [...edits.removed] },
    planes: isEdited
      ? { weights: [...planes.weights], biases: [...planes.biases], pairs: [...planes.pairs] }
      : null,
  };
}

/** Put what a link says into a workbench; an error if it is damaged leaves the workbench as it was. */
export function restoreState(bench, shared) {
  const settings = checkedSettings(shared.settings);
  const { moved, added, removed } = shared.edits;
  const isPoint = (point, size) => point.length === size && point.every(Number.isFinite);
  requireSound(
    moved.every(([row, point]) => Number.isInteger(row) && isPoint(point, 2)),
    "samples",
  );
  requireSound(
    added.every((sample) => isPoint(sample, 3)) && removed.every(Number.isInteger),
    "samples",
  );
  if (settings.set === "csv") bench.loadCsv(String(shared.csv.text), String(shared.csv.name), settings);
  else bench.change(settings);
  requireSound(
    added.every(([, , label]) => Number.isInteger(label) && label >= 0 && label < bench.table.C),
    "samples",
  );
  bench.edits = { moved: new Map(moved), added, removed: new Set(removed) };
  bench.redo("samples");
  if (shared.planes) bench.setPlanes(checkedPlanes(shared.planes, bench));
}

function requireSound(isFine, what) {
  if (!isFine) throw new Error(`The ${what} of the link are damaged.`);
}

function checkedSettings(settings) {
  const isNumber = (value, low, high) => Number.isFinite(value) && value >= low && value <= high;
  const { set, noise, k, threshold, seed, penalty, design, inputs, axes, target } = settings;
  requireSound(set === "csv" || Object.hasOwn(SETS, set), "settings");
  requireSound(
    ["region", "paper", "blob"].includes(design) && ["drawn", "all"].includes(inputs),
    "settings",
  );
  requireSound(
    isNumber(noise, 0, 10) && isNumber(threshold, 0, 1) && isNumber(penalty, 1, 1e6),
    "settings",
  );
  requireSound(Number.isInteger(k) && isNumber(k, 1, 100) && Number.isInteger(seed), "settings");
  requireSound(
    axes.length === 2 && axes.every((axis) => Number.isInteger(axis) && axis >= 0),
    "settings",
  );
  requireSound(target === null || typeof target === "string", "settings");
  return { set, noise, k, threshold, seed, penalty, design, inputs, axes, target };
}

function checkedPlanes({ weights, biases, pairs }, { train, blobs }) {
  const n = biases.length;
  requireSound(
    n >= 1 && n <= 1000 && weights.length === n * train.N && pairs.length === 2 * n,
    "hyperplanes",
  );
  requireSound([...weights, ...biases].every(Number.isFinite), "hyperplanes");
  requireSound(
    pairs.every((blob) => Number.isInteger(blob) && blob >= 0 && blob < blobs.n),
    "hyperplanes",
  );
  return {
    n,
    N: train.N,
    weights: Float64Array.from(weights),
    biases: Float64Array.from(biases),
    pairs: Int32Array.from(pairs),
  };
}
