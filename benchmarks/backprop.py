"""Time of backpropagation on the paper's networks: ours, in NumPy, against PyTorch.

    python benchmarks/backprop.py

Each line trains one network of the paper for ten epochs in both, on one thread, and prints the seconds
of each (best of three) and their ratio. The data are random, because values do not change times.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from ffmlp.backprop import BackpropClassifier

BATCH, EPOCHS = 32, 10
# Rows, features, l_1, l_2 and classes of some of the paper's networks.
NETWORKS = {
    "XOR": (1800, 2, 4, 4, 2), "9-Gaussian-blobs (0.1)": (1800, 2, 54, 97, 3),
    "4-new-moons": (1200, 2, 18, 28, 4), "Iris": (90, 4, 4, 3, 3), "Pima": (235, 8, 18, 88, 2),
}  # fmt: skip


def numpy_seconds(X, y, sizes) -> float:
    bp = BackpropClassifier(sizes, n_epochs=EPOCHS, batch_size=BATCH, random_state=0).fit(X, y)
    return bp.history_.seconds[-1]


def torch_seconds(X, y, sizes) -> float:
    inputs, targets = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    layers = [torch.nn.Linear(X.shape[1], sizes[0]), torch.nn.ReLU(), torch.nn.Linear(*sizes),
              torch.nn.ReLU(), torch.nn.Linear(sizes[1], y.max() + 1)]  # fmt: skip
    module = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
    start = perf_counter()
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(X)).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(inputs[batch]), targets[batch]).backward()
            optimizer.step()
    return perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'network':<24}{'NumPy, s':>10}{'PyTorch, s':>12}{'ratio':>8}")
    with threadpool_limits(1):
        for name, (n_rows, n_features, d_1, d_2, n_classes) in NETWORKS.items():
            X, y = rng.normal(size=(n_rows, n_features)), np.arange(n_rows) % n_classes
            ours, theirs = (
                min(seconds(X, y, (d_1, d_2)) for _ in range(3))
                for seconds in (numpy_seconds, torch_seconds)
            )
            print(f"{name:<24}{ours:>10.4f}{theirs:>12.4f}{theirs / ours:>8.1f}")


if __name__ == "__main__":
    main()
