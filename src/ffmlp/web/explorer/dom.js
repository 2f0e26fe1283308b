/* Elements of a page. Texts become text nodes only: labels, cells and names are never read as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; attributes that are functions listen to the event of that name. */
export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** The element of the page with an id. */
export function part(id) {
  return document.getElementById(id);
}

let numberOfIds = 0;

/** An id that no other element has. */
export function newId() {
  numberOfIds += 1;
  return `part-${numberOfIds}`;
}

/** A labelled menu of [value, text] pairs; `change` is called with the chosen value. */
export function menu(label, options, chosen, change) {
  const id = newId();
  const select = make("select", { id, change: () => change(select.value) });
  for (const [value, text] of options) {
    select.append(make("option", { value, selected: String(value) === String(chosen) }, text));
  }
  return [make("label", { for: id }, label), select];
}

/** A table; the first cell of each line is its header, unless it is empty. */
export function table(caption, header, lines) {
  const cell = (content, column) =>
    column || content === "" ? make("td", {}, content) : make("th", { scope: "row" }, content);
  const grid = make(
    "table",
    {},
    make("caption", { class: "hidden" }, caption),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        ...header.map((text) =>
          text === "" ? make("td") : make("th", { scope: "col" }, text),
        ),
      ),
    ),
    make("tbody", {}, ...lines.map((line) => make("tr", {}, ...line.map(cell)))),
  );
  return scrolling(caption, grid);
}

/** What may be wider than the screen; the keyboard can scroll it. */
export function scrolling(label, ...children) {
  const attributes = { class: "scroll", tabindex: 0, role: "region", "aria-label": label };
  return make("div", attributes, ...children);
}

/** What the reader opens; it is made then. */
export function folded(summary, content) {
  const details = make("details", {}, make("summary", {}, summary));
  details.addEventListener("toggle", () => details.append(...content()), { once: true });
  return details;
}
