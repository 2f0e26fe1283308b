"""The runs of ``ffmlp benchmark``: models that are fitted to splits and measured."""

from __future__ import annotations

import sys
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

from ffmlp.benchmark.peers import MODELS, made, n_parameters, package_version
from ffmlp.benchmark.sets import checksum
from ffmlp.datasets import Dataset
from ffmlp.report.records import claim, read_records, write_records

# Probabilities are clipped at this for the log-loss.
SMALLEST_PROBABILITY = 1e-15

# All rows of the training part.
ALL = "all"
# The test part has 40 % of the rows, but not more than this.
MAX_TEST_ROWS = 10_000

# Seconds between two writes of finished runs.
_PERIOD = 2.0

# A run is known by set, number of training rows, split and model.
Key = tuple[str, str, int, str]


@dataclass(frozen=True)
class Settings:
    """The settings that all runs of a folder share; ``sets`` has the checksum of each set."""

    seed: int
    n_splits: int
    sets: dict[str, str]
    versions: dict[str, str]

    @classmethod
    def of(cls, sets: Sequence[Dataset], seed: int, n_splits: int) -> Settings:
        """The settings of a benchmark on some sets, with the versions that are installed."""
        versions = {name: version(name) for name in ("ffmlp", "numpy", "scikit-learn")}
        return cls(seed, n_splits, {dataset.name: checksum(dataset) for dataset in sets}, versions)


@dataclass(frozen=True)
class BenchmarkRun:
    """One model on one split of one set. Fields that do not apply are empty.

    ``train_rows`` is the largest number of training rows, or `ALL`, and ``n_train`` their number;
    ``predict_seconds`` is the time of one call for all ``n_test`` samples; ``package`` is the optional
    package of the model with its version; ``error`` is the message of a run that failed.
    """

    set: str
    train_rows: str
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
    package: str = ""
    error: str = ""


def row_limit(train_rows: str) -> int:
    """The largest number of training rows."""
    return sys.maxsize if train_rows == ALL else int(train_rows)


def check_train_rows(sets: Sequence[Dataset], sizes: Sequence[str]) -> None:
    """Refuse a number of training rows that is less than the number of classes of a set."""
    for dataset, size in product(sets, sizes):
        n_classes = len(np.unique(dataset.y))
        if row_limit(size) < n_classes:
            raise ValueError(
                f"--train-rows must be at least {n_classes}, the number of classes of {dataset.name}, "
                f"got {size}."
            )


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


def parts(dataset: Dataset, seed: int, train_rows: str) -> tuple[Dataset, Dataset]:
    """The training part, of at most ``train_rows`` samples, and the test part."""
    numbers = replace(dataset, X=np.arange(len(dataset.y)))
    train, test = (part.X for part in numbers.split(seed))
    tested = at_most(MAX_TEST_ROWS, dataset.y[test], seed)
    # The samples that the test part has too many are training samples.
    rows = np.concatenate([train, np.delete(test, tested)])
    kept = at_most(row_limit(train_rows), dataset.y[rows], seed)
    return dataset.rows(rows[kept]), dataset.rows(test[tested])


def run_one(dataset: Dataset, split: int, model: str, seed: int, train_rows: str) -> BenchmarkRun:
    """Fit a model to the training part of a split and test it on the other samples."""
    train, test = parts(dataset, seed + split, train_rows)
    run = BenchmarkRun(
        dataset.name,
        train_rows,
        split,
        model,
        n_train=len(train.y),
        n_test=len(test.y),
        n_features=dataset.X.shape[1],
        n_classes=len(np.unique(dataset.y)),
        package=package_version(model),
    )
    # Warnings of the models are not shown: their effect is in the results.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            return replace(run, **_measured(made(model, seed + split, train.X), train, test))
        except Exception as error:  # a model that fails on a set is a result, too
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return replace(run, error=text)


def _measured(model: Any, train: Dataset, test: Dataset) -> dict[str, Any]:
    start = perf_counter()
    model.fit(train.X, train.y)
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
    sizes: Sequence[str],
    n_jobs: int = 1,
    on_run: Callable[[BenchmarkRun], Any] = lambda run: None,
) -> list[BenchmarkRun]:
    """Make the runs that the folder does not have yet; return all its runs, also those not asked for.

    ``sizes`` are numbers of training rows, as in `BenchmarkRun.train_rows`. ``on_run`` is called for
    each requested run, new or not.
    """
    check_train_rows(sets, sizes)
    claim(folder, settings)
    path = folder / "runs.csv"
    runs = {_key(run): run for run in (read_records(path, BenchmarkRun) if path.exists() else ())}
    # The smallest first: they are done soon.
    combinations = product(sorted(sizes, key=row_limit), sets, range(settings.n_splits), models)
    asked = {(dataset.name, size, split, model): dataset for size, dataset, split, model in combinations}
    for key in asked.keys() & runs.keys():
        on_run(runs[key])
    left = [
        delayed(run_one)(dataset, split, model, settings.seed, size)
        for (name, size, split, model), dataset in asked.items()
        if (name, size, split, model) not in runs
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


def _key(run: BenchmarkRun) -> Key:
    return run.set, run.train_rows, run.split, run.model


def _in_order(runs: dict[Key, BenchmarkRun], settings: Settings) -> list[BenchmarkRun]:
    """Sorted by set, number of training rows, split and model."""
    # An older folder may have models that no longer exist: they come last.
    sets, models = list(settings.sets), {model: number for number, model in enumerate(MODELS)}

    def order(run: BenchmarkRun) -> tuple[int, int, int, int]:
        model = models.get(run.model, len(models))
        return sets.index(run.set), row_limit(run.train_rows), run.split, model

    return sorted(runs.values(), key=order)
