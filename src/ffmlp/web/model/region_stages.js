/* The region design, as in ffmlp.network.region. */

import { meanSlopes } from "./mean_slopes.js";

/** One l_2 neuron per occupied region, which votes for the region's majority class. */
export class RegionStages {
  constructor(parts) {
    Object.assign(this, parts);
  }

  design = "region";

  get nClasses() {
    return this.regions.counts.columns;
  }

  /** The class frequencies of the region of responses h. */
  probabilities(h) {
    return this.regions.frequencies(this.regions.find(h));
  }

  /** The largest `h·code` of each class's regions; -∞ for a class without any. */
  scores(h) {
    const scores = new Float64Array(this.nClasses).fill(-Infinity);
    const { classes } = this.regions;
    for (let r = 0; r < classes.length; r++) {
      scores[classes[r]] = Math.max(scores[classes[r]], this.regions.agreement(h, r));
    }
    return scores;
  }

  /** The derivative (L,) of the winner's lead over the rival by each response. */
  leadSlopes(h, winner, rival) {
    const slopes = new Float64Array(h.length);
    for (const [label, sign] of [
      [winner, 1],
      [rival, -1],
    ]) {
      const region = this.regions.leastViolated(h, label);
      if (region < 0) continue;
      const code = this.regions.codes.row(region);
      for (let l = 0; l < slopes.length; l++) slopes[l] += sign * code[l];
    }
    return slopes;
  }

  /** By quadrature between the bends. */
  meanSlopes(start, stop, winner, rival) {
    return meanSlopes(this, start, stop, winner, rival);
  }

  /** Whether a training sample was in the region of responses h. */
  isUnseen(h) {
    return this.regions.occupied(h) === undefined;
  }
}
