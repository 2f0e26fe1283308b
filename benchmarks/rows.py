"""Time and memory of a fit to many rows of 20 features, against LightGBM.

    python benchmarks/rows.py [--rows 100000 1000000] [--classes 2 5] [--threads 2] [--regions 0 auto]

Each fit has a fresh process. Memory is its peak, the data included.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from stages import memory_above_start, print_machine, resident_megabytes

from ffmlp import FFMLPClassifier

N_TEST = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--regions", nargs="+", default=["0", "auto"])
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit(Path(options.fit[0]), options.fit[1], options.threads)
        return
    print_machine()
    models = ["lightgbm", *options.regions]
    print(f"{options.threads} threads; models are LightGBM and limits of regions")
    print(
        f"{'rows':>9} {'classes':>7} {'model':>9} {'fit, s':>8} {'peak, MB':>9} {'accuracy':>9}  neurons"
    )
    for n_classes in options.classes:
        for n_rows in options.rows:
            with tempfile.TemporaryDirectory() as folder:
                write(n_rows, n_classes, Path(folder))
                for model in models:
                    print(f"{n_rows:9} {n_classes:7} {model:>9}", end=" ", flush=True)
                    threads = str(options.threads)
                    command = [sys.executable, __file__, "--fit", folder, model, "--threads", threads]
                    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": threads})


def write(n_rows: int, n_classes: int, folder: Path) -> None:
    """Clusters on the corners of a cube of 15 dimensions, one feature skewed and one rounded."""
    X, y = make_classification(
        n_rows + N_TEST,
        n_informative=15,
        n_classes=n_classes,
        n_clusters_per_class=4,
        flip_y=0.02,
        random_state=0,
    )
    X[:, 3], X[:, 5] = np.exp(X[:, 3]), np.round(3 * X[:, 5])
    np.save(folder / "X.npy", X[:n_rows])
    np.save(folder / "y.npy", y[:n_rows])
    np.savez(folder / "test.npz", X=X[n_rows:], y=y[n_rows:])


def fit(folder: Path, model: str, n_threads: int) -> None:
    """Fit in this process alone."""
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    if model == "lightgbm":
        from lightgbm import LGBMClassifier

        clf = LGBMClassifier(n_jobs=n_threads, verbose=-1)
    else:
        limit = model if model == "auto" else int(model)
        clf = FFMLPClassifier(max_leaves=limit, n_jobs=n_threads, random_state=0)
    before = resident_megabytes()
    seconds, above = memory_above_start(lambda: clf.fit(X, y))
    test = np.load(folder / "test.npz")
    accuracy = 100 * np.mean(clf.predict(test["X"]) == test["y"])
    sizes = () if model == "lightgbm" else clf.network_.layer_sizes
    print(f"{seconds:8.2f} {before + above:9.0f} {accuracy:9.2f}  {' → '.join(map(str, sizes))}")


if __name__ == "__main__":
    main()
