"""Exact distances against Marabou, an independent verifier of neural networks.

    python benchmarks/marabou.py FOLDER [--queries 500] [--neurons 50] [--seconds 60] [--jobs 2]

FOLDER holds CSV files whose last column is the class. Marabou must say that another class is impossible
within 0.99 of the exact distance of a sample, and possible within 1.01. It sees the network in float32.
Where the lead of our point there is smaller than the rounding that the VNN-LIB text states, a
contradiction is counted as rounding.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from verifier import verdict

EXPECTED = {0.99: "unsat", 1.01: "sat"}
ANSWERS = ["agree", "disagree", "rounding", "no answer"]
MOST_ROWS = 3000


@dataclass(frozen=True)
class Question:
    """A sample, its exact distance, and the point found there."""

    clf: FFMLPClassifier
    x: np.ndarray
    distance: float
    point: np.ndarray


def questions(path: Path, n_samples: int, options: argparse.Namespace) -> list[Question]:
    """Samples of one file whose distances are exact."""
    table = pd.read_csv(path)
    table = table.sample(min(len(table), MOST_ROWS), random_state=0)
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
    train, test, labels, _ = train_test_split(X, y, random_state=0, train_size=0.6)
    spread = train.std(axis=0)
    train, test = (part / np.where(spread > 0, spread, 1.0) for part in (train, test))
    clf = FFMLPClassifier(
        design="readout",
        max_neurons=options.neurons,
        gaussianise=False if options.plain else "auto",
        random_state=0,
    ).fit(train, labels)
    rng = np.random.default_rng(0)
    rows = test[rng.choice(len(test), min(n_samples, len(test)), replace=False)]
    found = clf.robustness(rows, norm="inf", n_jobs=options.jobs)
    usable = np.flatnonzero(found.exact & np.isfinite(found.distance))
    return [Question(clf, rows[row], found.distance[row], found.points[row]) for row in usable]


def answer(question: Question, factor: float, seconds: int) -> str:
    clf, radius = question.clf, factor * question.distance
    text = clf.to_vnnlib(question.x, radius)
    said, _ = verdict(clf.to_relu_onnx(question.x, radius), text, seconds)
    if said not in EXPECTED.values():
        return "no answer"
    if said == EXPECTED[factor]:
        return "agree"
    (error,) = re.findall(r"change the outputs by at most (\S+)\.\n", text)
    network = clf.network_
    responses = network.hyperplanes.signed_responses(question.point[None])
    second, first = np.sort(network.stages.scores(responses)[0])[-2:]
    return "rounding" if first - second <= 2 * float(error) else "disagree"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="*", help="names of some of the files, without suffix")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--neurons", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="features are not gaussianised")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.csv*"))
    if options.sets:
        paths = [path for path in paths if path.name.partition(".")[0] in options.sets]
    total = Counter[str]()
    samples_each = -(-options.queries // (len(EXPECTED) * len(paths)))
    print("| set | " + " | ".join(ANSWERS) + " |")
    print("|---" * (1 + len(ANSWERS)) + "|")
    for path in paths:
        asked = questions(path, samples_each, options)
        answers = Parallel(n_jobs=options.jobs)(
            delayed(answer)(question, factor, options.seconds)
            for question in asked
            for factor in EXPECTED
        )
        report(path.name.partition(".")[0], Counter(answers))
        total += Counter(answers)
    report("all", total)


def report(name: str, counts: Counter[str]) -> None:
    print(f"| {name} | " + " | ".join(str(counts[answer]) for answer in ANSWERS) + " |", flush=True)


if __name__ == "__main__":
    main()
