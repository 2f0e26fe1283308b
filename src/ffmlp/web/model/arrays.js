/* Tables of numbers: typed arrays row by row, as `json_form.js` reads them. */

/** Numbers (rows, columns) in one typed array. */
export class Table {
  constructor(data, rows, columns) {
    Object.assign(this, { data, rows, columns });
  }

  /** A view of row i. */
  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns);
  }

  at(i, j) {
    return this.data[i * this.columns + j];
  }
}

/** The sum of the products of two rows. */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** The place of the largest value, the first one in a tie. */
export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}
