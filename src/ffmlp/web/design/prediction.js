/* What region, paper and blob designs predict, fast enough for pictures. */

import { softplus } from "../network/hyperplanes.js";
import { signedResponses } from "./lda.js";
import { regionIndex } from "./regions.js";

// Beyond it, a softplus differs from its ReLU by less than rounding errors.
const LARGEST_BEND = 40;

/** A function (X) that gives the class, the winning l_2 neuron and whether none responds, per sample. */
export function predictorOf(network) {
  const decide = DECISIONS[network.stages.design](network);
  return (X) => {
    const { n: L, N, weights, biases } = network.planes;
    const n = X.length / N;
    const predicted = { classes: new Uint8Array(n), neurons: new Int32Array(n), silent: new Uint8Array(n) };
    const h = new Float64Array(L);
    for (let i = 0; i < n; i++) {
      for (let l = 0; l < L; l++) {
        let response = biases[l];
        for (let j = 0; j < N; j++) response += weights[l * N + j] * X[i * N + j];
        h[l] = response;
      }
      decide(h, predicted, i);
    }
    return predicted;
  };
}

const DECISIONS = { region: regionDecision, paper: paperDecision, blob: blobDecision };

/** The class of the region, or of the one that is violated least: of the largest h·code. */
function regionDecision({ stages }) {
  const index = regionIndex(stages.regions);
  const code = new Int32Array(stages.regions.W);
  return (h, predicted, i) => {
    packSigns(h, code);
    let region = index.find(code, 0);
    predicted.silent[i] = region < 0 ? 1 : 0;
    if (region < 0) region = leastViolated(h, code, stages.regions);
    predicted.neurons[i] = region;
    predicted.classes[i] = stages.neuronClasses[region];
  };
}

/** The class of the largest output of the bare network, the first one where it is silent. */
function paperDecision({ planes, stages }) {
  const { regions, penalty, neuronClasses, C } = stages;
  const respondingRegions = respondingFinder(planes.n, regions, penalty);
  const outputs = new Float64Array(C);
  return (h, predicted, i) => {
    outputs.fill(0);
    let largest = 0;
    predicted.neurons[i] = -1;
    for (const r of respondingRegions(h)) {
      const response = regionResponse(h, regions, r, penalty);
      outputs[neuronClasses[r]] += response;
      if (response > largest) [largest, predicted.neurons[i]] = [response, r];
    }
    for (let c = 0; c < C; c++) if (outputs[c] > outputs[predicted.classes[i]]) predicted.classes[i] = c;
    predicted.silent[i] = largest > 0 ? 0 : 1;
  };
}

/** A function (h) that lists all regions that respond, perhaps with others.

A region responds only if the responses against it add up to less than 1 / (1 + P) of all. It thus is
the region of the sample, or one across hyperplanes with small responses. */
function respondingFinder(L, regions, penalty) {
  const index = regionIndex(regions);
  const code = new Int32Array(regions.W);
  const all = Array.from({ length: regions.n }, (_, r) => r);
  return (h) => {
    let total = 0;
    for (let l = 0; l < L; l++) total += Math.abs(h[l]);
    packSigns(h, code);
    const near = [];
    for (let l = 0; l < L; l++) if (Math.abs(h[l]) * (1 + penalty) < total * (1 + 1e-12)) near.push(l);
    if (1 << Math.min(near.length, 30) > regions.n) return all;
    const responding = [];
    for (let subset = 0; subset < 1 << near.length; subset++) {
      const changed = subset === 0 ? -1 : 31 - Math.clz32(subset & -subset);
      // Gray code: each subset differs from the one before in a single hyperplane.
      if (changed >= 0) code[near[changed] >> 5] ^= 1 << (near[changed] & 31);
      const region = index.find(code, 0);
      if (region >= 0) responding.push(region);
    }
    return responding.sort((a, b) => a - b);
  };
}

/** The class whose blobs have the largest share. */
function blobDecision({ planes, stages }) {
  const scores = new Float64Array(stages.neuronClasses.length);
  const shares = new Float64Array(stages.C);
  return (h, predicted, i) => {
    blobShares(h, planes.n, stages, scores, shares);
    for (let c = 0; c < stages.C; c++) if (shares[c] > shares[predicted.classes[i]]) predicted.classes[i] = c;
    for (let g = 0; g < scores.length; g++)
      if (scores[g] > scores[predicted.neurons[i]]) predicted.neurons[i] = g;
  };
}

/** Fills the softmax of the blobs' scores and the sums by class. */
function blobShares(h, L, { pairs, neuronClasses, temperature }, scores, shares) {
  scores.fill(0);
  for (let l = 0; l < L; l++) {
    const size = Math.abs(h[l]);
    const bend = size > LARGEST_BEND ? 0 : Math.log1p(Math.exp(-size));
    scores[pairs[2 * l]] -= temperature * (Math.max(-h[l], 0) + bend);
    scores[pairs[2 * l + 1]] -= temperature * (Math.max(h[l], 0) + bend);
  }
  const largest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  let total = 0;
  for (let g = 0; g < scores.length; g++) total += scores[g] = Math.exp(scores[g] - largest);
  shares.fill(0);
  for (let g = 0; g < scores.length; g++) {
    scores[g] /= total;
    shares[neuronClasses[g]] += scores[g];
  }
}

function packSigns(h, code) {
  code.fill(0);
  for (let l = 0; l < h.length; l++) if (h[l] > 0) code[l >> 5] |= 1 << (l & 31);
}

/** The region with the least sum of |h| over the hyperplanes on whose wrong side the code is. */
function leastViolated(h, code, { n, W, words }) {
  let [best, least] = [0, Infinity];
  for (let r = 0; r < n; r++) {
    let violation = 0;
    for (let w = 0; w < W && violation < least; w++) {
      for (let bits = words[r * W + w] ^ code[w]; bits !== 0 && violation < least; bits &= bits - 1) {
        violation += Math.abs(h[32 * w + 31 - Math.clz32(bits & -bits)]);
      }
    }
    if (violation < least) [best, least] = [r, violation];
  }
  return best;
}

/** The response of an l_2 neuron: weight 1 from its half-spaces, -P from the others. */
function regionResponse(h, { W, words }, r, penalty) {
  let sum = 0;
  for (let l = 0; l < h.length; l++) {
    const inside = ((words[r * W + (l >> 5)] >>> (l & 31)) & 1) === (h[l] > 0 ? 1 : 0);
    sum += Math.abs(h[l]) * (inside ? 1 : -penalty);
  }
  return Math.max(sum, 0);
}

/** The responses of every layer at one sample, and the probability of each class. */
export function layerResponses({ planes, stages }, x) {
  const L = planes.n;
  const h = signedResponses(planes, x);
  const isBlob = stages.design === "blob";
  const side = isBlob ? softplus : (z) => Math.max(z, 0);
  const first = Float64Array.from({ length: 2 * L }, (_, i) => side(i < L ? h[i] : -h[i - L]));
  const second = new Float64Array(stages.neuronClasses.length);
  const outputs = new Float64Array(stages.C);
  if (isBlob) {
    blobShares(h, L, stages, second, outputs);
    return { first, second, outputs, probabilities: outputs };
  }
  for (let r = 0; r < second.length; r++) {
    second[r] = regionResponse(h, stages.regions, r, stages.penalty);
    outputs[stages.neuronClasses[r]] += second[r];
  }
  return { first, second, outputs, probabilities: regionProbabilities(h, stages, outputs) };
}

function regionProbabilities(h, { design, regions, C }, outputs) {
  if (design === "paper") {
    const total = outputs.reduce((sum, output) => sum + output, 0);
    return outputs.map((output) => (total > 0 ? output / total : 1 / C));
  }
  const code = new Int32Array(regions.W);
  packSigns(h, code);
  const region = leastViolated(h, code, regions); // the region of the sample is not violated at all
  const counts = regions.counts.subarray(region * C, (region + 1) * C);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => count / total);
}
