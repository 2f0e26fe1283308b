/* The blob design and its temperature, as in ffmlp.design.blob and ffmlp.design.least_squares. */

import { withoutRounding } from "../arrays.js";
import { softplus } from "../network/hyperplanes.js";
import { signedResponses } from "./lda.js";

// The constants of the Python modules.
const DOUBT = 0.5;
const MOST_ENTRIES = 1 << 18;
const N_TEMPERATURES = 16;
const LEAST_GAIN = 1e-9;
const LOG_TEMPERATURES = Array.from({ length: 11 }, (_, i) => i - 5);
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;
const [MOST_STEPS, ROOT_TOLERANCE] = [60, 1e-13];

/** One l_2 neuron per blob that still has a hyperplane; the plan may have a temperature. */
export function blobStages(samples, plan, blobs, planes) {
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

/** The temperature of least log-loss with doubt, unless lower confidence costs training errors. */
function blobTemperature(evidence, owners, { X, y, N, C }) {
  const certain = { evidence, owners, y, weight: new Float64Array(y.length).fill(1) };
  const sharp = bestTemperature(certain);
  const doubtful = Math.min(bestTemperature(withDoubt(certain, X, N, C)), sharp);
  const ratio = Math.log(sharp / doubtful) / (N_TEMPERATURES - 1);
  const ascending = Array.from({ length: N_TEMPERATURES }, (_, i) => doubtful * Math.exp(i * ratio));
  ascending[N_TEMPERATURES - 1] = sharp;
  const wrong = ascending.map((temperature) => errorsAt(temperature, certain, C));
  return ascending[wrong.findIndex((errors) => errors <= wrong.at(-1))];
}

/** Samples that are classified wrongly. */
function errorsAt(temperature, { evidence, owners, y }, C) {
  const m = owners.length;
  const shares = new Float64Array(C);
  let errors = 0;
  for (let i = 0; i < y.length; i++) {
    let [largest, total] = [-Infinity, 0];
    for (let c = 0; c < m; c++) largest = Math.max(largest, evidence[i * m + c]);
    shares.fill(0);
    for (let c = 0; c < m; c++) {
      const mass = Math.exp(temperature * (evidence[i * m + c] - largest));
      shares[owners[c]] += mass;
      total += mass;
    }
    let best = 0;
    for (let c = 1; c < C; c++) {
      if (withoutRounding(shares[c] / total) > withoutRounding(shares[best] / total)) best = c;
    }
    if (best !== y[i]) errors += 1;
  }
  return errors;
}

/** Half a sample more, of unknown class, anywhere among the samples. */
function withDoubt({ evidence, owners, y, weight }, X, N, C) {
  const m = owners.length;
  const labels = [...new Set(owners)].sort((a, b) => a - b);
  const most = Math.max(1, Math.floor(MOST_ENTRIES / (m * labels.length)));
  const { rows, mass } = representatives(X, N, y, most);
  const whole = mass.reduce((sum, part) => sum + part, 0);
  const share = new Float64Array(C);
  for (const label of y) share[label] += 1 / y.length;
  const nAll = y.length + labels.length * rows.length;
  const result = {
    owners,
    evidence: new Float64Array(nAll * m),
    y: new Int32Array(nAll),
    weight: new Float64Array(nAll),
  };
  result.evidence.set(evidence);
  result.y.set(y);
  result.weight.set(weight);
  let next = y.length;
  for (const label of labels) {
    rows.forEach((row, i) => {
      result.evidence.set(evidence.subarray(row * m, (row + 1) * m), next * m);
      result.y[next] = label;
      result.weight[next] = (DOUBT * share[label] * mass[i]) / whole;
      next += 1;
    });
  }
  return result;
}

/** Distinct samples that represent all, and their weights: ffmlp.inputs.rows.weighted_subsample. */
function representatives(X, N, y, atMost) {
  const n = y.length;
  const position = new Float64Array(n);
  for (let j = 0; j < N; j++) {
    for (let i = 0; i < n; i++) position[i] += (1 + ((j * GOLDEN_RATIO) % 1)) * X[i * N + j];
  }
  const compare = (a, b) => {
    let difference = y[a] - y[b] || position[a] - position[b];
    for (let j = 0; difference === 0 && j < N; j++) difference = X[a * N + j] - X[b * N + j];
    return difference;
  };
  const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => compare(a, b) || a - b);
  const [rows, mass] = [[], []];
  order.forEach((row, i) => {
    if (i > 0 && compare(order[i - 1], row) === 0) mass[mass.length - 1] += 1;
    else rows.push(row) && mass.push(1);
  });
  if (rows.length <= atMost) return { rows, mass };
  const times = new Map();
  let [group, cumulated] = [0, mass[0]];
  for (let step = 0; step < atMost; step++) {
    const goal = ((step + 0.5) / atMost) * n;
    while (cumulated < goal && group < rows.length - 1) cumulated += mass[++group];
    times.set(rows[group], (times.get(rows[group]) ?? 0) + 1);
  }
  const chosen = [...times.keys()];
  return { rows: chosen, mass: chosen.map((row) => (times.get(row) * n) / atMost) };
}

/** The factor of the evidence (n, m) whose softmax has the least log-loss for the labels y. */
function bestTemperature({ evidence, owners, y, weight }) {
  const supported = new Set(owners); // pruning may leave a class without a neuron
  const rows = Array.from(y.keys()).filter((i) => supported.has(y[i]));
  const total = rows.reduce((sum, i) => sum + weight[i], 0);

  /** The mean log-loss and its slope, by the logarithm of the factor. */
  function lossAt(logFactor) {
    const factor = Math.exp(logFactor);
    let [loss, slope] = [LEAST_GAIN * logFactor, LEAST_GAIN];
    for (const i of rows) {
      const share = weight[i] / total;
      const part = sampleLoss(evidence, i, factor, y[i], owners);
      loss += share * part.loss;
      slope += share * part.slope;
    }
    return { loss, slope };
  }

  const losses = LOG_TEMPERATURES.map((logFactor) => lossAt(logFactor).loss);
  const best = losses.indexOf(Math.min(...losses));
  const low = LOG_TEMPERATURES[Math.max(best - 1, 0)];
  const high = LOG_TEMPERATURES[Math.min(best + 1, losses.length - 1)];
  return Math.exp(rootBetween((at) => lossAt(at).slope, low, high) ?? LOG_TEMPERATURES[best]);
}

const lossOfSample = { loss: 0, slope: 0 };

/** The log-loss of one sample and its derivative by log(factor); the result is reused. */
function sampleLoss(evidence, i, factor, label, owners) {
  const m = owners.length;
  let [largest, largestOwn] = [-Infinity, -Infinity];
  for (let c = 0; c < m; c++) {
    const value = evidence[i * m + c];
    largest = Math.max(largest, value);
    if (owners[c] === label) largestOwn = Math.max(largestOwn, value);
  }
  const behind = factor * (largest - largestOwn);
  let [total, weighted, totalOwn, weightedOwn] = [0, 0, 0, 0];
  for (let c = 0; c < m; c++) {
    const exponent = factor * (evidence[i * m + c] - largest);
    const mass = Math.exp(exponent);
    total += mass;
    weighted += mass * exponent;
    if (owners[c] !== label) continue;
    // Relative to the largest of its class, so that the sum is not zero.
    const exponentOwn = factor * (evidence[i * m + c] - largestOwn);
    const massOwn = exponentOwn === 0 ? 1 : Math.exp(exponentOwn);
    totalOwn += massOwn;
    weightedOwn += massOwn * exponentOwn;
  }
  lossOfSample.loss = Math.log(total / totalOwn) + behind;
  lossOfSample.slope = weighted / total - weightedOwn / totalOwn + behind;
  return lossOfSample;
}

/** A root of an ascending function between two limits, or null, by false position and bisection. */
function rootBetween(slope, start, stop) {
  let [low, high] = [start, stop];
  let [below, above] = [slope(low), slope(high)];
  if (!(below < 0 && above > 0)) return null;
  for (let step = 0; step < MOST_STEPS && high - low > ROOT_TOLERANCE; step++) {
    // The ends are kept apart, so that both of them approach the root.
    const secant = low + ((high - low) * below) / (below - above);
    const nudge = Math.max(0.5 * ROOT_TOLERANCE, 1e-3 * (high - low) ** 2);
    const near = secant + (secant - low < high - secant ? nudge : -nudge);
    for (const at of step % 3 === 2 ? [0.5 * (low + high)] : [secant, near]) {
      if (!(at > low && at < high)) continue;
      const value = slope(at);
      if (value < 0) [low, below] = [at, value];
      else [high, above] = [at, value];
    }
  }
  return 0.5 * (low + high);
}
