/* The playground: controls, pictures and what connects them. */

import { predictorOf } from "../design/prediction.js";
import { drawCurve, stepAt } from "./curve.js";
import { createEditor, withoutPlane } from "./editing.js";
import { FileProblem, MOST_BYTES } from "./csv.js";
import { LONGEST_LINK, packedText, restoreState, sharedState, unpackedValue } from "./fragment.js";
import { drawNetwork } from "./network_view.js";
import { STAGES, drawMarker, drawPicture } from "./picture.js";
import { createRival } from "./rival.js";
import { savedText } from "./saving.js";
import { SETS } from "./sets.js";
import { explanation, toolHint } from "./texts.js";
import { viewOf } from "./view.js";
import { Workbench, usualThreshold } from "./workbench.js";

const element = (id) => document.getElementById(id);
const STAGE_TITLES = ["Samples", "Blobs", "Hyperplanes", "Pruning", "Regions", "Classes"];
const PLAY_DELAY = 1600;

const bench = new Workbench();
const picture = element("picture");
const page = {
  stage: "classes", step: 0, tool: "look", brush: 0, selected: -1, pointer: null, cursor: null,
  isQuick: false, player: null, knownView: null,
  /** The part of the plane that is drawn; it is found anew after `knownView` was set to null. */
  get view() {
    const [width, height] = [picture.clientWidth, picture.clientHeight];
    page.knownView ??= viewOf(bench.samples, bench.drawn, width, height, bench.settings.set !== "csv");
    return page.knownView;
  },
};
const percent = (share) => (Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)}\u202f%`);

/* Drawing. */

let pending = null;

/** Draw everything in the next frame, once. */
function redrawSoon() {
  pending ??= requestAnimationFrame(() => {
    pending = null;
    redraw();
  });
}

function redraw() {
  page.step = Math.min(page.step, bench.path.deleted.length);
  if (page.selected >= bench.planes.n) page.selected = -1;
  drawPicture(picture, bench, page.view, page);
  drawCurve(element("curve"), bench, page.stage === "pruning" ? page.step : bench.path.deleted.length);
  redrawPointer();
  writeTexts();
}

/** What follows the pointer: the network and its readout. */
function redrawPointer() {
  const at = page.pointer ?? page.cursor;
  const x = at && Float64Array.from(bench.base);
  if (at) page.view.toWorld(...at).forEach((value, axis) => (x[bench.drawn[axis]] = value));
  const found = drawNetwork(element("network"), bench, x);
  element("readout").textContent = found ? readoutText(x, found) : "Point at the picture to see what every neuron responds.";
}

function readoutText(x, { probabilities }) {
  const names = bench.inputs.map((input) => bench.table.names[input]);
  const place = bench.drawn.map((j) => `${names[j]} = ${x[j].toPrecision(3)}`).join(", ");
  const best = probabilities.indexOf(Math.max(...probabilities));
  return `${place}: class ${bench.table.labels[best]}, probability ${percent(probabilities[best])}`;
}

function writeTexts() {
  element("train-accuracy").textContent = percent(bench.accuracy.train);
  element("test-accuracy").textContent = percent(bench.accuracy.test);
  const { planes, stages } = bench.network;
  element("neurons").textContent = String(2 * planes.n + stages.neuronClasses.length + stages.C);
  element("explain").textContent = explanation(bench, page.stage, page.step);
  element("tool-hint").textContent = toolHint(page.tool);
  element("network").setAttribute("aria-label",
    `Network: ${planes.N} inputs, ${2 * planes.n} half-spaces, ${stages.neuronClasses.length} ` +
    `${stages.design === "blob" ? "blobs" : "regions"}, ${stages.C} classes`);
  picture.setAttribute("aria-label", `Picture: ${STAGE_TITLES[STAGES.indexOf(page.stage)]}`);
  element("curve").setAttribute("aria-label",
    `Training error from ${percent(bench.path.initialErrorRate)} with all hyperplanes to ` +
    `${percent(bench.path.errorRates.at(-1) ?? bench.path.initialErrorRate)} after ${bench.path.deleted.length} deletions`);
  element("step-row").hidden = page.stage !== "pruning";
  Object.assign(element("step"), { max: bench.path.deleted.length, value: page.step });
  element("step-value").textContent = `${page.step} of ${bench.path.deleted.length}`;
  element("delete-plane").disabled = page.selected < 0 || bench.planes.n < 2;
  const { moved, added, removed } = bench.edits;
  element("reset").disabled = !(bench.isEdited || moved.size || added.length || removed.size);
}

/** Controls show the settings; lists follow the data. */
function writeControls() {
  const { settings, table } = bench;
  const isCsv = settings.set === "csv";
  const sets = Object.entries(SETS).map(([name, { title }]) => [name, title]);
  fillSelect(element("set"), isCsv ? [...sets, ["csv", bench.csv.name]] : sets, settings.set);
  element("csv-settings").hidden = !isCsv;
  element("set-settings").hidden = isCsv;
  if (isCsv) {
    fillSelect(element("target"), bench.csv.columns.map(({ name }) => [name, name]), settings.target);
    const axes = table.names.map((name, i) => [String(i), name]);
    fillSelect(element("across"), axes, String(settings.axes[0]));
    fillSelect(element("up"), axes, String(settings.axes[1]));
    for (const radio of document.getElementsByName("inputs")) radio.checked = radio.value === settings.inputs;
  }
  fillSelect(element("brush"), table.labels.map((label, i) => [String(i), String(label)]), String(Math.min(page.brush, table.C - 1)));
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

/* Changes. */

function say(text, isGood = false) {
  const message = element("message");
  message.textContent = text;
  message.hidden = text === "";
  message.classList.toggle("good", isGood);
}

/** Carry out a change of the data or the design, and show everything anew. */
function act(change, { keepsView = false } = {}) {
  try {
    change();
    say("");
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    say(error.message);
  }
  if (!keepsView) page.knownView = null;
  renewRival();
  writeControls();
  redrawSoon();
}

const set = (changes, options) => act(() => bench.change(changes), options);

function showStage(stage) {
  page.stage = stage;
  if (stage === "pruning") page.step = bench.path.deleted.length;
  for (const button of element("stages").querySelectorAll("[data-stage]")) {
    if (button.dataset.stage === stage) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
  redrawSoon();
}

/** Show one stage after the other, and every deletion. */
function play() {
  if (page.player !== null) return stopPlaying();
  element("play").textContent = "Pause";
  showStage("samples");
  const next = () => {
    const at = STAGES.indexOf(page.stage);
    let delay = PLAY_DELAY;
    if (page.stage === "pruning" && page.step < bench.path.deleted.length) {
      page.step += 1;
      delay = Math.max(120, Math.min(700, 5000 / bench.path.deleted.length));
      redrawSoon();
    } else if (at === STAGES.length - 1) {
      return stopPlaying();
    } else {
      showStage(STAGES[at + 1]);
      if (page.stage === "pruning") page.step = 0;
    }
    page.player = setTimeout(next, delay);
  };
  page.player = setTimeout(next, PLAY_DELAY);
}

function stopPlaying() {
  clearTimeout(page.player);
  page.player = null;
  element("play").textContent = "Play";
}

function readFile(file) {
  if (!file) return;
  if (file.size > MOST_BYTES) {
    say(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB. The page takes up to ${MOST_BYTES / 1e6} MB; use ffmlp fit for larger files.`);
    return;
  }
  file.text().then((text) => {
    act(() => bench.loadCsv(text, file.name));
    const { notes } = bench.table;
    if (notes?.length && element("message").hidden) say(notes.join(" "), true);
    showStage("classes");
  }, () => say(`${file.name} cannot be read. Choose it again.`));
}

/* The pointer. */

const editor = createEditor(() => ({ ...page, bench }));
let gesture = null;

function placeOf(event) {
  const box = picture.getBoundingClientRect();
  return [event.clientX - box.left - picture.clientLeft, event.clientY - box.top - picture.clientTop];
}

/** Hyperplanes changed by hand; everything after them is redone at once. */
function setPlanes(planes, isQuick) {
  if (STAGES.indexOf(page.stage) < 2) showStage("classes");
  bench.setPlanes(planes, isQuick);
  page.isQuick = isQuick;
  redrawSoon();
}

function select(l) {
  page.selected = l;
  redrawSoon();
}

function endGesture() {
  if (gesture === null) return;
  gesture = null;
  page.isQuick = false;
  if (page.tool === "planes") bench.redo("upper");
  renewRival();
  redrawSoon();
}

function bindPicture() {
  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    stopPlaying();
    page.cursor = null;
    gesture = editor.press(placeOf(event), { setPlanes, select, moved: redrawSoon });
    if (gesture) picture.setPointerCapture(event.pointerId);
    else if (page.tool === "samples") renewRival();
  });
  picture.addEventListener("pointermove", (event) => {
    page.pointer = placeOf(event);
    if (gesture) gesture(page.pointer);
    else redrawPointer();
  });
  picture.addEventListener("pointerup", endGesture);
  picture.addEventListener("pointercancel", endGesture);
  picture.addEventListener("pointerleave", () => {
    page.pointer = null;
    redrawPointer();
  });
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !pressKey(event.key)) return;
    event.preventDefault();
    redrawSoon();
  });
}

const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** What a key does in the picture; whether it does anything. */
function pressKey(key) {
  if (editor.nudge(key, setPlanes)) return true;
  const at = page.cursor ?? [page.view.width / 2, page.view.height / 2];
  if (WAYS[key]) {
    const limit = (value, most) => Math.max(0, Math.min(most, value));
    page.cursor = [limit(at[0] + 10 * WAYS[key][0], page.view.width), limit(at[1] + 10 * WAYS[key][1], page.view.height)];
  } else if (key === "Escape") {
    [page.cursor, page.selected] = [null, -1];
  } else if (key === "Enter" && page.tool === "samples") {
    act(() => bench.addSample(...page.view.toWorld(...at), page.brush), { keepsView: true });
  } else if (key === "Enter" && page.tool === "planes") {
    page.selected = editor.planeNear(at, Infinity);
  } else if ((key === "n" || key === "N") && page.tool === "planes") {
    editor.addThrough(at, setPlanes, select);
  } else if (key === "Delete" || key === "Backspace") {
    deleteAt(at);
  } else {
    return false;
  }
  return true;
}

function deleteAt(at) {
  if (page.tool === "planes") deleteSelected();
  const i = page.tool === "samples" ? editor.sampleNear(page.pointer ?? at) : -1;
  if (i >= 0) act(() => bench.removeSample(i), { keepsView: true });
}

function deleteSelected() {
  if (page.selected < 0 || bench.planes.n < 2) return;
  setPlanes(withoutPlane(bench.planes, page.selected), false);
  select(-1);
  renewRival();
}

/* Backpropagation. */

const rival = createRival(showRival);

function renewRival() {
  const fits = rival.renew(bench, Number(element("rate").value));
  element("train").disabled = !fits;
  element("train").textContent = "Train";
  element("rival-about").textContent = fits
    ? "Random weights and gradient descent, in your browser."
    : "This network is too large to train in a page.";
  if (fits) showRival(rival.result());
  else element("rival-result").textContent = "";
}

function showRival({ epochs, train, test }) {
  element("rival-result").textContent =
    `Epoch ${epochs}: training accuracy ${percent(train)}, test accuracy ${percent(test)}`;
  rival.draw(element("rival"), page.view);
}

function toggleTraining() {
  if (rival.isRunning) rival.stop();
  else rival.start();
  element("train").textContent = rival.isRunning ? "Stop" : "Train";
}

/* Links and files. */

async function share() {
  const text = await packedText(sharedState(bench, page));
  if (text.length > LONGEST_LINK) {
    say("The data is too large for a link. Save the network, or share the CSV file itself.");
    return;
  }
  history.replaceState(null, "", `#${text}`);
  const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  say(isCopied ? "The link was copied." : "The link is in the address bar.", true);
}

async function openLink() {
  if (location.hash.length < 2) return;
  try {
    const shared = await unpackedValue(location.hash.slice(1));
    act(() => restoreState(bench, shared));
    if (STAGES.includes(shared.stage)) showStage(shared.stage);
    if (Number.isInteger(shared.step) && shared.step >= 0) page.step = shared.step;
    redrawSoon();
  } catch {
    bench.loadSet("nine_blobs");
    act(() => {});
    say("The link is damaged. The page shows its first set instead.");
  }
}

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([savedText(bench)], { type: "application/json" }));
  link.download = "network.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  say('Saved as network.json. In Python: clf = ffmlp.load("network.json").', true);
}

/* Start. */

function bindControls() {
  const onInput = (id, action) => element(id).addEventListener("input", () => action(element(id).value));
  const onClick = (id, action) => element(id).addEventListener("click", action);
  onInput("set", (value) => value !== "csv" && act(() => bench.loadSet(value)));
  onInput("target", (target) => set({ target, axes: [0, 1] }));
  onInput("across", (value) => set({ axes: [Number(value), bench.settings.axes[1]] }));
  onInput("up", (value) => set({ axes: [bench.settings.axes[0], Number(value)] }));
  onInput("noise", (value) => set({ noise: Number(value) }));
  onInput("k", (value) => set({ k: Number(value) }, { keepsView: true }));
  onInput("threshold", (value) => set({ threshold: Number(value) }, { keepsView: true }));
  onInput("penalty", (value) => set({ penalty: Math.round(10 ** Number(value)) }, { keepsView: true }));
  onInput("design", (design) => {
    const threshold = usualThreshold({ ...bench.settings, design });
    set({ design, threshold }, { keepsView: true });
  });
  onInput("step", (value) => {
    page.step = Number(value);
    redrawSoon();
  });
  onInput("brush", (value) => (page.brush = Number(value)));
  onInput("rate", renewRival);
  for (const radio of document.getElementsByName("inputs")) {
    radio.addEventListener("change", () => set({ inputs: radio.value }));
  }
  for (const radio of document.getElementsByName("tool")) radio.addEventListener("change", () => useTool(radio.value));
  onClick("again", () => set({ seed: bench.settings.seed + 1 }));
  onClick("train", toggleTraining);
  onClick("share", share);
  onClick("save", save);
  onClick("add-plane", () => {
    editor.addThrough([page.view.width / 2, page.view.height / 2], setPlanes, select);
    renewRival();
  });
  onClick("delete-plane", deleteSelected);
  onClick("reset", () => act(() => {
    bench.edits = { moved: new Map(), added: [], removed: new Set() };
    bench.redo("samples");
  }));
  element("file").addEventListener("change", (event) => readFile(event.target.files[0]));
  element("curve").addEventListener("click", (event) => {
    const { left } = element("curve").getBoundingClientRect();
    showStage("pruning");
    page.step = stepAt(element("curve"), bench, event.clientX - left);
  });
}

function useTool(tool) {
  page.tool = tool;
  page.selected = -1;
  element("sample-tools").hidden = tool !== "samples";
  element("plane-tools").hidden = tool !== "planes";
  if (tool === "planes" && STAGES.indexOf(page.stage) < 2) showStage("hyperplanes");
  redrawSoon();
}

function bindStages() {
  const buttons = STAGES.map((stage, i) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: STAGE_TITLES[i] });
    button.dataset.stage = stage;
    button.addEventListener("click", () => {
      stopPlaying();
      showStage(stage);
    });
    return button;
  });
  const player = Object.assign(document.createElement("button"), { type: "button", id: "play", textContent: "Play" });
  player.addEventListener("click", play);
  element("stages").replaceChildren(player, ...buttons);
}

function bindDrops() {
  const over = (isOver) => (event) => {
    event.preventDefault();
    element("drop").hidden = !isOver;
  };
  addEventListener("dragover", over(true));
  addEventListener("dragleave", over(false));
  addEventListener("drop", (event) => {
    over(false)(event);
    readFile(event.dataTransfer?.files[0]);
  });
}

bindStages();
bindControls();
bindPicture();
bindDrops();
new ResizeObserver(() => {
  page.knownView = null;
  rival.draw(element("rival"), page.view);
  redrawSoon();
}).observe(picture);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  rival.draw(element("rival"), page.view);
  redrawSoon();
});
addEventListener("hashchange", openLink);
showStage(page.stage);
redraw();
act(() => {});
openLink();
// For the console of the browser, and for tests.
window.playground = {
  bench, page, redraw, savedText: () => savedText(bench),
  classesOf: (X) => [...predictorOf(bench.network)(Float64Array.from(X)).classes],
};
