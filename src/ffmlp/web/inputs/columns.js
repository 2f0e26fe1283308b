/* The columns of a table and the inputs that they become, as in ffmlp.inputs.columns.

The cell of a category is its number in the column, `UNKNOWN` for one that the column does not know. A
missing cell is NaN. */

export const UNKNOWN = -1;

/** A column of numbers. */
export class NumberColumn {
  constructor(parts) {
    Object.assign(this, parts);
  }

  isNumber = true;
  nInputs = 1;

  inputs(cell) {
    return [cell];
  }

  /** What a cell holds. */
  value(cell) {
    return Number.isNaN(cell) ? "missing" : cell;
  }
}

/** A column of categories. The inputs of a category are shares of classes among its samples. */
export class CategoryColumn {
  constructor(parts) {
    Object.assign(this, parts);
    this.nInputs = this.classes.length;
  }

  isNumber = false;

  /** Whether training samples had missing cells; otherwise these count as unknown categories. */
  get knowsMissing() {
    const [missing, unknown] = [this.shares.row(this._known), this.shares.row(this._known + 1)];
    return missing.some((share, k) => share !== unknown[k]);
  }

  get _known() {
    return this.categories.length;
  }

  _row(cell) {
    if (Number.isNaN(cell)) return this._known;
    return cell < 0 ? this._known + 1 : cell;
  }

  inputs(cell) {
    return this.shares.row(this._row(cell));
  }

  value(cell) {
    return [...this.categories, "missing", "unknown"][this._row(cell)];
  }
}

/** All columns of a table, in order. */
export class Columns {
  constructor(parts) {
    Object.assign(this, parts);
    this.firsts = [];
    this.owners = [];
    this.parts.forEach((part, column) => {
      this.firsts.push(this.owners.length);
      for (let k = 0; k < part.nInputs; k++) this.owners.push(column);
    });
  }

  /** The inputs (N,) of the cells (M,) of a row. */
  inputs(cells) {
    const encoded = new Float64Array(this.owners.length);
    this.parts.forEach((part, column) => {
      encoded.set(part.inputs(cells[column]), this.firsts[column]);
    });
    if (this.imputation) return this.imputation.filled(encoded);
    return encoded.map((value, input) =>
      Number.isNaN(value) ? this.parts[this.owners[input]].fill : value,
    );
  }

  /** Values (N,) of the inputs, added up for each column. */
  summed(values) {
    const sums = new Float64Array(this.parts.length);
    values.forEach((value, input) => {
      sums[this.owners[input]] += value;
    });
    return sums;
  }
}
