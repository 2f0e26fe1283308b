/* Gaussian blobs, as far as explanations read them, and familiarity, as in ffmlp.network.blobs. */

import { argmax } from "../arrays.js";
import { interpolated } from "../inputs/features.js";

// Where samples repeat, all lie in the centres of blobs, up to rounding.
const LEAST_THRESHOLD = 1e-6;

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

/** The blobs of a network as points in a space where each of them has about unit spread. */
export class FamiliarSpace {
  constructor(parts) {
    Object.assign(this, parts);
  }

  /** The nearest blob of inputs (N,), and how many standard deviations it is away. */
  measured(planes, x) {
    const z = this._mapped(planes, x);
    const point = new Float64Array(this.axes.columns);
    z.forEach((value, j) => {
      const axes = this.axes.row(j);
      for (let r = 0; r < point.length; r++) point[r] += value * axes[r];
    });
    let [nearest, least] = [0, Infinity];
    for (let blob = 0; blob < this.centres.rows; blob++) {
      const square = this.centres.row(blob).reduce((sum, c, r) => sum + (point[r] - c) ** 2, 0);
      if (square < least) [nearest, least] = [blob, square];
    }
    return { nearest, score: Math.sqrt(least / point.length) };
  }

  /** The score up to which a share of the training samples is. */
  threshold(keep) {
    const last = this.quantiles.length - 1;
    const levels = Float64Array.from(this.quantiles, (_, k) => k / last);
    return Math.max(interpolated(keep, levels, this.quantiles), LEAST_THRESHOLD);
  }

  /** The input of the hyperplanes; beyond the outermost knots of a feature, it goes on to rise. */
  _mapped(planes, x) {
    const map = planes.gaussianisation;
    if (!map) return x;
    return planes.mapped(x).map((score, j) => {
      const knots = map.knots[j];
      const inside = Math.min(Math.max(x[j], knots[0]), knots[knots.length - 1]);
      const beyond = (x[j] - inside) / this.units.at(0, j);
      return score + this.units.at(1, j) * Math.sign(beyond) * Math.log1p(Math.abs(beyond));
    });
  }
}
