/* How the model performs: confusion, ROC and precision-recall curves, calibration. */

import { addDot, addLine, chart, figure } from "./charts.js";
import { make, menu, part, scrolling, table } from "./dom.js";
import { countOf, cut, percent, short } from "./texts.js";

const MOST_CLASSES = 25;
const MOST_COUNTED = 12;
const MOST_CONFUSIONS = 5;

/** The accuracy in words, and the confusion matrix as a heat map. */
export function showAccuracy({ confusion, labels, accuracy }) {
  if (!confusion) return;
  const section = part("accuracy");
  section.hidden = false;
  section.append(make("p", {}, accuracy));
  const totals = confusion.map((row) => row.reduce((sum, count) => sum + count, 0));
  const errors = totals.map((total, k) => total - confusion[k][k]);
  const named = labels.slice(0, confusion.length);
  // All classes, or those with the most errors; then the most frequent ones first.
  const classes = [...named.keys()]
    .sort((a, b) => errors[b] - errors[a])
    .slice(0, MOST_CLASSES)
    .sort((a, b) => totals[b] - totals[a]);
  section.append(heatMap(confusion, totals, classes, named));
  if (classes.length < named.length) {
    const text = `The ${classes.length} of ${named.length} classes with the most errors.`;
    section.append(make("p", { class: "note" }, text));
  }
  const worst = worstConfusions(confusion, totals, named);
  if (worst.length) {
    section.append(make("h3", {}, "Most frequent confusions"), make("ul", {}, ...worst));
  }
}

function heatMap(confusion, totals, classes, labels) {
  const small = classes.length > MOST_COUNTED;
  const share = (row, column) => (totals[row] ? confusion[row][column] / totals[row] : 0);
  const correct = (row) => (totals[row] ? percent(share(row, row), 0) : "–");
  const cell = (row, column) => {
    const ratio = share(row, column);
    const count = confusion[row][column];
    const text = small ? (count ? Math.round(100 * ratio) : "") : count;
    const title = `${labels[row]} as ${labels[column]}: ${count} (${percent(ratio)})`;
    const style = `--share:${ratio.toFixed(3)}`;
    return make("td", { style, title }, String(text));
  };
  const name = (label, scope) =>
    make("th", { scope, title: label }, make("span", {}, cut(label, small ? 10 : 14)));
  const grid = make(
    "table",
    { class: small ? "heat small" : "heat" },
    make("caption", {}, small ? "Percent of each true class" : "Rows by true and predicted class"),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        make("th", { scope: "col" }, "true \\ predicted"),
        ...classes.map((column) => name(labels[column], "col")),
        make("th", { scope: "col" }, make("span", {}, "recall")),
      ),
    ),
    make(
      "tbody",
      {},
      ...classes.map((row) =>
        make(
          "tr",
          {},
          name(labels[row], "row"),
          ...classes.map((column) => cell(row, column)),
          make("td", { class: "recall" }, correct(row)),
        ),
      ),
    ),
  );
  return scrolling("Confusion matrix", grid);
}

function worstConfusions(confusion, totals, labels) {
  const confusions = [];
  confusion.forEach((row, truth) =>
    row.forEach((count, predicted) => {
      if (truth !== predicted && count > 0 && truth < labels.length) {
        confusions.push([count, truth, predicted]);
      }
    }),
  );
  confusions.sort((a, b) => b[0] - a[0]);
  return confusions.slice(0, MOST_CONFUSIONS).map(([count, truth, predicted]) => {
    const share = percent(count / totals[truth]);
    const text = `${labels[truth]} as ${labels[predicted]}: ${countOf(count, "row")}, ${share} of its rows`;
    return make("li", {}, text);
  });
}

/** The curves of a class that the reader chooses, those of the others behind it. */
export function showCurves({ curves, labels, seen }) {
  if (!curves.length) return;
  const section = part("curves");
  section.hidden = false;
  const charts = make("div", { class: "pair" });
  const show = (label) => charts.replaceChildren(...classCharts(curves, labels, Number(label)));
  const options = curves.map(({ label }) => [label, labels[label]]);
  const note = seen ? `${seen} The curves are better than those of new rows.` : "";
  section.append(
    make("p", {}, `Each class against all others, on the rows of the file. ${note}`),
    make("p", { class: "controls" }, ...menu("Class", options, curves[0].label, show)),
    charts,
  );
  show(curves[0].label);
  const lines = curves.map((one) => [
    labels[one.label],
    String(one.rows),
    one.area.toFixed(3),
    one.precision.toFixed(3),
  ]);
  section.append(
    table("Areas under the curves", ["class", "rows", "ROC area", "average precision"], lines),
  );
}

function classCharts(curves, labels, chosen) {
  const curve = curves.find(({ label }) => label === chosen);
  const unit = { low: 0, high: 1, share: true };
  const [name, all] = [labels[chosen], curves.reduce((sum, { rows }) => sum + rows, 0)];
  const curveChart = (text, key, x, y) => {
    const axes = chart(text, { ...unit, label: x }, { ...unit, label: y });
    for (const { label, [key]: other } of curves) {
      if (label !== chosen) addLine(axes, ...other, { class: "line faint" });
    }
    addLine(axes, ...curve[key]);
    const lines = () => curve[key][0].map((value, k) => [percent(value), percent(curve[key][1][k])]);
    return [axes, lines];
  };
  const area = curve.area.toFixed(3);
  const [roc, rocLines] = curveChart(
    `ROC curve of ${name}: area ${area}`,
    "roc",
    "false positive rate",
    "true positive rate",
  );
  addLine(roc, [0, 1], [0, 1], { class: "line chance" });
  const precision = curve.precision.toFixed(3);
  const [recall, recallLines] = curveChart(
    `Precision-recall curve of ${name}: average precision ${precision}`,
    "recall",
    "recall",
    "precision",
  );
  addLine(recall, [0, 1], [curve.rows / all, curve.rows / all], { class: "line chance" });
  return [
    figure(
      roc.svg,
      `ROC: area ${area}. Dashed: chance.`,
      ["false positive rate", "true positive rate"],
      rocLines,
    ),
    figure(
      recall.svg,
      `Precision and recall: average precision ${precision}. Dashed: chance.`,
      ["recall", "precision"],
      recallLines,
    ),
  ];
}

/** Accuracy against probability, with intervals. */
export function showCalibration({ calibration, about }) {
  if (!calibration) return;
  const section = part("calibration");
  section.hidden = false;
  const { rows, probability, accuracy, low, high } = calibration;
  const unit = { low: 0, high: 1, share: true };
  const axes = chart(
    `Accuracy against the probability of the predicted class, in ${rows.length} groups of rows`,
    { ...unit, label: "probability of the predicted class" },
    { ...unit, label: "accuracy" },
  );
  addLine(axes, [0, 1], [0, 1], { class: "line chance" });
  const most = Math.max(...rows);
  rows.forEach((count, k) => {
    const radius = 3 + 6 * Math.sqrt(count / most);
    addDot(axes, probability[k], accuracy[k], radius, [low[k], high[k]]);
  });
  const lines = () =>
    rows.map((count, k) => [
      percent(probability[k]),
      percent(accuracy[k]),
      `${percent(low[k])} to ${percent(high[k])}`,
      short(count),
    ]);
  const text =
    "If the model is calibrated, 80% of the predictions with a probability of 80% are correct. On the " +
    `diagonal, it is; below, it is overconfident. The numbers are those of ${about}.`;
  const caption = "Larger dots are more rows. Lines are intervals of 95% confidence.";
  const header = ["mean probability", "accuracy", "interval", "rows"];
  section.append(make("p", {}, text), figure(axes.svg, caption, header, lines));
}
