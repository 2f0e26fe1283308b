/* The design in JavaScript: the same blobs give the same network as in Python. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { solveInPlace } from "../../src/ffmlp/web/arrays.js";
import { hyperplanes, lowerLayers, upperLayers } from "../../src/ffmlp/web/design/designs.js";
import { ldaOfMembers } from "../../src/ffmlp/web/design/lda.js";
import { labelledBlobs, lloyd, maximizedLikelihood } from "../../src/ffmlp/web/design/mixtures.js";
import { layerResponses, predictorOf } from "../../src/ffmlp/web/design/prediction.js";
import { isAbove } from "../../src/ffmlp/web/design/regions.js";
import { scalingOf, standardised, unscaledPlanes } from "../../src/ffmlp/web/design/scaling.js";
import { trainableNetwork } from "../../src/ffmlp/web/playground/backprop.js";
import { floats, near, vectors } from "./vectors.mjs";

function samplesOf({ X, y, C }) {
  return { X: floats(X), y: Int32Array.from(y), n: y.length, N: X[0].length, C };
}

function blobsOf({ classes, means, covariances, weights }) {
  return {
    n: weights.length,
    N: means[0].length,
    classes: Int32Array.from(classes),
    means: floats(means),
    covariances: floats(covariances),
    weights: floats(weights),
  };
}

/** Standardised blobs and the hyperplanes between them, from blobs or from samples with known ones. */
function layersOf(samples, { blobs, members, plan }) {
  const scaling = scalingOf(samples);
  if (!members) {
    const scaled = blobsOf(blobs);
    return { scaled, planes: hyperplanes(scaled, scaling, plan.design) };
  }
  const { y, N, C } = samples;
  const Z = standardised(scaling, samples.X, N);
  const planes = unscaledPlanes(scaling, ldaOfMembers(Z, y, members, N, C));
  return { scaled: labelledBlobs(Z, y, members, N, C, false), planes };
}

function codesOf(regions) {
  return Array.from({ length: regions.n * regions.L }, (_, i) =>
    isAbove(regions, Math.floor(i / regions.L), i % regions.L),
  );
}

function checkNetwork({ path, network }, points, expected) {
  const { stages } = network;
  assert.deepEqual([...path.deleted], expected.deleted);
  assert.deepEqual([...path.kept], expected.kept);
  near([path.initialErrorRate, ...path.errorRates], expected.errorRates);
  assert.deepEqual([...stages.neuronClasses], expected.neuronClasses);
  if (expected.temperature) near([stages.temperature], [expected.temperature], { atol: 0 });
  if (expected.codes) {
    assert.deepEqual(codesOf(stages.regions), expected.codes);
    assert.deepEqual([...stages.regions.counts], expected.counts);
  }
  const found = predictorOf(network)(floats(points));
  assert.deepEqual([...found.classes], expected.classes);
  if (expected.unseen) assert.deepEqual([...found.silent], expected.unseen);
  points.forEach((x, i) => {
    const { first, second, outputs, probabilities } = layerResponses(network, x);
    near(probabilities, expected.probabilities[i], { about: `probabilities of point ${i}` });
    const responses = [...first, ...second, ...outputs];
    near(responses, expected.responses[i], { atol: 1e-7, about: `responses of point ${i}` });
  });
}

for (const { name, points, expected, ...given } of vectors("designs")) {
  test(name, () => {
    const samples = samplesOf(given.samples);
    const { scaled, planes } = layersOf(samples, given);
    if (expected.planes) {
      near(planes.weights, expected.planes.weights);
      near(planes.biases, expected.planes.biases);
      assert.deepEqual([...planes.pairs], expected.planes.pairs.flat());
    }
    const design = upperLayers(samples, given.plan, scaled, planes);
    if (expected.nRegions) assert.equal(design.table.n, expected.nRegions);
    checkNetwork(design, points, expected);
  });
}

for (const { samples, members, shrink, expected } of vectors("labelled_blobs")) {
  test(`blobs of known members, shrunk: ${shrink}`, () => {
    const { X, y, N, C } = samplesOf(samples);
    const found = labelledBlobs(X, y, members, N, C, shrink);
    for (const [key, values] of Object.entries(expected)) {
      near(found[key], values, { rtol: 1e-8, atol: 1e-8, about: key });
    }
  });
}

test("Lloyd's iterations and expectation maximisation", () => {
  const { Z, start, means, expected } = vectors("mixture");
  const [own, N] = [floats(Z), Z[0].length];
  near(lloyd(own, N, floats(means)).means, expected.lloyd);
  const parts = Object.entries(start).map(([key, values]) => [key, floats(values)]);
  const ended = maximizedLikelihood(own, N, { k: means.length, ...Object.fromEntries(parts) });
  for (const key of Object.keys(start)) {
    near(ended[key], expected[key], { rtol: 1e-8, atol: 1e-8, about: key });
  }
});

test("a linear system whose rows must be exchanged", () => {
  near(solveInPlace(floats([[0, 2], [4, 1]]), floats([6, 5]), 2), [0.5, 3]);
});

// Blobs depend on the random numbers; what is designed from them is about as good.
for (const { name, samples, plan, test: held, accuracy } of vectors("whole_designs")) {
  test(`${name}: as accurate as in Python`, () => {
    const train = samplesOf(samples);
    const { blobs, planes } = lowerLayers(train, plan, 1);
    const { network } = upperLayers(train, plan, blobs, planes);
    near([blobs.weights.reduce((sum, weight) => sum + weight, 0)], [1]);
    const { classes } = predictorOf(network)(floats(held.X));
    const right = classes.filter((label, i) => label === held.y[i]).length;
    assert(right / classes.length > accuracy - 0.04);
  });
}

function trained({ Z, y, sizes, learningRate }) {
  const given = { Z: floats(Z), y: Int32Array.from(y), n: y.length, sizes, learningRate, seed: 1 };
  return { network: trainableNetwork(given), points: given.Z };
}

test("a step of backpropagation", () => {
  const { before, after, ...given } = vectors("backprop_step");
  const { network } = trained(given);
  network.layers.forEach((layer, i) => {
    layer.weights.set(before[i].weights.flat());
    layer.biases.set(before[i].biases);
  });
  network.trainEpochs(1);
  network.layers.forEach((layer, i) => {
    near(layer.weights, after[i].weights);
    near(layer.biases, after[i].biases);
  });
});

test("backpropagation learns", () => {
  const given = vectors("iris");
  const { network, points } = trained({ ...given, sizes: [4, 8, 8, 3], learningRate: 0.1 });
  network.trainEpochs(200);
  const right = network.classesOf(points).filter((label, i) => label === given.y[i]).length;
  assert(right / given.y.length > 0.95);
});
