/* The explorer of a fitted model: everything that the page shows, from the data that it carries. */

import { part } from "./dom.js";
import { showEffects } from "./effects.js";
import { showAccuracy, showCalibration, showCurves } from "./outcomes.js";
import { showContents, showOverview } from "./overview.js";
import { showImportance, showRows, showTables } from "./sections.js";
import { Row, unpacked } from "./state.js";
import { showWhatIf } from "./what_if.js";

const data = JSON.parse(part("data").textContent);
showOverview(data);
showImportance(data);
showAccuracy(data);
showCurves(data);
showCalibration(data);
showTables(data);
if (data.model === null) {
  part("what-if").hidden = false;
  part("what-if-parts").textContent = data.unavailable;
  showRows(data, null);
} else {
  const row = new Row(await unpacked(data.model));
  showWhatIf(row, data);
  showEffects(row, data);
  showRows(data, (number) => {
    row.begin(number);
    part("what-if").scrollIntoView();
    part("what-if").querySelector("select").focus();
  });
  row.begin(0);
}
showContents();
document.documentElement.dataset.ready = "yes";
