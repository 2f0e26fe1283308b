/* The network as a drawing, with the responses of its neurons to the sample under the pointer. */

import { layerResponses } from "../design/prediction.js";
import { isAbove } from "../design/regions.js";
import { classColour, cssColour, mixed, sharpContext, themeColours } from "./colours.js";

const MOST_SHOWN = [8, 24, 24, 20];
const MOST_LINKS = 1500;
const TEXT_FONT = "11.5px system-ui, sans-serif";

/** Draw the network and return the responses; `x` is a sample in the inputs of the design, or null. */
export function drawNetwork(canvas, bench, x) {
  const { context, width, height } = sharpContext(canvas);
  const theme = themeColours();
  const { planes, stages } = bench.network;
  const sizes = [planes.N, 2 * planes.n, stages.neuronClasses.length, stages.C];
  const responses = x && layerResponses(bench.network, x);
  const names = outputNames(context, bench, responses);
  const layout = layersOf(
    sizes,
    width - Math.max(24, ...names.map((name) => context.measureText(name).width)),
    height,
  );
  const strengths = responses ? responseStrengths(bench, x, responses) : null;
  drawLinks(context, bench, layout, strengths, theme);
  layout.forEach((layer, i) => drawLayer(context, bench, layer, i, strengths, theme));
  layout[3].neurons.forEach(({ neuron, x, y }) => {
    writeText(context, names[neuron], x + layout[3].radius + 5, y, theme, "left");
  });
  nameLayers(context, layout, stages.design, theme, height);
  return responses;
}

/** Places of the neurons of each layer; of large layers, some neurons are shown, evenly spaced. */
function layersOf(sizes, width, height) {
  const [left, right, top, bottom] = [26, width - 24, 14, height - 48];
  return sizes.map((size, i) => {
    const n = Math.min(size, MOST_SHOWN[i]);
    const gap = Math.min(40, (bottom - top) / n);
    const first = (top + bottom - gap * (n - 1)) / 2;
    const x = left + ((right - left) * i) / 3;
    const neurons = Array.from({ length: n }, (_, j) => ({
      neuron: n === size ? j : Math.floor((j * size) / n),
      x,
      y: first + j * gap,
    }));
    return { size, x, neurons, radius: Math.max(2.5, Math.min(9, 0.36 * gap)) };
  });
}

/** Responses relative to the largest of each layer, from 0 to 1; inputs by their distance from the mean. */
function responseStrengths(bench, x, { first, second, probabilities }) {
  const relative = (values) => {
    const most = values.reduce((largest, value) => Math.max(largest, value), 0);
    return values.map((value) => (most > 0 ? value / most : 0));
  };
  const { mean, scale } = bench.scaling;
  const inputs = Float64Array.from(x, (value, j) =>
    Math.min(1, Math.abs(value - mean[j]) / (2.5 * scale[j])),
  );
  return [inputs, relative(first), relative(second), probabilities];
}

function drawLinks(context, bench, layout, strengths, theme) {
  const links = [0, 1, 2].flatMap((i) => linksBetween(bench.network, layout, i));
  const share = Math.min(1, MOST_LINKS / links.length);
  links.forEach(({ layer, from, to, weight, colour }, number) => {
    if (Math.floor(number * share) === Math.floor((number - 1) * share) && share < 1) return;
    const live = strengths ? strengths[layer][from.neuron] * strengths[layer + 1][to.neuron] : 0;
    const alpha = strengths ? 0.06 + 0.8 * live * weight : 0.1 + 0.35 * weight;
    context.strokeStyle = cssColour(colour ?? theme.ink, Math.min(1, alpha));
    context.lineWidth = 0.6 + (strengths ? 2 * live * weight : 0.6 * weight);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo((from.x + to.x) / 2, from.y, (from.x + to.x) / 2, to.y, to.x, to.y);
    context.stroke();
  });
}

/** Links of positive weight from one layer to the next, with weights from 0 to 1. */
function linksBetween(network, layout, layer) {
  const { planes, stages } = network;
  const links = [];
  for (const to of layout[layer + 1].neurons) {
    for (const from of layout[layer].neurons) {
      const weight = linkWeight(planes, stages, layer, from.neuron, to.neuron);
      if (weight <= 0) continue;
      const owner = layer === 0 ? null : layer === 1 ? stages.neuronClasses[to.neuron] : to.neuron;
      links.push({ layer, from, to, weight, colour: owner === null ? null : classColour(owner) });
    }
  }
  return links;
}

function linkWeight(planes, stages, layer, from, to) {
  if (layer === 0) {
    const weights = planes.weights.subarray((to % planes.n) * planes.N, (1 + (to % planes.n)) * planes.N);
    const most = weights.reduce((largest, weight) => Math.max(largest, Math.abs(weight)), 0);
    return most > 0 ? Math.abs(weights[from]) / most : 0;
  }
  if (layer === 2) return stages.neuronClasses[from] === to ? 1 : 0;
  const [plane, isPositive] = [from % planes.n, from < planes.n];
  if (stages.design !== "blob") return isAbove(stages.regions, to, plane) === isPositive ? 1 : 0;
  return stages.pairs[2 * plane + (isPositive ? 0 : 1)] === to ? 1 : 0;
}

function drawLayer(context, bench, { size, x, neurons, radius }, layer, strengths, theme) {
  for (const { neuron, y } of neurons) {
    const colour =
      layer < 2
        ? theme.accent
        : classColour(layer === 2 ? bench.network.stages.neuronClasses[neuron] : neuron);
    const strength = strengths ? strengths[layer][neuron] : layer < 2 ? 0.35 : 0.8;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = cssColour(mixed(theme.paper, colour, strength));
    context.fill();
    context.strokeStyle = cssColour(mixed(colour, theme.ink, 0.2));
    context.lineWidth = 1.2;
    context.stroke();
  }
  if (neurons.length < size) {
    const last = neurons.at(-1);
    writeText(context, `${neurons.length} of ${size}`, x, last.y + radius + 9, theme, "center");
  }
}

function writeText(context, text, x, y, theme, align) {
  context.font = TEXT_FONT;
  context.fillStyle = cssColour(theme.ink);
  context.textAlign = align;
  context.textBaseline = "middle";
  context.fillText(text, x, y);
}

/** The label of each class, with its probability at the pointer. */
function outputNames(context, { table }, responses) {
  context.font = TEXT_FONT;
  return table.labels.map((label, c) => {
    const text = String(label);
    const short = text.length > 10 ? `${text.slice(0, 9)}…` : text;
    return responses ? `${short}: ${Math.round(100 * responses.probabilities[c])}\u202f%` : short;
  });
}

function nameLayers(context, layout, design, theme, height) {
  const names = ["inputs", "half-spaces", design === "blob" ? "blobs" : "regions", "classes"];
  layout.forEach(({ x, size }, i) => {
    writeText(context, String(size), x, height - 22, theme, "center");
    writeText(context, names[i], x, height - 8, theme, "center");
  });
}
