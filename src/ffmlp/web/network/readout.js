/* The readout design, and the one that trees correct, as in ffmlp.network.readout. */

import { softmax } from "./hyperplanes.js";

// The slope of the logarithm below the floor, so that the order of the evidence is kept.
const EVIDENCE_SLOPE = 1e-9;

/** One l_2 neuron per class: its evidence, read out of l_1 by least squares. */
export class ReadoutStages {
  constructor(parts) {
    Object.assign(this, parts);
  }

  design = "readout";

  get nClasses() {
    return this.bias.length;
  }

  /** The softmax of the scores. */
  probabilities(h) {
    return softmax(this.scores(h)).map((share) => Math.min(share, 1));
  }

  /** The evidence at responses h, times the temperature. */
  scores(h) {
    const scores = Float64Array.from(this.bias);
    h.forEach((response, l) => {
      const [even, odd, size] = [this.even.row(l), this.odd.row(l), Math.abs(response)];
      for (let c = 0; c < scores.length; c++) scores[c] += size * even[c] + response * odd[c];
    });
    return scores.map((score) => this.temperature * score);
  }

  leadSlopes(h, winner, rival) {
    return this._slopes(
      h.map((response) => (response > 0 ? 1 : -1)),
      winner,
      rival,
    );
  }

  /** In closed form: the mean sign of a response is the change of `|h|` divided by that of h. */
  meanSlopes(start, stop, winner, rival) {
    const signs = start.map((from, l) => {
      const to = stop[l];
      if (from * to < 0) return (Math.abs(to) - Math.abs(from)) / (to - from);
      return from + to < 0 ? -1 : 1;
    });
    return this._slopes(signs, winner, rival);
  }

  _slopes(signs, winner, rival) {
    return signs.map((sign, l) => {
      const even = this.even.at(l, winner) - this.even.at(l, rival);
      const odd = this.odd.at(l, winner) - this.odd.at(l, rival);
      return this.temperature * (even * sign + odd);
    });
  }
}

/** One l_2 neuron per class, its evidence, and one per region, which adds to the evidence. */
export class CorrectedReadoutStages extends ReadoutStages {
  /** Powers of the evidence, divided by their sum. */
  probabilities(h) {
    const logarithms = this.scores(h).map(
      (evidence) => this.power * Math.log(Math.max(evidence, this.floor)) + EVIDENCE_SLOPE * evidence,
    );
    return softmax(logarithms).map((share) => Math.min(share, 1));
  }

  /** The evidence of readout and regions. */
  scores(h) {
    const added = this.trees.evidence(h);
    return super.scores(h).map((score, label) => score + added[label]);
  }
}
