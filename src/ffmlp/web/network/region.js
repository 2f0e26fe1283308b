/* The region design and the paper to the letter, as in ffmlp.network.region. */

import { LARGEST } from "./hyperplanes.js";
import { meanSlopes } from "./stages.js";

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

/** The layers of the region design, without a rule for samples to which no region responds. */
export class PaperStages extends RegionStages {
  design = "paper";

  /** The summed responses (C,) of each class's regions. */
  outputs(h) {
    const outputs = new Float64Array(this.nClasses);
    this._preActivations(h).forEach((response, r) => {
      if (response > 0) outputs[this.regions.classes[r]] += response;
    });
    return outputs;
  }

  /** The outputs, divided by their sum; the same for all classes where all are zero. */
  probabilities(h) {
    const outputs = this.outputs(h);
    const total = outputs.reduce((sum, output) => sum + output, 0);
    return outputs.map((output) => (total > 0 ? output / total : 1 / outputs.length));
  }

  /** The pre-activations (R,) of l_2. */
  _preActivations(h) {
    const { codes } = this.regions;
    const responses = new Float64Array(codes.rows);
    for (let r = 0, bit = 0; r < responses.length; r++) {
      for (let l = 0; l < h.length; l++, bit++) {
        responses[r] += this._weight(bit, h[l] > 0) * Math.min(Math.abs(h[l]), LARGEST);
      }
    }
    return responses;
  }

  /** The weight from the positive or negative side of a hyperplane to a region, by the bit of its code. */
  _weight(bit, positive) {
    return (this.regions.codes.data[bit] > 0) === positive ? 1 : -this.penalty;
  }

  /** The outputs; -∞ for a class without regions, unless it is the first one. */
  scores(h) {
    const possible = new Set([0, ...this.regions.classes]);
    return this.outputs(h).map((output, label) => (possible.has(label) ? output : -Infinity));
  }

  leadSlopes(h, winner, rival) {
    const responds = this._preActivations(h).map((response) => (response > 0 ? 1 : 0));
    return this._slopes(responds, h, winner, rival);
  }

  /** The slope (L,) of a lead if each region responds to a share and responses have the signs of h. */
  _slopes(responds, h, winner, rival) {
    const slopes = new Float64Array(h.length);
    this.regions.classes.forEach((label, r) => {
      const weight = responds[r] * ((label === winner) - (label === rival));
      if (weight === 0) return;
      for (let l = 0, bit = r * h.length; l < h.length; l++, bit++) {
        const positive = h[l] > 0;
        slopes[l] += (positive ? weight : -weight) * this._weight(bit, positive);
      }
    });
    return slopes;
  }

  /** In closed form: between two changes of a sign, every pre-activation is linear. */
  meanSlopes(start, stop, winner, rival) {
    const way = stop.map((value, l) => value - start[l]);
    const at = (t) => start.map((value, l) => value + t * way[l]);
    const crossed = start.map((value, l) => (way[l] === 0 ? 0 : -value / way[l]));
    const inner = crossed.map((share) => Math.min(Math.max(share, 0), 1)).sort();
    const ends = [0, ...inner, 1];
    const total = new Float64Array(way.length);
    for (let part = 0; part + 1 < ends.length; part++) {
      const [first, last] = [ends[part], ends[part + 1]];
      if (first === last) continue;
      const [left, right] = [this._preActivations(at(first)), this._preActivations(at(last))];
      const responds = left.map((value, r) => {
        const size = Math.abs(value) + Math.abs(right[r]);
        const positive = Math.max(value, 0) + Math.max(right[r], 0);
        return size > 0 ? ((last - first) * positive) / size : 0;
      });
      const slopes = this._slopes(responds, at(0.5 * (first + last)), winner, rival);
      for (let l = 0; l < total.length; l++) total[l] += slopes[l];
    }
    return total;
  }
}
