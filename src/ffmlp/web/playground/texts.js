/* What the page says about each stage and tool. */

const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const rate = (share) => `${(100 * share).toFixed(1)} %`;

/** What the picture of a stage shows. */
export function explanation(bench, stage, step) {
  return EXPLANATIONS[stage](bench, step) + sliceText(bench);
}

function sliceText({ samples, drawn }) {
  if (samples.N === drawn.length) return "";
  return ` The picture is a cut through ${samples.N} inputs: those that are not drawn have their mean.`;
}

const EXPLANATIONS = {
  samples: ({ train, test, table }) =>
    `${count(train.n, "training sample")} and ${count(test.n, "test sample")} of ${table.C} classes. ` +
    "The design reads the training samples only.",
  blobs: ({ blobs }) =>
    "Each class becomes a mixture of Gaussian blobs, fitted by expectation maximisation: " +
    `${count(blobs.n, "blob")}. ` +
    "The ellipses are one and two standard deviations wide.",
  hyperplanes: ({ planes, isEdited }) =>
    "Linear discriminant analysis separates each pair of blobs of different classes: " +
    `${count(planes.n, "hyperplane")}. ` +
    "Each is two neurons of the first layer, one for each side." +
    (isEdited ? " Some were changed by hand." : ""),
  pruning: ({ path, settings, planes }, step) => {
    if (settings.threshold === 0)
      return "The threshold is 0: pruning keeps all hyperplanes. Move its slider to delete some.";
    const now = step === 0 ? path.initialErrorRate : path.errorRates[step - 1];
    const last = step === 0 ? "" : ` The last one deleted is h${path.deleted[step - 1] + 1}.`;
    return (
      "Pruning deletes the hyperplane that costs the fewest training errors, while their rate stays " +
      `below ${rate(settings.threshold)}. ${planes.n - step} are left, at an error rate of ${rate(now)}.${last}`
    );
  },
  regions: ({ network, path }) => {
    const n = network.stages.neuronClasses.length;
    if (network.stages.design === "blob") {
      return (
        `${count(n, "blob")} with hyperplanes become neurons of the second layer. ` +
        "Colours show the blob of the largest share."
      );
    }
    return (
      `${count(path.kept.length, "hyperplane")} cut out ${count(n, "region")} with training samples. ` +
      "Each region is one neuron of the second layer."
    );
  },
  classes: ({ network, table }) => {
    if (network.stages.design === "blob") {
      return "The shares of a class's blobs add up to its probability. Rings mark errors.";
    }
    const elsewhere =
      network.stages.design === "paper"
        ? `no neuron responds there, and the first class, ${table.labels[0]}, wins`
        : "no training sample was there, and the nearest region answers";
    return "Each region votes for its majority class. Rings mark errors. " + `Hatched: ${elsewhere}.`;
  },
};

/** How the pointer works. */
export function toolHint(tool) {
  return {
    look: "Point at the picture: the network shows its responses there.",
    samples: "Press to add a training sample. Drag a sample to move it.",
    planes: "Drag a line to move it, its circles to turn it. Drag across an empty place to add one.",
  }[tool];
}
