/* From a CSV file to samples: a class column, numbers, and categories as shares of classes. */

import { randomSource, shuffled } from "../design/random.js";
import { FileProblem, cellNumber, isMissing } from "./csv.js";
import { heldOut } from "./sets.js";

const MOST_CLASSES = 20;
const MOST_ROWS = 20000;
const MOST_COLUMNS = 100;
// The squares of larger numbers, added up, are infinite.
const LARGEST_NUMBER = 1e140;
// The shares of all samples count as so many samples of each category, as in ffmlp.inputs.encoding.
const PRIOR_SAMPLES = 10;
const MOST_SHARES = 10;
const CLASS_NAMES = /^(class|target|label|y|species|outcome|diagnosis|type)$/i;

/** The columns of a parsed file: their cells, and whether they hold numbers. */
export function tableColumns({ names, rows, comma }) {
  if (names.length > MOST_COLUMNS) {
    throw new FileProblem(`The file has ${names.length} columns. The page takes up to ${MOST_COLUMNS}.`);
  }
  return names.map((name, j) => {
    const cells = rows.map((row) => (isMissing(row[j]) ? null : row[j]));
    const values = Float64Array.from(cells, (cell) => (cell === null ? NaN : cellNumber(cell, comma)));
    const isNumber = cells.every((cell, i) => cell === null || Number.isFinite(values[i]));
    return { name, cells, values, isNumber, distinct: new Set(cells.filter((cell) => cell !== null)) };
  });
}

/** The column that is most likely the class, or an error if none can be. */
export function likelyTarget(columns) {
  const fits = (column) => column.distinct.size >= 2 && column.distinct.size <= MOST_CLASSES;
  const possible = columns.filter(fits);
  if (!possible.length) {
    throw new FileProblem(
      `No column has between 2 and ${MOST_CLASSES} distinct values: none can be the class. Add a ` +
        "column with the class of each row. For more classes, use ffmlp fit.",
    );
  }
  return (
    possible.find(({ name }) => CLASS_NAMES.test(name)) ??
    (fits(columns.at(-1)) ? columns.at(-1) : null) ??
    possible.find(({ isNumber }) => !isNumber) ??
    possible.at(-1)
  ).name;
}

/** Samples of a table, with the columns that their inputs come from, and notes for the reader. */
export function tabledSamples(columns, target, seed) {
  const notes = [];
  const goal = columns.find(({ name }) => name === target);
  const { labels, rows, y } = labelledRows(columns, goal, seed, notes);
  const C = labels.length;
  const isTest = heldOut(y, C, randomSource(seed));
  const parts = [];
  for (const column of columns) {
    if (column === goal) continue;
    if (!column.distinct.size) notes.push(`“${column.name}” is empty and was left out.`);
    else if (column.isNumber) parts.push(numberPart(column, rows, isTest));
    else if (column.distinct.size > Math.max(20, columns[0].cells.length / 2)) {
      notes.push(`“${column.name}” has a different text in most rows and was left out.`);
    } else parts.push(categoryPart(column, rows, y, C, isTest, labels));
  }
  if (!parts.length)
    throw new FileProblem("No column is left besides the class. Add columns of numbers.");
  const names = parts.flatMap((part) => part.names);
  const N = names.length;
  const X = new Float64Array(rows.length * N);
  let first = 0;
  for (const part of parts) {
    part.fill(X, N, first);
    first += part.names.length;
  }
  return { X, y, n: rows.length, N, C, labels, names, isTest, parts, notes };
}

function labelledRows(columns, goal, seed, notes) {
  if (goal.distinct.size < 2 || goal.distinct.size > MOST_CLASSES) {
    throw new FileProblem(
      `“${goal.name}” has ${goal.distinct.size} distinct values. The class needs 2 to ` +
        `${MOST_CLASSES} of them: choose another column.`,
    );
  }
  let rows = [...goal.cells.keys()].filter((i) => goal.cells[i] !== null);
  if (rows.length < goal.cells.length) {
    notes.push(`${goal.cells.length - rows.length} rows without a class were left out.`);
  }
  if (rows.length > MOST_ROWS) {
    notes.push(`${MOST_ROWS} of ${rows.length} rows were drawn at random.`);
    const order = shuffled(rows.length, randomSource(seed)).slice(0, MOST_ROWS).sort();
    rows = Array.from(order, (i) => rows[i]);
  }
  const texts = [...new Set(rows.map((i) => goal.cells[i]))];
  if (texts.length < 2) throw new FileProblem(`“${goal.name}” has one class in the rows that are left.`);
  texts.sort((a, b) => (goal.isNumber ? Number(a) - Number(b) : 0) || (a < b ? -1 : 1));
  const numbers = new Map(texts.map((text, label) => [text, label]));
  const asWritten = texts.every(
    (text) => String(Number(text)) === text && Number.isSafeInteger(Number(text)),
  );
  const labels = asWritten ? texts.map(Number) : texts;
  return { labels, rows, y: Int32Array.from(rows, (i) => numbers.get(goal.cells[i])) };
}

/** A column of numbers; the mean of the training rows stands for a missing one. */
function numberPart({ name, values }, rows, isTest) {
  if (values.some((value) => Math.abs(value) > LARGEST_NUMBER)) {
    throw new FileProblem(`“${name}” has numbers beyond ${LARGEST_NUMBER}. Write them in larger units.`);
  }
  let [sum, count] = [0, 0];
  rows.forEach((row, i) => {
    if (isTest[i] || Number.isNaN(values[row])) return;
    sum += values[row];
    count += 1;
  });
  const mean = count ? sum / count : 0;
  return {
    name,
    mean,
    names: [name],
    fill: (X, N, first) =>
      rows.forEach((row, i) => {
        X[i * N + first] = Number.isNaN(values[row]) ? mean : values[row];
      }),
  };
}

/** A column of categories; each stands for the smoothed shares of classes among its training rows. */
function categoryPart({ name, cells }, rows, y, C, isTest, labels) {
  const counts = new Map();
  const total = new Array(C).fill(0);
  rows.forEach((row, i) => {
    if (isTest[i]) return;
    const counted = counts.get(cells[row]) ?? counts.set(cells[row], new Array(C).fill(0)).get(cells[row]);
    counted[y[i]] += 1;
    total[y[i]] += 1;
  });
  const nTraining = total.reduce((sum, count) => sum + count, 0);
  const prior = total.map((count) => count / nTraining);
  const smoothed = (counted) => {
    const mass = counted.reduce((sum, count) => sum + count, 0);
    return counted.map((count, label) => (count + PRIOR_SAMPLES * prior[label]) / (mass + PRIOR_SAMPLES));
  };
  // The shares of the last classes tell as much as all; the shares of one follow from the others.
  const classes = [...prior.keys()].slice(Math.max(1, C - MOST_SHARES));
  const chosen = (shares) => classes.map((label) => shares[label]);
  const categories = [...counts.keys()].filter((text) => text !== null).sort();
  const missing = counts.has(null) ? smoothed(counts.get(null)) : prior;
  const shares = categories.map((text) => chosen(smoothed(counts.get(text))));
  const byText = new Map(categories.map((text, k) => [text, shares[k]]));
  byText.set(null, chosen(missing));
  const unknown = chosen(prior);
  return {
    name,
    categories,
    classes,
    shares: [...shares, chosen(missing), unknown],
    names: classes.map((label) => `share of ${labels[label]} by ${name}`),
    fill: (X, N, first) =>
      rows.forEach((row, i) => X.set(byText.get(cells[row]) ?? unknown, i * N + first)),
  };
}
