/* What the tests ask of the design in JavaScript, with plain arrays in and out. */

import { labelledBlobs, lloyd, maximizedLikelihood } from "../../src/ffmlp/web/design/mixtures.js";
import { ldaOfMembers } from "../../src/ffmlp/web/design/lda.js";
import { designedNetwork, hyperplanes, upperLayers } from "../../src/ffmlp/web/design/designs.js";
import { layerResponses, predictorOf } from "../../src/ffmlp/web/design/prediction.js";
import { isAbove } from "../../src/ffmlp/web/design/regions.js";
import { trainableNetwork } from "../../src/ffmlp/web/playground/backprop.js";
import { scalingOf, standardised, unscaledPlanes } from "../../src/ffmlp/web/design/scaling.js";

const floats = (rows) => Float64Array.from(rows.flat(Infinity));

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

function plain({ planes, table, path, network }, points) {
  const { stages } = network;
  const { regions } = stages;
  const found = predictorOf(network)(floats(points));
  return {
    weights: [...planes.weights],
    biases: [...planes.biases],
    pairs: [...planes.pairs],
    nRegions: table.n,
    path,
    codes:
      regions &&
      [...Array(regions.n * regions.L).keys()].map((i) =>
        isAbove(regions, Math.floor(i / regions.L), i % regions.L),
      ),
    counts: regions && [...regions.counts],
    temperature: stages.temperature,
    neuronClasses: [...stages.neuronClasses],
    classes: [...found.classes],
    neurons: [...found.neurons],
    silent: [...found.silent],
    probabilities: points.map((x) => [...layerResponses(network, x).probabilities]),
    responses: points.map((x) => {
      const { first, second, outputs } = layerResponses(network, x);
      return [...first, ...second, ...outputs];
    }),
  };
}

window.engine = {
  fromBlobs({ samples, blobs, plan, points }) {
    const [own, scaled] = [samplesOf(samples), blobsOf(blobs)];
    const planes = hyperplanes(scaled, scalingOf(own), plan.design);
    return plain({ planes, ...upperLayers(own, plan, scaled, planes) }, points);
  },
  fromMembers({ samples, members, plan, points }) {
    const own = samplesOf(samples);
    const scaling = scalingOf(own);
    const Z = standardised(scaling, own.X, own.N);
    const blobs = labelledBlobs(Z, own.y, members, own.N, own.C, false);
    const planes = unscaledPlanes(scaling, ldaOfMembers(Z, own.y, members, own.N, own.C));
    return plain({ planes, ...upperLayers(own, plan, blobs, planes) }, points);
  },
  labelled({ samples, members, shrink }) {
    const own = samplesOf(samples);
    const blobs = labelledBlobs(own.X, own.y, members, own.N, own.C, shrink);
    return {
      ...blobs,
      classes: [...blobs.classes],
      means: [...blobs.means],
      covariances: [...blobs.covariances],
      weights: [...blobs.weights],
    };
  },
  mixture({ Z, start, means }) {
    const N = Z[0].length;
    const ended = maximizedLikelihood(floats(Z), N, {
      k: start.weights.length,
      weights: floats(start.weights),
      means: floats(start.means),
      covariances: floats(start.covariances),
    });
    return {
      weights: [...ended.weights],
      means: [...ended.means],
      covariances: [...ended.covariances],
      lloyd: [...lloyd(floats(Z), N, floats(means)).means],
    };
  },
  trained({ Z, y, sizes, learningRate, epochs }) {
    const network = trainableNetwork({
      Z: floats(Z),
      y: Int32Array.from(y),
      n: y.length,
      sizes,
      learningRate,
      seed: 1,
    });
    const weights = () => network.layers.map((layer) => [[...layer.weights], [...layer.biases]]);
    const before = weights();
    network.trainEpochs(epochs);
    return { before, after: weights(), classes: [...network.classesOf(floats(Z))] };
  },
  whole({ samples, plan, seed, points }) {
    const design = designedNetwork(samplesOf(samples), plan, seed);
    return { ...plain(design, points), blobWeights: [...design.blobs.weights] };
  },
};
