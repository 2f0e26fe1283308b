/* The optional map of the features before the hyperplanes, as in ffmlp.inputs.features. */

// A value below this share of the largest knot is a rounding error of 0.
const NEGLIGIBLE = 1e-12;

/** A monotone, piecewise linear map of each of N features, constant beyond its outermost knots. */
export class Gaussianisation {
  constructor(parts) {
    Object.assign(this, parts);
  }

  /** The scores (N,) of a sample. */
  apply(x) {
    return x.map((value, j) => interpolated(value, this.knots[j], this.scores[j]));
  }

  /** The derivative (N,) of each score by its feature. */
  slopes(x) {
    return x.map((value, j) => {
      const [knots, scores] = [this.knots[j], this.scores[j]];
      const k = knotBelow(knots, value);
      if (k < 0 || k >= knots.length - 1) return 0;
      return (scores[k + 1] - scores[k]) / (knots[k + 1] - knots[k]);
    });
  }

  /** The inverse map: the sample (N,) with the given scores. */
  values(scores) {
    return scores.map((score, j) => {
      const knots = this.knots[j];
      const value = interpolated(score, this.scores[j], knots);
      const largest = knots.reduce((most, knot) => Math.max(most, Math.abs(knot)), 0);
      return Math.abs(value) < NEGLIGIBLE * largest ? 0 : value;
    });
  }
}

/** The last knot up to a value; -1 below all of them. */
function knotBelow(knots, value) {
  let [low, high] = [-1, knots.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (knots[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

/** `numpy.interp` of one value. */
export function interpolated(value, knots, values) {
  if (Number.isNaN(value)) return value;
  const k = knotBelow(knots, value);
  if (k < 0) return values[0];
  if (k === knots.length - 1 || knots[k] === value) return values[k];
  const slope = (values[k + 1] - values[k]) / (knots[k + 1] - knots[k]);
  return slope * (value - knots[k]) + values[k];
}
