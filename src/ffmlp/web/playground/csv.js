/* CSV files: rows of texts, or an error that says what is wrong and what to do. */

// Larger files would take too long in a page.
export const MOST_BYTES = 30e6;
const SEPARATORS = [",", ";", "\t", "|"];

/** A problem with a file, written for the person who chose it. */
export class FileProblem extends Error {}

/** {names, rows, comma}: the header, cells by row, and whether numbers may have a decimal comma. */
export function parsedCsv(text) {
  const content = text.replace(/^\uFEFF/, "");
  if (content.trim() === "")
    throw new FileProblem("The file is empty. Choose a CSV file with a header.");
  if (content.includes("\u0000")) {
    throw new FileProblem("This is not a text file. Save the table as CSV (UTF-8) and choose it again.");
  }
  const separator = likelySeparator(content);
  const rows = splitRows(content, separator);
  if (rows.length < 2) throw new FileProblem("The file has one line. It needs a header and rows.");
  const width = rows[0].cells.length;
  if (width < 2) {
    throw new FileProblem(
      "The file has one column. It needs features and a class, separated by commas, semicolons or tabs.",
    );
  }
  const odd = rows.find(({ cells }) => cells.length !== width);
  if (odd !== undefined) {
    throw new FileProblem(
      `Line ${odd.line} does not have the ${width} cells of the first line, but ${odd.cells.length}. ` +
        "Check quotes and separators there.",
    );
  }
  return withHeader(
    rows.map(({ cells }) => cells),
    separator !== ",",
  );
}

/** The separator that is most frequent in the first line, outside of quotes. */
function likelySeparator(content) {
  const first = content.split(/\r\n|\n|\r/, 1)[0].replace(/"[^"]*"/g, "");
  const counts = SEPARATORS.map((separator) => first.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

/** Rows of cells with the number of their first line; empty lines are left out. */
function splitRows(content, separator) {
  const rows = [];
  let [cells, cell, line, start, quoted] = [[], "", 1, 1, false];
  const endRow = () => {
    cells.push(cell);
    if (cells.length > 1 || cell.trim() !== "")
      rows.push({ cells: cells.map((text) => text.trim()), line: start });
    [cells, cell, start] = [[], "", line + 1];
  };
  for (let i = 0; i < content.length; i++) {
    const letter = content[i];
    if (quoted) {
      if (letter === "\n") line += 1;
      if (letter !== '"') cell += letter;
      else if (content[i + 1] === '"') cell += content[++i];
      else quoted = false;
    } else if (letter === '"' && cell.trim() === "") {
      [cell, quoted] = ["", true];
    } else if (letter === separator) {
      cells.push(cell);
      cell = "";
    } else if (letter === "\n" || letter === "\r") {
      if (letter === "\r" && content[i + 1] === "\n") i += 1;
      endRow();
      line += 1;
    } else {
      cell += letter;
    }
  }
  if (quoted) throw new FileProblem(`The quote that opens in line ${start} is never closed.`);
  if (cell !== "" || cells.length) endRow();
  return rows;
}

/** The first row is a header unless one of its cells is a number. */
function withHeader(rows, comma) {
  const isHeader = !rows[0].some((cell) => Number.isFinite(cellNumber(cell, comma)));
  const names = rows[0].map((cell, j) => (isHeader && cell !== "" ? cell : `column ${j + 1}`));
  const twice = names.find((name, j) => names.indexOf(name) !== j);
  if (twice !== undefined) {
    throw new FileProblem(`Two columns have the name “${twice}”. Rename one of them.`);
  }
  const body = isHeader ? rows.slice(1) : rows;
  return { names, rows: body, comma };
}

const MISSING = new Set(["", "na", "n/a", "nan", "null", "none", "?", "-", "."]);

/** Whether a cell stands for a missing value. */
export function isMissing(cell) {
  return MISSING.has(cell.toLowerCase());
}

/** The number in a cell; NaN if it is none. */
export function cellNumber(cell, comma) {
  const text = comma && /^[-+]?\d*,\d+$/.test(cell) ? cell.replace(",", ".") : cell;
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : NaN;
}
