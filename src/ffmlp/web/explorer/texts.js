/* Numbers and names as short texts. */

const LONGEST = 18;

/** A number with four digits. */
export function short(value) {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) {
    return value.toExponential(2).replace("e+", "e").replace("-", "−");
  }
  const digits = size >= 1000 ? 0 : 4 - Math.max(1, Math.floor(Math.log10(size || 1)) + 1);
  return String(Number(value.toFixed(digits))).replace("-", "−");
}

/** A number in as many digits as keep its order to another one, and the other one in full. */
export function apart(one, other) {
  const order = Math.sign(one - other);
  const digits = [4, 6, 9, 12, 17].find((n) => Math.sign(one.toPrecision(n) - other) === order);
  return [Number(one.toPrecision(digits)), other].map((value) => String(value).replace("-", "−"));
}

/** A number with its sign. */
export function signed(value) {
  return value > 0 ? `+${short(value)}` : short(value);
}

export function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}%`;
}

/** A name without its middle if it is long: long names often differ at their ends. */
export function cut(name, longest = LONGEST) {
  if (name.length <= longest) return name;
  const tail = (longest - 1) >> 1;
  return `${name.slice(0, longest - 1 - tail)}…${name.slice(-tail)}`;
}

/** A number and its noun, which gets an s where needed. */
export function countOf(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
