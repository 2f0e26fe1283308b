/* Samples and hyperplanes that are moved, added and deleted by pointer and keyboard. */

import { goneAt, handlesOf, sampleSize } from "./picture.js";
import { planeOfLine, screenLine, segmentOf, slicedPlanes } from "./view.js";

const NEAR = 10;
const STEP = 8;
/** The directions of the arrow keys, and how far two letters turn a line. */
export const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const TURNS = { r: Math.PI / 60, R: -Math.PI / 60 };

/** Planes with one of them replaced by a line in pixels. */
function withLine(bench, view, l, line) {
  const { planes, drawn, base } = bench;
  const { N } = planes;
  const [weights, biases] = [planes.weights.slice(), planes.biases.slice()];
  const { across, up, bias } = planeOfLine(line, view);
  weights[l * N + drawn[0]] = across;
  weights[l * N + drawn[1]] = up;
  biases[l] = bias;
  for (let j = 0; j < N; j++) {
    if (!drawn.includes(j)) biases[l] -= weights[l * N + j] * base[j];
  }
  return { ...planes, weights, biases };
}

/** Planes with one more, a line in pixels. It separates the nearest blobs on its two sides. */
export function withNewLine(bench, view, line) {
  const { planes, blobs } = bench;
  const n = planes.n + 1;
  const grown = {
    n,
    N: planes.N,
    weights: Float64Array.from({ length: n * planes.N }, (_, i) => planes.weights[i] ?? 0),
    biases: Float64Array.from({ length: n }, (_, i) => planes.biases[i] ?? 0),
    pairs: Int32Array.from({ length: 2 * n }, (_, i) => planes.pairs[i] ?? 0),
  };
  const added = withLine({ planes: grown, drawn: bench.drawn, base: bench.base }, view, n - 1, line);
  added.pairs.set(separatedPair(added, n - 1, blobs), 2 * (n - 1));
  return added;
}

/** The two nearest blobs of different classes on the two sides; without any, those that differ most. */
function separatedPair({ weights, biases, N }, l, blobs) {
  const response = (g) => {
    let sum = biases[l];
    for (let j = 0; j < N; j++) sum += weights[l * N + j] * blobs.means[g * N + j];
    return sum;
  };
  const responses = Array.from({ length: blobs.n }, (_, g) => response(g));
  let best = null;
  for (let i = 0; i < blobs.n; i++) {
    for (let j = 0; j < blobs.n; j++) {
      if (blobs.classes[i] === blobs.classes[j] || responses[i] <= responses[j]) continue;
      let distance = 0;
      for (let c = 0; c < N; c++) distance += (blobs.means[i * N + c] - blobs.means[j * N + c]) ** 2;
      const isBetween = responses[i] > 0 && responses[j] < 0;
      const rank = isBetween ? distance : 1e300 - (responses[i] - responses[j]);
      if (best === null || rank < best.rank) best = { rank, pair: [i, j] };
    }
  }
  return best?.pair ?? [0, blobs.classes.findIndex((label) => label !== blobs.classes[0])];
}

/** Planes without one of them. */
export function withoutPlane(planes, gone) {
  const { n, N } = planes;
  const kept = [...Array(n).keys()].filter((l) => l !== gone);
  return {
    n: n - 1,
    N,
    weights: Float64Array.from(kept.flatMap((l) => [...planes.weights.subarray(l * N, (l + 1) * N)])),
    biases: Float64Array.from(kept, (l) => planes.biases[l]),
    pairs: Int32Array.from(kept.flatMap((l) => [planes.pairs[2 * l], planes.pairs[2 * l + 1]])),
  };
}

/** The line through two points, oriented as a line before, with its length. */
function lineThrough([x1, y1], [x2, y2], like) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  let [a, b] = [-(y2 - y1) / length, (x2 - x1) / length];
  if (like && a * like.a + b * like.b < 0) [a, b] = [-a, -b];
  return { a, b, c: -(a * x1 + b * y1), length: like?.length ?? 0.05 };
}

/** The line turned around a point. */
function turned(line, [left, top], angle) {
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const a = cosine * line.a - sine * line.b;
  const b = sine * line.a + cosine * line.b;
  const off = line.a * left + line.b * top + line.c;
  return { ...line, a, b, c: off - a * left - b * top };
}

/** Where a line is turned: the middle of the part that is drawn, or of the picture. */
function middleOf(line, view) {
  const ends = segmentOf(line, view);
  if (!ends) return [view.width / 2, view.height / 2];
  return [0, 1].map((axis) => (ends[0][axis] + ends[1][axis]) / 2);
}

/** What pointer and keys do in the picture.

`page` holds what is shown and chosen: `view`, `stage`, `step`, `tool`, `brush` and `selected`. Of the actions,
`setPlanes` shows other hyperplanes, `select` chooses one, and `moved` follows every change of a sample. */
export class Editor {
  constructor(bench, page, actions) {
    Object.assign(this, { bench, page, actions });
  }

  _slicedPlanes() {
    return slicedPlanes(this.bench.planes, this.bench.drawn, this.bench.base);
  }

  _lineOf(l) {
    return screenLine(this._slicedPlanes(), l, this.page.view);
  }

  /** Show hyperplane l where a line is. */
  _show(l, line, isQuick = true) {
    this.actions.setPlanes(withLine(this.bench, this.page.view, l, line), isQuick);
  }

  /** Show one more hyperplane and choose it. */
  _add(line, isQuick) {
    this.actions.setPlanes(withNewLine(this.bench, this.page.view, line), isQuick);
    this.actions.select(this.bench.planes.n - 1);
  }

  /** The nearest hyperplane that is drawn, or -1. */
  planeNear([left, top], reach = NEAR) {
    const { view, stage, step } = this.page;
    const planes = this._slicedPlanes();
    const gone = new Set(stage === "hyperplanes" ? [] : goneAt(this.bench, stage, step));
    let best = { l: -1, distance: reach };
    for (let l = 0; l < planes.n; l++) {
      const line = gone.has(l) ? null : screenLine(planes, l, view);
      const distance = line ? Math.abs(line.a * left + line.b * top + line.c) : Infinity;
      if (distance < best.distance) best = { l, distance };
    }
    return best.l;
  }

  /** A handle of the chosen hyperplane: its line, and the point around which it turns; or null. */
  _handleNear([left, top]) {
    const { selected, view } = this.page;
    if (selected < 0) return null;
    const line = this._lineOf(selected);
    const ends = line && segmentOf(line, view);
    if (!ends) return null;
    const handles = handlesOf(line, ends, view);
    const near = handles.findIndex(([x, y]) => Math.hypot(x - left, y - top) < 1.6 * NEAR);
    return near < 0 ? null : { pivot: handles[1 - near], line };
  }

  /** The nearest sample, or -1. */
  sampleNear([left, top]) {
    const { X, n, N } = this.bench.samples;
    const [across, up] = this.bench.drawn;
    let best = { i: -1, distance: Math.max(NEAR, sampleSize(n) + 3) };
    for (let i = 0; i < n; i++) {
      const [x, y] = this.page.view.toScreen(X[i * N + across], X[i * N + up]);
      const distance = Math.hypot(x - left, y - top);
      if (distance < best.distance) best = { i, distance };
    }
    return best.i;
  }

  /** What a press starts: a function of the later points of the pointer, or null. */
  press(point) {
    if (this.page.tool === "samples") return this._pressSample(point);
    return this.page.tool === "planes" ? this._pressPlane(point) : null;
  }

  /** Move the sample that is pressed, or add one. */
  _pressSample(point) {
    const { bench, page, actions } = this;
    const i = this.sampleNear(point);
    if (i >= 0) {
      return (at) => {
        bench.moveSample(i, ...page.view.toWorld(...at));
        actions.moved();
      };
    }
    bench.addSample(...page.view.toWorld(...point), page.brush);
    actions.moved();
    return null;
  }

  /** Turn the chosen hyperplane by its handle, shift the one that is pressed, or draw a new one. */
  _pressPlane(point) {
    const handle = this._handleNear(point);
    if (handle) {
      const { selected } = this.page;
      return (at) => this._show(selected, lineThrough(handle.pivot, at, handle.line));
    }
    const l = this.planeNear(point);
    this.actions.select(l);
    return l >= 0 ? this._shiftFrom(point, l) : this._newLineFrom(point);
  }

  _shiftFrom(point, l) {
    const line = this._lineOf(l);
    return ([left, top]) => {
      const shift = line.a * (left - point[0]) + line.b * (top - point[1]);
      this._show(l, { ...line, c: line.c - shift });
    };
  }

  /** A press on an empty point draws a new line, once it is long enough. */
  _newLineFrom(point) {
    let l = -1;
    return (at) => {
      const line = lineThrough(point, at);
      if (l >= 0) this._show(l, line);
      else if (Math.hypot(at[0] - point[0], at[1] - point[1]) >= 2 * NEAR) {
        l = this.bench.planes.n;
        this._add(line, true);
      }
    };
  }

  /** Move or turn the chosen hyperplane by keys; whether the key was for it. */
  nudge(key) {
    const { view, selected, tool } = this.page;
    const line = tool === "planes" && selected >= 0 ? this._lineOf(selected) : null;
    const [way, angle] = [WAYS[key], TURNS[key]];
    if (!line || (!way && !angle)) return false;
    const next = angle
      ? turned(line, middleOf(line, view), angle)
      : { ...line, c: line.c - STEP * (line.a * way[0] + line.b * way[1]) };
    this._show(selected, next, false);
    return true;
  }

  /** A new hyperplane through a point. */
  addThrough([left, top]) {
    this._add(lineThrough([left, top - 40], [left + 25, top + 40]), false);
  }
}
