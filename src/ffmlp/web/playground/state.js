/* What the page shows at the moment: the workbench, and how it is looked at. */

import { viewOf } from "./view.js";
import { Workbench } from "./workbench.js";

export const element = (id) => document.getElementById(id);
export const STAGE_TITLES = ["Samples", "Blobs", "Hyperplanes", "Pruning", "Regions", "Classes"];

export const bench = new Workbench();
export const picture = element("picture");
export const page = {
  stage: "classes",
  step: 0,
  tool: "look",
  brush: 0,
  selected: -1,
  pointer: null,
  cursor: null,
  isQuick: false,
  player: null,
  knownView: null,
  /** The part of the plane that is drawn; it is computed anew after `knownView` was set to null. */
  get view() {
    const [width, height] = [picture.clientWidth, picture.clientHeight];
    page.knownView ??= viewOf(bench.samples, bench.drawn, width, height, bench.settings.set !== "csv");
    return page.knownView;
  },
};
export const percent = (share) => (Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)}\u202f%`);

/** Show a message above everything, or none. */
export function say(text, isGood = false) {
  const message = element("message");
  message.textContent = text;
  message.hidden = text === "";
  message.classList.toggle("good", isGood);
}
