"""Fits of many rows on a local Dask cluster: time, passes, memory, and the same fit in memory.

    python benchmarks/dask_rows.py scaling --rows 100000 1000000 10000000 [--workers 1 2] [--local]
    python benchmarks/dask_rows.py scaling --rows 100000000 --workers 2 --memory 1GB
    python benchmarks/dask_rows.py peers --rows 1000000
    python benchmarks/dask_rows.py sets --data FOLDER

Rows are generated block by block, so that no process has them all. Each worker is a process with one
thread. "sets" compares fits of partitions with the local fit, on CSV files with the class last.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import ffmlp
import ffmlp.dask
from ffmlp.inputs import rows as drawn_rows

N_FEATURES, N_TESTED, ROWS_OF_BLOCK = 20, 20_000, 250_000
DESIGNS: dict[str, dict[str, Any]] = {
    "default": {},
    "max_leaves=0": {"max_leaves": 0},
    "region, 2 blobs": {"design": "region", "n_components": 2, "error_threshold": 0.05},
}


def samples(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with a curved boundary, a tenth of the labels of it by chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * np.abs(X[:, 3]) - 0.4 + 0.3 * rng.normal(size=n_rows)
    return X, (score > 0).astype(np.int64)


def generated(n_rows: int) -> tuple[da.Array, da.Array]:
    """A Dask array of samples and one of labels, of the same tasks."""
    sizes = [ROWS_OF_BLOCK] * (n_rows // ROWS_OF_BLOCK)
    if n_rows % ROWS_OF_BLOCK:
        sizes.append(n_rows % ROWS_OF_BLOCK)
    make = dask.delayed(_table)
    parts = [
        da.from_delayed(make(size, seed), (size, N_FEATURES + 1), np.float64)
        for seed, size in enumerate(sizes, start=1)
    ]
    table = da.concatenate(parts)
    return table[:, :-1], table[:, -1].astype(np.int64)


def _table(n_rows: int, seed: int) -> np.ndarray:
    return np.column_stack(samples(n_rows, seed))


def cluster(n_workers: int, memory: str) -> LocalCluster:
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, memory_limit=memory, dashboard_address=None
    )


def peak_memory() -> int:
    """The peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def scaling(options: argparse.Namespace) -> None:
    print("| rows | design | workers | seconds | passes, s | worker, MB | here, MB | accuracy |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for n_rows in options.rows:
        for name in options.designs:
            if options.local:
                run_apart(_local_fit, n_rows, name)
            for n_workers in options.workers:
                run_apart(_dask_fit, n_rows, name, n_workers, options.memory)


def run_apart(function: Any, *arguments: Any) -> None:
    """Run in a fresh process, whose peak memory is the memory of one fit."""
    process = get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"{function.__name__}{arguments} ended with {process.exitcode}")


def _dask_fit(n_rows: int, name: str, n_workers: int, memory: str) -> None:
    with cluster(n_workers, memory) as workers, Client(workers) as client:
        X, y = generated(n_rows)
        start = perf_counter()
        clf = ffmlp.dask.FFMLPClassifier(random_state=0, **DESIGNS[name]).fit(X, y)
        seconds = perf_counter() - start
        worker = max(client.run(peak_memory).values())
    passes = ", ".join(f"{one:.1f}" for one in clf.pass_seconds_)
    row(n_rows, name, str(n_workers), seconds, passes, worker, clf.to_local())


def _local_fit(n_rows: int, name: str) -> None:
    X, y = (np.concatenate(part) for part in zip(*_blocks(n_rows), strict=True))
    start = perf_counter()
    clf = ffmlp.FFMLPClassifier(random_state=0, **DESIGNS[name]).fit(X, y)
    row(n_rows, name, "in memory", perf_counter() - start, "", 0, clf)


def _blocks(n_rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    starts = range(0, n_rows, ROWS_OF_BLOCK)
    return [samples(min(ROWS_OF_BLOCK, n_rows - start), 1 + n) for n, start in enumerate(starts)]


def row(
    n_rows: int, name: str, workers: str, seconds: float, passes: str, memory: int, clf: Any
) -> None:
    accuracy = 100 * clf.score(*samples(N_TESTED, 0))
    print(
        f"| {n_rows:,} | {name} | {workers} | {seconds:.1f} | {passes} | {memory or ''} "
        f"| {peak_memory()} | {accuracy:.2f} % |",
        flush=True,
    )


def peers(options: argparse.Namespace) -> None:
    print("| model | rows | workers | seconds | worker, MB | accuracy |")
    print("|---|---|---|---|---|---|", flush=True)
    for n_rows in options.rows:
        for model in ("ffmlp", "ffmlp, max_leaves=0", "XGBoost", "LightGBM"):
            run_apart(_peer, n_rows, model, options.workers[-1], options.memory)


def _peer(n_rows: int, model: str, n_workers: int, memory: str) -> None:
    with cluster(n_workers, memory) as workers, Client(workers) as client:
        X, y = dask.persist(*generated(n_rows))
        from distributed import wait

        wait([X, y])
        start = perf_counter()
        clf = _peer_model(model).fit(X, y)
        seconds = perf_counter() - start
        worker = max(client.run(peak_memory).values())
        test, labels = samples(N_TESTED, 0)
        predicted = np.asarray(clf.predict(da.from_array(test, chunks=(N_TESTED, N_FEATURES))))
    accuracy = 100 * np.mean(predicted == labels)
    print(
        f"| {model} | {n_rows:,} | {n_workers} | {seconds:.1f} | {worker} | {accuracy:.2f} % |",
        flush=True,
    )


def _peer_model(model: str) -> Any:
    if model == "XGBoost":
        from xgboost import dask as peer

        return peer.DaskXGBClassifier()
    if model == "LightGBM":
        from lightgbm import dask as peer

        return peer.DaskLGBMClassifier(verbose=-1)
    limits = {"max_leaves": 0} if "max_leaves" in model else {}
    return ffmlp.dask.FFMLPClassifier(random_state=0, **limits)


def sets(options: argparse.Namespace) -> None:
    """Partitions against the local fit, with all rows held and with few."""
    import pandas as pd

    designs = DESIGNS | {
        "blob, 2 blobs": {"design": "blob", "n_components": 2},
        "paper, 2 blobs": {"design": "paper", "n_components": 2},
        "max_neurons=50": {"max_neurons": 50},
    }
    print("| set | rows held | other labels | largest relative difference of parameters |")
    print("|---|---|---|---|", flush=True)
    for path in sorted(options.data.glob("*.csv*")):
        table = pd.read_csv(path).sample(frac=1.0, random_state=0).head(3000)
        X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
        for held in (drawn_rows.MOST_DISTINCT, 400):
            drawn_rows.MOST_DISTINCT, before = held, drawn_rows.MOST_DISTINCT
            drawn_rows.FEWEST_OF_A_CLASS = min(1000, held // 4)
            results = [compared(X, y, parameters) for parameters in designs.values()]
            drawn_rows.MOST_DISTINCT, drawn_rows.FEWEST_OF_A_CLASS = before, 1000
            others, worst = (max(part) for part in zip(*results, strict=True))
            shown = "all" if held > len(X) else str(held)
            print(f"| {path.name.partition('.')[0]} | {shown} | {others} | {worst:.1e} |", flush=True)


def compared(X: np.ndarray, y: np.ndarray, parameters: dict[str, Any]) -> tuple[int, float]:
    """Labels that differ, and the largest relative difference of weights and probabilities."""
    local, worst, others = ffmlp.FFMLPClassifier(random_state=0, **parameters).fit(X, y), 0.0, 0
    for n_parts in (1, 2, 7, 50):
        rng = np.random.default_rng(n_parts)
        order = rng.permutation(len(X))
        cuts = np.sort(rng.integers(0, len(X), n_parts - 1))
        sizes = tuple(np.diff([0, *cuts, len(X)]).tolist())
        clf = ffmlp.dask.FFMLPClassifier(random_state=0, **parameters).fit(
            da.from_array(X[order], chunks=(sizes, X.shape[1])), da.from_array(y[order], chunks=(sizes,))
        )
        others = max(others, int(np.sum(clf.predict(X) != local.predict(X))))
        for one, two in zip(arrays(local), arrays(clf), strict=True):
            worst = max(worst, np.inf if one.shape != two.shape else difference(one, two))
    return others, worst


def arrays(clf: Any) -> list[np.ndarray]:
    network = clf.network_
    return [
        *network.weights[:1],
        *network.biases[:1],
        clf.blobs_.means,
        network.probabilities(clf.blobs_.means),
    ]


def difference(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.abs(one - two).max() / max(np.abs(one).max(), 1e-300))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["scaling", "peers", "sets"])
    parser.add_argument("--rows", type=lambda text: int(float(text)), nargs="+", default=[1_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory", default="4GB", help="of each worker")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--local", action="store_true", help="fit in memory, too")
    parser.add_argument("--data", type=Path, help="folder of CSV files")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    {"scaling": scaling, "peers": peers, "sets": sets}[options.action](options)


if __name__ == "__main__":
    main()
