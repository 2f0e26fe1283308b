/* From samples to a network: the stages of ffmlp.design, one after the other.

Samples are {X (n, N), y (n,), n, N, C}. A plan is {design, k, threshold, penalty}. */

import { blobStages } from "./blob.js";
import { drawnLda, lda, pairsOfDifferentClasses, selectedPlanes, signedResponses } from "./lda.js";
import { fittedBlobs } from "./mixtures.js";
import { prune } from "./pruning.js";
import { randomSource } from "./random.js";
import { majorityClasses, selectedRegions, signCodes, tabulated } from "./regions.js";
import { scalingOf, standardised, unscaledBlobs, unscaledPlanes } from "./scaling.js";

// Hyperplanes are moved by this much, so that rounding does not decide about samples on them.
const LEAST_RESPONSE = 1e-9;

/** Stages 0 and 1: the scaling, and the blobs and hyperplanes of the original features. */
export function lowerLayers(samples, { design, k }, seed) {
  const { X, y, N, C } = samples;
  const random = randomSource(seed);
  const scaling = scalingOf(samples);
  const scaled = fittedBlobs(standardised(scaling, X, N), y, N, C, k, design !== "paper", random);
  const planes = hyperplanes(scaled, scaling, design, classCounts(samples), random);
  return { scaling, blobs: unscaledBlobs(scaling, scaled), planes };
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
  const left = selectedPlanes(planes, path.kept);
  const stages =
    plan.design === "blob"
      ? blobStages(samples, plan, blobs, left)
      : regionStages(plan, selectedRegions(table, path.kept));
  return { table, path, network: { planes: left, stages } };
}

/** One l_2 neuron per occupied region. */
export function regionStages({ design, penalty }, regions) {
  return { design, regions, penalty, neuronClasses: majorityClasses(regions), C: regions.C };
}
