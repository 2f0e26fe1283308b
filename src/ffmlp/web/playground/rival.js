/* The same network trained by backpropagation, in small slices of time, beside the design. */

import { standardised } from "../design/scaling.js";
import { trainableNetwork } from "./backprop.js";
import { classColour, cssColour, mixed, sharpContext, themeColours } from "./colours.js";
import { cellCentres } from "./picture.js";
import { accuracies } from "./workbench.js";

const SLICE = 14;
const CELL = 4;
const REDRAW = 250;
const MOST_WEIGHTS = 30000;

/** A rival of a workbench's network: start, stop and restart; `show` is called after some slices. */
export function createRival(show) {
  let [bench, network, frame, drawnAt] = [null, null, null, 0];
  const scaled = (X) => standardised(bench.scaling, X, bench.samples.N);

  function renew(nextBench, learningRate) {
    stop();
    bench = nextBench;
    const { planes, stages } = bench.network;
    const sizes = [planes.N, 2 * planes.n, stages.neuronClasses.length, stages.C];
    const nWeights = sizes[0] * sizes[1] + sizes[1] * sizes[2] + sizes[2] * sizes[3];
    const { X, y, n } = bench.train;
    network =
      nWeights > MOST_WEIGHTS
        ? null
        : trainableNetwork({ Z: scaled(X), y, n, sizes, learningRate, seed: bench.settings.seed });
    return network !== null;
  }

  function slice() {
    network.trainFor(SLICE);
    if (performance.now() - drawnAt > REDRAW) {
      drawnAt = performance.now();
      show(result());
    }
    frame = requestAnimationFrame(slice);
  }

  function result() {
    const classes = network.classesOf(scaled(bench.samples.X));
    return { epochs: network.epochs, sizes: network.sizes, ...accuracies(bench.samples, classes) };
  }

  function stop() {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
  }

  return {
    renew,
    result,
    stop,
    get isRunning() {
      return frame !== null;
    },
    start() {
      if (network && frame === null) frame = requestAnimationFrame(slice);
    },
    draw: (canvas, view) => network && drawRival(canvas, bench, view, network),
  };
}

/** The classes that the trained network gives to points in the view. */
function drawRival(canvas, bench, view, network) {
  const { context, width, height } = sharpContext(canvas);
  const theme = themeColours();
  const [wide, high] = [Math.ceil(width / CELL), Math.ceil(height / CELL)];
  const centres = cellCentres(
    { toWorld: (left, top) => view.toWorld((left * view.width) / width, (top * view.height) / height) },
    CELL,
    wide,
    high,
  );
  const { N } = bench.samples;
  const X = new Float64Array(wide * high * N);
  for (let i = 0; i < wide * high; i++) {
    X.set(bench.base, i * N);
    bench.drawn.forEach((j, axis) => (X[i * N + j] = centres[2 * i + axis]));
  }
  const classes = network.classesOf(standardised(bench.scaling, X, N));
  for (let i = 0; i < classes.length; i++) {
    context.fillStyle = cssColour(mixed(classColour(classes[i]), theme.paper, 0.5));
    context.fillRect((i % wide) * CELL, Math.floor(i / wide) * CELL, CELL, CELL);
  }
}
