"""Exact distances against Marabou, an independent verifier of neural networks.

    python benchmarks/marabou.py FOLDER [--rows 15] [--neurons 50] [--seconds 10]

FOLDER holds CSV files whose last column is the class. Marabou must say that another class is impossible
within 0.99 of the exact distance of a sample (maximum norm, in standard deviations of the features), and
possible within 1.01. Networks are those that `max_neurons` chooses, with or without gaussianised
features. Left out are rows whose distance is not proved, and networks with other activations than ReLU.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
from collections import Counter
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from exact_distances import fitted

from ffmlp import FFMLPClassifier

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from verifier import verdict

EXPECTED = {0.99: "unsat", 1.01: "sat"}
ANSWERS = ["agree", "disagree", "no answer"]
# The time limit of each distance, in seconds.
PATIENCE = 60.0


@dataclass(frozen=True)
class Question:
    """A sample x (N,) and the change (N,) of each feature at its exact distance."""

    clf: FFMLPClassifier
    x: np.ndarray
    reach: np.ndarray


def questions(clf: FFMLPClassifier, rows: np.ndarray, scale: np.ndarray) -> list[Question]:
    """The rows whose distances are exact."""
    nearest = clf.robustness(rows, norm="inf", scale=scale, time_limit=PATIENCE)
    usable = np.flatnonzero(nearest.exact & np.isfinite(nearest.distance))
    return [Question(clf, rows[row], nearest.distance[row] * scale) for row in usable]


def answer(question: Question, factor: float, seconds: int) -> str:
    radius = factor * question.reach
    model = question.clf.to_relu_onnx(question.x, radius)
    said = limited(model, question.clf.to_vnnlib(question.x, radius), seconds)
    if said not in EXPECTED.values():
        return "no answer"
    return "agree" if said == EXPECTED[factor] else "disagree"


def limited(model: Any, text: str, seconds: int) -> str:
    """What Marabou says within seconds of one core, in a process that the system stops after them.

    Marabou's limit counts the time of other processes, too, and it does not always keep it.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=send_verdict, args=(sender, model, text, seconds))
    process.start()
    sender.close()  # so that the receiver sees the end of a process that was stopped
    try:
        return receiver.recv()
    except EOFError:
        return "stopped"
    finally:
        process.join()


def send_verdict(sender: Connection, model: Any, text: str, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sender.send(verdict(model, text, seconds=0)[0])  # 0: without Marabou's limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="*", help="names of some of the files, without suffix")
    parser.add_argument("--rows", type=int, default=15, help="test rows of each set")
    parser.add_argument("--neurons", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=10, help="time limit of a query, on one core")
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.csv*"))
    if options.sets:
        paths = [path for path in paths if path.name.partition(".")[0] in options.sets]
    total = Counter[str]()
    print("| set | network | gaussianised | " + " | ".join(ANSWERS) + " |")
    print("|---" * (3 + len(ANSWERS)) + "|")
    for path in paths:
        clf, rows, scale = fitted(path, options.neurons, options.rows)
        network = clf.network_
        mapped = "no" if network.hyperplanes.gaussianisation is None else "yes"
        # Blobs, which `max_neurons` chooses where they are enough, have activations beside ReLU.
        is_relu = network.stages.relu_layers is not None
        counts = Counter(
            answer(question, factor, options.seconds)
            for question in (questions(clf, rows, scale) if is_relu else [])
            for factor in EXPECTED
        )
        report(path.name.partition(".")[0], network.layers, mapped, counts)
        total += counts
    report("all", "", "", total)


def report(name: str, layers: str, mapped: str, counts: Counter[str]) -> None:
    cells = [name, layers, mapped, *(str(counts[answer]) for answer in ANSWERS)]
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
