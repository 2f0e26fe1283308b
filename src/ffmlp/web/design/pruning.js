/* Stage 1, pruning: the cheapest hyperplane is deleted while the error rate stays below a threshold.

As in ffmlp.design.pruning, only the region table is read. Deleting hyperplane l merges the pairs of
regions whose codes differ in bit l alone. Old costs are lower bounds of new ones, once those next to
merges that added errors are updated: that module says why. Exact costs are computed
only where needed. */

import { randomSource } from "./random.js";

/** The deletions in order, the error rate after each, and what is kept. Ties go to the lowest index. */
export function prune(regions, threshold) {
  const partition = new Partition(regions);
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

/** Regions that merge, looked up by slots: the exclusive or of the keys of a code's set bits. */
class Partition {
  constructor({ n, L, W, C, words, counts }) {
    Object.assign(this, { n, W, C, words: words.slice(), counts: counts.slice() });
    this.majority = new Int32Array(n);
    this.largest = new Float64Array(n);
    this.slots = new Int32Array(n);
    this.following = new Int32Array(n);
    let size = 1;
    while (size < 8 * n) size *= 2;
    this.heads = new Int32Array(size);
    const random = randomSource(1);
    this.keys = Int32Array.from({ length: L }, () => random.below(size));
    for (let r = 0; r < n; r++) {
      this.rank(r);
      this.slots[r] = this.slotOf(r);
    }
    this.chainSlots();
  }

  /** The samples of the majority classes of their regions. */
  correct() {
    return this.largest.subarray(0, this.n).reduce((sum, count) => sum + count, 0);
  }

  /** The majority class of region r, and its count. */
  rank(r) {
    const { counts, majority, C } = this;
    majority[r] = 0;
    for (let c = 1; c < C; c++) if (counts[r * C + c] > counts[r * C + majority[r]]) majority[r] = c;
    this.largest[r] = counts[r * C + majority[r]];
  }

  slotOf(r) {
    let slot = 0;
    for (let w = 0; w < this.W; w++) {
      for (let bits = this.words[r * this.W + w]; bits !== 0; bits &= bits - 1) {
        slot ^= this.keys[32 * w + 31 - Math.clz32(bits & -bits)];
      }
    }
    return slot;
  }

  /** Regions of equal slots follow each other. */
  chainSlots() {
    this.heads.fill(-1);
    for (let r = 0; r < this.n; r++) {
      this.following[r] = this.heads[this.slots[r]];
      this.heads[this.slots[r]] = r;
    }
  }

  /** The bit of region r for hyperplane l. */
  bit(r, l) {
    return (this.words[r * this.W + (l >> 5)] >>> (l & 31)) & 1;
  }

  /** The region across hyperplane l from region r, or -1. */
  across(r, l) {
    const { W, words, following } = this;
    const [word, bit] = [l >> 5, 1 << (l & 31)];
    for (let b = this.heads[this.slots[r] ^ this.keys[l]]; b >= 0; b = following[b]) {
      let w = 0;
      while (w < W && words[b * W + w] === (words[r * W + w] ^ (w === word ? bit : 0))) w += 1;
      if (w === W) return b;
    }
    return -1;
  }

  /** The errors that merging two regions adds. */
  loss(a, b) {
    const { counts, majority, largest, C } = this;
    if (majority[a] === majority[b]) return 0;
    let most = 0;
    for (let c = 0; c < C; c++) most = Math.max(most, counts[a * C + c] + counts[b * C + c]);
    return largest[a] + largest[b] - most;
  }

  /** The pairs of regions that deleting l merges; the first one lies below l. */
  pairsAcross(l) {
    const pairs = [];
    for (let a = 0; a < this.n; a++) {
      if (this.bit(a, l)) continue;
      const b = this.across(a, l);
      if (b >= 0) pairs.push([a, b]);
    }
    return pairs;
  }

  /** The errors that deleting l adds. */
  cost(l) {
    return this.pairsAcross(l).reduce((added, [a, b]) => added + this.loss(a, b), 0);
  }

  /** The errors that deleting l adds by pairs with a touched region. */
  costNear(l, touched) {
    let added = 0;
    for (const a of touched) {
      const b = this.across(a, l);
      if (b >= 0 && (!touched.has(b) || a < b)) added += this.loss(a, b);
    }
    return added;
  }

  /** Delete l; a lower bound of the change of each cost that is left. */
  remove(l, left) {
    const merged = this.pairsAcross(l);
    const lossy = new Set(merged.filter(([a, b]) => this.loss(a, b) > 0).flat());
    const before = left.map((other) => this.costNear(other, lossy));
    const numbers = this.merge(merged, l);
    const touched = new Set([...lossy].map((r) => numbers[r]).filter((r) => r >= 0));
    return left.map((other, i) => this.costNear(other, touched) - before[i]);
  }

  /** Merge the pairs across l; the new number of each region, -1 for the second one of a pair. */
  merge(pairs, l) {
    const { counts, C } = this;
    const numbers = Int32Array.from({ length: this.n }, (_, r) => r);
    for (const [a, b] of pairs) {
      for (let c = 0; c < C; c++) counts[a * C + c] += counts[b * C + c];
      this.rank(a);
      numbers[b] = -1;
    }
    let next = 0;
    for (let r = 0; r < this.n; r++) {
      if (numbers[r] < 0) continue;
      numbers[r] = next;
      this.moveRegion(r, next, l);
      next += 1;
    }
    this.n = next;
    this.chainSlots();
    return numbers;
  }

  /** Give a region another number, and a code without the bit of l. */
  moveRegion(from, to, l) {
    const { W, C, words, counts, largest, majority, slots } = this;
    if (this.bit(from, l)) {
      slots[from] ^= this.keys[l];
      words[from * W + (l >> 5)] &= ~(1 << (l & 31));
    }
    words.copyWithin(to * W, from * W, (from + 1) * W);
    counts.copyWithin(to * C, from * C, (from + 1) * C);
    [largest[to], majority[to], slots[to]] = [largest[from], majority[from], slots[from]];
  }
}
