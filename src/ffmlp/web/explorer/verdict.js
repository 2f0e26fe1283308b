/* What the network says of the row: class, probabilities, familiarity, and the nearest change. */

import {
  categoryChanges,
  changeSize,
  knownChange,
  nearestChange,
} from "../robustness/nearest_change.js";
import { make, table } from "./dom.js";
import { whenCalm } from "./state.js";
import { apart, cut, percent, short, signed } from "./texts.js";

const KEPT = 0.99;
const MOST_BARS = 8;
const CALM = 200;
const SEARCH_TIME = 400;
const [MOST_CHANGED, MOST_CATEGORIES] = [6, 50];

/** The class of the row in one line, which stays in sight, and for screen readers once it is calm. */
export function headline(row, labels) {
  const text = make("p", { class: "headline" });
  const spoken = make("p", { class: "hidden", role: "status" });
  const say = whenCalm(600, () => {
    spoken.textContent = text.textContent;
  });
  row.listeners.push(() => {
    const { probabilities, winner, rival } = row.why;
    const next = rival === null ? "" : `, then ${cut(labels[rival])} ${percent(probabilities[rival])}`;
    text.replaceChildren(
      make("strong", {}, cut(labels[winner], 40)),
      ` ${percent(probabilities[winner])}${next}`,
    );
    say();
  });
  return make("div", { class: "verdict" }, text, spoken);
}

/** A bar for the probability of each class, or of the most probable ones. */
export function probabilityBars(row, labels) {
  const list = make("ul", { class: "probabilities", "aria-label": "Probabilities" });
  row.listeners.push(() => {
    const { probabilities, winner } = row.why;
    let classes = [...labels.keys()];
    if (classes.length > MOST_BARS) {
      classes = classes.sort((a, b) => probabilities[b] - probabilities[a]).slice(0, MOST_BARS);
    }
    list.replaceChildren(
      ...classes.map((label) => {
        const fill = make("span", { class: label === winner ? "fill own" : "fill" });
        fill.style.width = `${100 * probabilities[label]}%`;
        return make(
          "li",
          {},
          make("span", { class: "name", title: labels[label] }, cut(labels[label])),
          make("span", { class: "track", "aria-hidden": "true" }, fill),
          make("span", { class: "value" }, percent(probabilities[label])),
        );
      }),
    );
  });
  return list;
}

/** What the bars of the columns are about. */
export function leadText(row, labels) {
  const text = make("p", { class: "note" });
  row.listeners.push(() => {
    const { winner, rival, lead, referenceLead, blob } = row.why;
    text.textContent =
      rival === null
        ? "No other class can be predicted, so nothing is compared."
        : `Bars: what each column adds to the lead of ${labels[winner]} over ${labels[rival]}, compared ` +
          `with the centre of blob ${blob} of ${labels[row.model.blobs.classes[blob]]}. The lead is ` +
          `${signed(lead)}: ${signed(referenceLead)} there, and the sum of the bars.`;
  });
  return text;
}

/** Whether the row is far from all training rows. */
export function familiarityText(row) {
  const text = make("p", { class: "familiarity" });
  row.listeners.push(() => {
    const { familiar, hyperplanes, stages } = row.model.network;
    const parts = [];
    if (familiar) {
      const { score } = familiar.measured(hyperplanes, row.why.inputs);
      const strange = score > familiar.threshold(KEPT);
      text.classList.toggle("strange", strange);
      parts.push(
        strange
          ? `Unfamiliar: farther from all blobs than ${percent(KEPT, 0)} of the training rows.`
          : "Familiar: as near to a blob as the training rows.",
      );
    }
    if (stages.isUnseen?.(row.model.network.responses(row.why.inputs))) {
      parts.push("No training row is in its region.");
    }
    text.textContent = parts.join(" ");
  });
  return text;
}

/** The nearest change of class, with a button that applies it. */
export function changePanel(row, labels, columns) {
  const panel = make("div", { class: "changes" });
  const show = whenCalm(CALM, () => panel.replaceChildren(...changeParts(row, labels, columns)));
  row.listeners.push(() => {
    // The change shown is that of another row.
    for (const button of panel.querySelectorAll("button")) button.disabled = true;
    show();
  });
  return panel;
}

function changeParts(row, labels, columns) {
  const heading = make("h3", {}, "Nearest change of class");
  if (row.why.rival === null) return [heading, make("p", {}, "No other class can be predicted.")];
  const proved = provedChange(row);
  const change = proved ?? nearestChange(row.model, row.cells, columns, SEARCH_TIME);
  const parts = [heading];
  if (change) parts.push(...numberChange(row, labels, change, proved !== null));
  else parts.push(make("p", {}, "No change of the numbers within their ranges was found."));
  const [category] = categoryChanges(row.model, row.cells, columns, MOST_CATEGORIES);
  if (category) parts.push(categoryChange(row, labels, category));
  return parts;
}

/** The change that Python has proved to be the nearest, if the row is as it is in the file. */
function provedChange(row) {
  const point = row.isOriginal ? row.model.changes[row.origin] : null;
  if (!point) return null;
  const { table: columns } = row.model.network;
  const cells = row.cells.map((cell, column) =>
    columns.parts[column].isNumber && !Number.isNaN(cell) ? point[columns.firsts[column]] : cell,
  );
  return knownChange(row.model, row.cells, cells);
}

function numberChange(row, labels, { cells, winner, distance }, isProved) {
  const { table: columns } = row.model.network;
  const size = (column) => {
    const alone = row.cells.slice();
    alone[column] = cells[column];
    return changeSize(row.model, alone, row.cells);
  };
  const moved = [...cells.keys()]
    .map((column) => [column, size(column)])
    .filter(([, way]) => way > 0)
    .sort((a, b) => b[1] - a[1]);
  const lines = moved
    .slice(0, MOST_CHANGED)
    .map(([column]) => [columns.parts[column].name, ...apart(row.cells[column], cells[column])]);
  const more = moved.length > lines.length ? ` ${moved.length - lines.length} more columns change.` : "";
  const trust = isProved
    ? "There is no nearer one, up to rounding: this is proved."
    : "It was found by a search; a nearer one may exist.";
  return [
    make(
      "p",
      {},
      "To ",
      make("strong", {}, labels[winner]),
      `: ${short(distance)} standard deviations in all. ${trust}${more}`,
    ),
    table("Nearest change of class", ["column", "now", "then"], lines),
    make("button", { type: "button", click: () => row.setAll(cells) }, "Apply this change"),
  ];
}

function categoryChange(row, labels, { cells, column, winner }) {
  const part = row.model.network.table.parts[column];
  return make(
    "p",
    {},
    `One category is enough: ${part.name} = ${part.value(cells[column])} gives ${labels[winner]}. `,
    make("button", { type: "button", click: () => row.setAll(cells) }, "Apply"),
  );
}
