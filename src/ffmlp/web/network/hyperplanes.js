/* Layer l_1: hyperplanes, their responses, and activations, as in ffmlp.network.hyperplanes. */

import { dot } from "../arrays.js";

// Responses are clipped to this, as in ffmlp.network.stages.
export const LARGEST = 1e150;

export function softplus(z) {
  return Math.log1p(Math.exp(-Math.abs(z))) + Math.max(z, 0);
}

/** The probability whose log-odds are z. */
export function sigmoid(z) {
  return Math.exp(-softplus(-z));
}

/** Shares (C,) of logarithms (C,). */
export function softmax(z) {
  const largest = Math.max(...z);
  const shares = Float64Array.from(z, (value) => Math.exp(value - largest));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

/** The logarithm of the sum of exponentials; -∞ if all are. */
export function logsumexp(z) {
  const largest = z.reduce((most, value) => Math.max(most, value), -Infinity);
  if (largest === -Infinity) return largest;
  return Math.log(z.reduce((sum, value) => sum + Math.exp(value - largest), 0)) + largest;
}

/** What a layer makes of its pre-activations, by the name of the activation. */
export const ACTIVATIONS = {
  identity: (z) => z,
  relu: (z) => z.map((value) => Math.max(value, 0)),
  softplus: (z) => z.map(softplus),
  softmax,
};

/** L hyperplanes in the space of N features. */
export class Hyperplanes {
  constructor(parts) {
    Object.assign(this, parts);
  }

  get length() {
    return this.biases.length;
  }

  /** The input (N,) of the hyperplanes: a sample, or its scores if features are mapped. */
  mapped(x) {
    return this.gaussianisation ? this.gaussianisation.apply(x) : x;
  }

  /** The inverse of `mapped`. */
  unmapped(z) {
    return this.gaussianisation ? this.gaussianisation.values(z) : z;
  }

  /** The gradient (N,) by the features at x, from the gradient by the mapped ones. */
  byFeatures(gradient, x) {
    if (!this.gaussianisation) return gradient;
    const slopes = this.gaussianisation.slopes(x);
    return gradient.map((slope, j) => slope * slopes[j]);
  }

  /** Signed responses (L,) to an input of the hyperplanes (N,). */
  responses(z) {
    return Float64Array.from(this.biases, (bias, l) => {
      const response = dot(this.weights.row(l), z) + bias;
      return Number.isNaN(response) ? 0 : Math.min(Math.max(response, -LARGEST), LARGEST);
    });
  }

  /** Slopes (L,) by the responses as slopes (N,) by the input of the hyperplanes. */
  byInputs(slopes) {
    const gradient = new Float64Array(this.weights.columns);
    slopes.forEach((slope, l) => {
      if (slope === 0) return;
      const weights = this.weights.row(l);
      for (let j = 0; j < gradient.length; j++) gradient[j] += slope * weights[j];
    });
    return gradient;
  }
}
