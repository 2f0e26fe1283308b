/* The design as a small JSON file that `ffmlp.load` reads, in the form of ffmlp.storage.form. */

import { isAbove } from "../design/regions.js";

/** The whole file as text; JSON has null for NaN. */
export function savedText(bench) {
  const { blobs, path, settings, table, network, inputs } = bench;
  const areNumbers = table.labels.every(Number.isSafeInteger);
  const labels = areNumbers ? table.labels : table.labels.map(String);
  const isPaper = settings.design === "paper";
  const whole = {
    ffmlp: "classifier",
    version: 1,
    metadata: {},
    network: {
      type: "Network",
      hyperplanes: planesForm(network.planes),
      stages: stagesForm(network),
      labels: Array.from(labels),
      blob_classes: Array.from(blobs.classes),
      feature_names: inputs.map((input) => table.names[input]),
      columns: table.parts ? { type: "Columns", parts: tableParts(bench), imputation: null } : null,
      familiar: null,
    },
    has_column_names: Boolean(table.parts),
    classifier: {
      parameters: parametersForm(settings, labels),
      blobs: {
        type: "Blobs",
        classes: Array.from(blobs.classes),
        means: inRows(blobs.means, blobs.N),
        covariances: inRows(blobs.covariances, blobs.N * blobs.N).map((one) => inRows(one, blobs.N)),
        weights: Array.from(blobs.weights),
        axes: null,
      },
      pruning_path: {
        type: "PruningPath",
        deleted: Array.from(path.deleted),
        error_rates: Array.from(path.errorRates),
        initial_error_rate: path.initialErrorRate,
        kept: Array.from(path.kept),
        proved_minimum: 1,
      },
      selection: {
        type: "Selection",
        plans: [
          {
            type: "Plan",
            design: settings.design,
            gaussianise: false,
            discriminant: isPaper ? "drawn_lda" : "lda",
            n_components: new Array(table.C).fill(settings.k),
            error_threshold: settings.threshold,
            pruning: "greedy",
            time_limit: 60,
            penalty: settings.penalty,
            max_neurons: null,
            shrink: !isPaper,
            all_pairs: false,
            max_leaves: 0,
          },
        ],
        log_losses: [null],
        accuracies: [null],
        best: 0,
      },
      timings: {},
      statistics: null,
    },
  };
  return JSON.stringify(whole);
}

/** All parameters of the classifier; a dict is a list of pairs, because labels may be numbers. */
function parametersForm({ design, k, threshold, penalty }, labels) {
  return {
    n_components: { dict: Array.from(labels, (label) => [label, k]) },
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
