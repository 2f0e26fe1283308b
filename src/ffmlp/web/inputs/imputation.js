/* Missing inputs: their conditional means under Gaussian blobs, as in ffmlp.inputs.imputation. */

import { dot, solveInPlace } from "../arrays.js";

// Inputs count as at most so many units away from the centre, so that squares stay finite.
const FARTHEST = 1e15;

/** G Gaussian blobs of all N inputs, of samples of all classes together. */
export class Imputation {
  constructor(parts) {
    Object.assign(this, parts);
  }

  /** A sample (N,) whose missing inputs, NaN, are replaced. */
  filled(x) {
    const gaps = [...x.keys()].filter((j) => Number.isNaN(x[j]));
    if (!gaps.length) return x;
    const { centre, scale, low, high, log_weights: logWeights, means, precisions } = this;
    const z = x.map((value, j) =>
      Number.isNaN(value)
        ? 0
        : Math.min(Math.max((value - centre[j]) / scale[j], -FARTHEST), FARTHEST),
    );
    const densities = [];
    const completed = [];
    precisions.forEach((precision, g) => {
      const mean = means.row(g);
      const deviation = completedDeviations(
        z.map((value, j) => value - mean[j]),
        gaps,
        precision,
      );
      const square = deviation.reduce((sum, d, j) => sum + dot(deviation, precision.row(j)) * d, 0);
      densities.push(logWeights[g] - 0.5 * square);
      completed.push(deviation.map((d, j) => mean[j] + d));
    });
    const largest = Math.max(...densities);
    const shares = densities.map((density) => Math.exp(density - largest));
    const total = shares.reduce((sum, share) => sum + share, 0);
    const complete = x.slice();
    for (const j of gaps) {
      const mean = shares.reduce((sum, share, g) => sum + (share / total) * completed[g][j], 0);
      complete[j] = Math.min(Math.max(mean * scale[j] + centre[j], low[j]), high[j]);
    }
    return complete;
  }
}

/** Deviations (N,) from a mean, where the missing ones have their conditional means. */
function completedDeviations(deviation, gaps, precision) {
  const completed = deviation.slice();
  for (const j of gaps) completed[j] = 0;
  const goal = gaps.map((j) => -dot(completed, precision.row(j)));
  const block = gaps.flatMap((i) => gaps.map((j) => precision.at(i, j)));
  solveInPlace(block, goal, gaps.length).forEach((value, k) => {
    completed[gaps[k]] = value;
  });
  return completed;
}
