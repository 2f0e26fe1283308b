"""The results of ``ffmlp benchmark`` as arrays: averages, their spread, ranks and wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ffmlp.arrays import Flags, Floats, without_rounding
from ffmlp.benchmark.runs import ALL, BenchmarkRun, Settings, row_limit

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
