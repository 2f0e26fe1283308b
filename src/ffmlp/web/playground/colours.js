/* Colours of classes: the palette of Okabe and Ito, safe for colour-blind readers, as in ffmlp.plots. */

const PALETTE = [
  "0072B2",
  "E69F00",
  "009E73",
  "D55E00",
  "56B4E9",
  "CC79A7",
  "F0E442",
  "8A6FB0",
  "999999",
];

/** The colour of a class as [red, green, blue]. */
export function classColour(label) {
  const hex = PALETTE[label % PALETTE.length];
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** A mixture of two colours. */
export function mixed(colour, other, share) {
  return colour.map((value, i) => Math.round(value * (1 - share) + other[i] * share));
}

export function cssColour(colour, alpha = 1) {
  return `rgba(${colour.join(",")},${alpha})`;
}

/** The colours of the page, which depend on its scheme: paper, ink, faint and accent. */
export function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "ink", "faint", "accent"];
  return Object.fromEntries(
    names.map((name) => {
      const hex = style.getPropertyValue(`--${name}`).trim().slice(1);
      return [name, [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16))];
    }),
  );
}

/** A canvas context in CSS pixels, sharp on every screen. */
export function sharpContext(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
