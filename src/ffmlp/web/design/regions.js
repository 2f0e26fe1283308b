/* Occupied regions: distinct sign codes of samples and their class counts, as in ffmlp.network.regions.

A code has one bit for each of L hyperplanes, 32 bits to a word. Regions are in the order of their codes,
in which the first hyperplane has the least weight. */

/** Packed codes (n, W) of signed responses h (n, L). */
export function signCodes(h, L) {
  const [n, W] = [h.length / L, Math.ceil(L / 32)];
  const words = new Int32Array(n * W);
  for (let i = 0; i < n; i++) {
    for (let l = 0; l < L; l++) {
      if (h[i * L + l] > 0) words[i * W + (l >> 5)] |= 1 << (l & 31);
    }
  }
  return words;
}

/** Whether region r lies on the positive side of hyperplane l. */
export function isAbove(regions, r, l) {
  return ((regions.words[r * regions.W + (l >> 5)] >>> (l & 31)) & 1) === 1;
}

/** The regions that samples occupy, given by their codes and classes. */
export function tabulated(words, L, y, C) {
  const counts = new Float64Array(y.length * C);
  for (let i = 0; i < y.length; i++) counts[i * C + y[i]] = 1;
  return mergedRegions(words, L, counts, C);
}

/** The regions that are left when only some hyperplanes partition the space. */
export function selectedRegions(regions, kept) {
  const { n, C, counts } = regions;
  const W = Math.ceil(kept.length / 32);
  const words = new Int32Array(n * W);
  for (let r = 0; r < n; r++) {
    kept.forEach((l, i) => {
      if (isAbove(regions, r, l)) words[r * W + (i >> 5)] |= 1 << (i & 31);
    });
  }
  return mergedRegions(words, kept.length, counts, C);
}

/** Rows of equal codes become one region, with the sum of their counts. */
function mergedRegions(words, L, rowCounts, C) {
  const W = Math.ceil(L / 32);
  const index = codeIndex(L);
  const inverse = new Int32Array(rowCounts.length / C);
  const firsts = [];
  for (let row = 0; row < inverse.length; row++) {
    inverse[row] = index.add(words, row * W);
    if (inverse[row] === firsts.length) firsts.push(row);
  }
  const order = firsts.map((_, r) => r).sort((a, b) => compareCodes(words, W, firsts[a], firsts[b]));
  const ranks = new Int32Array(firsts.length);
  const ordered = new Int32Array(firsts.length * W);
  order.forEach((r, rank) => {
    ranks[r] = rank;
    ordered.set(words.subarray(firsts[r] * W, (firsts[r] + 1) * W), rank * W);
  });
  const counts = new Float64Array(firsts.length * C);
  for (let row = 0; row < inverse.length; row++) {
    for (let c = 0; c < C; c++) counts[ranks[inverse[row]] * C + c] += rowCounts[row * C + c];
  }
  return { n: firsts.length, L, W, C, words: ordered, counts };
}

function compareCodes(words, W, a, b) {
  for (let w = W - 1; w >= 0; w--) {
    const difference = (words[a * W + w] >>> 0) - (words[b * W + w] >>> 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A hash table of codes: `add` returns the number of a code, `find` -1 where it is not there. */
function codeIndex(L) {
  const W = Math.ceil(L / 32);
  let size = 1 << 10;
  let heads = new Int32Array(size).fill(-1);
  const codes = [];
  const following = [];
  const hashes = [];

  function hashOf(words, start) {
    let hash = 0x9e3779b9 | 0;
    for (let w = 0; w < W; w++) {
      hash = Math.imul(hash ^ words[start + w], 0x85ebca6b);
      hash ^= hash >>> 15;
    }
    return Math.imul(hash, 0xc2b2ae35) >>> 7;
  }

  function lookUp(words, start, hash) {
    for (let code = heads[hash & (size - 1)]; code >= 0; code = following[code]) {
      let w = 0;
      while (w < W && codes[code * W + w] === words[start + w]) w += 1;
      if (w === W) return code;
    }
    return -1;
  }

  function grow() {
    size *= 4;
    heads = new Int32Array(size).fill(-1);
    hashes.forEach((hash, code) => {
      following[code] = heads[hash & (size - 1)];
      heads[hash & (size - 1)] = code;
    });
  }

  return {
    find: (words, start) => lookUp(words, start, hashOf(words, start)),
    add(words, start) {
      const hash = hashOf(words, start);
      const known = lookUp(words, start, hash);
      if (known >= 0) return known;
      if (2 * hashes.length > size) grow();
      for (let w = 0; w < W; w++) codes.push(words[start + w]);
      following.push(heads[hash & (size - 1)]);
      heads[hash & (size - 1)] = hashes.length;
      return hashes.push(hash) - 1;
    },
  };
}

/** An index that finds regions by their codes. */
export function regionIndex(regions) {
  const index = codeIndex(regions.L);
  for (let r = 0; r < regions.n; r++) index.add(regions.words, r * regions.W);
  return index;
}

/** The majority class of each region; ties go to the first class. */
export function majorityClasses({ n, C, counts }) {
  const classes = new Int32Array(n);
  for (let r = 0; r < n; r++) {
    for (let c = 1; c < C; c++) {
      if (counts[r * C + c] > counts[r * C + classes[r]]) classes[r] = c;
    }
  }
  return classes;
}
