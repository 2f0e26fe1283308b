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
      const place = placeAmong(knots, value);
      if (place < 0 || place >= knots.length - 1) return 0;
      return (scores[place + 1] - scores[place]) / (knots[place + 1] - knots[place]);
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
function placeAmong(knots, value) {
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
  const place = placeAmong(knots, value);
  if (place < 0) return values[0];
  if (place === knots.length - 1 || knots[place] === value) return values[place];
  const slope = (values[place + 1] - values[place]) / (knots[place + 1] - knots[place]);
  return slope * (value - knots[place]) + values[place];
}
