/* Exact Shapley values of regions against one reference, as in ffmlp.explain.attribution. */

/** What each hyperplane (L,) adds by regions to the winner's lead over the rival.

A region between the two points counts for every coalition that has all hyperplanes at which only the
sample is within its limits (a of them) and none at which only the reference is (b of them). Only such
regions are visited. */
export function treeShapley(trees, h, reference, winner, rival) {
  const found = new Float64Array(h.length);
  const side = new Map(); // the hyperplanes so far at which only sample (1) or reference (-1) fits

  function visit(node, a, b) {
    if (node < 0) return count(-1 - node, a, b);
    const plane = trees.hyperplanes[node];
    const known = side.get(plane);
    if (known !== undefined) return visit(trees.below(node, known > 0 ? h : reference), a, b);
    const [own, other] = [trees.below(node, h), trees.below(node, reference)];
    if (own === other) return visit(own, a, b);
    side.set(plane, 1);
    visit(own, a + 1, b);
    side.set(plane, -1);
    visit(other, a, b + 1);
    side.delete(plane);
  }

  function count(region, a, b) {
    const lead = trees.values.at(region, winner) - trees.values.at(region, rival);
    const share = lead / binomial(a + b, a);
    for (const [plane, sign] of side) found[plane] += sign > 0 ? share / a : -share / b;
  }

  for (const root of trees.roots) visit(root, 0, 0);
  return found;
}

/** The number of ways to choose k of n. */
function binomial(n, k) {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways = (ways * (n - k + i)) / i;
  return ways;
}
