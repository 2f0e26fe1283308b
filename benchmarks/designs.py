"""Accuracy by size of the network for each design, and time and memory of a fit, as tables.

    python benchmarks/designs.py sizes [--data FOLDER_OF_CSV] [--splits 3] [--figure sizes.png]
    python benchmarks/designs.py leaves [--data FOLDER_OF_CSV] [--splits 3]
    python benchmarks/designs.py costs

``sizes`` and ``leaves`` use the sets and splits of `ffmlp benchmark`, one thread each; ``leaves``
varies the limit of leaves of the trees that correct a readout, and has log-losses, too. ``costs``
varies rows, features, classes and blobs one at a time; memory is the peak of a fresh process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from stages import print_machine
from threadpoolctl import threadpool_limits

from ffmlp import FFMLPClassifier
from ffmlp.benchmark.runs import at_most, log_loss
from ffmlp.benchmark.sets import built_in, from_files
from ffmlp.datasets import Dataset
from ffmlp.design import mixtures

MAX_ROWS = 3000
PAPER = {"design": "region", "n_components": 2}
BLOB = {"design": "blob", "n_components": 2, "gaussianise": True}
SETTINGS: dict[str, list[dict]] = {
    "region": [{**PAPER, "error_threshold": value} for value in (0.3, 0.2, 0.1, 0.05, None)],
    "blob": [{**BLOB, "error_threshold": value} for value in (0.3, 0.2, 0.1, 0.05, None)],
    "readout": [
        *({"design": "readout", "max_neurons": value} for value in (30, 50, 100, 200)),
        {"design": "readout", "max_leaves": 0},
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sizes", "leaves", "costs"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    print_machine()
    if options.what == "costs":
        print_costs()
        return
    sets = built_in(0)[0] if options.data is None else from_files(options.data)
    if options.what == "leaves":
        print_leaves(sets, options.splits)
        return
    points = [
        (design, setting, *np.mean([size_and_accuracy(data, setting, split) for data in sets
                                    for split in range(options.splits)], axis=0))
        for design, settings in SETTINGS.items()
        for setting in settings
    ]  # fmt: skip
    print(f"means over {len(sets)} sets and {options.splits} splits")
    print(f"{'neurons':>8} {'accuracy':>9}  setting")
    for _, setting, neurons, accuracy in points:
        print(f"{neurons:8.0f} {100 * accuracy:9.2f}  {setting}")
    if options.figure is not None:
        draw(points, options.figure)


def size_and_accuracy(data: Dataset, setting: dict, split: int) -> tuple[int, float]:
    """Neurons outside the input, and test accuracy on one split."""
    train, test = data.split(split)
    kept = at_most(MAX_ROWS, train.y, split)
    setting = dict(setting)
    if "max_neurons" in setting:  # at least two for each class and one half-space
        setting["max_neurons"] = max(setting["max_neurons"], 2 * len(np.unique(data.y)) + 1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = FFMLPClassifier(**setting, random_state=split).fit(train.X[kept], train.y[kept])
        return sum(clf.network_.layer_sizes[1:]), clf.score(test.X, test.y)


def print_leaves(sets: list[Dataset], n_splits: int) -> None:
    print(f"means over {len(sets)} sets and {n_splits} splits; medians of leaves and seconds")
    print(f"{'limit':>6} {'accuracy':>9} {'log-loss':>9} {'leaves':>8} {'without':>8} {'fit, s':>7}")
    for limit in (0, 100, 300, 1000, 3000, "auto"):
        measured = np.array(
            [leaves_and_scores(data, limit, split) for data in sets for split in range(n_splits)]
        )
        accuracy, loss = measured[:, 1:3].mean(axis=0)
        leaves, seconds = np.median(measured[:, [0, 3]], axis=0)
        none = np.sum(measured[:, 0] == 0)
        print(
            f"{limit:>6} {100 * accuracy:9.2f} {loss:9.4f} {leaves:8.0f} {none:8} {seconds:7.2f}",
            flush=True,
        )


def leaves_and_scores(data: Dataset, limit: int | str, split: int) -> tuple[float, ...]:
    """Number of leaves, test accuracy, log-loss and seconds of the fit on one split."""
    train, test = data.split(split)
    kept = at_most(MAX_ROWS, train.y, split)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = perf_counter()
        clf = FFMLPClassifier(max_leaves=limit, random_state=split).fit(train.X[kept], train.y[kept])
        seconds = perf_counter() - start
        probability = clf.predict_proba(test.X)
    accuracy = np.mean(probability.argmax(axis=1) == test.y)
    return clf.n_leaves_, accuracy, log_loss(test.y, probability), seconds


def draw(points: list[tuple], path: Path) -> None:
    from matplotlib.figure import Figure

    from ffmlp.plots.view import colours

    figure = Figure((7, 4.5), layout="constrained")
    ax = figure.subplots()
    for number, design in enumerate(SETTINGS):
        mine = np.array([point[2:] for point in points if point[0] == design], float)
        ax.plot(*mine.T * [[1], [100]], marker="o^s"[number], color=colours(number), label=design)
    ax.set(xscale="log", xlabel="neurons in l_1, l_2 and l_out", ylabel="mean test accuracy in %")
    ax.set_title("Accuracy by size of the network")
    ax.grid(alpha=0.3)
    ax.legend(title="design", frameon=False, loc="lower right")
    figure.savefig(path, dpi=130)


def print_costs() -> None:
    base = {"rows": 10_000, "features": 20, "classes": 5, "blobs": None}
    changes: list[dict] = [{}]
    changes += [{"rows": rows} for rows in (1000, 3000, 30_000, 100_000)]
    changes += [{"features": features} for features in (5, 50, 200)]
    changes += [{"classes": classes} for classes in (2, 20)]
    changes += [{"blobs": blobs} for blobs in (100, 400)]
    changes += [{"rows": 100_000, "features": 50, "classes": 10}]
    print(
        f"{'rows':>8} {'features':>8} {'classes':>7} {'blobs':>6} {'fit, s':>8} {'peak, MB':>9} neurons"
    )
    for change in changes:
        case = {**base, **change}
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, megabytes, n_blobs, sizes = pool.apply(cost, list(case.values()))
        print(
            f"{case['rows']:8} {case['features']:8} {case['classes']:7} {n_blobs:6} {seconds:8.2f} "
            f"{megabytes:9.0f} {' → '.join(map(str, sizes))}",
            flush=True,
        )


def cost(rows: int, features: int, classes: int, blobs: int | None) -> tuple[float, float, int, tuple]:
    """Seconds and peak memory of one fit to Gaussian classes of four clusters each."""
    if blobs is not None:
        mixtures.N_SMALL_BLOBS = blobs
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=rows)
    X = rng.normal(size=(classes, 4, features))[y, rng.integers(4, size=rows)]
    X += 1.5 * rng.normal(size=X.shape)
    start = perf_counter()
    clf = FFMLPClassifier(design="readout", max_leaves=0).fit(X, y)
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )
    return seconds, peak, len(clf.blobs_), clf.network_.layer_sizes


if __name__ == "__main__":
    main()
