/* Pictures, texts and controls follow the state of the page. */

import { drawCurve } from "./curve.js";
import { drawNetwork } from "./network_view.js";
import { STAGES, drawMarker, drawPicture } from "./picture.js";
import { SETS } from "./sets.js";
import { STAGE_TITLES, bench, element, page, percent, picture } from "./state.js";
import { explanation, toolHint } from "./texts.js";

let pending = null;

/** Draw everything in the next frame, once. */
export function redrawSoon() {
  pending ??= requestAnimationFrame(() => {
    pending = null;
    redraw();
  });
}

export function redraw() {
  page.step = Math.min(page.step, bench.path.deleted.length);
  if (page.selected >= bench.planes.n) page.selected = -1;
  drawPicture(picture, bench, page.view, page);
  drawCurve(element("curve"), bench, page.stage === "pruning" ? page.step : bench.path.deleted.length);
  redrawPointer();
  writeTexts();
}

/** What follows the pointer: the network and its readout. */
export function redrawPointer() {
  const at = page.pointer ?? page.cursor;
  const x = at && Float64Array.from(bench.base);
  if (at) page.view.toWorld(...at).forEach((value, axis) => (x[bench.drawn[axis]] = value));
  const responses = drawNetwork(element("network"), bench, x);
  element("readout").textContent = responses
    ? readoutText(x, responses)
    : "Point at the picture to see what every neuron responds.";
}

function readoutText(x, { probabilities }) {
  const names = bench.inputs.map((input) => bench.table.names[input]);
  const values = bench.drawn.map((j) => `${names[j]} = ${x[j].toPrecision(3)}`).join(", ");
  const best = probabilities.indexOf(Math.max(...probabilities));
  return `${values}: class ${bench.table.labels[best]}, probability ${percent(probabilities[best])}`;
}

function writeTexts() {
  element("train-accuracy").textContent = percent(bench.accuracy.train);
  element("test-accuracy").textContent = percent(bench.accuracy.test);
  const { planes, stages } = bench.network;
  element("neurons").textContent = String(2 * planes.n + stages.neuronClasses.length + stages.C);
  element("explain").textContent = explanation(bench, page.stage, page.step);
  element("tool-hint").textContent = toolHint(page.tool);
  element("network").setAttribute(
    "aria-label",
    `Network: ${planes.N} inputs, ${2 * planes.n} half-spaces, ${stages.neuronClasses.length} ` +
      `${stages.design === "blob" ? "blobs" : "regions"}, ${stages.C} classes`,
  );
  picture.setAttribute("aria-label", `Picture: ${STAGE_TITLES[STAGES.indexOf(page.stage)]}`);
  element("curve").setAttribute(
    "aria-label",
    `Training error from ${percent(bench.path.initialErrorRate)} with all hyperplanes to ` +
      `${percent(bench.path.errorRates.at(-1) ?? bench.path.initialErrorRate)} after ` +
      `${bench.path.deleted.length} deletions`,
  );
  element("step-row").hidden = page.stage !== "pruning";
  Object.assign(element("step"), { max: bench.path.deleted.length, value: page.step });
  element("step-value").textContent = `${page.step} of ${bench.path.deleted.length}`;
  element("delete-plane").disabled = page.selected < 0 || bench.planes.n < 2;
  const { moved, added, removed } = bench.edits;
  element("reset").disabled = !(bench.isEdited || moved.size || added.length || removed.size);
}

/** Controls show the settings; lists follow the data. */
export function writeControls() {
  const { settings, table } = bench;
  const isCsv = settings.set === "csv";
  const sets = Object.entries(SETS).map(([name, { title }]) => [name, title]);
  fillSelect(element("set"), isCsv ? [...sets, ["csv", bench.csv.name]] : sets, settings.set);
  element("csv-settings").hidden = !isCsv;
  element("set-settings").hidden = isCsv;
  if (isCsv) {
    fillSelect(
      element("target"),
      bench.csv.columns.map(({ name }) => [name, name]),
      settings.target,
    );
    const axes = table.names.map((name, i) => [String(i), name]);
    fillSelect(element("across"), axes, String(settings.axes[0]));
    fillSelect(element("up"), axes, String(settings.axes[1]));
    for (const radio of document.getElementsByName("inputs"))
      radio.checked = radio.value === settings.inputs;
  }
  fillSelect(
    element("brush"),
    table.labels.map((label, i) => [String(i), String(label)]),
    String(Math.min(page.brush, table.C - 1)),
  );
  page.brush = Math.min(page.brush, table.C - 1);
  element("k").max = bench.mostBlobs;
  const shown = {
    noise: [settings.noise, settings.noise.toFixed(2)],
    k: [settings.k, String(settings.k)],
    threshold: [settings.threshold, settings.threshold > 0 ? percent(settings.threshold) : "keep all"],
    penalty: [Math.log10(settings.penalty), String(Math.round(settings.penalty))],
  };
  for (const [id, [value, text]] of Object.entries(shown)) {
    element(id).value = value;
    element(`${id}-value`).textContent = text;
  }
  element("design").value = settings.design;
  element("penalty").disabled = settings.design === "blob"; // its neurons have no weight -P
  writeLegend();
}

function fillSelect(select, entries, value) {
  const texts = JSON.stringify(entries);
  if (select.dataset.entries !== texts) {
    select.replaceChildren(...entries.map(([name, title]) => new Option(title, name)));
    select.dataset.entries = texts;
  }
  select.value = value;
}

function writeLegend() {
  const entries = bench.table.labels.map((label, i) => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [28, 28];
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    drawMarker(context, i, 7, 7, 5);
    const entry = document.createElement("span");
    entry.append(canvas, String(label).slice(0, 40));
    return entry;
  });
  const hollow = document.createElement("span");
  hollow.textContent = "filled: training · hollow: test";
  element("legend").replaceChildren(...entries, hollow);
}

/** Show a stage of the design; pruning at its end. */
export function showStage(stage) {
  page.stage = stage;
  if (stage === "pruning") page.step = bench.path.deleted.length;
  for (const button of element("stages").querySelectorAll("[data-stage]")) {
    if (button.dataset.stage === stage) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
  redrawSoon();
}
