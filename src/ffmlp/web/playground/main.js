/* The playground: controls, pictures and what connects them. */

import { FileProblem, MOST_BYTES } from "./csv.js";
import { stepAt } from "./curve.js";
import { Editor, WAYS, withoutPlane } from "./editing.js";
import { LONGEST_LINK, packedText, restoreState, sharedState, unpackedValue } from "./fragment.js";
import { STAGES } from "./picture.js";
import { savedText } from "./saving.js";
import { redraw, redrawPointer, redrawSoon, showStage, writeControls } from "./showing.js";
import { STAGE_TITLES, bench, element, page, picture, say } from "./state.js";
import { renewRival, rival, toggleTraining } from "./training.js";
import { usualThreshold } from "./workbench.js";

const PLAY_DELAY = 1600;

/* Changes. */

/** Carry out a change of the data or the design, and show everything anew. */
function act(change, { keepsView = false } = {}) {
  const wasEdited = bench.isEdited;
  try {
    change();
    const isLost = wasEdited && !bench.isEdited;
    say(isLost ? "The hyperplanes were made anew. Your changes of them are gone." : "", true);
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
    say(
      `${file.name} has ${(file.size / 1e6).toFixed(0)} MB. The page takes up to ` +
        `${MOST_BYTES / 1e6} MB; use ffmlp fit for larger files.`,
    );
    return;
  }
  file.text().then(
    (text) => {
      act(() => bench.loadCsv(text, file.name));
      const { notes } = bench.table;
      if (notes?.length && element("message").hidden) say(notes.join(" "), true);
      showStage("classes");
    },
    () => say(`${file.name} cannot be read. Choose it again.`),
  );
}

/* The pointer. */

const editor = new Editor(bench, page, { setPlanes, select, moved: redrawSoon });
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
    gesture = editor.press(placeOf(event));
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

/** What a key does in the picture; whether it does anything. */
function pressKey(key) {
  if (editor.nudge(key)) return true;
  const at = page.cursor ?? [page.view.width / 2, page.view.height / 2];
  if (WAYS[key]) {
    const limit = (value, most) => Math.max(0, Math.min(most, value));
    page.cursor = [
      limit(at[0] + 10 * WAYS[key][0], page.view.width),
      limit(at[1] + 10 * WAYS[key][1], page.view.height),
    ];
  } else if (key === "Escape") {
    [page.cursor, page.selected] = [null, -1];
  } else if (key === "Enter" && page.tool === "samples") {
    act(() => bench.addSample(...page.view.toWorld(...at), page.brush), { keepsView: true });
  } else if (key === "Enter" && page.tool === "planes") {
    page.selected = editor.planeNear(at, Infinity);
  } else if ((key === "n" || key === "N") && page.tool === "planes") {
    editor.addThrough(at);
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

/* Links and files. */

async function share() {
  const text = await packedText(sharedState(bench, page));
  if (text.length > LONGEST_LINK) {
    say("The data is too large for a link. Save the network, or share the CSV file itself.");
    return;
  }
  history.replaceState(null, "", `#${text}`);
  const isCopied = await navigator.clipboard?.writeText(location.href).then(
    () => true,
    () => false,
  );
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
  onInput("target", (target) => act(() => bench.loadCsv(bench.csv.text, bench.csv.name, { target })));
  onInput("across", (value) => act(() => bench.setAxis(0, Number(value))));
  onInput("up", (value) => act(() => bench.setAxis(1, Number(value))));
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
  for (const radio of document.getElementsByName("tool"))
    radio.addEventListener("change", () => useTool(radio.value));
  onClick("again", () => set({ seed: bench.settings.seed + 1 }));
  onClick("train", toggleTraining);
  onClick("share", share);
  onClick("save", save);
  onClick("add-plane", () => {
    editor.addThrough([page.view.width / 2, page.view.height / 2]);
    renewRival();
  });
  onClick("delete-plane", deleteSelected);
  onClick("reset", () => {
    act(() => bench.undoEdits());
    say("");
  });
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
  picture.classList.toggle("edits", tool !== "look"); // else a finger on it scrolls the page
  if (tool === "planes" && STAGES.indexOf(page.stage) < 2) showStage("hyperplanes");
  redrawSoon();
}

function bindStages() {
  const buttons = STAGES.map((stage, i) => {
    const button = Object.assign(document.createElement("button"), {
      type: "button",
      textContent: STAGE_TITLES[i],
    });
    button.dataset.stage = stage;
    button.addEventListener("click", () => {
      stopPlaying();
      showStage(stage);
    });
    return button;
  });
  const player = Object.assign(document.createElement("button"), {
    type: "button",
    id: "play",
    textContent: "Play",
  });
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
window.playground = { bench, page, redraw, savedText: () => savedText(bench) };
