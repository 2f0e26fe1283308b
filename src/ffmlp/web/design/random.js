/* Random numbers from a seed: the same on every machine. */

/** A source of numbers (mulberry32): `uniform()` in [0, 1), `normal()` and `below(n)`. */
export function randomSource(seed) {
  let state = seed >>> 0;
  let spare = null;
  const source = {
    uniform() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    },
    below(n) {
      return Math.floor(source.uniform() * n);
    },
    normal() {
      if (spare !== null) {
        const value = spare;
        spare = null;
        return value;
      }
      const radius = Math.sqrt(-2 * Math.log(1 - source.uniform()));
      const angle = 2 * Math.PI * source.uniform();
      spare = radius * Math.sin(angle);
      return radius * Math.cos(angle);
    },
  };
  return source;
}

/** The numbers 0 … n - 1 in random order. */
export function shuffled(n, random) {
  const order = Int32Array.from({ length: n }, (_, i) => i);
  for (let last = n - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
