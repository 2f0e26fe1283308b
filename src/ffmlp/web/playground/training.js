/* The panel of the network that is trained by backpropagation. */

import { createRival } from "./rival.js";
import { bench, element, page, percent } from "./state.js";

export const rival = createRival(showRival);

/** Begin anew with random weights, for the design as it is now. */
export function renewRival() {
  const fits = rival.renew(bench, Number(element("rate").value));
  element("train").disabled = !fits;
  element("train").textContent = "Train";
  element("rival-about").textContent = fits
    ? "Random weights and gradient descent, in your browser."
    : "This network is too large to train in a page.";
  if (fits) showRival(rival.result());
  else element("rival-result").textContent = "";
}

function showRival({ epochs, train, test }) {
  element("rival-result").textContent =
    `Epoch ${epochs}: training accuracy ${percent(train)}, test accuracy ${percent(test)}`;
  rival.draw(element("rival"), page.view);
}

export function toggleTraining() {
  if (rival.isRunning) rival.stop();
  else rival.start();
  element("train").textContent = rival.isRunning ? "Stop" : "Train";
}
