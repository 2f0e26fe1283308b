/* Tables of numbers and small dense matrices: typed arrays, row by row. */

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

/** The index of the largest value, the first in a tie. */
export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/** A number of order one, rounded so that those that differ by rounding error only are equal. */
export function withoutRounding(value) {
  return Math.round(value * 1e9) / 1e9;
}

/** The lower Cholesky factor (n, n) of a symmetric positive definite matrix. */
export function cholesky(matrix, n) {
  const lower = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i * n + j];
      for (let m = 0; m < j; m++) sum -= lower[i * n + m] * lower[j * n + m];
      if (i > j) lower[i * n + j] = sum / lower[j * n + j];
      else if (sum > 0) lower[i * n + i] = Math.sqrt(sum);
      else throw new Error("A covariance is not positive definite.");
    }
  }
  return lower;
}

/** The inverse of a lower triangular matrix (n, n). */
export function lowerInverse(lower, n) {
  const inverse = new Float64Array(n * n);
  for (let j = 0; j < n; j++) {
    inverse[j * n + j] = 1 / lower[j * n + j];
    for (let i = j + 1; i < n; i++) {
      let sum = 0;
      for (let m = j; m < i; m++) sum -= lower[i * n + m] * inverse[m * n + j];
      inverse[i * n + j] = sum / lower[i * n + i];
    }
  }
  return inverse;
}

/** The solution x of matrix · x = right, by elimination with row exchanges; both are overwritten. */
export function solveInPlace(matrix, right, n) {
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let row = column + 1; row < n; row++) {
      if (Math.abs(matrix[row * n + column]) > Math.abs(matrix[pivot * n + column])) pivot = row;
    }
    if (pivot !== column) exchangeRows(matrix, right, n, pivot, column);
    for (let row = column + 1; row < n; row++) {
      const factor = matrix[row * n + column] / matrix[column * n + column];
      if (factor === 0) continue;
      for (let m = column; m < n; m++) matrix[row * n + m] -= factor * matrix[column * n + m];
      right[row] -= factor * right[column];
    }
  }
  for (let row = n - 1; row >= 0; row--) {
    let sum = right[row];
    for (let m = row + 1; m < n; m++) sum -= matrix[row * n + m] * right[m];
    right[row] = sum / matrix[row * n + row];
  }
  return right;
}

function exchangeRows(matrix, right, n, a, b) {
  for (let m = 0; m < n; m++) {
    [matrix[a * n + m], matrix[b * n + m]] = [matrix[b * n + m], matrix[a * n + m]];
  }
  [right[a], right[b]] = [right[b], right[a]];
}
