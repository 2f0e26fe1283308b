/* The mean slope of a lead between two points, by quadrature, as in ffmlp.network.stages. */

import { dot } from "../arrays.js";

// Gauss-Legendre quadrature of each part of the way, from 0 to 1: `numpy`'s `leggauss(8)`.
const NODES = [0.9602898564975362, 0.7966664774136267, 0.525532409916329, 0.18343464249564978];
const NODE_WEIGHTS = [
  0.10122853629037706, 0.22238103445337443, 0.3137066458778869, 0.36268378337836166,
];
const QUADRATURE = [
  ...NODES.map((node, k) => [0.5 - 0.5 * node, 0.5 * NODE_WEIGHTS[k]]),
  ...NODES.map((node, k) => [0.5 + 0.5 * node, 0.5 * NODE_WEIGHTS[k]]).reverse(),
];
// The error of a part of the way, relative to the change of the lead, and to the scores: rounding.
const [WAY_TOLERANCE, WAY_ROUNDING] = [1e-10, 1e-13];
// The shortest part of the way that is divided, and the most parts of one way that are.
const [SHORTEST, MOST_PARTS] = [2 ** -40, 200];

/** The mean slope (L,) of the winner's lead over the rival, from responses (L,) to others.

A part of the way is divided until its mean slope explains the change of the lead: where the tangents at
its ends meet, and in the middle by turns. */
export function meanSlopes(stages, start, stop, winner, rival) {
  const way = stop.map((value, l) => value - start[l]);
  const at = (t) => start.map((value, l) => value + t * way[l]);
  const ends = (t) => {
    const scores = stages.scores(at(t));
    return [scores[winner], scores[rival]];
  };
  const total = new Float64Array(way.length);
  let parts = [[0, 1]];
  let allowed = null;
  for (let division = 0; parts.length; division++) {
    const divided = [];
    for (const [left, right] of parts) {
      const width = right - left;
      const nodes = QUADRATURE.map(([node]) => stages.leadSlopes(at(left + width * node), winner, rival));
      const slopes = total.map((_, l) =>
        nodes.reduce((sum, node, k) => sum + QUADRATURE[k][1] * node[l], 0),
      );
      const [before, after] = [ends(left), ends(right)];
      if (allowed === null) {
        allowed = WAY_TOLERANCE * slopes.reduce((sum, slope, l) => sum + Math.abs(slope * way[l]), 0);
        allowed += WAY_ROUNDING * Math.max(...[...before, ...after].map(Math.abs));
      }
      const rise = after[0] - after[1] - (before[0] - before[1]);
      const error = Math.abs(width * dot(slopes, way) - rise);
      if (error > allowed && width > SHORTEST && parts.length <= MOST_PARTS) {
        const [first, last] = [dot(nodes[0], way), dot(nodes[nodes.length - 1], way)];
        divided.push([left, right, dividedAt(division, left, width, rise, first, last)]);
      } else {
        for (let l = 0; l < total.length; l++) total[l] += width * slopes[l];
      }
    }
    parts = [
      ...divided.map(([left, , middle]) => [left, middle]),
      ...divided.map(([, right, middle]) => [middle, right]),
    ];
  }
  return total;
}

/** Where a part of the way is divided: at the bend of a lead with one bend, or in the middle. */
function dividedAt(division, left, width, rise, first, last) {
  const middle = left + 0.5 * width;
  if (division % 2 !== 0) return middle;
  const bend = first === last ? 0.5 * width : (rise - last * width) / (first - last);
  return bend > 0 && bend < width ? left + bend : middle;
}
