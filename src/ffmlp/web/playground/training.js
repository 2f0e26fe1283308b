/* The panel of the network that is trained by backpropagation. */

import { createRival } from "./rival.js";
import { bench, element, page, percent } from "./state.js";

export const rival = createRival(showRival);

// Random weights are shown once nothing has changed for some milliseconds: a slider should not wait.
const PATIENCE = 150;
let evaluation = null;

/** Begin anew with random weights, for the design as it is now. */
export function renewRival() {
  const fits = rival.renew(bench, Number(element("rate").value));
  element("train").disabled = !fits;
  element("train").textContent = "Train";
  element("rival-about").textContent = fits
    ? "Random weights and gradient descent, in your browser."
    : "This network is too large to train in a page.";
  element("rival-result").textContent = "";
  clearTimeout(evaluation);
  if (fits) evaluation = setTimeout(() => showRival(rival.result()), PATIENCE);
}

function showRival({ epochs, train, test }) {
  element("rival-result").textContent =
    `Epoch ${epochs}: training accuracy ${percent(train)}, test accuracy ${percent(test)}`;
  rival.draw(element("rival"), page.view);
}

/** Start to train, or stop. */
export function toggleTraining() {
  if (rival.isRunning) rival.stop();
  else rival.start();
  element("train").textContent = rival.isRunning ? "Stop" : "Train";
}
