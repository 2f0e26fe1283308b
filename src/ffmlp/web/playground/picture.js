/* The large picture: samples, blobs, hyperplanes, regions and classes. */

import { predictorOf } from "../design/prediction.js";
import { classColour, cssColour, mixed, sharpContext, themeColours } from "./colours.js";
import { screenLine, segmentOf, slicedPlanes } from "./view.js";

const MOST_LABELS = 30;
// The side of a cell of the decision image, in pixels: coarse while something moves.
const [FINE, COARSE] = [2, 6];
export const STAGES = ["samples", "blobs", "hyperplanes", "pruning", "regions", "classes"];

const layers = { image: null, samples: null, samplesOf: null };

/** Draw a stage of a workbench; `selected` is a hyperplane, `cursor` a point in pixels. */
export function drawPicture(canvas, bench, view, { stage, step, selected, cursor, isQuick }) {
  const { context, width, height } = sharpContext(canvas);
  const theme = themeColours();
  context.fillStyle = cssColour(theme.paper);
  context.fillRect(0, 0, width, height);
  const at = STAGES.indexOf(stage);
  if (at >= 3) drawDecisions(context, bench, view, stage, step, theme, isQuick ? COARSE : FINE);
  drawSamples(context, bench, view, theme, at === 1 || at === 2 ? 0.5 : at === 4 ? 0.6 : 1);
  if (at === 5) ringErrors(context, bench, view, theme);
  if (at === 1 || at === 2) drawBlobs(context, bench, view, theme, at === 1 ? 1 : 0.5);
  if (at >= 2) drawPlanes(context, bench, view, theme, { stage, step, selected });
  if (cursor) drawCursor(context, cursor, theme);
}

/** Colours of all cells: of regions, or of classes, paler and hatched where no training sample was. */
function drawDecisions(context, bench, view, stage, step, theme, cell) {
  const network = stage === "pruning" ? bench.networkAtStep(step) : bench.network;
  const planes = slicedPlanes(network.planes, bench.drawn, bench.base);
  const [wide, high] = [Math.ceil(view.width / cell), Math.ceil(view.height / cell)];
  const predicted = predictorOf({ ...network, planes })(cellCentres(view, cell, wide, high));
  const { neuronClasses } = network.stages;
  const shades = shadesOf(stage, neuronClasses, bench.table.C, theme.paper);
  const pixels = new Uint32Array(wide * high);
  for (let i = 0; i < pixels.length; i++) {
    const neuron = predicted.neurons[i];
    if (predicted.silent[i]) {
      const isHatched = ((i % wide) + Math.floor(i / wide)) % Math.round(14 / cell) === 0;
      pixels[i] = (isHatched ? shades.hatched : shades.silent)[predicted.classes[i]];
    } else {
      pixels[i] =
        stage === "regions" && neuron >= 0 ? shades.neurons[neuron] : shades.classes[predicted.classes[i]];
    }
  }
  layers.image ??= document.createElement("canvas");
  [layers.image.width, layers.image.height] = [wide, high];
  const image = new ImageData(new Uint8ClampedArray(pixels.buffer), wide, high);
  layers.image.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(layers.image, 0, 0, wide * cell, high * cell);
}

/** The middle of each cell. */
export function cellCentres(view, cell, wide, high) {
  const points = new Float64Array(2 * wide * high);
  for (let row = 0; row < high; row++) {
    for (let column = 0; column < wide; column++) {
      const [x, y] = view.toWorld((column + 0.5) * cell, (row + 0.5) * cell);
      points[2 * (row * wide + column)] = x;
      points[2 * (row * wide + column) + 1] = y;
    }
  }
  return points;
}

/** Colours as 32-bit numbers: of classes, of silent areas, and of single neurons. */
function shadesOf(stage, neuronClasses, C, paper) {
  const packed = (colour) => (255 << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0];
  const shade = (label, share) => packed(mixed(classColour(label), paper, share));
  const labels = [...Array(C).keys()];
  return {
    classes: labels.map((label) => shade(label, 0.62)),
    silent: labels.map((label) => shade(label, 0.86)),
    hatched: labels.map((label) => shade(label, 0.66)),
    // The golden ratio keeps the shades of regions with near numbers apart.
    neurons: Array.from(neuronClasses, (label, r) => shade(label, 0.35 + 0.45 * ((r * 0.618034) % 1))),
  };
}

/** All samples, drawn once and kept until they change. */
function drawSamples(context, bench, view, theme, alpha) {
  const key = [bench.samples, view, cssColour(theme.ink), window.devicePixelRatio];
  if (!layers.samplesOf?.every((part, i) => part === key[i])) {
    layers.samples = samplesLayer(bench, view, theme);
    layers.samplesOf = key;
  }
  context.globalAlpha = alpha;
  context.drawImage(layers.samples, 0, 0, view.width, view.height);
  context.globalAlpha = 1;
}

function samplesLayer(bench, view, theme) {
  const ratio = window.devicePixelRatio || 1;
  const layer = document.createElement("canvas");
  [layer.width, layer.height] = [Math.round(view.width * ratio), Math.round(view.height * ratio)];
  const context = layer.getContext("2d");
  context.scale(ratio, ratio);
  const { X, y, n, N, C, isTest } = bench.samples;
  const size = sampleSize(n);
  for (let label = 0; label < C; label++) {
    const [filled, hollow] = [new Path2D(), new Path2D()];
    for (let i = 0; i < n; i++) {
      if (y[i] !== label) continue;
      const point = view.toScreen(X[i * N + bench.drawn[0]], X[i * N + bench.drawn[1]]);
      MARKERS[label % MARKERS.length](isTest[i] ? hollow : filled, ...point, size);
    }
    // A little ink keeps samples apart from the light colour of their class behind them.
    const colour = mixed(classColour(label), theme.ink, 0.12);
    context.lineWidth = 0.5;
    context.fillStyle = cssColour(colour, 0.9);
    context.strokeStyle = cssColour(theme.paper, 0.9);
    context.fill(filled);
    context.stroke(filled);
    context.lineWidth = 1;
    context.strokeStyle = cssColour(colour, 0.85);
    context.stroke(hollow);
  }
  return layer;
}

/** The radius of a sample in pixels. */
export function sampleSize(n) {
  return Math.max(2.4, Math.min(5, 90 / Math.sqrt(n)));
}

const polygon = (corners) => (path, x, y, size) => {
  corners.forEach(([across, up], i) => path[i ? "lineTo" : "moveTo"](x + across * size, y - up * size));
  path.closePath();
};
const MARKERS = [
  (path, x, y, size) => {
    path.moveTo(x + size, y);
    path.arc(x, y, size, 0, 2 * Math.PI);
  },
  polygon([
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ]),
  polygon([
    [-1.1, -0.8],
    [1.1, -0.8],
    [0, 1.2],
  ]),
  polygon([
    [0, -1.3],
    [1.1, 0],
    [0, 1.3],
    [-1.1, 0],
  ]),
  polygon([
    [-1.1, 0.8],
    [1.1, 0.8],
    [0, -1.2],
  ]),
];

/** A marker of a class, for legends. */
export function drawMarker(context, label, x, y, size) {
  const path = new Path2D();
  MARKERS[label % MARKERS.length](path, x, y, size);
  context.fillStyle = cssColour(classColour(label));
  context.fill(path);
}

function ringErrors(context, bench, view, theme) {
  const { X, y, n, N } = bench.samples;
  const size = sampleSize(n) + 1.2;
  const path = new Path2D();
  for (let i = 0; i < n; i++) {
    if (bench.predicted.classes[i] === y[i]) continue;
    const [left, top] = view.toScreen(X[i * N + bench.drawn[0]], X[i * N + bench.drawn[1]]);
    path.moveTo(left + size, top);
    path.arc(left, top, size, 0, 2 * Math.PI);
  }
  context.strokeStyle = cssColour(theme.ink, 0.6);
  context.lineWidth = 1;
  context.stroke(path);
}

/** Ellipses of one and two standard deviations of each blob, projected to the drawn features. */
function drawBlobs(context, { blobs, drawn }, view, theme, alpha) {
  const { N } = blobs;
  context.globalAlpha = alpha;
  for (let g = 0; g < blobs.n; g++) {
    const entry = (a, b) => blobs.covariances[g * N * N + drawn[a] * N + drawn[b]];
    const first = Math.sqrt(entry(0, 0));
    const second = entry(0, 1) / first;
    const third = Math.sqrt(Math.max(entry(1, 1) - second * second, 0));
    const colour = classColour(blobs.classes[g]);
    for (const deviations of [2, 1]) {
      const path = new Path2D();
      for (let i = 0; i <= 72; i++) {
        const [cosine, sine] = [Math.cos((Math.PI * i) / 36), Math.sin((Math.PI * i) / 36)];
        const point = view.toScreen(
          blobs.means[g * N + drawn[0]] + deviations * first * cosine,
          blobs.means[g * N + drawn[1]] + deviations * (second * cosine + third * sine),
        );
        path[i ? "lineTo" : "moveTo"](...point);
      }
      context.fillStyle = cssColour(colour, 0.16);
      context.fill(path);
      context.strokeStyle = cssColour(mixed(colour, theme.ink, 0.25));
      context.lineWidth = deviations === 1 ? 2.2 : 1.3;
      context.stroke(path);
    }
  }
  context.globalAlpha = 1;
}

/** Lines of hyperplanes; those that pruning has deleted are faint and dashed. */
function drawPlanes(context, bench, view, theme, { stage, step, selected }) {
  const sliced = slicedPlanes(bench.planes, bench.drawn, bench.base);
  const gone = new Set(stage === "hyperplanes" ? [] : goneAt(bench, stage, step));
  const withLabels = sliced.n - gone.size <= MOST_LABELS;
  for (let l = 0; l < sliced.n; l++) {
    const isGone = gone.has(l);
    if (isGone && stage !== "pruning") continue;
    const line = screenLine(sliced, l, view);
    const ends = line && segmentOf(line, view);
    if (!ends) continue;
    const isLast = stage === "pruning" && l === bench.path.deleted[step - 1];
    context.setLineDash(isGone ? [4, 5] : []);
    context.strokeStyle =
      l === selected || isLast ? cssColour(theme.accent) : cssColour(theme.ink, isGone ? 0.28 : 0.85);
    context.lineWidth = l === selected ? 3 : isGone ? 1 : 1.6;
    context.beginPath();
    context.moveTo(...ends[0]);
    context.lineTo(...ends[1]);
    context.stroke();
    context.setLineDash([]);
    if (withLabels && !isGone) labelPlane(context, ends, `h${l + 1}`, l, view, theme);
    if (l === selected) drawHandles(context, line, ends, view, theme);
  }
}

/** The hyperplanes that are not there at a stage. */
export function goneAt(bench, stage, step) {
  return stage === "pruning" ? bench.path.deleted.slice(0, step) : bench.path.deleted;
}

function labelPlane(context, ends, text, l, view, theme) {
  const along = [0.08, 0.92, 0.2, 0.8, 0.32, 0.68][l % 6];
  const [left, top] = [0, 1].map((axis) => ends[0][axis] + along * (ends[1][axis] - ends[0][axis]));
  context.font = "600 11px system-ui, sans-serif";
  const width = context.measureText(text).width + 8;
  const x = Math.max(width / 2 + 2, Math.min(view.width - width / 2 - 2, left));
  const y = Math.max(10, Math.min(view.height - 10, top));
  context.fillStyle = cssColour(theme.paper, 0.92);
  context.strokeStyle = cssColour(theme.ink, 0.5);
  context.lineWidth = 0.8;
  context.beginPath();
  context.roundRect(x - width / 2, y - 8, width, 16, 4);
  context.fill();
  context.stroke();
  context.fillStyle = cssColour(theme.ink);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, x, y + 0.5);
}

/** Where the selected line is turned: two points on it, away from its middle. */
export function handlesOf(line, ends, view) {
  const middle = [0, 1].map((axis) => (ends[0][axis] + ends[1][axis]) / 2);
  const length = Math.hypot(ends[0][0] - ends[1][0], ends[0][1] - ends[1][1]);
  const reach = Math.min(90, 0.32 * length, 0.3 * Math.min(view.width, view.height));
  const along = [-line.b, line.a];
  return [1, -1].map((sign) => middle.map((value, axis) => value + sign * reach * along[axis]));
}

function drawHandles(context, line, ends, view, theme) {
  for (const [left, top] of handlesOf(line, ends, view)) {
    context.beginPath();
    context.arc(left, top, 7, 0, 2 * Math.PI);
    context.fillStyle = cssColour(theme.paper);
    context.strokeStyle = cssColour(theme.accent);
    context.lineWidth = 2.5;
    context.fill();
    context.stroke();
  }
}

function drawCursor(context, [left, top], theme) {
  context.strokeStyle = cssColour(theme.ink, 0.9);
  context.lineWidth = 1.2;
  context.beginPath();
  context.moveTo(left - 9, top);
  context.lineTo(left + 9, top);
  context.moveTo(left, top - 9);
  context.lineTo(left, top + 9);
  context.stroke();
}
