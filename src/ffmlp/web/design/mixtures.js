/* Stage 0: every class becomes a mixture of Gaussian blobs, as in ffmlp.design.mixtures. */

import { cholesky, lowerInverse, withoutRounding } from "../arrays.js";

// The constants of ffmlp.design.mixtures.
const REGULARIZATION = 1e-6;
const TRUSTED_SAMPLES_PER_FEATURE = 5;
const MAX_LLOYD_ITERATIONS = 30;
const MAX_EM_ITERATIONS = 100;
const EM_TOLERANCE = 1e-3;

/** Blobs of standardised samples: up to `k` for each class that has samples. */
export function fittedBlobs(Z, y, N, nClasses, k, shrink, random) {
  const mixtures = [];
  for (let label = 0; label < nClasses; label++) {
    const samples = rowsOf(Z, N, y, label);
    if (samples.length) mixtures.push(classMixture(samples, N, label, k, random));
  }
  return collected(mixtures, N, shrink);
}

/** Blobs with known members: `blob` is the blob of each sample, each of one class only. */
export function labelledBlobs(Z, y, blob, N, nClasses, shrink) {
  const mixtures = [];
  for (let label = 0; label < nClasses; label++) {
    const samples = rowsOf(Z, N, y, label);
    const members = Array.from(blob).filter((_, i) => y[i] === label);
    const names = [...new Set(members)].sort((a, b) => a - b);
    if (!names.length) continue;
    const numbers = new Map(names.map((name, number) => [name, number]));
    const labels = Int32Array.from(members, (name) => numbers.get(name));
    const mixture = assignedMixture(samples, N, labels, names.length);
    mixtures.push({ ...mixture, label, total: members.length });
  }
  return collected(mixtures, N, shrink);
}

function rowsOf(Z, N, y, label) {
  const rows = [];
  for (let i = 0; i < y.length; i++) if (y[i] === label) rows.push(i);
  const samples = new Float64Array(rows.length * N);
  rows.forEach((row, i) => samples.set(Z.subarray(row * N, (row + 1) * N), i * N));
  return samples;
}

/** k-means++ seeds, Lloyd's iterations, then EM. */
function classMixture(Z, N, label, k, random) {
  const seeds = seedMeans(Z, N, k, random);
  const { labels } = lloyd(Z, N, seeds);
  const start = assignedMixture(Z, N, labels, seeds.length / N);
  const mixture = start.k === 1 ? start : maximizedLikelihood(Z, N, start);
  return { ...mixture, label, total: Z.length / N };
}

/** Greedy k-means++: samples far from each other, at most one per distinct sample. */
function seedMeans(Z, N, k, random) {
  const n = Z.length / N;
  const row = (i) => Z.subarray(i * N, (i + 1) * N);
  const seeds = [row(random.below(n))];
  let closest = distances(Z, N, seeds[0], null);
  const nTrials = 2 + Math.floor(Math.log(k));
  while (seeds.length < k && closest.total > 0) {
    let best = null;
    for (let trial = 0; trial < nTrials; trial++) {
      const chosen = drawn(closest.values, closest.total, random);
      const nearer = distances(Z, N, row(chosen), closest.values);
      if (best === null || withoutRounding((nearer.total - best.nearer.total) / n) < 0) {
        best = { chosen, nearer };
      }
    }
    seeds.push(row(best.chosen));
    closest = best.nearer;
  }
  const means = new Float64Array(seeds.length * N);
  seeds.forEach((seed, i) => means.set(seed, i * N));
  return means;
}

function drawn(masses, total, random) {
  let left = random.uniform() * total;
  let last = 0;
  for (let i = 0; i < masses.length; i++) {
    if (masses[i] === 0) continue;
    last = i;
    left -= masses[i];
    if (left < 0) break;
  }
  return last;
}

/** Squared distances to a point, or the ones before where these are smaller; and their sum. */
function distances(Z, N, point, before) {
  const values = new Float64Array(Z.length / N);
  let total = 0;
  for (let i = 0; i < values.length; i++) {
    let square = 0;
    for (let j = 0; j < N; j++) square += (Z[i * N + j] - point[j]) ** 2;
    values[i] = before === null ? square : Math.min(before[i], square);
    total += values[i];
  }
  return { values, total };
}

/** Lloyd's k-means iterations from the given means; the label of each sample at the end. */
export function lloyd(Z, N, start, maxIterations = MAX_LLOYD_ITERATIONS) {
  const means = start.slice();
  const k = means.length / N;
  let labels = null;
  for (let iteration = 0; iteration < maxIterations; iteration++) {
    const next = nearestMeans(Z, N, means);
    if (labels !== null && next.every((label, i) => label === labels[i])) break;
    labels = next;
    const sums = new Float64Array(k * N);
    const mass = new Float64Array(k);
    for (let i = 0; i < labels.length; i++) {
      mass[labels[i]] += 1;
      for (let j = 0; j < N; j++) sums[labels[i] * N + j] += Z[i * N + j];
    }
    for (let m = 0; m < k * N; m++) {
      const total = mass[Math.floor(m / N)];
      if (total > 0) means[m] = sums[m] / total;
    }
  }
  return { means, labels: nearestMeans(Z, N, means) };
}

/** The nearest mean of each sample; rounding does not decide ties, which go to the lowest index. */
function nearestMeans(Z, N, means) {
  const k = means.length / N;
  const labels = new Int32Array(Z.length / N);
  for (let i = 0; i < labels.length; i++) {
    let least = Infinity;
    for (let m = 0; m < k; m++) {
      let distance = 0;
      for (let j = 0; j < N; j++) distance += means[m * N + j] * (means[m * N + j] - 2 * Z[i * N + j]);
      const rounded = withoutRounding(distance);
      if (rounded < least) {
        least = rounded;
        labels[i] = m;
      }
    }
  }
  return labels;
}

/** The mixture of greatest likelihood if each sample belongs to the blob of its label. */
function assignedMixture(Z, N, labels, k) {
  const n = labels.length;
  const shares = new Float64Array(k * n);
  const means = new Float64Array(k * N);
  const mass = new Float64Array(k);
  for (let i = 0; i < n; i++) {
    shares[labels[i] * n + i] = 1;
    mass[labels[i]] += 1;
    for (let j = 0; j < N; j++) means[labels[i] * N + j] += Z[i * N + j];
  }
  for (let m = 0; m < k * N; m++) means[m] /= mass[Math.floor(m / N)] || 1;
  return maximization(Z, N, shares, { k, means });
}

/** Expectation maximisation from a given start; the likelihood never decreases. */
export function maximizedLikelihood(Z, N, start) {
  const n = Z.length / N;
  const shares = new Float64Array(start.k * n);
  let mixture = start;
  let previous = -Infinity;
  for (let iteration = 0; iteration < MAX_EM_ITERATIONS; iteration++) {
    const likelihood = expectation(Z, N, mixture, shares) / n;
    mixture = maximization(Z, N, shares, mixture);
    if (Math.abs(likelihood - previous) < EM_TOLERANCE) break;
    previous = likelihood;
  }
  return mixture;
}

/** E-step: fills the posterior shares (k, n) and returns the log-likelihood. */
function expectation(Z, N, mixture, shares) {
  const n = Z.length / N;
  const { k } = mixture;
  for (let m = 0; m < k; m++) logJoint(Z, N, mixture, m, shares.subarray(m * n, (m + 1) * n));
  let logLikelihood = 0;
  for (let i = 0; i < n; i++) {
    let largest = -Infinity;
    for (let m = 0; m < k; m++) largest = Math.max(largest, shares[m * n + i]);
    let total = 0;
    for (let m = 0; m < k; m++) {
      shares[m * n + i] = Math.exp(shares[m * n + i] - largest);
      total += shares[m * n + i];
    }
    for (let m = 0; m < k; m++) shares[m * n + i] /= total;
    logLikelihood += largest + Math.log(total);
  }
  return logLikelihood;
}

/** The logarithm of a blob's share times its density, at each sample. */
function logJoint(Z, N, mixture, m, result) {
  const lower = cholesky(mixture.covariances.subarray(m * N * N, (m + 1) * N * N), N);
  const whitening = lowerInverse(lower, N);
  let constant = Math.log(mixture.weights[m]) - 0.5 * N * Math.log(2 * Math.PI);
  for (let j = 0; j < N; j++) constant -= Math.log(lower[j * N + j]);
  const shifted = new Float64Array(N);
  for (let i = 0; i < result.length; i++) {
    for (let j = 0; j < N; j++) shifted[j] = Z[i * N + j] - mixture.means[m * N + j];
    let squares = 0;
    for (let j = 0; j < N; j++) {
      let white = 0;
      for (let c = 0; c <= j; c++) white += whitening[j * N + c] * shifted[c];
      squares += white * white;
    }
    result[i] = constant - 0.5 * squares;
  }
}

/** M-step: the mixture of greatest likelihood for shares (k, n); sums are taken around old means. */
function maximization(Z, N, shares, { k, means: origin }) {
  const n = Z.length / N;
  const weights = new Float64Array(k);
  const means = new Float64Array(k * N);
  const covariances = new Float64Array(k * N * N);
  const shifted = new Float64Array(N);
  for (let m = 0; m < k; m++) {
    const product = covariances.subarray(m * N * N, (m + 1) * N * N);
    const deviation = means.subarray(m * N, (m + 1) * N);
    for (let i = 0; i < n; i++) {
      const share = shares[m * n + i];
      if (share === 0) continue;
      weights[m] += share;
      for (let j = 0; j < N; j++) {
        shifted[j] = Z[i * N + j] - origin[m * N + j];
        const weighted = share * shifted[j];
        deviation[j] += weighted;
        for (let c = 0; c <= j; c++) product[j * N + c] += weighted * shifted[c];
      }
    }
    finishMoments(product, deviation, Math.max(weights[m], 2.2250738585072014e-308), N);
    for (let j = 0; j < N; j++) deviation[j] += origin[m * N + j];
    weights[m] /= n;
  }
  return { k, weights, means, covariances };
}

/** Sums of products and deviations become a covariance and a shift. */
function finishMoments(product, deviation, mass, N) {
  for (let j = 0; j < N; j++) deviation[j] /= mass;
  for (let j = 0; j < N; j++) {
    for (let c = 0; c <= j; c++) {
      product[j * N + c] = product[j * N + c] / mass - deviation[j] * deviation[c];
      product[c * N + j] = product[j * N + c];
    }
    product[j * N + j] += REGULARIZATION;
  }
}

/** The mixtures of all classes as blobs; empty blobs are dropped. */
function collected(mixtures, N, shrink) {
  const parts = mixtures.map((mixture) => ({ ...mixture, filled: filledBlobs(mixture, N) }));
  const total = parts.reduce(
    (sum, part) => sum + part.filled.reduce((mass, m) => mass + part.weights[m] * part.total, 0),
    0,
  );
  const n = parts.reduce((sum, part) => sum + part.filled.length, 0);
  const blobs = {
    n,
    N,
    classes: new Int32Array(n),
    means: new Float64Array(n * N),
    covariances: new Float64Array(n * N * N),
    weights: new Float64Array(n),
  };
  let g = 0;
  for (const part of parts) {
    const covariances = shrink ? shrunkCovariances(part, N) : part.covariances;
    for (const m of part.filled) {
      blobs.classes[g] = part.label;
      blobs.weights[g] = (part.weights[m] * part.total) / total;
      blobs.means.set(part.means.subarray(m * N, (m + 1) * N), g * N);
      blobs.covariances.set(covariances.subarray(m * N * N, (m + 1) * N * N), g * N * N);
      g += 1;
    }
  }
  return blobs;
}

function filledBlobs(mixture) {
  return [...mixture.weights.keys()].filter((m) => mixture.weights[m] > Number.EPSILON);
}

/** Covariances of few samples are shrunk towards the pooled one, that towards its diagonal. */
function shrunkCovariances({ weights, covariances, total, filled }, N) {
  const shrinkage = (mass) => Math.max(0, 1 - mass / (TRUSTED_SAMPLES_PER_FEATURE * N));
  const whole = filled.reduce((sum, m) => sum + weights[m] * total, 0);
  const pooled = new Float64Array(N * N);
  for (const m of filled) {
    const share = (weights[m] * total) / whole;
    for (let e = 0; e < N * N; e++) pooled[e] += share * covariances[m * N * N + e];
  }
  const towardsDiagonal = shrinkage(whole);
  for (let e = 0; e < N * N; e++) {
    const onDiagonal = Math.floor(e / N) === e % N;
    const goal = onDiagonal ? (whole * pooled[e] + 1) / (whole + 1) : 0;
    pooled[e] = (1 - towardsDiagonal) * pooled[e] + towardsDiagonal * goal;
  }
  const result = covariances.slice();
  for (const m of filled) {
    const towardsPooled = shrinkage(weights[m] * total);
    for (let e = 0; e < N * N; e++) {
      const entry = m * N * N + e;
      result[entry] = (1 - towardsPooled) * covariances[entry] + towardsPooled * pooled[e];
    }
  }
  return result;
}
