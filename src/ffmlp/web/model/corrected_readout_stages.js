/* The readout design with regions, as in ffmlp.network.readout. */

import { softmax } from "./activations.js";
import { ReadoutStages } from "./readout_stages.js";

// The slope of the logarithm below the floor, so that the order of the evidence is kept.
const EVIDENCE_SLOPE = 1e-9;

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
