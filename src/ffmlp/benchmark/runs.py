"""The runs of ``ffmlp benchmark``: many classifiers on repeated splits of many data sets.

A run is one model on one split of one set. Runs are independent of each other and use one thread each.
They are collected in ``runs.csv``, so that an interrupted benchmark can be resumed and models can be
added later.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from threadpoolctl import threadpool_limits

from ffmlp.benchmark.peers import MODELS, n_parameters
from ffmlp.benchmark.sets import checksum
from ffmlp.datasets import Dataset
from ffmlp.reports.records import claim, read_records, write_records

# Probabilities are clipped at this for the log-loss.
SMALLEST_PROBABILITY = 1e-15

# Seconds between two writes of finished runs.
_PERIOD = 2.0


@dataclass(frozen=True)
class Settings:
    """The settings that all runs of a folder share; ``sets`` has the checksum of each set."""

    seed: int
    n_splits: int
    max_rows: int
    sets: dict[str, str]
    versions: dict[str, str]

    @classmethod
    def of(cls, sets: Sequence[Dataset], seed: int, n_splits: int, max_rows: int) -> Settings:
        """The settings of a benchmark on some sets, with the versions that are installed."""
        for dataset in sets:
            n_classes = len(np.unique(dataset.y))
            if max_rows < n_classes:
                raise ValueError(
                    f"--max-rows must be at least {n_classes}, the number of classes of {dataset.name}, "
                    f"got {max_rows}."
                )
        versions = {name: version(name) for name in ("ffmlp", "numpy", "scikit-learn")}
        return cls(seed, n_splits, max_rows, {one.name: checksum(one) for one in sets}, versions)


@dataclass(frozen=True)
class BenchmarkRun:
    """One model on one split of one set. Fields that do not apply are empty.

    ``predict_seconds`` is the time of one call for all ``n_test`` samples; ``error`` is the message of a
    run that failed.
    """

    set: str
    split: int
    model: str
    n_train: int
    n_test: int
    n_features: int
    n_classes: int
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    log_loss: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    parameters: int | None = None
    error: str = ""


def at_most(rows: int, y: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """The indices of a stratified subsample of at most ``rows`` samples, at least one of each class."""
    if len(y) <= rows:
        return np.arange(len(y))
    order = np.random.default_rng(seed).permutation(len(y))
    share = np.empty(len(y))
    for label in np.unique(y):
        members = order[y[order] == label]
        share[members] = np.arange(len(members)) / len(members)
    return np.sort(order[np.argsort(share[order], kind="stable")[:rows]])


def run_one(dataset: Dataset, split: int, model: str, seed: int, max_rows: int) -> BenchmarkRun:
    """Fit a model to 60 % of the samples, ``max_rows`` at most, and test it on the other 40 %."""
    train, test = dataset.split(seed + split)
    kept = at_most(max_rows, train.y, seed + split)
    X, y = train.X[kept], train.y[kept]
    n_classes = len(np.unique(dataset.y))
    run = BenchmarkRun(dataset.name, split, model, len(y), len(test.y), X.shape[1], n_classes)
    # Warnings of the models are not shown: their effect is in the results.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            return replace(run, **_measured(MODELS[model](seed + split), X, y, test))
        except Exception as error:  # a model that fails on a set is a result, too
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return replace(run, error=text)


def _measured(model: Any, X: NDArray[np.float64], y: NDArray[np.intp], test: Dataset) -> dict[str, Any]:
    start = perf_counter()
    model.fit(X, y)
    fitted = perf_counter()
    predicted = model.predict(test.X)
    done = perf_counter()
    has_probabilities = hasattr(model, "predict_proba")
    return {
        "accuracy": float(accuracy_score(test.y, predicted)),
        "balanced_accuracy": float(balanced_accuracy_score(test.y, predicted)),
        "log_loss": log_loss(test.y, model.predict_proba(test.X)) if has_probabilities else None,
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "parameters": n_parameters(model),
    }


def log_loss(y: NDArray[np.intp], probabilities: NDArray[np.floating]) -> float:
    """The log-loss, with probabilities clipped at 1e-15 from below."""
    true = np.asarray(probabilities, np.float64)[np.arange(len(y)), y]
    return float(-np.log(np.clip(true, SMALLEST_PROBABILITY, 1.0)).mean())


def benchmark(
    sets: Sequence[Dataset],
    models: Sequence[str],
    settings: Settings,
    folder: Path,
    n_jobs: int = 1,
    on_run: Callable[[BenchmarkRun], Any] = lambda run: None,
) -> list[BenchmarkRun]:
    """Make the runs that the folder does not have yet; return all its runs, also those of other models.

    ``on_run`` is called for each requested run, new or not.
    """
    claim(folder, settings)
    path = folder / "runs.csv"
    runs = {_key(run): run for run in (read_records(path, BenchmarkRun) if path.exists() else ())}
    combinations = product(sets, range(settings.n_splits), models)
    asked = {(dataset.name, split, model): dataset for dataset, split, model in combinations}
    for key in asked.keys() & runs.keys():
        on_run(runs[key])
    left = [
        delayed(run_one)(dataset, split, model, settings.seed, settings.max_rows)
        for (name, split, model), dataset in asked.items()
        if (name, split, model) not in runs
    ]
    written = perf_counter()
    try:
        with warnings.catch_warnings():
            # joblib warns when it replaces a process that has grown large.
            warnings.filterwarnings("ignore", "A worker stopped")
            for run in Parallel(n_jobs, return_as="generator_unordered")(left):
                runs[_key(run)] = run
                on_run(run)
                if perf_counter() - written > _PERIOD:
                    write_records(path, _in_order(runs, settings), BenchmarkRun)
                    written = perf_counter()
    finally:
        write_records(path, _in_order(runs, settings), BenchmarkRun)
    return _in_order(runs, settings)


def _key(run: BenchmarkRun) -> tuple[str, int, str]:
    return run.set, run.split, run.model


def _in_order(runs: dict[tuple[str, int, str], BenchmarkRun], settings: Settings) -> list[BenchmarkRun]:
    """Sorted by set, split and model."""
    # An older folder may have models that no longer exist: they come last.
    sets, models = list(settings.sets), {model: number for number, model in enumerate(MODELS)}

    def place(run: BenchmarkRun) -> tuple[int, int, int]:
        return sets.index(run.set), run.split, models.get(run.model, len(models))

    return sorted(runs.values(), key=place)
