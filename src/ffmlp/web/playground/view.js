/* The part of the plane that is drawn, and lines within it. */

const MARGIN = 0.08;

/** The view of samples: their range with a margin, and the same unit on both axes if `isSquare`. */
export function viewOf({ X, n, N }, [across, up], width, height, isSquare) {
  const [low, high] = [
    [Infinity, Infinity],
    [-Infinity, -Infinity],
  ];
  for (let i = 0; i < n; i++) {
    [across, up].forEach((j, axis) => {
      low[axis] = Math.min(low[axis], X[i * N + j]);
      high[axis] = Math.max(high[axis], X[i * N + j]);
    });
  }
  const sizes = [width, height];
  const ranges = [0, 1].map((axis) => (1 + 2 * MARGIN) * (high[axis] - low[axis]) || 1);
  if (isSquare) {
    const unit = Math.max(ranges[0] / width, ranges[1] / height);
    sizes.forEach((size, axis) => (ranges[axis] = unit * size));
  }
  const corner = [0, 1].map((axis) => (low[axis] + high[axis] - ranges[axis]) / 2);
  return {
    width,
    height,
    corner,
    ranges,
    toScreen: (x, y) => [
      ((x - corner[0]) / ranges[0]) * width,
      height - ((y - corner[1]) / ranges[1]) * height,
    ],
    toWorld: (left, top) => [
      corner[0] + (left / width) * ranges[0],
      corner[1] + ((height - top) / height) * ranges[1],
    ],
  };
}

/** Hyperplanes in the drawn plane through a base point: {n, N: 2, weights, biases, pairs}. */
export function slicedPlanes(planes, [across, up], base) {
  const { n, N } = planes;
  const weights = new Float64Array(2 * n);
  const biases = planes.biases.slice();
  for (let l = 0; l < n; l++) {
    weights[2 * l] = planes.weights[l * N + across];
    weights[2 * l + 1] = planes.weights[l * N + up];
    for (let j = 0; j < N; j++) {
      if (j !== across && j !== up) biases[l] += planes.weights[l * N + j] * base[j];
    }
  }
  return { n, N: 2, weights, biases, pairs: planes.pairs };
}

/** The line a·left + b·top + c = 0 of a sliced hyperplane in pixels, with a unit normal, or null. */
export function screenLine({ weights, biases }, l, view) {
  const a = (weights[2 * l] * view.ranges[0]) / view.width;
  const b = (-weights[2 * l + 1] * view.ranges[1]) / view.height;
  const [x, y] = view.toWorld(0, 0);
  const length = Math.hypot(a, b);
  if (!(length > 0)) return null;
  const c = weights[2 * l] * x + weights[2 * l + 1] * y + biases[l];
  return { a: a / length, b: b / length, c: c / length, length };
}

/** The weights and bias, in the drawn plane, of a line in pixels. */
export function planeOfLine({ a, b, c, length }, view) {
  const across = (a * length * view.width) / view.ranges[0];
  const up = (-b * length * view.height) / view.ranges[1];
  const [x, y] = view.toWorld(0, 0);
  return { across, up, bias: c * length - across * x - up * y };
}

/** The ends of a line within the view, or null. */
export function segmentOf({ a, b, c }, { width, height }) {
  const ends = [];
  const add = (left, top) => {
    const inside = left >= -1e-6 && left <= width + 1e-6 && top >= -1e-6 && top <= height + 1e-6;
    if (inside && !ends.some((end) => Math.hypot(end[0] - left, end[1] - top) < 1e-6))
      ends.push([left, top]);
  };
  for (const left of [0, width]) if (b !== 0) add(left, -(a * left + c) / b);
  for (const top of [0, height]) if (a !== 0) add(-(b * top + c) / a, top);
  return ends.length >= 2 ? ends.slice(0, 2) : null;
}
