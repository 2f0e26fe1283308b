/* From samples to a network: the stages of ffmlp.design, one after the other.

Samples are {X (n, N), y (n,), n, N, C}. A plan is {design, k, threshold, penalty}. */

import { softplus } from "../model/activations.js";
import { fittedBlobs } from "./blobs.js";
import {
  drawnLda,
  lda,
  pairsOfDifferentClasses,
  selectedPlanes,
  signedResponses,
} from "./discriminants.js";
import { prune } from "./pruning.js";
import { randomSource } from "./random.js";
import { majorityClasses, selectedRegions, signCodes, tabulated } from "./regions.js";
import { scalingOf, standardised, unscaledBlobs, unscaledPlanes } from "./scaling.js";
import { blobTemperature } from "./temperature.js";

// Hyperplanes are moved by this much, so that rounding does not decide about samples on them.
const LEAST_RESPONSE = 1e-9;

/** All stages: blobs, hyperplanes, then what `upperLayers` makes of them. */
export function designedNetwork(samples, plan, seed) {
  const random = randomSource(seed);
  const scaling = scalingOf(samples);
  const Z = standardised(scaling, samples.X, samples.N);
  const shrink = plan.design !== "paper";
  const scaled = fittedBlobs(Z, samples.y, samples.N, samples.C, plan.k, shrink, random);
  const planes = hyperplanes(scaled, scaling, plan.design, classCounts(samples), random);
  return {
    blobs: unscaledBlobs(scaling, scaled),
    planes,
    ...upperLayers(samples, plan, scaled, planes),
  };
}

/** Stage 1: hyperplanes, for the original features, of blobs of standardised features. */
export function hyperplanes(blobs, scaling, design, counts, random) {
  if (design === "paper") return unscaledPlanes(scaling, drawnLda(blobs, counts, random));
  const planes = lda(blobs, pairsOfDifferentClasses(blobs));
  const biases = planes.biases.map((bias) => bias + LEAST_RESPONSE);
  return unscaledPlanes(scaling, { ...planes, biases });
}

function classCounts({ y, C }) {
  const counts = new Array(C).fill(0);
  for (const label of y) counts[label] += 1;
  return counts;
}

/** Pruning, stages 2 and 3: all that follows from hyperplanes. */
export function upperLayers(samples, plan, blobs, planes) {
  const codes = signCodes(signedResponses(planes, samples.X), planes.n);
  const table = tabulated(codes, planes.n, samples.y, samples.C);
  const path = prune(table, plan.threshold);
  return { table, path, network: networkAfter(samples, plan, blobs, planes, table, path.kept) };
}

/** The network of the hyperplanes that are kept. */
export function networkAfter(samples, plan, blobs, planes, table, kept) {
  const left = selectedPlanes(planes, kept);
  const stages =
    plan.design === "blob"
      ? blobStages(samples, plan, blobs, left)
      : regionStages(plan, selectedRegions(table, kept));
  return { planes: left, stages };
}

/** One l_2 neuron per occupied region. */
export function regionStages({ design, penalty }, regions) {
  return { design, regions, penalty, neuronClasses: majorityClasses(regions), C: regions.C };
}

/** One l_2 neuron per blob that still has a hyperplane; the plan may have a temperature. */
function blobStages(samples, plan, blobs, planes) {
  const left = [...new Set(planes.pairs)].sort((a, b) => a - b);
  const numbers = new Map(left.map((blob, neuron) => [blob, neuron]));
  const stages = {
    design: "blob",
    blobs: Int32Array.from(left),
    pairs: planes.pairs.map((blob) => numbers.get(blob)),
    neuronClasses: Int32Array.from(left, (blob) => blobs.classes[blob]),
    C: samples.C,
  };
  if (plan.temperature) return { ...stages, temperature: plan.temperature };
  const evidence = blobEvidence(planes, stages, samples.X);
  return { ...stages, temperature: blobTemperature(evidence, stages.neuronClasses, samples) };
}

/** Log-probabilities (n, D_2) of each blob, added up over its hyperplanes. */
function blobEvidence(planes, { pairs, neuronClasses }, X) {
  const [n, D] = [X.length / planes.N, neuronClasses.length];
  const h = signedResponses(planes, X);
  const evidence = new Float64Array(n * D);
  for (let i = 0; i < n; i++) {
    for (let l = 0; l < planes.n; l++) {
      const response = h[i * planes.n + l];
      evidence[i * D + pairs[2 * l]] -= softplus(-response);
      evidence[i * D + pairs[2 * l + 1]] -= softplus(response);
    }
  }
  return evidence;
}
