"""The runs of ``ffmlp benchmark``, and their averages, ranks and wins."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
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
from scipy.stats import rankdata
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from threadpoolctl import threadpool_limits

from ffmlp.arrays import Flags, Floats, without_rounding
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
        return cls(seed, n_splits, {one.name: checksum(one) for one in sets}, versions)


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

    def place(run: BenchmarkRun) -> tuple[int, int, int, int]:
        model = models.get(run.model, len(models))
        return sets.index(run.set), row_limit(run.train_rows), run.split, model

    return sorted(runs.values(), key=place)


# Beside the name of a model that failed on any set.
MARK = "†"


@dataclass(frozen=True)
class Measure:
    """Something measured in each run: its title, average over runs, and factor and digits as shown.

    Larger values are better if ``sign`` is 1, smaller ones if it is -1, neither if it is 0.
    """

    title: str
    average: Callable[..., Any]
    scale: int
    digits: int
    sign: int


MEASURED = {
    "accuracy": Measure("accuracy (%)", np.mean, 100, 2, 1),
    "balanced_accuracy": Measure("balanced accuracy (%)", np.mean, 100, 2, 1),
    "log_loss": Measure("log-loss", np.mean, 1, 3, -1),
    "fit_seconds": Measure("fit (s)", np.median, 1, 4, -1),
    "predict_seconds": Measure("predict (s)", np.median, 1, 4, -1),
    "parameters": Measure("parameters", np.median, 1, 0, 0),
}


@dataclass(frozen=True, eq=False)
class Results:
    """The results of one number of training rows, as arrays of shape (n_sets, n_models, n_splits).

    A value is NaN where it is missing. ``mean_rows`` is the mean number of training rows.
    """

    train_rows: str
    mean_rows: float
    sets: tuple[str, ...]
    models: tuple[str, ...]
    values: dict[str, Floats]
    errors: tuple[BenchmarkRun, ...]
    unfinished: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[BenchmarkRun], settings: Settings, train_rows: str) -> Results:
        """The results of the models with a run for every split of every set."""
        runs = [run for run in runs if run.train_rows == train_rows]
        counts = Counter(run.model for run in runs)
        sets, all_runs = tuple(settings.sets), len(settings.sets) * settings.n_splits
        models = tuple(model for model, count in counts.items() if count == all_runs)
        shape = len(sets), len(models), settings.n_splits
        values = {name: np.full(shape, np.nan) for name in MEASURED}
        for run in runs:
            if run.model in models:
                place = sets.index(run.set), models.index(run.model), run.split
                for name, array in values.items():
                    array[place] = getattr(run, name)  # None is NaN
        errors = tuple(run for run in runs if run.error and run.model in models)
        unfinished = tuple(model for model in counts if model not in models)
        mean_rows = float(np.mean([run.n_train for run in runs]))
        return cls(train_rows, mean_rows, sets, models, values, errors, unfinished)

    @property
    def rows_text(self) -> str:
        """The number of training rows in words."""
        return (
            "all training rows" if self.train_rows == ALL else f"{self.train_rows} training rows at most"
        )

    @property
    def failed(self) -> set[str]:
        """The models that failed on any set."""
        return {run.model for run in self.errors}

    def averages(self, name: str) -> Floats:
        """The average of each model (n_models,) over its runs; NaN if no run has a value."""
        by_model = self.values[name].swapaxes(0, 1)
        present = [values[~np.isnan(values)] for values in by_model]
        return np.array([MEASURED[name].average(one) if len(one) else np.nan for one in present])

    def deviations(self, name: str) -> Floats:
        """The standard deviation (n_models,) over splits of the average over sets.

        NaN with one split, or where a run has no value.
        """
        by_split = MEASURED[name].average(self.values[name], axis=0)
        return by_split.std(axis=1) if by_split.shape[1] > 1 else np.full(len(by_split), np.nan)


def marked(model: str, *results: Results) -> str:
    """The name of a model, with a mark if it failed in any of the results."""
    return f"{model} {MARK}" if any(model in one.failed for one in results) else model


def all_results(runs: Sequence[BenchmarkRun], settings: Settings) -> list[Results]:
    """The results of each number of training rows, the smallest first."""
    sizes = sorted({run.train_rows for run in runs}, key=row_limit)
    return [Results.of(runs, settings, size) for size in sizes]


def ranks(accuracies: Floats) -> Floats:
    """The rank of each model on each set (n_sets, n_models): 1 is best, ties get the mean rank.

    Models with accuracy NaN are tied for the last rank.
    """
    return rankdata(np.where(np.isnan(accuracies), np.inf, -without_rounding(accuracies)), axis=1)


def is_best(scores: Floats) -> Flags:
    """Where the largest scores along the last axis are, ties included; NaN is never the best."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    return (scores == scores.max(axis=-1, initial=-np.inf, keepdims=True)) & np.isfinite(scores)


def wins(accuracies: Floats) -> NDArray[np.intp]:
    """The number of sets on which each model has the best accuracy, alone or tied."""
    return is_best(without_rounding(accuracies)).sum(axis=0)
