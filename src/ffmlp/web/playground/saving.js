/* The design as a small JSON file that `ffmlp.load` reads, in the form of ffmlp.storage.form. */

import { isAbove } from "../design/regions.js";

/** The whole file as text; JSON has null for NaN. */
export function savedText(bench) {
  const { settings, table } = bench;
  const areNumbers = table.labels.every(Number.isSafeInteger);
  const labels = Array.from(areNumbers ? table.labels : table.labels.map(String));
  const whole = {
    ffmlp: "classifier",
    version: 1,
    metadata: {},
    network: networkForm(bench, labels),
    has_column_names: Boolean(table.parts),
    classifier: {
      parameters: parametersForm(settings, labels),
      blobs: blobsForm(bench.blobs),
      pruning_path: pathForm(bench.path),
      selection: selectionForm(settings, table.C),
      timings: {},
      statistics: null,
    },
  };
  return JSON.stringify(whole);
}

function networkForm(bench, labels) {
  const { blobs, table, network, inputs } = bench;
  return {
    type: "Network",
    hyperplanes: planesForm(network.planes),
    stages: stagesForm(network),
    labels,
    blob_classes: Array.from(blobs.classes),
    feature_names: inputs.map((input) => table.names[input]),
    columns: table.parts ? { type: "Columns", parts: tableParts(bench), imputation: null } : null,
    familiar: null,
  };
}

function blobsForm({ N, classes, means, covariances, weights }) {
  return {
    type: "Blobs",
    classes: Array.from(classes),
    means: inRows(means, N),
    covariances: inRows(covariances, N * N).map((covariance) => inRows(covariance, N)),
    weights: Array.from(weights),
    axes: null,
  };
}

function pathForm({ deleted, errorRates, initialErrorRate, kept }) {
  return {
    type: "PruningPath",
    deleted: Array.from(deleted),
    error_rates: Array.from(errorRates),
    initial_error_rate: initialErrorRate,
    kept: Array.from(kept),
    proved_minimum: 1,
  };
}

/** The one plan, which was compared with no others. */
function selectionForm({ design, k, threshold, penalty }, nClasses) {
  const isPaper = design === "paper";
  const plan = {
    type: "Plan",
    design,
    gaussianise: false,
    discriminant: isPaper ? "drawn_lda" : "lda",
    n_components: new Array(nClasses).fill(k),
    error_threshold: threshold,
    pruning: "greedy",
    time_limit: 60,
    penalty,
    max_neurons: null,
    shrink: !isPaper,
    all_pairs: false,
    max_leaves: 0,
  };
  return { type: "Selection", plans: [plan], log_losses: [null], accuracies: [null], best: 0 };
}

/** All parameters of the classifier; a dict is a list of pairs, because labels may be numbers. */
function parametersForm({ design, k, threshold, penalty }, labels) {
  return {
    n_components: { dict: labels.map((label) => [label, k]) },
    design,
    gaussianise: false,
    discriminant: "lda",
    all_pairs: false,
    error_threshold: threshold,
    max_neurons: null,
    max_leaves: "auto",
    pruning: "greedy",
    time_limit: 60,
    penalty,
    categorical_features: "from_dtype",
    class_weight: null,
    random_state: null,
    keep_statistics: false,
    n_jobs: null,
    verbose: 0,
  };
}

/** Numbers in rows of so many columns. */
function inRows(values, columns) {
  return Array.from({ length: values.length / columns }, (_, row) =>
    Array.from(values.slice(row * columns, (row + 1) * columns)),
  );
}

function planesForm({ N, weights, biases, pairs }) {
  return {
    type: "Hyperplanes",
    weights: inRows(weights, N),
    biases: Array.from(biases),
    pairs: inRows(pairs, 2),
    gaussianisation: null,
    one_sided: false,
  };
}

function stagesForm({ stages }) {
  if (stages.design === "blob") {
    return {
      type: "BlobStages",
      pairs: inRows(stages.pairs, 2),
      blobs: Array.from(stages.blobs),
      neuron_classes: Array.from(stages.neuronClasses),
      n_classes: stages.C,
      temperature: stages.temperature,
    };
  }
  const { n, L, C, counts } = stages.regions;
  const codes = Array.from({ length: n }, (_, r) =>
    Array.from({ length: L }, (_, l) => isAbove(stages.regions, r, l)),
  );
  return {
    type: stages.design === "paper" ? "PaperStages" : "RegionStages",
    regions: { type: "Regions", codes, counts: inRows(counts, C) },
    penalty: stages.penalty,
  };
}

/** The columns of the inputs; a design of two drawn inputs has only these, as numbers. */
function tableParts({ table, inputs, base, settings }) {
  if (settings.inputs !== "all") {
    return inputs.map((input, j) => ({ type: "NumberColumn", name: table.names[input], fill: base[j] }));
  }
  return table.parts.map((part) =>
    part.categories
      ? {
          type: "CategoryColumn",
          name: part.name,
          categories: part.categories,
          classes: part.classes,
          shares: part.shares,
        }
      : { type: "NumberColumn", name: part.name, fill: part.mean },
  );
}
