"""How far the attributions of `explain` can be trusted, on data files of a folder.

    python benchmarks/attributions.py --data FOLDER [--samples 200] [--shapley 20]

Each file is fitted with default parameters to at most 3000 rows. For other rows, the script prints

- size: the absolute attributions, added up, over the difference that they explain (median and 95th
  percentile),
- direction: how often the lead moves as the largest attribution says if its column takes the value of
  the reference,
- shapley: the median rank correlation with Shapley values of the columns against the same reference,
  sampled by the package shap,
- importance: the rank correlation of `feature_importance` with scikit-learn's permutation importance
  of the predictions.

At the end are the median and the mean of the sets, and the size over all samples of all sets.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
import shap
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance

from ffmlp import Explanations, FFMLPClassifier, feature_importance

N_TRAINED = 3000


def leads(made: Explanations, row: int, inputs: np.ndarray) -> np.ndarray:
    """The lead of a row's class over its rival at other inputs of the network."""
    network = made.network
    scores = network.stages.scores(network.hyperplanes.signed_responses(inputs))
    return scores[:, made.predicted[row]] - scores[:, made.rivals[row]]


def sampled_shapley(made: Explanations, row: int) -> np.ndarray:
    """Shapley values of the columns of a row against its reference, by the package shap."""
    owners, n_columns = made.network.table.owners, made.attributions.shape[1]

    def masked(mask: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.where(mask[owners], made.samples[row], made.references[row])[None]

    explainer = shap.explainers.Permutation(lambda inputs: leads(made, row, inputs), masked, seed=0)
    placeholder = np.arange(float(n_columns))[None]
    return explainer(placeholder, max_evals=40 * (2 * n_columns + 1), silent=True).values[0]


def measured(path: Path, n_samples: int, n_shapley: int) -> tuple[list[float], np.ndarray]:
    """The cells of a set's line without the first two, and the size (n,) of each sample."""
    frame = pd.read_csv(path)
    y, X = frame.iloc[:, -1].astype(str).to_numpy(), frame.iloc[:, :-1]
    X = X.astype(dict.fromkeys(X.select_dtypes(exclude="number"), "category"))
    order = np.random.default_rng(0).permutation(len(X))
    trained = order[: min(N_TRAINED, int(0.6 * len(X)))]
    tested = order[-min(n_samples, int(0.4 * len(X))) :]
    clf = FFMLPClassifier(random_state=0).fit(X.iloc[trained], y[trained])
    start = perf_counter()
    made = clf.explain(X.iloc[tested])
    seconds = perf_counter() - start
    added, each = made.attributions, np.arange(len(tested))
    difference = made.leads - made.reference_leads
    size = np.abs(added).sum(axis=1) / np.maximum(np.abs(difference), 1e-12)
    top = np.abs(added).argmax(axis=1)
    there = made.network.table.owners == top[:, None]
    moved = np.where(there, made.references, made.samples)
    fall = made.leads - np.array([leads(made, row, moved[[row]])[0] for row in each])
    direction = np.mean(np.sign(fall) == np.sign(added[each, top]))
    ranks = [
        spearmanr(sampled_shapley(made, row), added[row]).statistic
        for row in each[:: 1 + len(each) // n_shapley]
    ]
    predicted = clf.predict(X.iloc[tested])
    permuted = permutation_importance(clf, X.iloc[tested], predicted, n_repeats=10, random_state=0)
    ours = feature_importance(clf, X.iloc[tested]).values
    importance = spearmanr(ours, permuted.importances_mean).statistic
    milliseconds = 1000 * seconds / len(tested)
    return [direction, float(np.nanmedian(ranks)), importance, milliseconds], size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, nargs="+", help="folders of CSV files")
    parser.add_argument("--samples", type=int, default=200, help="rows that are explained (200)")
    parser.add_argument("--shapley", type=int, default=20, help="of these, with Shapley values (20)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | size, median | 95 % | direction | shapley | importance | explain, ms a row |")
    print("|---|---|---|---|---|---|---|")
    rows, sizes = [], []
    for path in sorted(path for folder in options.data for path in folder.glob("*.csv*")):
        others, size = measured(path, options.samples, options.shapley)
        sizes.append(size)
        rows.append([*np.percentile(size, [50, 95]), *others])
        print(line(path.name.partition(".")[0], rows[-1]), flush=True)
    print(line("**median**", np.nanmedian(rows, axis=0)))
    print(line("**mean**", np.nanmean(rows, axis=0)))
    middle, most = np.percentile(np.concatenate(sizes), [50, 95])
    print(f"\nAll {sum(map(len, sizes))} samples: size {middle:.2f} in the median, {most:.1f} at 95 %.")


def line(name: str, values: list[float] | np.ndarray) -> str:
    middle, most, *others, milliseconds = values
    cells = [name, f"{middle:.2f}", f"{most:.1f}", *(f"{value:.3f}" for value in others)]
    return f"| {' | '.join([*cells, f'{milliseconds:.2f}'])} |"


if __name__ == "__main__":
    main()
