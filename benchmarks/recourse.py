"""Changes by `FFMLPClassifier.recourse` against those that DiCE finds, at equal constraints.

python benchmarks/recourse.py --data FOLDER    # CSV files of tables, the last column is the label

Both explain the same small network of two classes: DiCE (`pip install dice-ml`) by random search and by
its genetic algorithm. The first number stays as it is; the other numbers stay within the range of the
training rows. The cost of a change is the number of standard deviations of all numbers, and one for each
category.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier
from ffmlp.network.blobs import feature_units

TABLES = ("turnout", "lending", "health_insurance", "males_union", "flchain")
MOST_ROWS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--tables", nargs="*", default=TABLES, help="names of files, without suffix")
    parser.add_argument("--rows", type=int, default=10, help="test rows of each table")
    parser.add_argument("--methods", nargs="*", default=("random", "genetic"))
    options = parser.parse_args()
    print("| table | method | found by both | ffmlp farther | cost, DiCE / ffmlp | s, ffmlp | s, DiCE |")
    print("|---|---|---|---|---|---|---|")
    for name in options.tables:
        compared(next(options.data.glob(f"{name}.csv*")), options)


def compared(path: Path, options: argparse.Namespace) -> None:
    """Print the costs of both for some test rows of a table."""
    import dice_ml

    X, y = complete_rows(path)
    train, test = train_test_split(np.arange(len(X)), train_size=0.6, random_state=0, stratify=y)
    clf = FFMLPClassifier(max_neurons=50, design="readout", random_state=0).fit(X.iloc[train], y[train])
    numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name])]
    frozen = numbers[:1]
    limits = {c: (float(X[c].min()), float(X[c].max())) for c in numbers[1:]}
    table = clf.network_.table
    spreads = feature_units(clf.blobs_, clf.network_.hyperplanes)[table.firsts]
    units = dict(zip(table.names, spreads, strict=True))
    rows = X.iloc[test[: options.rows]]
    start = perf_counter()
    ours = clf.recourse(rows, frozen=frozen, bounds=limits)
    seconds = perf_counter() - start
    frame = X.iloc[train].assign(label=y[train])
    data = dice_ml.Data(dataframe=frame, continuous_features=numbers, outcome_name="label")
    model = dice_ml.Model(model=clf, backend="sklearn")
    for method in options.methods:
        explainer = dice_ml.Dice(data, model, method=method)
        ratios, start = [], perf_counter()
        for number, answer in enumerate(ours):
            row = rows.iloc[[number]]
            theirs = dice_cost(clf, explainer, row, units, numbers, frozen, limits)
            if np.isfinite(theirs) and len(answer):
                ratios.append(theirs / answer[0].cost)
        taken = perf_counter() - start
        farther = sum(ratio < 1 - 1e-6 for ratio in ratios)
        middle = f"{np.median(ratios):.2f}" if ratios else "–"
        print(
            f"| {path.name.partition('.')[0]} | {method} | {len(ratios)} of {len(rows)} | {farther} | "
            f"{middle} | {seconds / len(rows):.2f} | {taken / len(rows):.2f} |",
            flush=True,
        )


def complete_rows(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows without missing cells, and whether each is of the most frequent class."""
    table = pd.read_csv(path).dropna()
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    X, y = table.iloc[:, :-1].reset_index(drop=True), table.iloc[:, -1].to_numpy()
    for name in X:
        X[name] = X[name].astype(float if pd.api.types.is_numeric_dtype(X[name]) else str)
    labels, counts = np.unique(y, return_counts=True)
    return X, (y == labels[counts.argmax()]).astype(int)


def dice_cost(
    clf: FFMLPClassifier,
    explainer: object,
    row: pd.DataFrame,
    units: dict[str, float],
    numbers: list[str],
    frozen: list[str],
    limits: dict[str, tuple[float, float]],
) -> float:
    """The cost of the cheapest of five changes by DiCE to another class; infinite without any."""
    varied = [name for name in row if name not in frozen]
    ranges = {name: list(limit) for name, limit in limits.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            changes = explainer.generate_counterfactuals(  # type: ignore[attr-defined]
                row, total_CFs=5, desired_class="opposite", features_to_vary=varied,
                permitted_range=ranges, verbose=False,
            )  # fmt: skip
        except Exception:  # DiCE raises many kinds of errors if it finds nothing
            return np.inf
    changed = changes.cf_examples_list[0].final_cfs_df
    if changed is None or not len(changed):
        return np.inf
    changed = changed[list(row)].astype(row.dtypes.to_dict())
    other = clf.predict(changed) != clf.predict(row)[0]
    cost = np.zeros(len(changed))
    for name in row:
        before = row[name].iloc[0]
        if name in numbers:
            cost += np.abs(changed[name].to_numpy() - before) / units[name]
        else:
            cost += (changed[name] != before).to_numpy()
    return float(cost[other].min(initial=np.inf))


if __name__ == "__main__":
    main()
