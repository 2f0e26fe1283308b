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

/** Two numbers with as many digits as tell them apart. */
export function apart(one, other) {
  if (short(one) !== short(other)) return [short(one), short(other)];
  for (let digits = 5; digits <= 17; digits++) {
    const texts = [one, other].map((value) => String(Number(value.toPrecision(digits))));
    if (texts[0] !== texts[1]) return texts.map((text) => text.replace("-", "−"));
  }
  return [String(one), String(other)];
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
