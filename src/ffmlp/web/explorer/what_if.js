/* What if a row had other cells: controls on one side, what the network says on the other. */

import { columnControls } from "./controls.js";
import { make, menu, newId, part } from "./dom.js";
import { countOf } from "./texts.js";
import { changePanel, familiarityText, headline, leadText, probabilityBars } from "./verdict.js";

const MOST_COLUMNS = 30;
// Fewer columns need no filter.
const FILTERED = 12;

/** Show the controls of a row and what the network says of it. */
export function showWhatIf(row, data) {
  const { parts } = row.model.network.table;
  const ranks = new Map(data.importance.map(({ name }, rank) => [name, rank]));
  // Columns of unknown importance come last.
  const rankOf = (column) => ranks.get(parts[column].name) ?? parts.length;
  const columns = [...parts.keys()].sort((a, b) => rankOf(a) - rankOf(b));
  const { labels } = data;
  part("what-if").hidden = false;
  part("what-if-parts").append(
    rowMenu(row, data),
    make(
      "div",
      { class: "answers" },
      headline(row, labels),
      make(
        "div",
        { class: "panel", role: "group", "aria-label": "What the network says" },
        probabilityBars(row, labels),
        familiarityText(row),
        changePanel(row, labels, columns.slice(0, MOST_COLUMNS)),
      ),
    ),
    make(
      "div",
      { class: "controls-of-columns", role: "group", "aria-label": "Cells of the row" },
      leadText(row, labels),
      ...columnList(row, columns),
    ),
  );
}

/** A menu of rows by the reason why they are shown, and a button that goes back to the row. */
function rowMenu(row, { rows, labels }) {
  const options = rows.map(({ group, number, truth }, k) => {
    const known = truth >= 0 ? `, ${labels[truth]}` : "";
    return [k, `${group}: row ${number}${known}`];
  });
  const [label, select] = menu("Begin with", options, 0, (chosen) => row.begin(Number(chosen)));
  const back = make("button", { type: "button", click: () => row.begin(row.origin) }, "Back to this row");
  row.listeners.push(() => {
    select.value = String(row.origin);
    back.disabled = row.isOriginal;
  });
  return make("p", { class: "controls begin" }, label, select, back);
}

/** The most important columns, or those whose names contain what the reader enters. */
function columnList(row, columns) {
  const { parts } = row.model.network.table;
  const list = make("div", { class: "columns" });
  const count = make("p", { class: "note", role: "status" });
  let shown = [];
  const show = () => {
    const sizes = row.why.rival === null ? [0] : row.why.attributions.map(Math.abs);
    const scale = Math.max(...sizes);
    for (const controls of shown) controls.show(scale);
  };
  const choose = (text) => {
    const wanted = text.trim().toLowerCase();
    const matching = columns.filter((column) => parts[column].name.toLowerCase().includes(wanted));
    const chosen = matching.slice(0, MOST_COLUMNS);
    shown = chosen.map((column) => columnControls(row, column));
    list.replaceChildren(...shown.map(({ element }) => element));
    const of = wanted ? `that contain “${text.trim()}”` : "by importance";
    count.textContent =
      chosen.length === columns.length
        ? ""
        : `${chosen.length} of ${countOf(wanted ? matching.length : columns.length, "column")} ${of}.`;
    if (row.why) show();
  };
  row.listeners.push(show);
  choose("");
  if (columns.length <= FILTERED) return [list];
  const id = newId();
  const filter = make("input", { id, type: "search", input: () => choose(filter.value) });
  const label = make("label", { for: id }, "Find columns");
  return [make("p", { class: "controls" }, label, filter), count, list];
}
