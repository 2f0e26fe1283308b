"""Runs of a benchmark become a summary, tables and a figure."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ffmlp.benchmark.peers import OWN
from ffmlp.benchmark.runs import BenchmarkRun, Settings
from ffmlp.reports.pages import Picture, Table, to_html, to_markdown
from ffmlp.storage.whole_files import write_whole

Floats = NDArray[np.float64]

TITLE = "FF-MLP beside other classifiers"
MARK = "†"
FIGURE = "accuracy_time.png"


@dataclass(frozen=True, eq=False)
class Results:
    """What was measured, as arrays of shape (n_sets, n_models, n_splits); NaN where there is nothing."""

    sets: tuple[str, ...]
    models: tuple[str, ...]
    values: dict[str, Floats]
    errors: tuple[BenchmarkRun, ...]
    unfinished: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[BenchmarkRun], settings: Settings) -> Results:
        """The runs of those models that were run on every split of every set."""
        counts: dict[str, int] = {}
        for run in runs:
            counts[run.model] = counts.get(run.model, 0) + 1
        sets, all_runs = tuple(settings.sets), len(settings.sets) * settings.n_splits
        models = tuple(model for model, count in counts.items() if count == all_runs)
        shape = len(sets), len(models), settings.n_splits
        values = {name: np.full(shape, np.nan) for name in MEASURED}
        for run in runs:
            if run.model in models:
                place = sets.index(run.set), models.index(run.model), run.split
                for name, array in values.items():
                    value = getattr(run, name)
                    array[place] = np.nan if value is None else value
        errors = tuple(run for run in runs if run.error and run.model in models)
        unfinished = tuple(model for model in counts if model not in models)
        return cls(sets, models, values, errors, unfinished)

    @property
    def accuracies(self) -> Floats:
        """Mean accuracy (n_sets, n_models) over splits; NaN where any split failed."""
        return self.values["accuracy"].mean(axis=2)

    @property
    def has_failed(self) -> NDArray[np.bool_]:
        """The models (n_models,) that failed on some set."""
        return np.asarray(np.isnan(self.values["accuracy"]).any(axis=(0, 2)))


MEASURED = (
    "accuracy", "balanced_accuracy", "log_loss", "fit_seconds", "predict_seconds", "parameters",
)  # fmt: skip


def ranks(accuracies: Floats) -> Floats:
    """The rank of each model on each set, shape (n_sets, n_models): 1 is best, ties share the mean.

    Models whose accuracy is NaN share the last places.

    Examples
    --------
    >>> from ffmlp.benchmark.report import ranks
    >>> ranks(np.array([[0.9, 0.8, 0.9, np.nan]]))
    array([[1.5, 3. , 1.5, 4. ]])
    """
    # Means of the same accuracies in another order differ in the last digit.
    falling = np.where(np.isnan(accuracies), np.inf, -np.round(accuracies, 12))
    return rankdata(falling, axis=1)


def wins(accuracies: Floats) -> NDArray[np.intp]:
    """On how many sets each model has the best accuracy, alone or with others."""
    rounded = np.where(np.isnan(accuracies), -np.inf, np.round(accuracies, 12))
    best = rounded.max(axis=1, keepdims=True)
    return ((rounded == best) & np.isfinite(rounded)).sum(axis=0)


def tables(results: Results, settings: Settings, missing: dict[str, str]) -> list[Table]:
    """The summary first, then everything it is made of."""
    made = [summary(results, settings), _by_set(results), _failures(results)]
    unfinished = dict.fromkeys(results.unfinished, "its runs are not finished")
    lines = [[what, reason] for what, reason in (unfinished | missing).items()]
    made.append(Table("Missing", "What the tables do not show.", ["what", "why"], lines))
    return [table for table in made if table.lines]


def summary(results: Results, settings: Settings) -> Table:
    """One line per model, the best mean rank first."""
    if not results.models:
        return Table("Summary", "", [], [])
    mean_ranks = ranks(results.accuracies).mean(axis=0)
    n_wins = wins(results.accuracies)
    lines = []
    for model in np.argsort(mean_ranks, kind="stable"):
        of_model = {name: array[:, model].ravel() for name, array in results.values.items()}
        mark = f" {MARK}" if results.has_failed[model] else ""
        lines.append(
            [
                results.models[model] + mark,
                _shown(of_model["accuracy"], np.mean, lambda value: f"{100 * value:.2f}"),
                f"{mean_ranks[model]:.2f}",
                str(n_wins[model]),
                _shown(of_model["balanced_accuracy"], np.mean, lambda value: f"{100 * value:.2f}"),
                _shown(of_model["log_loss"], np.mean, lambda value: f"{value:.3f}"),
                _shown(of_model["fit_seconds"], np.median, lambda value: f"{value:.4f}"),
                _shown(of_model["predict_seconds"], np.median, lambda value: f"{value:.4f}"),
                _shown(of_model["parameters"], np.median, lambda value: f"{value:.0f}"),
            ]
        )
    header = [
        "model", "accuracy", "rank", "wins", "balanced accuracy", "log-loss", "fit (s)", "predict (s)",
        "parameters",
    ]  # fmt: skip
    return Table("Summary", _summary_text(results, settings), header, lines)


def _summary_text(results: Results, settings: Settings) -> str:
    text = (
        f"{len(results.sets)} sets, {settings.n_splits} stratified splits of each (60 % for training, "
        f"at most {settings.max_rows} rows; 40 % for testing), seed {settings.seed}, one thread. Means "
        "over sets of accuracy in %, of the rank among all models on a set (1 is best), of balanced "
        "accuracy in % and of log-loss; medians of fit time, of predict time for the whole test part "
        "and of parameters; wins: sets with the best accuracy. "
    )
    if results.has_failed.any():
        text += (
            f"{MARK}: failed on some sets. Its means are those of the other runs, not to be compared "
            "with other models' means; where it failed it has the last rank. "
        )
    versions = ", ".join(f"{name} {number}" for name, number in settings.versions.items())
    return f"{text}Versions: {versions}."


def _shown(values: Floats, of: Callable[[Floats], np.floating], text: Callable[[float], str]) -> str:
    there = values[~np.isnan(values)]
    return text(float(of(there))) if len(there) else "–"


def _by_set(results: Results) -> Table:
    lines = []
    for name, accuracies in zip(results.sets, 100 * results.values["accuracy"], strict=True):
        line = [name]
        for splits in accuracies:
            failed = np.isnan(splits).sum()
            line.append(
                f"failed ({failed} of {len(splits)})"
                if failed
                else f"{splits.mean():.2f} ± {splits.std():.2f}"
            )
        lines.append(line)
    text = "Test accuracy in %, mean ± standard deviation over splits."
    return Table("Accuracy on each set", text, ["set", *results.models], lines)


def _failures(results: Results) -> Table:
    splits: dict[tuple[str, str, str], list[str]] = {}
    for run in results.errors:
        splits.setdefault((run.set, run.model, run.error), []).append(str(run.split))
    lines = [[name, model, ", ".join(of), why] for (name, model, why), of in splits.items()]
    return Table(
        "Failed runs", "A model that fails on a set.", ["set", "model", "splits", "error"], lines
    )


def figure(results: Results) -> bytes:
    """Mean accuracy against median fit time as a PNG file; models that never ran are left out."""
    from matplotlib.figure import Figure

    from ffmlp.plots import AccuracyTimeDisplay

    points = []
    for number, model in enumerate(results.models):
        accuracy, seconds = (results.values[name][:, number] for name in ("accuracy", "fit_seconds"))
        if not np.isnan(accuracy).all():
            mark = f" {MARK}" if results.has_failed[number] else ""
            points.append((model + mark, np.nanmedian(seconds), np.nanmean(accuracy), model in OWN))
    names, seconds, accuracies, own = zip(*points, strict=True)
    canvas = Figure((8.0, 5.5), layout="constrained")
    display = AccuracyTimeDisplay(
        names,
        seconds,
        accuracies,
        highlighted=own,
        title="Mean accuracy and median fit time (round: FF-MLP, square: others)",
    )
    display.plot(canvas.subplots())
    file = io.BytesIO()
    canvas.savefig(file, format="png", dpi=150)
    return file.getvalue()


def write_pages(
    results: Results, settings: Settings, missing: dict[str, str], folder: Path
) -> list[Table]:
    """Write ``report.md``, ``report.html`` and, if matplotlib is installed, the figure; the tables."""
    if find_spec("matplotlib") is None:
        missing = {**missing, "figure": "matplotlib is not installed: pip install 'ffmlp[plots]'"}
    made = tables(results, settings, missing)
    pictures = []
    has_runs = not np.isnan(results.values["accuracy"]).all()
    if find_spec("matplotlib") is not None and has_runs:
        path = folder / "figures" / FIGURE
        path.parent.mkdir(exist_ok=True)
        write_whole(path, figure(results))
        title, caption = "Accuracy and fit time", "Mean accuracy against median fit time of each model."
        pictures.append(Picture(path, title, caption, beside=made[0].title))
    write_whole(folder / "report.md", to_markdown(TITLE, [], made, pictures).encode())
    write_whole(folder / "report.html", to_html(TITLE, [], made, pictures).encode())
    return made


def to_text(table: Table) -> str:
    """A table for the terminal, in columns."""
    rows = [list(table.header), *map(list, table.lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
