/* The paper's six sets of two features, with the sizes and noise levels of ffmlp.datasets. */

import { randomSource, shuffled } from "../design/random.js";

const TEST_SHARE = 0.4;
const NINE = [0, 1, 2].flatMap((row) => [0, 1, 2].map((column) => [column, row]));

/** Each set: title, samples, noise, blobs per class (k), error threshold; a sample without noise, and its class. */
export const SETS = {
  xor: {
    title: "XOR",
    n: 3000,
    noise: 0.294,
    k: 2,
    threshold: 0.05,
    sample: ofBlobs(
      [
        [1, 1],
        [-1, -1],
        [-1, 1],
        [1, -1],
      ],
      [0, 0, 1, 1],
    ),
  },
  three_blobs: {
    title: "3 blobs",
    n: 3000,
    noise: 0.178,
    k: 1,
    threshold: 0.05,
    sample: ofBlobs(
      [
        [-0.5, 0],
        [0.5, 0],
        [0, Math.sqrt(0.75)],
      ],
      [0, 1, 2],
    ),
  },
  nine_blobs: {
    title: "9 blobs",
    n: 3000,
    noise: 0.294,
    k: 3,
    threshold: 0.15,
    sample: ofBlobs(NINE, [0, 1, 2, 1, 2, 0, 2, 0, 1]),
  },
  circle_and_ring: {
    title: "Circle and ring",
    n: 1000,
    noise: 0.19,
    k: 4,
    threshold: 0.13,
    sample: (i, n) => {
      const [half, inner] = [n / 2, i >= n / 2];
      const angle = (2 * Math.PI * (i % half)) / half;
      const radius = inner ? 0.5 : 1;
      return [radius * Math.cos(angle), radius * Math.sin(angle), inner ? 1 : 0];
    },
  },
  two_moons: { title: "2 new moons", n: 1000, noise: 0.29, k: 2, threshold: 0.12, sample: moons },
  four_moons: {
    title: "4 new moons",
    n: 2000,
    noise: 0.1,
    k: 3,
    threshold: 0.05,
    sample: (i, n) => {
      const [half, upper] = [n / 2, i >= n / 2];
      const [x, y, label] = moons(i % half, half);
      return upper ? [x, y + 1.5, label + 2] : [x, y, label];
    },
  },
};

function ofBlobs(centres, labels) {
  return (i) => [...centres[i % centres.length], labels[i % labels.length]];
}

function moons(i, n) {
  const half = n / 2;
  const angle = (Math.PI * (i % half)) / (half - 1);
  if (i < half) return [Math.cos(angle), Math.sin(angle), 0];
  return [1 - Math.cos(angle), 0.5 - Math.sin(angle), 1];
}

/** Samples of a set; the same seed gives the same draws, whatever the noise. */
export function generatedTable(name, noise, seed) {
  const { n, sample } = SETS[name];
  const random = randomSource(seed);
  const [X, y] = [new Float64Array(2 * n), new Int32Array(n)];
  for (let i = 0; i < n; i++) {
    const [across, up, label] = sample(i, n);
    X[2 * i] = across + noise * random.normal();
    X[2 * i + 1] = up + noise * random.normal();
    y[i] = label;
  }
  const C = y.reduce((most, label) => Math.max(most, label), 0) + 1;
  const labels = Array.from({ length: C }, (_, label) => label);
  return { X, y, n, N: 2, C, labels, names: ["x₁", "x₂"], isTest: heldOut(y, C, random) };
}

/** 40 % of each class are held out for testing, as in the paper; at least one sample is not. */
export function heldOut(y, C, random) {
  const isTest = new Uint8Array(y.length);
  const counts = new Array(C).fill(0);
  for (const label of y) counts[label] += 1;
  const left = counts.map((count) => Math.min(Math.round(TEST_SHARE * count), count - 1));
  for (const i of shuffled(y.length, random)) {
    if (left[y[i]] <= 0) continue;
    left[y[i]] -= 1;
    isTest[i] = 1;
  }
  return isTest;
}
