"""Whether two versions of the package predict the same, for all designs, on a folder of tables.

Run ``write`` with each version, then ``compare`` the two files::

    PYTHONPATH=old/src python benchmarks/same_predictions.py write old.npz --data FOLDER
    PYTHONPATH=src python benchmarks/same_predictions.py write new.npz --data FOLDER
    python benchmarks/same_predictions.py compare old.npz new.npz
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DESIGNS: dict[str, dict[str, Any]] = {
    "default": {},
    "readout": {"design": "readout"},
    "small": {"max_neurons": 50},
    "blob": {"design": "blob", "discriminant": "heteroscedastic"},
    "region": {"design": "region", "n_components": 2},
    "paper": {"design": "paper", "n_components": 2},
}
# The last column is the class. Rows beyond this many are left out: a third of them is predicted.
MAX_ROWS = 1500


def training_and_new(path: Path) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """The two parts of a table, always the same ones."""
    frame = pd.read_csv(path)
    order = np.random.default_rng(0).permutation(len(frame))[:MAX_ROWS]
    frame = frame.iloc[order]
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1].astype(str)
    n_training = 2 * len(frame) // 3
    return X.iloc[:n_training], y.iloc[:n_training], X.iloc[n_training:]


def write(out: Path, data: Path) -> None:
    """Fit every design on every table and write the probabilities of its new rows."""
    from ffmlp import FFMLPClassifier

    found: dict[str, Any] = {}
    for path in sorted(data.glob("*/*.csv.gz")):
        X, y, new = training_and_new(path)
        if y.nunique() < 2 or y.nunique() > 30:
            continue
        for name, parameters in DESIGNS.items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf = FFMLPClassifier(random_state=0, **parameters).fit(X, y)
                found[f"{path.parent.name}/{path.name.partition('.')[0]}/{name}"] = clf.predict_proba(
                    new
                )
            print(f"{path.name} {name} {time.perf_counter() - start:.1f} s", file=sys.stderr)
    np.savez_compressed(out, **found)


def compare(one: Path, two: Path) -> int:
    """Print the largest difference of each design; 1 if it is above 1e-12."""
    old, new = np.load(one), np.load(two)
    if set(old.files) != set(new.files):
        print(f"Only in one of the files: {sorted(set(old.files) ^ set(new.files))}")
        return 1
    largest = {}
    for key in old.files:
        name, change = key.rpartition("/")[2], float(np.abs(old[key] - new[key]).max())
        largest[name] = max(largest.get(name, (0.0, "")), (change, key))
    for name, (change, key) in largest.items():
        print(f"{name:10} {change:.1e} {key if change else ''}")
    print(f"{len(old.files)} fits")
    return int(max(change for change, _ in largest.values()) > 1e-12)


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=["write", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--data", type=Path, help="folder of tables, *.csv.gz, in subfolders too")
    options = parser.parse_args()
    if options.task == "compare":
        return compare(*options.files)
    write(options.files[0], options.data)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
