"""Speed, memory and accuracy of the paper's design, printed as tables.

    python benchmarks/stages.py [--quick] [--pima pima.csv]

Ratios compare runs on the same machine in the same process, the two sides taking turns; times are the
best of several repetitions. Memory is the peak of a fresh process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_circles, make_moons
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split

import ffmlp
from ffmlp import FFMLPClassifier, Hyperplanes, Regions, paper
from ffmlp.design.pruning import prune
from ffmlp.network.region import pack, sign_codes, tabulate

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from problems import four_moons


def best(action: Callable[[], object], repetitions: int) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(repetitions):
        start = perf_counter()
        action()
        seconds.append(perf_counter() - start)
    return min(seconds)


def print_machine() -> None:
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
        cpu = names[0].split(":")[1].strip() if names else cpu
    print(f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}", end=", ")
    print(f"NumPy {np.__version__}, SciPy {scipy.__version__}", end=", ")
    print(f"scikit-learn {sklearn.__version__}, ffmlp {ffmlp.__version__}")


def gaussian_classes(
    n_rows: int,
    *,
    spread: float = 2.0,
    n_features: int = 10,
    blobs_per_class: int = 3,
    n_classes: int = 4,
) -> tuple[np.ndarray, np.ndarray, Hyperplanes]:
    """Unit Gaussian blobs with centres ``spread`` apart, and the hyperplanes halfway between them."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(n_classes), blobs_per_class)
    centres = spread * rng.normal(size=(len(classes), n_features))
    blob = rng.integers(len(classes), size=n_rows)
    X = centres[blob] + rng.normal(size=(n_rows, n_features))
    i, j = np.triu_indices(len(classes), 1)
    different = classes[i] != classes[j]
    i, j = i[different], j[different]
    weights = centres[i] - centres[j]
    biases = -0.5 * np.sum((centres[i] + centres[j]) * weights, axis=1)
    return X, classes[blob], Hyperplanes(weights, biases, np.column_stack([i, j]))


def pruning_against_paper() -> None:
    print("\nPruning 4-new-moons against ffmlp.paper (1200 rows, threshold 0.05)")
    X, y = four_moons(1200)
    full = FFMLPClassifier(3, design="region", error_threshold=None, random_state=0).fit(X, y)
    codes = full.hyperplanes_.log_odds(X) > 0
    start = perf_counter()
    _, deleted = paper.prune(codes, np.eye(4)[y], 0.05)
    slow = perf_counter() - start
    path = prune(tabulate(pack(codes), 54, y, 4), 0.05)
    same = list(zip(path.deleted, path.error_rates, strict=True)) == deleted
    fast = best(lambda: prune(tabulate(sign_codes(full.hyperplanes_, X), 54, y, 4), 0.05), 20)
    print(f"  {codes.shape[1]} hyperplanes, {len(deleted)} deleted, identical: {same}")
    print(f"  literal {slow:.3f} s, ours {1e3 * fast:.2f} ms with sign codes: {slow / fast:.0f}x faster")


def pruning_against_sign_codes(quick: bool) -> None:
    print("\nPruning against `X @ W.T + b > 0`, which computes the sign codes")
    print("  (pruning: sign codes to region table to the last deletion)")
    header = ("rows", "hyperplanes", "regions", "spread", "threshold", "deleted")
    print("  " + " ".join(f"{name:>11}" for name in (*header, "codes, s", "pruning, s", "ratio")))
    sizes = (1_000, 10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    cases = [(n, 3, 2.0, 0.05) for n in sizes]
    cases += [(n, 3, spread, 0.05) for n in sizes[2:] for spread in (1.0, 1.5, 3.0)]
    cases += [(100_000, k, 2.0, 0.05) for k in (1, 2, 4, 6)]
    cases += [(n, 3, spread, 1.0) for n in sizes[2:] for spread in (1.0, 2.0, 3.0)]
    for n_rows, blobs_per_class, spread, threshold in cases:
        X, y, planes = gaussian_classes(n_rows, spread=spread, blobs_per_class=blobs_per_class)
        weights, biases = planes.weights, planes.biases
        words = pack(X @ weights.T + biases > 0)
        pruned: list[tuple[Regions, int]] = []

        def pruning(words=words, y=y, planes=planes, threshold=threshold, pruned=pruned):
            regions = tabulate(words, len(planes), y, 4)
            pruned.append((regions, len(prune(regions, threshold).deleted)))

        codes_time = pruning_time = np.inf
        for _ in range(5 if n_rows >= 1_000_000 else 15):
            codes_time = min(codes_time, best(lambda w=weights, b=biases, X=X: X @ w.T + b > 0, 1))
            pruning_time = min(pruning_time, best(pruning, 1))
        regions, n_deleted = pruned[0]
        print(
            f"  {n_rows:11d} {len(planes):11d} {len(regions):11d} {spread:11.1f} {threshold:11.2f} "
            f"{n_deleted:11d} {codes_time:11.4f} {pruning_time:11.4f} {pruning_time / codes_time:11.1f}"
        )


def _spin(stop) -> None:
    while not stop.is_set():
        sum(range(10_000))


def fit_against_mixtures(loaded: bool) -> None:
    state = "a loaded" if loaded else "an idle"
    print(f"\nWhole fit against scikit-learn's GaussianMixture alone, on {state} machine (median of 15)")
    stop = multiprocessing.Event()
    workers = [
        multiprocessing.Process(target=_spin, args=(stop,)) for _ in range(2 * (os.cpu_count() or 1))
    ]
    if loaded:
        for worker in workers:
            worker.start()
    cases = {
        "Iris, k=2": (*load_iris(return_X_y=True), 2, 0.05),
        "2-new-moons, k=2": (*make_moons(600, noise=0.3, random_state=0), 2, 0.1),
        "4-new-moons, k=3": (*four_moons(1200), 3, 0.05),
    }
    for name, (X, y, k, threshold) in cases.items():
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        ours, theirs = [], []
        for seed in range(15):
            start = perf_counter()
            FFMLPClassifier(k, design="region", error_threshold=threshold, random_state=seed).fit(X, y)
            middle = perf_counter()
            for label in np.unique(y):
                GaussianMixture(k, random_state=seed).fit(X[y == label])
            ours.append(middle - start)
            theirs.append(perf_counter() - middle)
        a, b = 1e3 * np.median(ours), 1e3 * np.median(theirs)
        print(
            f"  {name:18} FFMLPClassifier {a:8.2f} ms   GaussianMixture {b:8.2f} ms   ratio {a / b:.2f}"
        )
    stop.set()
    if loaded:
        for worker in workers:
            worker.join()


def memory_above_start(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and the peak of resident memory in MB above that before the call."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from here
    before = resident_megabytes()
    seconds = best(action, 1)
    return seconds, resident_megabytes("VmHWM") - before


def resident_megabytes(name: str = "VmRSS") -> float:
    return int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0]) / 2**10


def scale(n_rows: int) -> None:
    """Fit and predict in this process alone; called in a fresh one by `scaling`."""
    X, y, _ = gaussian_classes(n_rows)
    clf = FFMLPClassifier(3, design="region", error_threshold=0.05, random_state=0)
    unpruned = FFMLPClassifier(3, design="region", error_threshold=None, random_state=0).fit(X, y)
    moved = X + 0.5
    fit = memory_above_start(lambda: clf.fit(X, y))
    predict = memory_above_start(lambda: clf.predict(X))
    unseen = memory_above_start(lambda: unpruned.predict(moved))
    print(
        f"  {n_rows:9d} rows ({X.nbytes / 2**20:.0f} MB): fit {fit[0]:.2f} s = "
        f"{1e6 * fit[0] / n_rows:.2f} µs a row, {fit[1]:.0f} MB above the data\n"
        f"    predict {predict[0]:.3f} s and {predict[1]:.0f} MB with {len(clf.regions_)} regions, "
        f"{unseen[0]:.3f} s and {unseen[1]:.0f} MB with {len(unpruned.regions_)} and shifted rows"
    )


def scaling(quick: bool) -> None:
    print("\nWhole fit and predict, 10 features, 4 classes, k=3, threshold 0.05")
    if not Path("/proc/self/status").exists():
        print("  left out: peak memory is read from /proc, which this system does not have")
        return
    for n_rows in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        subprocess.run([sys.executable, __file__, "--scale", str(n_rows)], check=True)


def import_time() -> None:
    def seconds(module: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True), 7)

    # What the package gives is imported when it is used.
    ours, theirs = seconds("ffmlp.classifier"), seconds("sklearn.mixture")
    print(
        f"\nimport of the classifier {ours:.3f} s, of sklearn.mixture {theirs:.3f} s: ratio "
        f"{ours / theirs:.2f}"
    )


def accuracy(pima: Path | None, n_splits: int) -> None:
    print(f"\nAccuracy on the paper's settings: mean ± standard deviation over {n_splits} 60/40 splits")
    ring = make_circles(1000, noise=0.19, factor=0.5, random_state=0)
    cases = {
        "Iris": (*load_iris(return_X_y=True), 2, 0.05, "96.67 / 98.33"),
        "Wine": (*load_wine(return_X_y=True), 2, 0.05, "97.17 / 94.44"),
        "B.C.W.": (*load_breast_cancer(return_X_y=True), 2, 0.05, "96.77 / 94.30"),
        "2-new-moons": (*make_moons(1000, noise=0.29, random_state=0), 2, 0.1, "88.17 / 91.25"),
        "4-new-moons": (*four_moons(2000), 3, 0.05, "95.75 / 95.38"),
        "circle-and-ring (4)": (*ring, {0: 4, 1: 1}, 0.1, "88.83 / 87.25"),
        "circle-and-ring (16)": (*ring, {0: 16, 1: 1}, 0.1, "83.17 / 80.50"),
    }
    if pima is not None:
        rows = np.genfromtxt(pima, delimiter=",", skip_header=1)
        rows = rows[(rows[:, 1:6] != 0).all(axis=1)]
        cases["Pima"] = (rows[:, :8], rows[:, 8].astype(int), 4, 0.1, "91.06 / 73.89")
    for name, (X, y, k, threshold, reported) in cases.items():
        train, test, sizes = [], [], []
        for seed in range(n_splits):
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, test_size=0.4, random_state=seed, stratify=y
            )
            clf = FFMLPClassifier(k, design="region", error_threshold=threshold, random_state=seed).fit(
                X_train, y_train
            )
            train.append(100 * clf.score(X_train, y_train))
            test.append(100 * clf.score(X_test, y_test))
            sizes.append(clf.network_.layer_sizes[1:3])
        d_1, d_2 = np.mean(sizes, axis=0)
        print(
            f"  {name:21} train {np.mean(train):5.2f} ± {np.std(train):4.2f}   "
            f"test {np.mean(test):5.2f} ± {np.std(test):4.2f}   "
            f"D_1 {d_1:5.1f}  D_2 {d_2:5.1f}   paper (one split) {reported}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave the largest sizes out")
    parser.add_argument(
        "--pima", type=Path, help="CSV of the Pima set, 8 features and outcome, 768 rows"
    )
    parser.add_argument("--scale", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.scale:
        scale(arguments.scale)
        return
    print_machine()
    pruning_against_paper()
    pruning_against_sign_codes(arguments.quick)
    fit_against_mixtures(loaded=False)
    fit_against_mixtures(loaded=True)
    scaling(arguments.quick)
    import_time()
    accuracy(arguments.pima, n_splits=5 if arguments.quick else 30)


if __name__ == "__main__":
    main()
