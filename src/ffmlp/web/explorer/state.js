/* The row that the reader changes, the model that explains it, and who listens to changes. */

import { explained } from "../explain/explain.js";
import { Blobs } from "../network/blobs.js";
import { fromJson } from "../network/json_form.js";

/** The model from its compressed JSON values. */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { network, blobs, units, cells, ...rest } = JSON.parse(await new Response(stream).text());
  return {
    network: fromJson(network),
    blobs: new Blobs(fromJson(blobs)),
    units: fromJson(units),
    cells: fromJson(cells),
    ...rest,
  };
}

/** The row that is shown: `cells` (M,), the number of the row that they began as, the explanation. */
export class Row {
  constructor(model) {
    this.model = model;
    this.listeners = [];
  }

  /** Begin with one of the rows of the file. */
  begin(number) {
    this.origin = number;
    this.cells = this.model.cells.row(number).slice();
    this.changed();
  }

  set(column, cell) {
    this.cells[column] = cell;
    this.changed();
  }

  setAll(cells) {
    this.cells = cells.slice();
    this.changed();
  }

  get isOriginal() {
    return this.model.cells.row(this.origin).every((cell, k) => Object.is(cell, this.cells[k]));
  }

  changed() {
    const { network, blobs } = this.model;
    this.why = explained(network, blobs, this.cells);
    for (const listener of this.listeners) listener(this);
  }
}

/** A function that runs once the calls to it have ceased for some milliseconds. */
export function whenCalm(milliseconds, action) {
  let waiting;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(action, milliseconds);
  };
}
