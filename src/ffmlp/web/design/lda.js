/* Stage 1: pairs of blobs become hyperplanes, as in ffmlp.design.lda. */

import { cholesky, solveInPlace } from "../arrays.js";
import { labelledBlobs } from "./mixtures.js";

/** All pairs (i, j), i < j, of blobs of different classes, in lexicographic order. */
export function pairsOfDifferentClasses({ n, classes }) {
  const pairs = [];
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) if (classes[i] !== classes[j]) pairs.push(i, j);
  }
  return Int32Array.from(pairs);
}

/** Two-class linear discriminant analysis of each pair, in closed form from the blobs. */
export function lda(blobs, pairs) {
  const { N, means, covariances } = blobs;
  const n = pairs.length / 2;
  const weights = new Float64Array(n * N);
  const biases = new Float64Array(n);
  const pooled = new Float64Array(N * N);
  for (let l = 0; l < n; l++) {
    const [i, j] = [pairs[2 * l], pairs[2 * l + 1]];
    const share = blobs.weights[i] / (blobs.weights[i] + blobs.weights[j]);
    for (let e = 0; e < N * N; e++) {
      pooled[e] = share * covariances[i * N * N + e] + (1 - share) * covariances[j * N * N + e];
    }
    const normal = weights.subarray(l * N, (l + 1) * N);
    for (let c = 0; c < N; c++) normal[c] = means[i * N + c] - means[j * N + c];
    solveInPlace(pooled, normal, N);
    biases[l] = Math.log(blobs.weights[i] / blobs.weights[j]);
    for (let c = 0; c < N; c++) biases[l] -= 0.5 * (means[i * N + c] + means[j * N + c]) * normal[c];
  }
  return { n, N, weights, biases, pairs };
}

/** Two-class LDA of samples that are drawn from the mixtures, as many as there are, as in the paper. */
export function drawnLda(blobs, classCounts, random) {
  const { Z, members } = drawnSamples(blobs, classCounts, random);
  const y = members.map((blob) => blobs.classes[blob]);
  return ldaOfMembers(Z, y, members, blobs.N, classCounts.length);
}

/** Two-class LDA of samples whose blobs are known. Pairs name these blobs. */
export function ldaOfMembers(Z, y, members, N, nClasses) {
  const drawn = labelledBlobs(Z, y, members, N, nClasses, false);
  const planes = lda(drawn, pairsOfDifferentClasses(drawn));
  const names = [...new Set(members)].sort((a, b) => a - b);
  return { ...planes, pairs: planes.pairs.map((blob) => names[blob]) };
}

function drawnSamples(blobs, classCounts, random) {
  const { n, N } = blobs;
  const members = [];
  classCounts.forEach((count, label) => {
    const choices = [...Array(n).keys()].filter((g) => blobs.classes[g] === label);
    const total = choices.reduce((sum, g) => sum + blobs.weights[g], 0);
    for (let draw = 0; choices.length && draw < Math.max(1, count); draw++) {
      let left = random.uniform() * total;
      members.push(choices.find((g) => (left -= blobs.weights[g]) < 0) ?? choices.at(-1));
    }
  });
  members.sort((a, b) => a - b);
  const roots = [...Array(n).keys()].map((g) =>
    cholesky(blobs.covariances.subarray(g * N * N, (g + 1) * N * N), N),
  );
  const Z = new Float64Array(members.length * N);
  const noise = new Float64Array(N);
  members.forEach((g, i) => {
    for (let j = 0; j < N; j++) noise[j] = random.normal();
    for (let j = 0; j < N; j++) {
      let value = blobs.means[g * N + j];
      for (let c = 0; c <= j; c++) value += roots[g][j * N + c] * noise[c];
      Z[i * N + j] = value;
    }
  });
  return { Z, members: Int32Array.from(members) };
}

/** The chosen hyperplanes, in that order. */
export function selectedPlanes(planes, kept) {
  const { N } = planes;
  const weights = new Float64Array(kept.length * N);
  const pairs = new Int32Array(kept.length * 2);
  kept.forEach((l, i) => {
    weights.set(planes.weights.subarray(l * N, (l + 1) * N), i * N);
    pairs.set(planes.pairs.subarray(2 * l, 2 * l + 2), 2 * i);
  });
  const biases = Float64Array.from(kept, (l) => planes.biases[l]);
  return { n: kept.length, N, weights, biases, pairs };
}

/** Signed responses (n, L) of samples. */
export function signedResponses(planes, X) {
  const { n: L, N, weights, biases } = planes;
  const n = X.length / N;
  const h = new Float64Array(n * L);
  for (let i = 0; i < n; i++) {
    for (let l = 0; l < L; l++) {
      let response = biases[l];
      for (let j = 0; j < N; j++) response += weights[l * N + j] * X[i * N + j];
      h[i * L + l] = response;
    }
  }
  return h;
}
