/* The same architecture trained by backpropagation: two ReLU layers, softmax, cross-entropy and
stochastic gradient descent without momentum, as in ffmlp.backprop. */

import { randomSource, shuffled } from "../design/random.js";

const BATCH = 32;

/** A network of random weights (Xavier uniform) for standardised samples, that can be trained on. */
export function trainableNetwork({ Z, y, n, sizes, learningRate, seed }) {
  const random = randomSource(seed);
  const layers = [0, 1, 2].map((i) => randomLayer(sizes[i], sizes[i + 1], random));
  const values = sizes.map((size) => new Float64Array(size));
  const slopes = sizes.map((size) => new Float64Array(size));
  let [order, next, epochs] = [shuffled(n, random), 0, 0];

  function step() {
    const size = Math.min(BATCH, n - next);
    for (const layer of layers) layer.change.fill(0);
    for (let b = 0; b < size; b++) {
      const i = order[next + b];
      values[0].set(Z.subarray(i * sizes[0], (i + 1) * sizes[0]));
      forward(layers, values);
      backward(layers, values, slopes, y[i]);
    }
    for (const layer of layers) descend(layer, learningRate / size);
    next += size;
    if (next < n) return;
    [order, next] = [shuffled(n, random), 0];
    epochs += 1;
  }

  return {
    sizes,
    layers,
    get epochs() {
      return epochs;
    },
    /** Train for some milliseconds. */
    trainFor(milliseconds) {
      const end = performance.now() + milliseconds;
      do step();
      while (performance.now() < end);
    },
    /** Train for whole epochs. */
    trainEpochs(count) {
      for (const end = epochs + count; epochs < end;) step();
    },
    /** The class of each of some standardised samples. */
    classesOf(points) {
      const classes = new Uint8Array(points.length / sizes[0]);
      for (let i = 0; i < classes.length; i++) {
        values[0].set(points.subarray(i * sizes[0], (i + 1) * sizes[0]));
        const outputs = forward(layers, values);
        for (let c = 1; c < outputs.length; c++) if (outputs[c] > outputs[classes[i]]) classes[i] = c;
      }
      return classes;
    },
  };
}

function randomLayer(nIn, nOut, random) {
  const bound = Math.sqrt(6 / (nIn + nOut));
  const weights = Float64Array.from({ length: nIn * nOut }, () => bound * (2 * random.uniform() - 1));
  // Biases follow the weights in `change`.
  return {
    nIn,
    nOut,
    weights,
    biases: new Float64Array(nOut),
    change: new Float64Array((nIn + 1) * nOut),
  };
}

/** Fills the values of all layers; the last ones have no activation. */
function forward(layers, values) {
  layers.forEach(({ nIn, nOut, weights, biases }, i) => {
    const [below, above, isLast] = [values[i], values[i + 1], i === layers.length - 1];
    for (let o = 0; o < nOut; o++) {
      let sum = biases[o];
      for (let j = 0; j < nIn; j++) sum += weights[o * nIn + j] * below[j];
      above[o] = isLast || sum > 0 ? sum : 0;
    }
  });
  return values.at(-1);
}

/** Adds the gradient of one sample's cross-entropy to the changes. */
function backward(layers, values, slopes, label) {
  const [outputs, errors] = [values.at(-1), slopes.at(-1)];
  let [largest, total] = [-Infinity, 0];
  for (const output of outputs) largest = Math.max(largest, output);
  for (let c = 0; c < outputs.length; c++) total += errors[c] = Math.exp(outputs[c] - largest);
  for (let c = 0; c < outputs.length; c++) errors[c] = errors[c] / total - (c === label ? 1 : 0);
  for (let i = layers.length - 1; i >= 0; i--) {
    const { nIn, nOut, weights, change } = layers[i];
    const [below, above, down] = [values[i], slopes[i + 1], slopes[i]];
    down.fill(0);
    for (let o = 0; o < nOut; o++) {
      const slope = above[o];
      if (slope === 0) continue;
      change[nIn * nOut + o] += slope;
      for (let j = 0; j < nIn; j++) {
        change[o * nIn + j] += slope * below[j];
        down[j] += slope * weights[o * nIn + j];
      }
    }
    if (i > 0) for (let j = 0; j < nIn; j++) if (below[j] === 0) down[j] = 0;
  }
}

function descend({ nIn, nOut, weights, biases, change }, rate) {
  for (let e = 0; e < nIn * nOut; e++) weights[e] -= rate * change[e];
  for (let o = 0; o < nOut; o++) biases[o] -= rate * change[nIn * nOut + o];
}
