/* Regions as leaves of trees whose nodes are half-spaces, as in ffmlp.network.trees. */

/** T trees of M nodes, with R regions as leaves. */
export class Trees {
  constructor(parts) {
    Object.assign(this, parts);
  }

  /** The child of a node to which responses h (L,) lead; -1 - r stands for region r. */
  below(node, h) {
    const second = Math.fround(h[this.hyperplanes[node]]) > this.thresholds[node];
    return this.children.at(node, second ? 1 : 0);
  }

  /** The sum (C,) of the values of the regions of responses h, tree by tree. */
  evidence(h) {
    const total = new Float64Array(this.values.columns);
    for (const root of this.roots) {
      let node = root;
      while (node >= 0) node = this.below(node, h);
      const values = this.values.row(-1 - node);
      for (let c = 0; c < total.length; c++) total[c] += values[c];
    }
    return total;
  }
}
