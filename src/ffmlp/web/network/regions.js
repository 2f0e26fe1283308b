/* Occupied regions and their look-up, as in ffmlp.network.regions. */

import { argmax } from "../arrays.js";

// Bits of a code in one character of its key.
const BITS_PER_CHARACTER = 16;

/** The R regions that training samples occupy: codes (R, L) and counts of classes (R, C). */
export class Regions {
  constructor(parts) {
    Object.assign(this, parts);
  }

  get length() {
    return this.codes.rows;
  }

  /** The class frequencies (C,) of a region. */
  frequencies(region) {
    const counts = Float64Array.from(this.counts.row(region));
    const total = counts.reduce((sum, count) => sum + count, 0);
    return counts.map((count) => count / total);
  }

  /** The majority class of each region. */
  get classes() {
    this._classes ??= Int32Array.from({ length: this.length }, (_, r) => argmax(this.frequencies(r)));
    return this._classes;
  }

  /** The region with the signs of responses h (L,); undefined if no training sample was there. */
  occupied(h) {
    this._index ??= new Map(
      Array.from({ length: this.length }, (_, r) => [codeKey(this.codes.row(r)), r]),
    );
    return this._index.get(codeKey(h));
  }

  /** The region of responses h; outside of all regions, the one that they violate least. */
  find(h) {
    return this.occupied(h) ?? this.leastViolated(h);
  }

  /** The region, or that of a class, with the largest agreement `h·code`. */
  leastViolated(h, label = null) {
    let [best, region] = [-Infinity, -1];
    for (let r = 0; r < this.length; r++) {
      if (label !== null && this.classes[r] !== label) continue;
      const agreement = this.agreement(h, r);
      if (agreement > best) [best, region] = [agreement, r];
    }
    return region;
  }

  /** `h·code` of a region. */
  agreement(h, region) {
    const [{ data }, L] = [this.codes, h.length];
    let sum = 0;
    for (let l = 0, bit = region * L; l < L; l++, bit++) if (data[bit]) sum += h[l];
    return sum;
  }
}

/** Text that identifies the positive entries of a row. */
function codeKey(row) {
  let key = "";
  for (let start = 0; start < row.length; start += BITS_PER_CHARACTER) {
    let word = 0;
    const end = Math.min(start + BITS_PER_CHARACTER, row.length);
    for (let l = start; l < end; l++) if (row[l] > 0) word |= 1 << (l - start);
    key += String.fromCharCode(word);
  }
  return key;
}
