/* How the lead of a sample over that of a reference divides among the inputs, as in
ffmlp.explain.attribution. */

import { argmax } from "../model/arrays.js";
import { treeShapley } from "./shapley.js";

/** An input of the hyperplanes, its responses and scores. */
export function pointOf(network, z) {
  const h = network.hyperplanes.responses(z);
  return { z, h, scores: network.stages.scores(h) };
}

/** What each input (N,) adds to the winner's lead over the rival, between a reference and a point. */
export function attributed(network, point, reference, winner, rival) {
  const { hyperplanes, stages } = network;
  const slopes = stages.meanSlopes(reference.h, point.h, winner, rival);
  const byInput = hyperplanes
    .byInputs(slopes)
    .map((slope, j) => slope * (point.z[j] - reference.z[j]));
  if (stages.trees) {
    const byPlane = treeShapley(stages.trees, point.h, reference.h, winner, rival);
    byPlane.forEach((value, l) => {
      if (value !== 0) byInput[argmax(hyperplanes.weights.row(l).map(Math.abs))] += value;
    });
  }
  return byInput;
}

/** The blob of the rival's class that is nearest to a point, in standard deviations.

Blobs whose mean the network gives to the rival come first. A class without blobs looks at all. */
export function rivalBlob(network, blobs, point, winner, rival) {
  const all = Array.from({ length: blobs.length }, (_, blob) => blob);
  const own = all.filter((blob) => blobs.classes[blob] === rival);
  const candidates = own.length ? own : all;
  const lost = candidates.filter((blob) => {
    const { scores } = blobPoint(network, blobs, blob);
    return scores[rival] >= scores[winner];
  });
  return blobs.nearest(point.z, lost.length ? lost : candidates);
}

/** The mean of a blob as a point; each is computed once. */
export function blobPoint(network, blobs, blob) {
  blobs.points ??= new Map();
  if (!blobs.points.has(blob)) blobs.points.set(blob, pointOf(network, blobs.means.row(blob)));
  return blobs.points.get(blob);
}
