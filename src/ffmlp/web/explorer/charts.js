/* Charts as SVG that scale with their box. Each has a text for screen readers and a table. */

import { draw, folded, make, table } from "./dom.js";
import { cut, percent, short } from "./texts.js";

const [WIDTH, HEIGHT] = [420, 300];
const [LEFT, RIGHT, TOP, BOTTOM] = [58, 22, 12, 46];
const MOST_TICKS = 5;
const MOST_LABELS = 8;

/** Round numbers between two limits. */
function ticks(low, high) {
  if (!(high > low)) return [low];
  const rough = (high - low) / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const round = [];
  for (let k = Math.ceil(low / step); k * step <= high * (1 + 1e-12); k++) {
    round.push(Number((k * step).toPrecision(12)));
  }
  return round;
}

/** An empty chart with axes: `x` and `y` have `low`, `high`, `label` and whether they are a `share`;
or `x` has the `names` of positions. */
export function chart(text, x, y) {
  const svg = draw("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": text,
    class: "chart",
  });
  const width = WIDTH - LEFT - RIGHT;
  const height = HEIGHT - TOP - BOTTOM;
  const across = (value) => LEFT + (width * (value - x.low)) / (x.high - x.low || 1);
  const up = (value) => TOP + height - (height * (value - y.low)) / (y.high - y.low || 1);
  const written = (axis, value) => (axis.share ? percent(value, 0) : short(value));
  for (const tick of ticks(y.low, y.high)) {
    const at = up(tick);
    svg.append(
      draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }),
      draw("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, written(y, tick)),
    );
  }
  const marks = x.names
    ? evenlyChosen(x.names).map(([position, name]) => [position, cut(name, 9)])
    : ticks(x.low, x.high).map((tick) => [tick, written(x, tick)]);
  for (const [tick, name] of marks) {
    const at = across(tick);
    svg.append(
      draw("line", { class: "grid", x1: at, x2: at, y1: TOP, y2: TOP + height }),
      draw("text", { x: at, y: TOP + height + 17, "text-anchor": "middle" }, name),
    );
  }
  svg.append(
    draw("text", { class: "axis", x: LEFT + width / 2, y: HEIGHT - 6, "text-anchor": "middle" }, x.label),
    draw(
      "text",
      {
        class: "axis",
        transform: `translate(13 ${TOP + height / 2}) rotate(-90)`,
        "text-anchor": "middle",
      },
      y.label,
    ),
  );
  return { svg, across, up };
}

/** Some of many names, with their positions. */
function evenlyChosen(names) {
  const step = Math.ceil(names.length / MOST_LABELS);
  return [...names.entries()].filter(([position]) => position % step === 0);
}

/** The points of a line or of the edge of an area. */
function points({ across, up }, xs, ys) {
  return xs.map((x, k) => `${across(x).toFixed(1)},${up(ys[k]).toFixed(1)}`).join(" ");
}

/** Add a line to a chart. */
export function addLine(axes, xs, ys, attributes = {}) {
  axes.svg.append(draw("polyline", { class: "line", points: points(axes, xs, ys), ...attributes }));
}

/** Add the area between two lines. */
export function addBand(axes, xs, low, high) {
  const edge = `${points(axes, xs, low)} ${points(axes, [...xs].reverse(), [...high].reverse())}`;
  axes.svg.append(draw("polygon", { class: "band", points: edge }));
}

/** Add a dot with a range of its height. */
export function addDot(axes, x, y, radius, range = null) {
  const [cx, cy] = [axes.across(x), axes.up(y)];
  if (range) {
    const [y1, y2] = range.map(axes.up);
    axes.svg.append(draw("line", { class: "range", x1: cx, x2: cx, y1, y2 }));
  }
  axes.svg.append(draw("circle", { class: "dot", cx, cy, r: radius }));
}

/** A chart with its caption, and the same numbers as a table. */
export function figure(svg, caption, header, lines) {
  return make(
    "figure",
    {},
    svg,
    make("figcaption", {}, caption),
    folded("As a table", () => [table(caption, header, lines())]),
  );
}
