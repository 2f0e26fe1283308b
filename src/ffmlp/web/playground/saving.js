/* The design as a small JSON file that `ffmlp.load` reads: the JSON form of ffmlp.storage.json_form. */

import { isAbove } from "../design/regions.js";

const array = (dtype, shape, values) => ({ dtype, shape, values: Array.from(values) });
const floatArray = (shape, values) => array("float64", shape, values);
const indexArray = (shape, values) => array("int64", shape, values);

/** The whole file as text. */
export function savedText(bench) {
  const { blobs, path, settings, table, network, inputs } = bench;
  const labels = table.labels.every(Number.isSafeInteger)
    ? indexArray([table.C], table.labels)
    : array("object", [table.C], table.labels.map(String));
  const whole = {
    ffmlp: "classifier",
    version: 1,
    plan: {
      tag: "plan",
      design: settings.design,
      gaussianise: false,
      discriminant: settings.design === "paper" ? "drawn_lda" : "lda",
      n_components: new Array(table.C).fill(settings.k),
      error_threshold: settings.threshold,
      penalty: settings.penalty,
      shrink: settings.design !== "paper",
    },
    network: {
      tag: "network",
      labels,
      blob_classes: indexArray([blobs.n], blobs.classes),
      hyperplanes: planesForm(network.planes),
      stages: stagesForm(network),
      feature_names: inputs.map((input) => table.names[input]),
      columns: table.parts ? { tag: "columns", parts: tableParts(bench) } : null,
    },
    blobs: {
      tag: "blobs",
      classes: indexArray([blobs.n], blobs.classes),
      means: floatArray([blobs.n, blobs.N], blobs.means),
      covariances: floatArray([blobs.n, blobs.N, blobs.N], blobs.covariances),
      weights: floatArray([blobs.n], blobs.weights),
    },
    pruning_path: {
      tag: "pruning-path",
      kept: indexArray([path.kept.length], path.kept),
      deleted: indexArray([path.deleted.length], path.deleted),
      error_rates: floatArray([path.errorRates.length], path.errorRates),
      initial_error_rate: path.initialErrorRate,
    },
  };
  return JSON.stringify(whole);
}

function planesForm({ n, N, weights, biases, pairs }) {
  return {
    tag: "hyperplanes",
    weights: floatArray([n, N], weights),
    biases: floatArray([n], biases),
    pairs: indexArray([n, 2], pairs),
  };
}

function stagesForm({ planes, stages }) {
  if (stages.design === "blob") {
    return {
      tag: "blob-stages",
      pairs: indexArray([planes.n, 2], stages.pairs),
      blobs: indexArray([stages.blobs.length], stages.blobs),
      neuron_classes: indexArray([stages.blobs.length], stages.neuronClasses),
      n_classes: stages.C,
      temperature: stages.temperature,
    };
  }
  const { n, L, C, counts } = stages.regions;
  const codes = Array.from({ length: n * L }, (_, i) =>
    isAbove(stages.regions, Math.floor(i / L), i % L),
  );
  return {
    tag: `${stages.design}-stages`,
    regions: { tag: "regions", codes: array("bool", [n, L], codes), counts: indexArray([n, C], counts) },
    penalty: stages.penalty,
  };
}

/** The columns of the inputs; a design of two drawn inputs has only these, as numbers. */
function tableParts({ table, inputs, base, settings }) {
  if (settings.inputs !== "all") {
    return inputs.map((input, j) => ({ tag: "number-column", name: table.names[input], fill: base[j] }));
  }
  return table.parts.map((part) =>
    part.categories
      ? {
          tag: "category-column",
          name: part.name,
          categories: part.categories,
          classes: part.classes,
          shares: floatArray([part.shares.length, part.classes.length], part.shares.flat()),
        }
      : { tag: "number-column", name: part.name, fill: part.mean },
  );
}
