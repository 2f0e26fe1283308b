"""How many distances of small networks are proved, and random networks against a dense search.

python benchmarks/exact_distances.py --data FOLDER    # CSV files, the last column is the label
python benchmarks/exact_distances.py --random 2000    # needs the folder tests/ of this repository
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier

MOST_ROWS = 3000
# Seconds of one core; other processes may use it, too.
WAITING = 3.0
NORMS = {"1": 1.0, "2": 2.0, "inf": np.inf}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of CSV files")
    parser.add_argument("--sets", nargs="*", help="names of some of the files, without suffix")
    parser.add_argument("--rows", type=int, default=20, help="test rows of each set")
    parser.add_argument("--norm", choices=NORMS, default="inf")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of a row, on one core")
    parser.add_argument("--neurons", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1, help="rows at the same time")
    parser.add_argument("--random", type=int, default=0, help="number of random networks")
    options = parser.parse_args()
    if options.data is not None:
        proved_by_set(options)
    if options.random:
        searched(options.random)


def proved_by_set(options: argparse.Namespace) -> None:
    """The share of test rows whose distance is proved, and the seconds of a row, for each set."""
    print("| set | network | proved | median, s | largest, s |")
    print("|---|---|---|---|---|")
    shares, medians = [], []
    for path in sorted(options.data.glob("*.csv*")):
        name = path.name.partition(".")[0]
        if options.sets and name not in options.sets:
            continue
        clf, samples, scale = fitted(path, options.neurons, options.rows)
        results = Parallel(n_jobs=options.jobs)(delayed(timed)(clf, x, scale, options) for x in samples)
        seconds = [spent for _, spent in results]
        exact = [proved and spent <= options.seconds for proved, spent in results]
        shares.append(np.mean(exact))
        medians.append(np.median(seconds))
        print(
            f"| {name} | {clf.network_.layers} | {sum(exact)} of {len(exact)} | {medians[-1]:.2f} | "
            f"{max(seconds):.2f} |",
            flush=True,
        )
    print(f"| all | | {100 * np.mean(shares):.1f} % | {np.median(medians):.2f} | |")


def timed(clf: FFMLPClassifier, x: np.ndarray, scale: np.ndarray, options: argparse.Namespace) -> tuple:
    """Whether the distance of a sample is proved, and the seconds of one core that it took."""
    start = process_time()
    limit = WAITING * options.seconds
    nearest = clf.robustness(x[None], NORMS[options.norm], scale=scale, time_limit=limit)
    return bool(nearest.exact[0]), process_time() - start


def fitted(path: Path, n_neurons: int, n_rows: int) -> tuple[FFMLPClassifier, np.ndarray, np.ndarray]:
    """A network of 60 % of at most 3000 rows, some of the other rows, and the features' spreads."""
    table = pd.read_csv(path)
    if len(table) > MOST_ROWS:
        table = table.iloc[np.random.default_rng(0).permutation(len(table))[:MOST_ROWS]]
    X, y = table.iloc[:, :-1].to_numpy(np.float64), table.iloc[:, -1].to_numpy()
    counts = np.unique(y, return_counts=True)[1]
    rows = train_test_split(
        np.arange(len(X)), train_size=0.6, random_state=0, stratify=y if counts.min() > 1 else None
    )
    train, test = rows
    clf = FFMLPClassifier(max_neurons=n_neurons, random_state=0).fit(X[train], y[train])
    spread = X[train].std(axis=0)
    return clf, X[test][:n_rows], np.where(spread > 0, spread, 1.0)


def searched(n_networks: int) -> None:
    """Distances of random networks that a dense search contradicts, in each norm."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from random_readouts import violations

    print("\n| norm | random networks | violations | with a point | of these proved |")
    print("|---|---|---|---|---|")
    for name, norm in NORMS.items():
        rng = np.random.default_rng(0)
        results = [violations(rng, norm) for _ in range(n_networks)]
        n_failed = sum(bool(failed) for failed, _, _ in results)
        proved = [exact for _, exact, known in results if known]
        print(f"| {name} | {n_networks} | {n_failed} | {len(proved)} | {sum(proved)} |", flush=True)


if __name__ == "__main__":
    main()
