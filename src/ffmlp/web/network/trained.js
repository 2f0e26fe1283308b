/* Stages 2 and 3 after backpropagation, as in ffmlp.network.trained: they predict only. */

import { dot } from "../arrays.js";
import { ACTIVATIONS } from "./hyperplanes.js";

/** Weights and biases of l_2 and l_out. */
export class TrainedStages {
  constructor(parts) {
    Object.assign(this, parts);
  }

  design = "trained";

  get nClasses() {
    return this.biases[1].length;
  }

  /** The output of l_out. */
  probabilities(h) {
    const [first, second, third] = this.activations.map((name) => ACTIVATIONS[name]);
    const twoSided = this.weights[0].columns === 2 * h.length;
    const sides = twoSided ? Float64Array.from([...h, ...h.map((response) => -response)]) : h;
    return third(this._layer(1, second(this._layer(0, first(sides)))));
  }

  _layer(number, below) {
    return Float64Array.from(
      this.biases[number],
      (bias, neuron) => dot(this.weights[number].row(neuron), below) + bias,
    );
  }
}
