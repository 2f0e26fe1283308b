"""Many predictions and explanations in one process: memory stays flat, threads get the same bits.

    python benchmarks/soak.py

Each design predicts and explains again and again. Memory is measured after a warm-up and at
the end. Then, threads on one model predict and explain at the same time; each must get what one gets.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from problems import DESIGNS, designed, mixed_table

N_PREDICTIONS, N_EXPLANATIONS, N_THREADS = 10_000, 1000, 64


def memory() -> float:
    """The memory of this process in MB."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


def growth(action: Callable[[int], object], n_times: int) -> float:
    """The MB by which memory grows with ``n_times`` calls, after a warm-up of a tenth as many."""
    for number in range(n_times // 10):
        action(number)
    before = memory()
    for number in range(n_times):
        action(number)
    return memory() - before


def soaked(clf: Any, X: Any, n_predictions: int, n_explanations: int) -> tuple[float, float]:
    """The MB that predictions, then explanations of single rows take."""

    def row(number: int) -> Any:
        return X.iloc[[number % len(X)]]

    predicted = growth(lambda number: clf.predict_proba(row(number)), n_predictions)
    return predicted, growth(lambda number: str(clf.explain(row(number))[0]), n_explanations)


def in_threads(clf: Any, X: Any, n_threads: int) -> int:
    """The number of threads whose probabilities or explanations differ from a single thread's."""

    def answers() -> tuple[bytes, list[str]]:
        explained = clf.explain(X[:5])
        return clf.predict_proba(X).tobytes(), [str(explained[number]) for number in range(5)]

    wanted, made, together = answers(), list[Any](), threading.Barrier(n_threads)

    def work() -> None:
        together.wait()
        made.append(answers())

    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return n_threads - sum(answer == wanted for answer in made)


def main() -> None:
    X, y = mixed_table()
    print(f"{'design':<22} {'predictions':>12} {'explanations':>13} {'threads that differ':>20}")
    for design in DESIGNS:
        clf = designed(design, X, y)
        predicted, explained = soaked(clf, X, N_PREDICTIONS, N_EXPLANATIONS)
        n_others = in_threads(clf, X, N_THREADS)
        print(f"{design:<22} {predicted:>+9.1f} MB {explained:>+10.1f} MB {n_others:>13} of {N_THREADS}")


if __name__ == "__main__":
    main()
