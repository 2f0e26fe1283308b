/* Samples and hyperplanes that are moved, added and deleted by pointer and keyboard. */

import { goneAt, handlesOf, sampleSize } from "./picture.js";
import { planeOfLine, screenLine, segmentOf, slicedPlanes } from "./view.js";

const NEAR = 10;
const STEP = 8;
const TURN = Math.PI / 60;

/** Planes with one of them replaced by a line in pixels. */
export function withLine(bench, view, l, line) {
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
  const added = withLine(
    { ...bench, planes: grown, drawn: bench.drawn, base: bench.base },
    view,
    n - 1,
    line,
  );
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

/** The line through two places, oriented as a line before, with its length. */
function lineThrough([x1, y1], [x2, y2], like) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  let [a, b] = [-(y2 - y1) / length, (x2 - x1) / length];
  if (like && a * like.a + b * like.b < 0) [a, b] = [-a, -b];
  return { a, b, c: -(a * x1 + b * y1), length: like?.length ?? 0.05 };
}

/** The line turned around a place. */
function turned(line, [left, top], angle) {
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const a = cosine * line.a - sine * line.b;
  const b = sine * line.a + cosine * line.b;
  const off = line.a * left + line.b * top + line.c;
  return { ...line, a, b, c: off - a * left - b * top };
}

/** What is near a place: a handle or the line of a hyperplane, or a sample. */
export function createEditor(stateOf) {
  const sliced = () => slicedPlanes(stateOf().bench.planes, stateOf().bench.drawn, stateOf().bench.base);

  const lineOf = (l) => screenLine(sliced(), l, stateOf().view);

  function planeNear([left, top], reach = NEAR) {
    const { bench, view, stage, step } = stateOf();
    const planes = sliced();
    const gone = new Set(stage === "hyperplanes" ? [] : goneAt(bench, stage, step));
    let best = { l: -1, distance: reach };
    for (let l = 0; l < planes.n; l++) {
      const line = gone.has(l) ? null : screenLine(planes, l, view);
      const distance = line ? Math.abs(line.a * left + line.b * top + line.c) : Infinity;
      if (distance < best.distance) best = { l, distance };
    }
    return best.l;
  }

  function handleNear([left, top]) {
    const { selected, view } = stateOf();
    if (selected < 0) return null;
    const line = lineOf(selected);
    const ends = line && segmentOf(line, view);
    if (!ends) return null;
    const handles = handlesOf(line, ends, view);
    const near = handles.findIndex(([x, y]) => Math.hypot(x - left, y - top) < 1.6 * NEAR);
    return near < 0 ? null : { pivot: handles[1 - near], line };
  }

  function sampleNear([left, top]) {
    const { bench, view } = stateOf();
    const { X, n, N } = bench.samples;
    let best = { i: -1, distance: Math.max(NEAR, sampleSize(n) + 3) };
    for (let i = 0; i < n; i++) {
      const [x, y] = view.toScreen(X[i * N + bench.drawn[0]], X[i * N + bench.drawn[1]]);
      const distance = Math.hypot(x - left, y - top);
      if (distance < best.distance) best = { i, distance };
    }
    return best.i;
  }

  /** What a press starts: a function of the later places of the pointer, or null. */
  function press(place, { setPlanes, select, moved }) {
    const { bench, view, tool, brush } = stateOf();
    if (tool === "samples") {
      const i = sampleNear(place);
      if (i < 0) {
        bench.addSample(...view.toWorld(...place), brush);
        moved();
        return null;
      }
      return (at) => {
        bench.moveSample(i, ...view.toWorld(...at));
        moved();
      };
    }
    if (tool !== "planes") return null;
    const handle = handleNear(place);
    if (handle) {
      const { selected } = stateOf();
      return (at) =>
        setPlanes(withLine(bench, view, selected, lineThrough(handle.pivot, at, handle.line)), true);
    }
    const l = planeNear(place);
    select(l);
    if (l >= 0) return shiftOf(l, place, setPlanes);
    return newLineFrom(place, setPlanes, select);
  }

  function shiftOf(l, place, setPlanes) {
    const { bench, view } = stateOf();
    const line = lineOf(l);
    return ([left, top]) => {
      const shift = line.a * (left - place[0]) + line.b * (top - place[1]);
      setPlanes(withLine(bench, view, l, { ...line, c: line.c - shift }), true);
    };
  }

  /** A press on an empty place draws a new line, once it is long enough. */
  function newLineFrom(place, setPlanes, select) {
    let l = -1;
    return (at) => {
      if (l < 0 && Math.hypot(at[0] - place[0], at[1] - place[1]) < 2 * NEAR) return;
      const { bench, view } = stateOf();
      if (l < 0) {
        l = bench.planes.n;
        setPlanes(withNewLine(bench, view, lineThrough(place, at)), true);
        select(l);
      } else {
        setPlanes(withLine(bench, view, l, lineThrough(place, at)), true);
      }
    };
  }

  /** Move or turn the selected hyperplane by keys; whether the key was for it. */
  function nudge(key, setPlanes) {
    const { bench, view, selected, tool } = stateOf();
    const line = tool === "planes" && selected >= 0 ? lineOf(selected) : null;
    if (!line) return false;
    const ways = {
      ArrowLeft: [-STEP, 0],
      ArrowRight: [STEP, 0],
      ArrowUp: [0, -STEP],
      ArrowDown: [0, STEP],
    };
    const angle = { r: TURN, R: -TURN }[key];
    if (!ways[key] && !angle) return false;
    const ends = segmentOf(line, view);
    const middle = ends
      ? [0, 1].map((axis) => (ends[0][axis] + ends[1][axis]) / 2)
      : [view.width / 2, view.height / 2];
    const next = angle
      ? turned(line, middle, angle)
      : { ...line, c: line.c - line.a * ways[key][0] - line.b * ways[key][1] };
    setPlanes(withLine(bench, view, selected, next), false);
    return true;
  }

  /** A new hyperplane through a place. */
  function addThrough([left, top], setPlanes, select) {
    const { bench, view } = stateOf();
    const line = lineThrough([left, top - 40], [left + 25, top + 40]);
    setPlanes(withNewLine(bench, view, line), false);
    select(bench.planes.n - 1);
  }

  return { press, nudge, planeNear, sampleNear, addThrough };
}
