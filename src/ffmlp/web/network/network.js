/* The designed network, as in ffmlp.network.network. One sample at a time. */

import { argmax } from "../arrays.js";
import { Columns, NumberColumn } from "../inputs/columns.js";

/** A feedforward-designed MLP: inputs → half-spaces → layer l_2 → classes. */
export class Network {
  constructor(parts) {
    Object.assign(this, parts);
    const numbers = () => this.feature_names.map((name) => new NumberColumn({ name, fill: NaN }));
    this.table = this.columns ?? new Columns({ parts: numbers(), imputation: null });
  }

  /** The inputs (N,) of the cells (M,) of a row. */
  inputs(cells) {
    return this.table.inputs(cells);
  }

  /** The signed responses (L,) to inputs (N,). */
  responses(x) {
    return this.hyperplanes.responses(this.hyperplanes.mapped(x));
  }

  /** The probability (C,) of each class for inputs (N,). */
  probabilities(x) {
    return this.stages.probabilities(this.responses(x));
  }

  /** The most probable class for inputs (N,), as an index into the labels. */
  classOf(x) {
    return argmax(this.probabilities(x));
  }
}
