"""Exact distances against Marabou, an independent verifier of neural networks.

    python benchmarks/marabou.py FOLDER [--queries 500] [--neurons 50] [--seconds 60]

FOLDER holds CSV files whose last column is the class. Marabou must say that another class is impossible
within 0.99 of the exact distance of a sample, and possible within 1.01.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from verifier import verdict

EXPECTED = {0.99: "unsat", 1.01: "sat"}
MOST_ROWS = 3000


def queries(path: Path, n_samples: int, neurons: int, rng: np.random.Generator) -> list[tuple]:
    """A classifier, samples and their distances, where these are exact."""
    table = pd.read_csv(path)
    table = table.sample(min(len(table), MOST_ROWS), random_state=0)
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
    train, test, labels, _ = train_test_split(X, y, random_state=0, train_size=0.6)
    train, test = (part / train.std(axis=0).clip(1e-12) for part in (train, test))
    clf = FFMLPClassifier(design="readout", max_neurons=neurons, random_state=0).fit(train, labels)
    rows = test[rng.choice(len(test), min(n_samples, len(test)), replace=False)]
    found = clf.robustness(rows, norm="inf")
    usable = np.flatnonzero(found.exact & np.isfinite(found.distance))
    return [(clf, rows[row], float(found.distance[row])) for row in usable]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--neurons", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.csv*"))
    rng, total = np.random.default_rng(0), Counter[str]()
    samples_each = -(-options.queries // (len(EXPECTED) * len(paths)))
    print(f"{'set':<24}{'agree':>8}{'disagree':>10}{'no answer':>11}")
    for path in paths:
        counts = Counter[str]()
        for clf, x, distance in queries(path, samples_each, options.neurons, rng):
            for factor, expected in EXPECTED.items():
                radius = factor * distance
                model, text = clf.to_relu_onnx(x, radius), clf.to_vnnlib(x, radius)
                answer, _ = verdict(model, text, options.seconds)
                known = answer in EXPECTED.values()
                counts["no answer" if not known else "agree" if answer == expected else "disagree"] += 1
        name = path.name.partition(".")[0]
        print(f"{name:<24}{counts['agree']:>8}{counts['disagree']:>10}{counts['no answer']:>11}")
        total += counts
    print(f"{'all':<24}{total['agree']:>8}{total['disagree']:>10}{total['no answer']:>11}")


if __name__ == "__main__":
    main()
