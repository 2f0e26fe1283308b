/* How the lead of a sample over that of a reference divides among the inputs, as in
ffmlp.explain.attribution. */

import { argmax } from "../arrays.js";

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
  const rivals = all.filter((blob) => blobs.classes[blob] === rival);
  const candidates = rivals.length ? rivals : all;
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

/** What each hyperplane (L,) adds by regions to the winner's lead over the rival.

A region between the two points counts for every coalition that has all hyperplanes at which only the
sample is within its limits (a of them) and none at which only the reference is (b of them). Only such
regions are visited. */
function treeShapley(trees, h, reference, winner, rival) {
  const added = new Float64Array(h.length);
  const side = new Map(); // the hyperplanes so far at which only sample (1) or reference (-1) fits

  function visit(node, a, b) {
    if (node < 0) return count(-1 - node, a, b);
    const plane = trees.hyperplanes[node];
    const known = side.get(plane);
    if (known !== undefined) return visit(trees.below(node, known > 0 ? h : reference), a, b);
    const [here, there] = [trees.below(node, h), trees.below(node, reference)];
    if (here === there) return visit(here, a, b);
    side.set(plane, 1);
    visit(here, a + 1, b);
    side.set(plane, -1);
    visit(there, a, b + 1);
    side.delete(plane);
  }

  function count(region, a, b) {
    const lead = trees.values.at(region, winner) - trees.values.at(region, rival);
    const share = lead / binomial(a + b, a);
    for (const [plane, sign] of side) added[plane] += sign > 0 ? share / a : -share / b;
  }

  for (const root of trees.roots) visit(root, 0, 0);
  return added;
}

/** The number of ways to choose k of n. */
function binomial(n, k) {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways = (ways * (n - k + i)) / i;
  return ways;
}
