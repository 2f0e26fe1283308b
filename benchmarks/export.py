"""The time to predict 100 000 rows with a classifier, with ONNX Runtime and with PyTorch.

    python benchmarks/export.py [--rows 100000] [--features 20]

The ONNX model returns labels and probabilities and is compared with ``predict_proba``; the time of
``predict`` is printed, too. All use one thread and take turns; times are the best of five.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np
import onnxruntime
import torch
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from ffmlp import FFMLPClassifier

DESIGNS = {
    "region": {"design": "region", "n_components": 2, "error_threshold": 0.05},
    "region, many": {"design": "region", "n_components": 4, "error_threshold": None},
    "blob": {"design": "blob", "n_components": 4},
    "readout": {"design": "readout", "gaussianise": False, "max_leaves": 0},
    "readout, gaussianised": {"design": "readout", "gaussianise": True, "max_leaves": 0},
    "readout with trees": {"design": "readout", "gaussianise": False},
}


def seconds(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def measure(clf: FFMLPClassifier, X: np.ndarray) -> tuple[list[float], int]:
    """Seconds of predict_proba, predict, ONNX Runtime and PyTorch; rows that ONNX labels differently."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        clf.to_onnx("float64").SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    module, tensor = clf.to_torch(torch.float64), torch.tensor(X)
    actions = (
        lambda: clf.predict_proba(X),
        lambda: clf.predict(X),
        lambda: session.run(None, {"X": X}),
        lambda: module(tensor),
    )
    with threadpool_limits(1), torch.no_grad():
        rounds = [[seconds(action) for action in actions] for _ in range(5)]
    labels = session.run(["label"], {"X": X})[0]
    return [min(turns) for turns in zip(*rounds, strict=True)], np.count_nonzero(
        labels != clf.predict(X)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=20)
    options = parser.parse_args()
    X, y = make_classification(
        options.rows + 3000, options.features, n_informative=8, n_classes=3, random_state=0
    )
    train, test = X[:3000], X[3000:]
    torch.set_num_threads(1)
    print(f"{options.rows} rows of {options.features} features, float64; seconds")
    for name, parameters in DESIGNS.items():
        clf = FFMLPClassifier(random_state=0, **parameters).fit(train, y[:3000])
        (ours, labels, in_onnx, in_torch), n_different = measure(clf, test)
        print(
            f"{name:<22} {clf.network_.layer_sizes!s:<20} ours {ours:.3f} (labels {labels:.3f})  "
            f"ONNX {in_onnx:.3f} ({in_onnx / ours:.2f} of ours)  "
            f"PyTorch {in_torch:.3f}  other labels: {n_different}"
        )


if __name__ == "__main__":
    main()
