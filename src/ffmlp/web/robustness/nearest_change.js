/* A search for near rows of another class. It finds changes; it does not prove that none is nearer.

Near is the least sum of changes of numbers, in standard deviations. Categories and missing cells stay.
An answer has few digits and lies clearly beyond the boundary: entered as it is shown, also in Python,
which rounds otherwise, it gives the same class. */

import { argmax } from "../arrays.js";

const STEPS = 30;
const BISECTIONS = 40;
const ROUNDS = 3;
// A step goes to the boundary of the linearised lead, times this factor.
const STEP_FACTOR = 1.02;
// Values of a column that are tried, rivals whose boundaries are, and blobs that the search starts from.
const [VALUES_TRIED, RIVALS_TRIED, BLOBS_TRIED] = [24, 3, 8];
// The class of an answer leads by this probability, and cells this many units nearer or farther have it,
// too: much more than rounding changes. Larger lengths of changes get the same number of digits.
const [CLEAR_LEAD, CLEAR_UNITS, LEAST_UNITS] = [1e-7, 1e-6, 1e-2];
// Digits of the length of a change, and steps of the last digit beyond the boundary, that are tried.
const PRECISIONS = [
  [4, 0],
  [4, 1],
  [6, 0],
  [6, 1],
];

/** The nearest change that a search of some milliseconds finds: `{ cells, winner, distance }`, or null.

`units` (N,) and `ranges` are those of the columns; the first of the `columns` are tried first. */
export function nearestChange(problem, cells, columns, milliseconds) {
  const search = new ChangeSearch(problem, cells, columns, performance.now() + milliseconds);
  for (const start of search.starts()) {
    search.consider(start);
    if (performance.now() > search.end) break;
  }
  return search.answer();
}

/** A known row of another class as a change in few digits, or null if its class is not clear. */
export function knownChange(problem, cells, changed) {
  const search = new ChangeSearch(problem, cells, [...cells.keys()], Infinity);
  search.keep(changed);
  return search.answer();
}

/** The distance of changed cells from others. */
export function changeSize({ network, units }, cells, others) {
  return network.table.parts.reduce((sum, part, column) => {
    const size = Math.abs(cells[column] - others[column]) / units[network.table.firsts[column]];
    return sum + (part.isNumber && size > 0 ? size : 0);
  }, 0);
}

/** Categories of one column that give another class, the most probable class first. */
export function categoryChanges({ network }, cells, columns, most) {
  const before = network.classOf(network.inputs(cells));
  const changes = [];
  for (const column of columns) {
    const names = network.table.parts[column].categories ?? [];
    for (let cell = 0; cell < Math.min(names.length, most); cell++) {
      const changed = cells.slice();
      changed[column] = cell;
      const probabilities = network.probabilities(network.inputs(changed));
      const winner = clearWinner(probabilities);
      if (winner !== null && winner !== before) {
        changes.push({ cells: changed, column, winner, share: probabilities[winner] });
      }
    }
  }
  return changes.sort((a, b) => b.share - a.share);
}

/** The most probable class; null if rounding might decide. */
function clearWinner(probabilities) {
  const winner = argmax(probabilities);
  const near = probabilities.filter((share) => share > probabilities[winner] - CLEAR_LEAD);
  return near.length === 1 ? winner : null;
}

class ChangeSearch {
  constructor(problem, cells, columns, end) {
    Object.assign(this, problem, { cells, end, best: null, least: Infinity });
    const { parts } = this.network.table;
    this.columns = columns.filter((column) => parts[column].isNumber && !Number.isNaN(cells[column]));
    this.before = this._classOf(cells);
  }

  _classOf(cells) {
    return this.network.classOf(this.network.inputs(cells));
  }

  isChanged(cells) {
    return this._classOf(cells) !== this.before;
  }

  unit(column) {
    return this.units[this.network.table.firsts[column]];
  }

  /** A value within the range of a column, or the value of the row if it is beyond. */
  within(column, value) {
    const { low, high } = this.ranges[column];
    const now = this.cells[column];
    return Math.min(Math.max(value, Math.min(low, now)), Math.max(high, now));
  }

  /** Candidates for rows of another class, one after the other. */
  *starts() {
    const descended = this.descended();
    if (descended) yield descended;
    for (const column of this.columns) yield* this.alongColumn(column);
    yield* this.blobMeans();
  }

  /** Steps to the boundary of the linearised lead, until the class changes; null if it does not. */
  descended() {
    const cells = this.cells.slice();
    for (let step = 0; step < STEPS && performance.now() < this.end; step++) {
      const next = this.steepest(cells);
      if (!next) return null;
      cells[next.column] = this.within(next.column, cells[next.column] + next.change);
      if (this.isChanged(cells)) return cells;
    }
    return null;
  }

  /** The column and the change that reach the boundary of the linearised lead soonest; null if flat. */
  steepest(cells) {
    const { hyperplanes, stages, table } = this.network;
    const x = this.network.inputs(cells);
    const h = this.network.responses(x);
    const scores = stages.scores(h);
    let best = null;
    for (const rival of this.rivals(scores)) {
      const lead = Math.max(scores[this.before] - scores[rival], 1e-9);
      const slopes = hyperplanes.byInputs(stages.leadSlopes(h, this.before, rival));
      const gradient = hyperplanes.byFeatures(slopes, x);
      for (const column of this.columns) {
        const slope = gradient[table.firsts[column]];
        const change = (-STEP_FACTOR * lead) / slope;
        const size = Math.abs(change) / this.unit(column);
        const moves = this.within(column, cells[column] + change) !== cells[column];
        if (moves && size < (best?.size ?? Infinity)) best = { column, change, size };
      }
    }
    return best;
  }

  rivals(scores) {
    const others = [...scores.keys()].filter((k) => k !== this.before && scores[k] > -Infinity);
    return others.sort((a, b) => scores[b] - scores[a]).slice(0, RIVALS_TRIED);
  }

  /** The nearest tried value of a column, below and above, at which the class is another. */
  *alongColumn(column) {
    const { low, high } = this.ranges[column];
    for (const limit of [low, high]) {
      for (let k = 1; k <= VALUES_TRIED; k++) {
        const cells = this.cells.slice();
        cells[column] += ((limit - cells[column]) * k) / VALUES_TRIED;
        if (performance.now() > this.end || this.beyondBest(cells)) break;
        if (this.isChanged(cells)) {
          yield cells;
          break;
        }
      }
    }
  }

  /** The means of the nearest blobs of other classes. */
  *blobMeans() {
    const { hyperplanes, table } = this.network;
    const means = [...this.blobs.classes.keys()]
      .filter((blob) => this.blobs.classes[blob] !== this.before)
      .map((blob) => {
        const x = hyperplanes.unmapped(this.blobs.means.row(blob));
        const cells = this.cells.slice();
        for (const column of this.columns) {
          cells[column] = this.within(column, x[table.firsts[column]]);
        }
        return cells;
      });
    const nearest = means.sort((a, b) => this.distance(a) - this.distance(b)).slice(0, BLOBS_TRIED);
    for (const cells of nearest) if (this.isChanged(cells)) yield cells;
  }

  distance(cells) {
    return changeSize(this, cells, this.cells);
  }

  beyondBest(cells) {
    return this.distance(cells) >= this.least;
  }

  /** Bring a row of another class nearer, and keep it if it is the nearest so far. */
  consider(start) {
    let cells = this.bisected(start);
    for (let round = 0; round < ROUNDS; round++) {
      const before = this.distance(cells);
      cells = this.bisected(this.reduced(cells));
      if (this.distance(cells) > 0.999 * before) break;
    }
    this.keep(cells);
  }

  /** Keep a row of another class in few digits if it is the nearest so far. */
  keep(changed) {
    const cells = this.clear(changed);
    if (cells && !this.beyondBest(cells)) [this.best, this.least] = [cells, this.distance(cells)];
  }

  /** The row just beyond the boundary, on the line from the row. */
  bisected(far) {
    let [near, beyond] = [0, 1];
    const at = (share) =>
      far.map((value, column) => {
        const now = this.cells[column];
        return Number.isNaN(now) || value === now ? now : now + share * (value - now);
      });
    for (let k = 0; k < BISECTIONS; k++) {
      const middle = 0.5 * (near + beyond);
      if (this.isChanged(at(middle))) beyond = middle;
      else near = middle;
    }
    return beyond === 1 ? far : at(beyond);
  }

  /** A row of another class in which as few columns as possible are changed, the smallest first. */
  reduced(changed) {
    const cells = changed.slice();
    const size = (column) => Math.abs(changed[column] - this.cells[column]) / this.unit(column);
    const moved = this.columns.filter((column) => changed[column] !== this.cells[column]);
    for (const column of moved.sort((a, b) => size(a) - size(b))) {
      cells[column] = this.cells[column];
      if (!this.isChanged(cells)) cells[column] = changed[column];
    }
    return cells;
  }

  /** The row with the first precision that makes its class clear, or null. */
  clear(changed) {
    for (const precision of PRECISIONS) {
      const cells = changed.map((value, column) => this.outward(column, value, ...precision));
      if (this.isClear(cells)) return cells;
    }
    return null;
  }

  /** A changed number in few digits, not nearer to the value of the row; other cells as they are. */
  outward(column, value, digits, beyond) {
    const now = this.cells[column];
    if (value === now || Number.isNaN(now)) return now;
    const length = Math.max(Math.abs(value - now), LEAST_UNITS * this.unit(column));
    const finest = 10 ** (Math.floor(Math.log10(length)) + 1 - digits);
    const step = this.ranges[column].whole ? Math.max(finest, 1) : finest;
    const steps = value > now ? Math.ceil(value / step) + beyond : Math.floor(value / step) - beyond;
    // Products of steps have rounding errors that decimals have not.
    return this.within(column, Number((steps * step).toPrecision(15)));
  }

  /** Whether cells, and those slightly nearer and farther, are of one other class, by a clear lead. */
  isClear(cells) {
    const winners = [0, -CLEAR_UNITS, CLEAR_UNITS].map((units) => {
      const moved = cells.map((value, column) => {
        const way = value - this.cells[column];
        return way ? value + Math.sign(way) * units * this.unit(column) : value;
      });
      return clearWinner(this.network.probabilities(this.network.inputs(moved)));
    });
    const [winner] = winners;
    return winner !== null && winner !== this.before && winners.every((other) => other === winner);
  }

  answer() {
    return this.best && { cells: this.best, winner: this._classOf(this.best), distance: this.least };
  }
}
