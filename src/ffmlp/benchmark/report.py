"""The report of a benchmark: a summary, tables and a figure."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ffmlp.arrays import Floats, without_rounding
from ffmlp.benchmark.peers import OWN
from ffmlp.benchmark.runs import BenchmarkRun, Settings
from ffmlp.extras import why_missing
from ffmlp.reports.pages import Picture, Table, to_html, to_markdown
from ffmlp.storage.whole_files import write_whole
from ffmlp.words import counted

TITLE = "FF-MLP compared with other classifiers"
MARK = "†"
FIGURE = "accuracy_time.png"


@dataclass(frozen=True, eq=False)
class Results:
    """The results as arrays of shape (n_sets, n_models, n_splits); NaN where a value is missing."""

    sets: tuple[str, ...]
    models: tuple[str, ...]
    values: dict[str, Floats]
    errors: tuple[BenchmarkRun, ...]
    unfinished: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[BenchmarkRun], settings: Settings) -> Results:
        """The results of the models with a run for every split of every set."""
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
        return cls(sets, models, values, errors, unfinished)

    @property
    def accuracies(self) -> Floats:
        """Mean accuracy over splits (n_sets, n_models); NaN if any split failed."""
        return self.values["accuracy"].mean(axis=2)

    @property
    def has_failed(self) -> NDArray[np.bool_]:
        """Whether each model failed on any set (n_models,)."""
        return np.asarray(np.isnan(self.values["accuracy"]).any(axis=(0, 2)))

    def marked(self, model: int) -> str:
        """The name of a model, with a mark if it failed on any set."""
        return self.models[model] + (f" {MARK}" if self.has_failed[model] else "")


# The title of each column, the average over all runs, a factor and the number of digits.
MEASURED: dict[str, tuple[str, Callable[[Floats], Any], int, int]] = {
    "accuracy": ("accuracy", np.mean, 100, 2),
    "balanced_accuracy": ("balanced accuracy", np.mean, 100, 2),
    "log_loss": ("log-loss", np.mean, 1, 3),
    "fit_seconds": ("fit (s)", np.median, 1, 4),
    "predict_seconds": ("predict (s)", np.median, 1, 4),
    "parameters": ("parameters", np.median, 1, 0),
}


def ranks(accuracies: Floats) -> Floats:
    """The rank of each model on each set (n_sets, n_models): 1 is best, ties get the mean rank.

    Models with accuracy NaN are tied for the last rank.
    """
    return rankdata(np.where(np.isnan(accuracies), np.inf, -without_rounding(accuracies)), axis=1)


def wins(accuracies: Floats) -> NDArray[np.intp]:
    """The number of sets on which each model has the best accuracy, alone or tied."""
    rounded = np.where(np.isnan(accuracies), -np.inf, without_rounding(accuracies))
    best = rounded.max(axis=1, keepdims=True)
    return ((rounded == best) & np.isfinite(rounded)).sum(axis=0)


def tables(results: Results, settings: Settings, missing: dict[str, str]) -> list[Table]:
    """The summary, then the details."""
    unfinished = dict.fromkeys(results.unfinished, "Not all of its runs are finished.")
    lines = [[name, reason] for name, reason in (unfinished | missing).items()]
    left_out = Table("Missing", "Models and sets that were not run.", ["name", "reason"], lines)
    made = [summary(results, settings), _by_set(results), _failures(results), left_out]
    return [table for table in made if table.lines]


def summary(results: Results, settings: Settings) -> Table:
    """One line for each model, ordered by mean rank."""
    if not results.models:
        return Table("Summary", "", [], [])
    mean_ranks = ranks(results.accuracies).mean(axis=0)
    n_wins = wins(results.accuracies)
    lines = []
    for model in np.argsort(mean_ranks, kind="stable"):
        accuracy, *cells = (
            _cell(scale * results.values[name][:, model], average, digits)
            for name, (_, average, scale, digits) in MEASURED.items()
        )
        standing = [f"{mean_ranks[model]:.2f}", str(n_wins[model])]
        lines.append([results.marked(model), accuracy, *standing, *cells])
    accuracy, *titles = (title for title, *_ in MEASURED.values())
    header = ["model", accuracy, "rank", "wins", *titles]
    return Table("Summary", _summary_text(results, settings), header, lines)


def _summary_text(results: Results, settings: Settings) -> str:
    text = (
        f"{counted(len(results.sets), 'set')}, {counted(settings.n_splits, 'stratified split')} of each "
        f"(60 % train, at most {settings.max_rows} rows; 40 % test), seed {settings.seed}, one thread. "
        "Accuracy in %, rank among all models (1 is best), balanced accuracy in % and log-loss are "
        "means over sets. Fit time, predict time of the whole test set and number of parameters are "
        "medians. Wins is the number of sets with the best accuracy. "
    )
    if results.has_failed.any():
        text += (
            f"{MARK}: the model failed on some sets. It has the last rank there; its means are over the "
            "other runs and are not comparable. "
        )
    versions = ", ".join(f"{name} {number}" for name, number in settings.versions.items())
    return f"{text}Versions: {versions}."


def _cell(values: Floats, average: Callable[[Floats], Any], digits: int) -> str:
    present = values[~np.isnan(values)]
    return f"{average(present):.{digits}f}" if len(present) else "–"


def _by_set(results: Results) -> Table:
    lines = []
    for name, accuracies in zip(results.sets, 100 * results.values["accuracy"], strict=True):
        line = [name]
        for splits in accuracies:
            failed = np.isnan(splits).sum()
            mean = f"{splits.mean():.2f} ± {splits.std():.2f}"
            line.append(f"failed ({failed} of {len(splits)})" if failed else mean)
        lines.append(line)
    text = "Test accuracy in %, mean ± standard deviation over splits."
    return Table("Accuracy by set", text, ["set", *results.models], lines)


def _failures(results: Results) -> Table:
    splits = defaultdict(list)
    for run in results.errors:
        splits[run.set, run.model, run.error].append(str(run.split))
    lines = [[name, model, ", ".join(of), why] for (name, model, why), of in splits.items()]
    return Table("Failed runs", "Errors by set and model.", ["set", "model", "splits", "error"], lines)


def figure(results: Results) -> bytes:
    """Mean accuracy against median fit time as a PNG file, without models that failed every time."""
    from ffmlp.plots import AccuracyTimeDisplay
    from ffmlp.plots.view import matplotlib

    points = []
    for number, model in enumerate(results.models):
        accuracy, seconds = (results.values[name][:, number] for name in ("accuracy", "fit_seconds"))
        if not np.isnan(accuracy).all():
            averages = np.nanmedian(seconds), np.nanmean(accuracy)
            points.append((results.marked(number), *averages, model in OWN))
    names, seconds, accuracies, own = zip(*points, strict=True)
    canvas = matplotlib("figure").Figure((8.0, 5.5), layout="constrained")
    title = "Mean accuracy and median fit time (circles: FF-MLP, squares: others)"
    display = AccuracyTimeDisplay(names, seconds, accuracies, highlighted=own, title=title)
    display.plot(canvas.subplots())
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=150)
    return file.getvalue()


def write_pages(
    results: Results, settings: Settings, missing: dict[str, str], folder: Path
) -> list[Table]:
    """Write ``report.md``, ``report.html`` and, with matplotlib, the figure; return the tables."""
    undrawn = why_missing("matplotlib", "figures")
    made = tables(results, settings, {**missing, "figure": undrawn} if undrawn else missing)
    pictures = []
    if not undrawn and not np.isnan(results.values["accuracy"]).all():
        path = folder / "figures" / FIGURE
        path.parent.mkdir(exist_ok=True)
        write_whole(path, figure(results))
        title, caption = "Accuracy and fit time", "Mean accuracy against median fit time of each model."
        pictures.append(Picture(path, title, caption, beside=made[0].title))
    write_whole(folder / "report.md", to_markdown(TITLE, [], made, pictures).encode())
    write_whole(folder / "report.html", to_html(TITLE, [], made, pictures).encode())
    return made


def to_text(table: Table) -> str:
    """A table as aligned columns, for the terminal."""
    rows = [list(table.header), *map(list, table.lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
