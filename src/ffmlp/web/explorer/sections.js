/* The parts that are as Python has made them: rows to look at, importance, data and design. */

import { folded, make, part, scrolling, table } from "./dom.js";
import { percent } from "./texts.js";

const MOST_BARS_SHOWN = 20;

/** The least certain rows and the worst errors, each a button that opens it if `explore` is given. */
export function showRows({ rows, labels }, explore) {
  const header = ["row", "shown as", "predicted", "runner-up", "true class"];
  const listed = [...rows.entries()].filter(([, { isTypical }]) => !isTypical);
  const lines = listed.map(([k, { group, number, truth, probability }]) => {
    const [first, second] = [...probability.keys()].sort((a, b) => probability[b] - probability[a]);
    const said = (label) => `${labels[label]} (${percent(probability[label])})`;
    const open = { type: "button", click: () => explore(k), "aria-label": `Explore row ${number}` };
    return [
      explore ? make("button", open, String(number)) : String(number),
      group,
      said(first),
      said(second),
      truth >= 0 ? labels[truth] : "unknown",
    ];
  });
  const text =
    "Up to ten rows whose two most probable classes are closest, and the most confident errors. Of " +
    "equal rows, one is shown. Rows count from 1, without the header." +
    (explore ? " Choose one to explore it." : "");
  part("rows").append(make("p", {}, text), table("Rows to look at", header, lines));
}

/** The accuracy that is lost when a column is shuffled, as bars. */
export function showImportance({ importance, importanceText }) {
  const most = Math.max(...importance.map(({ loss }) => loss), 0);
  const points = (value) => `${(100 * value).toFixed(1)}`;
  const line = ({ name, loss, deviation }) => {
    const fill = make("span", { class: "fill own" });
    fill.style.width = `${most > 0 ? Math.max(0, (100 * loss) / most) : 0}%`;
    const bar = make("span", { class: "track", "aria-hidden": "true" }, fill);
    return [name, bar, `${points(loss)} ± ${points(deviation)}`];
  };
  const header = ["column", "", "points of accuracy"];
  const title = "Feature importance";
  const [shown, others] = [importance.slice(0, MOST_BARS_SHOWN), importance.slice(MOST_BARS_SHOWN)];
  part("importance").append(make("p", {}, importanceText), table(title, header, shown.map(line)));
  if (others.length) {
    const summary = `${others.length} more columns, less important`;
    part("importance").append(folded(summary, () => [table(summary, header, others.map(line))]));
  }
}

/** Tables of Python, each opened by the reader. */
export function showTables({ tables }) {
  part("drawing").before(...tables.map(tablePart));
}

function tablePart({ title, text, header, lines, notes, details }) {
  return folded(title, () => [
    make("p", {}, text),
    ...(lines.length ? [table(title, header, lines)] : []),
    ...(notes.length ? [make("ul", {}, ...notes.map((note) => make("li", {}, note)))] : []),
    ...details.map(([name, content]) =>
      folded(name, () => [scrolling(name, make("pre", {}, content))]),
    ),
  ]);
}
