/* The blob design, as in ffmlp.network.blob. */

import { logsumexp, sigmoid, softmax, softplus } from "./hyperplanes.js";
import { meanSlopes } from "./stages.js";

/** One l_2 neuron per blob; the far sides of the blob's hyperplanes inhibit it. */
export class BlobStages {
  constructor(parts) {
    Object.assign(this, parts);
  }

  design = "blob";

  get nClasses() {
    return this.n_classes;
  }

  /** The score (D_2,) of each blob. */
  _blobScores(h) {
    const scores = new Float64Array(this.neuron_classes.length);
    h.forEach((response, l) => {
      const [first, second] = this.pairs.row(l);
      scores[first] -= this.temperature * softplus(-response);
      scores[second] -= this.temperature * softplus(response);
    });
    return scores;
  }

  /** The sum of the shares of each class's blobs. */
  probabilities(h) {
    const sums = new Float64Array(this.nClasses);
    softmax(this._blobScores(h)).forEach((share, neuron) => {
      sums[this.neuron_classes[neuron]] += share;
    });
    return sums.map((sum) => Math.min(sum, 1));
  }

  /** The log-probability of each class, up to a constant. */
  scores(h) {
    const blobScores = this._blobScores(h);
    return Float64Array.from({ length: this.nClasses }, (_, label) =>
      logsumexp(blobScores.filter((_, neuron) => this.neuron_classes[neuron] === label)),
    );
  }

  leadSlopes(h, winner, rival) {
    const blobScores = this._blobScores(h);
    const share = new Float64Array(blobScores.length);
    for (const [label, sign] of [
      [winner, 1],
      [rival, -1],
    ]) {
      const neurons = [...share.keys()].filter((neuron) => this.neuron_classes[neuron] === label);
      softmax(neurons.map((neuron) => blobScores[neuron])).forEach((part, k) => {
        share[neurons[k]] = sign * part;
      });
    }
    return h.map((response, l) => {
      const [first, second] = this.pairs.row(l);
      const up = share[first] * sigmoid(-response) - share[second] * sigmoid(response);
      return this.temperature * up;
    });
  }

  /** By quadrature between the bends. */
  meanSlopes(start, stop, winner, rival) {
    return meanSlopes(this, start, stop, winner, rival);
  }
}
