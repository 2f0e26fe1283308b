/* A slider or a menu for each column of a row, and beside it what the column adds to the lead. */

import { UNKNOWN } from "../inputs/columns.js";
import { make, newId } from "./dom.js";
import { short, signed } from "./texts.js";

const MISSING = "missing";
// A smaller share of the largest attribution is a rounding error.
const ROUNDING = 1e-9;

/** The controls of one column: `element`, and `show(row, scale)`. */
export function columnControls(row, column) {
  const part = row.model.network.table.parts[column];
  const control = part.isNumber ? numberControl(row, column) : categoryControl(row, column);
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span"));
  const added = make("span", { class: "added" });
  const name = make("label", { for: control.id, class: "name", title: part.name }, part.name);
  const element = make(
    "div",
    { class: "column" },
    name,
    control.element,
    make("span", { class: "attribution" }, bar, added),
  );
  const show = (scale) => {
    control.show();
    const exact = row.why.rival === null ? 0 : row.why.attributions[column];
    const size = Math.abs(exact) < ROUNDING * scale ? 0 : exact;
    showBar(bar.firstChild, size, scale);
    added.textContent = row.why.rival === null ? "" : signed(size);
  };
  return { element, show };
}

/** A bar from the middle: to the right what speaks for the class, to the left what speaks against it. */
function showBar(bar, size, scale) {
  const share = scale > 0 ? Math.min(Math.abs(size) / scale, 1) * 50 : 0;
  bar.className = size < 0 ? "against" : "for";
  bar.style.width = `${share}%`;
  bar.style.left = size < 0 ? `${50 - share}%` : "50%";
}

function numberControl(row, column) {
  const { model } = row;
  const { low, high, whole } = model.ranges[column];
  const { name } = model.network.table.parts[column];
  const id = newId();
  const step = whole ? 1 : "any";
  const change = (event) => {
    const value = event.target.valueAsNumber;
    if (!Number.isNaN(value)) row.set(column, value);
  };
  const number = make("input", { id, type: "number", step, change });
  const slider = make("input", {
    type: "range",
    min: low,
    max: high,
    step: whole ? 1 : (high - low) / 500 || "any",
    "aria-label": `${name}, slider`,
    input: change,
  });
  const missing = model.missing[column] ? missingBox(row, column, name) : null;
  const element = make("span", { class: "cell" }, slider, number, missing && missing.element);
  const show = () => {
    const cell = row.cells[column];
    const isMissing = Number.isNaN(cell);
    // The number that replaces a missing one.
    const value = isMissing ? row.why.inputs[model.network.table.firsts[column]] : cell;
    slider.value = value;
    // What the reader is typing stays as it is.
    if (document.activeElement !== number || number.valueAsNumber !== value) {
      number.value = Number(value.toPrecision(6));
    }
    slider.disabled = number.disabled = isMissing;
    slider.setAttribute("aria-valuetext", isMissing ? MISSING : short(value));
    missing?.show(isMissing);
  };
  return { id, element, show };
}

function missingBox(row, column, name) {
  let last = 0;
  const box = make("input", {
    type: "checkbox",
    "aria-label": `${name} is missing`,
    change: () => {
      if (box.checked) last = row.cells[column];
      row.set(column, box.checked ? NaN : last);
    },
  });
  const show = (isMissing) => {
    box.checked = isMissing;
    if (isMissing) last = row.why.inputs[row.model.network.table.firsts[column]];
  };
  return { element: make("label", { class: "missing" }, box, MISSING), show };
}

function categoryControl(row, column) {
  const part = row.model.network.table.parts[column];
  const id = newId();
  const select = make("select", {
    id,
    change: () => row.set(column, select.value === "" ? NaN : Number(select.value)),
  });
  part.categories.forEach((name, value) => select.append(make("option", { value }, name)));
  select.append(
    make("option", { value: "" }, "(missing)"),
    make("option", { value: UNKNOWN }, "(another category)"),
  );
  const show = () => {
    const cell = row.cells[column];
    select.value = Number.isNaN(cell) ? "" : String(cell);
  };
  return { id, element: make("span", { class: "cell" }, select), show };
}
