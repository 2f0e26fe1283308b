/* The error rate after each deletion of a hyperplane, as a curve. */

import { cssColour, sharpContext, themeColours } from "./colours.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [38, 10, 10, 24];

/** Draw the curve; the marked step is the number of deletions so far. */
export function drawCurve(canvas, { path, settings }, step) {
  const { context, width, height } = sharpContext(canvas);
  const theme = themeColours();
  const rates = [path.initialErrorRate, ...path.errorRates];
  const most = 1.15 * Math.max(0.02, settings.threshold, ...rates);
  const x = (i) => LEFT + ((width - LEFT - RIGHT) * i) / Math.max(1, rates.length - 1);
  const y = (rate) => height - BOTTOM - ((height - TOP - BOTTOM) * rate) / most;
  const line = (from, to, colour, dash = []) => {
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.setLineDash([]);
  };
  context.lineWidth = 1;
  line([LEFT, y(0)], [width - RIGHT, y(0)], cssColour(theme.faint));
  line([LEFT, y(0)], [LEFT, TOP], cssColour(theme.faint));
  if (settings.threshold > 0) {
    line(
      [LEFT, y(settings.threshold)],
      [width - RIGHT, y(settings.threshold)],
      cssColour(theme.ink, 0.5),
      [4, 4],
    );
  }
  context.lineWidth = 2;
  rates.forEach((rate, i) => {
    if (i === 0) return;
    line([x(i - 1), y(rates[i - 1])], [x(i), y(rate)], cssColour(theme.accent, i <= step ? 1 : 0.35));
  });
  context.fillStyle = cssColour(theme.accent);
  context.beginPath();
  context.arc(x(step), y(rates[step]), 5, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = cssColour(theme.ink);
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const rate of [0, most / 2, most])
    context.fillText(
      `${(100 * rate).toFixed(most < 0.1 ? 1 : 0)} %`,
      LEFT - 4,
      y(rate) + (rate === most ? 5 : 0),
    );
  context.textAlign = "center";
  context.fillText("hyperplanes deleted", (LEFT + width - RIGHT) / 2, height - 8);
}

/** The step of the curve at a distance from the left, in pixels. */
export function stepAt(canvas, { path }, left) {
  const share = (left - LEFT) / (canvas.clientWidth - LEFT - RIGHT);
  const last = path.errorRates.length;
  return Math.max(0, Math.min(last, Math.round(share * last)));
}
