/* Layer l_1: hyperplanes and their responses, as in ffmlp.network.hyperplanes. */

import { dot } from "./arrays.js";

// Responses are clipped to this, as in ffmlp.network.stages.
export const LARGEST = 1e150;

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
    const found = new Float64Array(this.weights.columns);
    slopes.forEach((slope, l) => {
      if (slope === 0) return;
      const weights = this.weights.row(l);
      for (let j = 0; j < found.length; j++) found[j] += slope * weights[j];
    });
    return found;
  }
}
