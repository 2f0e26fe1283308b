/* How predictions change along one column: for all rows, and for the row that is shown. */

import { addBand, addDot, addLine, chart, figure } from "./charts.js";
import { make, menu, part } from "./dom.js";
import { whenCalm } from "./state.js";
import { percent, short } from "./texts.js";

const CALM_EFFECTS = 120;
const VALUES = 61;

/** Show both charts, for a column and a class that the reader chooses. */
export function showEffects(row, { effects, labels }) {
  if (!effects?.length) return;
  const section = part("effects");
  section.hidden = false;
  const chosen = { effect: 0, label: labels.length - 1 };
  const charts = make("div", { class: "pair" });
  const show = () => {
    const effect = effects[chosen.effect];
    charts.replaceChildren(
      ofAllRows(effect, chosen.label, labels),
      ofThisRow(row, effect, chosen.label, labels),
    );
  };
  const choose = (key) => (value) => {
    chosen[key] = Number(value);
    show();
  };
  section.append(
    make(
      "p",
      { class: "controls" },
      ...menu("Column", effects.map(({ column }, k) => [k, column]), 0, choose("effect")),
      ...menu("Class", labels.map((label, k) => [k, label]), chosen.label, choose("label")),
    ),
    charts,
  );
  row.listeners.push(whenCalm(CALM_EFFECTS, show));
}

function axisOf({ column, values, isNumber }) {
  if (isNumber) return { low: values[0], high: values[values.length - 1], label: column };
  return { low: -0.5, high: values.length - 0.5, label: column, names: values };
}

function ofAllRows(effect, label, labels) {
  const [middle, low, high] = ["middle", "low", "high"].map((key) => effect[key][label]);
  const text = `Change of the lead of ${labels[label]} along ${effect.column}, for all rows`;
  const [least, most] = [Math.min(0, ...low), Math.max(0, ...high)];
  const margin = 0.05 * (most - least || 1);
  const limits = { low: least - margin, high: most + margin };
  const axes = chart(text, axisOf(effect), { ...limits, label: "change of the lead" });
  const xs = effect.isNumber ? effect.values : [...effect.values.keys()];
  if (effect.isNumber) {
    addBand(axes, xs, low, high);
    addLine(axes, xs, middle);
  } else xs.forEach((x) => addDot(axes, x, middle[x], 5, [low[x], high[x]]));
  const caption = `All rows: the change of the lead of ${labels[label]} if each took this value. The median, and the middle half of the rows.`;
  const lines = () =>
    xs.map((_, k) => [
      effect.isNumber ? short(effect.values[k]) : effect.values[k],
      short(middle[k]),
      `${short(low[k])} to ${short(high[k])}`,
    ]);
  return figure(axes.svg, caption, [effect.column, "median", "middle half"], lines);
}

function ofThisRow(row, effect, label, labels) {
  const { network } = row.model;
  const column = network.table.parts.findIndex(({ name }) => name === effect.column);
  const share = (cell) => {
    const cells = row.cells.slice();
    cells[column] = cell;
    return network.probabilities(network.inputs(cells))[label];
  };
  const axis = axisOf(effect);
  const unit = { low: 0, high: 1, share: true, label: `probability of the class` };
  const text = `Probability of ${labels[label]} for the row shown, along ${effect.column}`;
  const axes = chart(text, axis, unit);
  const now = row.cells[column];
  let [cells, xs] = [[], []];
  if (effect.isNumber) {
    cells = Array.from({ length: VALUES }, (_, k) => axis.low + ((axis.high - axis.low) * k) / (VALUES - 1));
    xs = cells;
  } else {
    const names = network.table.parts[column].categories;
    cells = effect.values.map((name) => (name === "missing" ? NaN : names.indexOf(name)));
    xs = [...cells.keys()];
  }
  const shares = cells.map(share);
  if (effect.isNumber) {
    addLine(axes, xs, shares);
    if (now >= axis.low && now <= axis.high) addDot(axes, now, share(now), 6);
  } else xs.forEach((x) => addDot(axes, x, shares[x], Object.is(cells[x], now) ? 7 : 4));
  const caption = `The row shown above: the probability of ${labels[label]} if only this cell changes. The large dot is the row.`;
  const lines = () =>
    xs.map((x, k) => [effect.isNumber ? short(x) : effect.values[k], percent(shares[k])]);
  return figure(axes.svg, caption, [effect.column, "probability"], lines);
}
