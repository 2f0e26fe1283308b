/* Gaussian blobs, as far as explanations read them: see ffmlp.network.blobs. */

import { argmax } from "./arrays.js";

/** Classes (G,), means (G, N) and the standard deviation (N,) of each feature over all blobs. */
export class Blobs {
  constructor(parts) {
    Object.assign(this, parts);
  }

  get length() {
    return this.classes.length;
  }

  /** The nearest of some blobs to an input of the hyperplanes, in standard deviations. */
  nearest(z, numbers) {
    const nearness = numbers.map((blob) => {
      const mean = this.means.row(blob);
      return -z.reduce((sum, value, j) => sum + ((value - mean[j]) / this.spreads[j]) ** 2, 0);
    });
    return numbers[argmax(nearness)];
  }
}
