/* Stage 1, pruning: the cheapest hyperplane is deleted while the error rate stays below a threshold.

As in ffmlp.design.pruning, only the region table is read. Deleting hyperplane l merges the pairs of
regions whose codes differ in bit l alone. Old costs are lower bounds of new ones, once those next to
merges that added errors are updated: that module says why. Exact costs are computed
only where needed. */

import { randomSource } from "./random.js";

/** The deletions in order, the error rate after each, and what is kept. Ties go to the lowest index. */
export function prune(regions, threshold) {
  const partition = partitionOf(regions);
  const total = regions.counts.reduce((sum, count) => sum + count, 0);
  let errors = total - partition.correct();
  const path = { deleted: [], errorRates: [], initialErrorRate: errors / total, kept: [] };
  let left = [...Array(regions.L).keys()];
  const costs = new Float64Array(regions.L);
  const isExact = new Uint8Array(regions.L);
  while (left.length > 1 && errors / total < threshold) {
    const cheapest = cheapestOf(left, costs, isExact, partition);
    if (!((errors + costs[cheapest]) / total < threshold)) break;
    errors += costs[cheapest];
    left = left.filter((l) => l !== cheapest);
    path.deleted.push(cheapest);
    path.errorRates.push(errors / total);
    const changes = partition.remove(cheapest, left);
    left.forEach((l, i) => (costs[l] += changes[i]));
    isExact.fill(0);
  }
  path.kept = left;
  return path;
}

function cheapestOf(left, costs, isExact, partition) {
  for (;;) {
    const cheapest = left.reduce((best, l) => (costs[l] < costs[best] ? l : best));
    if (isExact[cheapest]) return cheapest;
    costs[cheapest] = partition.cost(cheapest);
    isExact[cheapest] = 1;
  }
}

/** Regions that merge, found by slots: the exclusive or of the keys of a code's set bits. */
function partitionOf(regions) {
  const { W, C } = regions;
  let n = regions.n;
  const words = regions.words.slice();
  const counts = regions.counts.slice();
  const largest = new Float64Array(n);
  const own = new Int32Array(n);
  let size = 1;
  while (size < 8 * n) size *= 2;
  const random = randomSource(1);
  const keys = Int32Array.from({ length: regions.L }, () => random.below(size));
  const heads = new Int32Array(size).fill(-1);
  const following = new Int32Array(n);
  const slots = new Int32Array(n);

  function slotOf(r) {
    let slot = 0;
    for (let w = 0; w < W; w++) {
      for (let bits = words[r * W + w]; bits !== 0; bits &= bits - 1) {
        slot ^= keys[32 * w + 31 - Math.clz32(bits & -bits)];
      }
    }
    return slot;
  }

  function rank(r) {
    own[r] = 0;
    for (let c = 1; c < C; c++) if (counts[r * C + c] > counts[r * C + own[r]]) own[r] = c;
    largest[r] = counts[r * C + own[r]];
  }

  function index() {
    heads.fill(-1);
    for (let r = 0; r < n; r++) {
      following[r] = heads[slots[r]];
      heads[slots[r]] = r;
    }
  }

  /** The region across hyperplane l from region r, or -1. */
  function across(r, l) {
    const [word, bit] = [l >> 5, 1 << (l & 31)];
    for (let b = heads[slots[r] ^ keys[l]]; b >= 0; b = following[b]) {
      let w = 0;
      while (w < W && words[b * W + w] === (words[r * W + w] ^ (w === word ? bit : 0))) w += 1;
      if (w === W) return b;
    }
    return -1;
  }

  /** The errors that merging two regions adds. */
  function loss(a, b) {
    if (own[a] === own[b]) return 0;
    let most = 0;
    for (let c = 0; c < C; c++) most = Math.max(most, counts[a * C + c] + counts[b * C + c]);
    return largest[a] + largest[b] - most;
  }

  const isAboveWord = (r, l) => (words[r * W + (l >> 5)] >>> (l & 31)) & 1;

  function cost(l) {
    let added = 0;
    for (let a = 0; a < n; a++) {
      if (isAboveWord(a, l)) continue;
      const b = across(a, l);
      if (b >= 0) added += loss(a, b);
    }
    return added;
  }

  /** The errors that deleting l adds by pairs with a touched region. */
  function costNear(l, touched) {
    let added = 0;
    for (const a of touched) {
      const b = across(a, l);
      if (b >= 0 && (!touched.has(b) || a < b)) added += loss(a, b);
    }
    return added;
  }

  function mergePairs(l) {
    const gone = [];
    const lossy = [];
    for (let a = 0; a < n; a++) {
      if (isAboveWord(a, l)) continue;
      const b = across(a, l);
      if (b < 0) continue;
      gone.push([a, b]);
      if (loss(a, b) > 0) lossy.push(a, b);
    }
    return { gone, lossy: new Set(lossy) };
  }

  /** Delete l; a lower bound of the change of each cost that is left. */
  function remove(l, left) {
    const { gone, lossy } = mergePairs(l);
    const before = left.map((other) => costNear(other, lossy));
    const places = new Int32Array(n).map((_, r) => r);
    for (const [a, b] of gone) {
      for (let c = 0; c < C; c++) counts[a * C + c] += counts[b * C + c];
      rank(a);
      places[b] = -1;
    }
    let next = 0;
    for (let r = 0; r < n; r++) {
      if (places[r] < 0) continue;
      places[r] = next;
      moveRegion(r, next, l);
      next += 1;
    }
    n = next;
    index();
    const touched = new Set([...lossy].map((r) => places[r]).filter((r) => r >= 0));
    return left.map((other, i) => costNear(other, touched) - before[i]);
  }

  function moveRegion(from, to, l) {
    if (isAboveWord(from, l)) {
      slots[from] ^= keys[l];
      words[from * W + (l >> 5)] &= ~(1 << (l & 31));
    }
    words.copyWithin(to * W, from * W, (from + 1) * W);
    counts.copyWithin(to * C, from * C, (from + 1) * C);
    [largest[to], own[to], slots[to]] = [largest[from], own[from], slots[from]];
  }

  for (let r = 0; r < n; r++) {
    rank(r);
    slots[r] = slotOf(r);
  }
  index();
  return { cost, remove, correct: () => largest.subarray(0, n).reduce((sum, count) => sum + count, 0) };
}
