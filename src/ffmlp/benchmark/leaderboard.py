"""The leaderboard of a benchmark: tables and figures, for each number of training rows."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ffmlp.arrays import Flags, Floats, without_rounding
from ffmlp.benchmark.peers import FFMLP_MODELS
from ffmlp.benchmark.runs import ALL, MAX_TEST_ROWS, BenchmarkRun, Settings, row_limit
from ffmlp.extras import why_missing
from ffmlp.plots import AccuracyTimeDisplay
from ffmlp.plots.view import colours, matplotlib
from ffmlp.report.layout import Picture, Table, to_html, to_markdown
from ffmlp.storage.whole_files import write_whole
from ffmlp.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "FF-MLP compared with other classifiers"
GROWTH = "Training rows"
_MARKERS = "os^vD"
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

    def text(self, value: float, deviation: float) -> str:
        """A value with its deviation; either may be NaN."""
        if np.isnan(value):
            return "–"
        spread = "" if np.isnan(deviation) else f" ± {deviation:.{self.digits}f}"
        return f"{value:,.{self.digits}f}{spread}"

    def best(self, values: Floats) -> Flags:
        """Where the best values along the last axis are; values that look equal are all the best."""
        return is_best(self.sign * np.round(values, self.digits)) & (self.sign != 0)


MEASURED = {
    "accuracy": Measure("accuracy (%)", np.mean, 100, 2, 1),
    "balanced_accuracy": Measure("balanced accuracy (%)", np.mean, 100, 2, 1),
    "log_loss": Measure("log-loss", np.mean, 1, 3, -1),
    "fit_seconds": Measure("fit (s)", np.median, 1, 4, -1),
    "predict_seconds": Measure("predict (s)", np.median, 1, 4, -1),
    "parameters": Measure("parameters", np.median, 1, 0, 0),
}
_RANK = Measure("rank", np.mean, 1, 2, -1)
_WINS = Measure("wins", np.sum, 1, 0, 1)


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
                index = sets.index(run.set), models.index(run.model), run.split
                for name, array in values.items():
                    array[index] = getattr(run, name)  # None is NaN
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
        return np.array([MEASURED[name].average(each) if len(each) else np.nan for each in present])

    def deviations(self, name: str) -> Floats:
        """The standard deviation (n_models,) over splits of the average over sets.

        NaN with one split, or where a run has no value.
        """
        by_split = MEASURED[name].average(self.values[name], axis=0)
        return by_split.std(axis=1) if by_split.shape[1] > 1 else np.full(len(by_split), np.nan)


def marked(model: str, *results: Results) -> str:
    """The name of a model, with a mark if it failed in any of the results."""
    return f"{model} {MARK}" if any(model in size.failed for size in results) else model


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


def accuracy_and_time(results: Results) -> Figure:
    """Mean accuracy against median fit time, without models that failed every time."""
    accuracies, seconds = results.averages("accuracy"), results.averages("fit_seconds")
    drawn = np.flatnonzero(~np.isnan(accuracies)).tolist()
    figure = matplotlib("figure").Figure((8.0, 5.5), layout="constrained")
    axes = figure.subplots()
    bars = results.deviations("accuracy")[drawn]
    axes.errorbar(seconds[drawn], accuracies[drawn], bars, fmt="none", ecolor="0.5", capsize=2, zorder=1)
    AccuracyTimeDisplay(
        [marked(results.models[model], results) for model in drawn],
        seconds[drawn],
        accuracies[drawn],
        highlighted=[results.models[model] in FFMLP_MODELS for model in drawn],
        title="Mean accuracy and median fit time (circles: FF-MLP, squares: others)",
    ).plot(axes)
    return figure


def growth(results: Sequence[Results]) -> Figure:
    """Mean accuracy and median fit time of each model over the mean number of training rows."""
    figure = matplotlib("figure").Figure((11.0, 5.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    models = dict.fromkeys(model for size in results for model in size.models)
    for number, model in enumerate(models):
        sizes = [(size, size.models.index(model)) for size in results if model in size.models]
        rows = [size.mean_rows for size, _ in sizes]
        style: dict[str, Any] = {"linestyle": "-" if model in FFMLP_MODELS else "--", "capsize": 2}
        style |= {"color": colours(number), "marker": _MARKERS[number % len(_MARKERS)]}
        for axes, name in ((left, "accuracy"), (right, "fit_seconds")):
            averages = [size.averages(name)[index] for size, index in sizes]
            bars = [size.deviations(name)[index] for size, index in sizes]
            axes.errorbar(rows, averages, bars, label=marked(model, *results), **style)
    for axes, label in ((left, "accuracy"), (right, "fit time in seconds")):
        axes.set(xscale="log", xlabel="training rows, mean over sets", ylabel=label)
        axes.set_xticks(
            [size.mean_rows for size in results], [f"{size.mean_rows:.0f}" for size in results]
        )
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    right.set(yscale="log")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper")
    return figure


class Column(NamedTuple):
    """A column of a table: values and deviations (n_models,) as shown, NaN where there are none."""

    title: str
    measure: Measure
    values: Floats
    deviations: Floats


def introduction(
    results: Sequence[Results], runs: Sequence[BenchmarkRun], settings: Settings
) -> list[str]:
    """Paragraphs on what was run and how the tables are read."""
    packages = {run.package: None for run in runs if run.package}
    versions = ", ".join([*(" ".join(item) for item in settings.versions.items()), *packages])
    reading = (
        "Accuracy, rank among all models (1 is best), balanced accuracy and log-loss are means over "
        "sets, ± the standard deviation of this mean over splits. Fit time, predict time of the whole "
        "test part and number of parameters are medians. Wins is the number of sets with the best "
        "accuracy. The best values are in bold."
    )
    if any(size.failed for size in results):
        reading += (
            f" {MARK}: the model failed on some sets. It has the last rank there; its means are over "
            "the other runs and are not comparable."
        )
    return [
        f"{counted(len(settings.sets), 'set')}, {counted(settings.n_splits, 'stratified split')} of "
        f"each: 40 % of the rows for testing, {MAX_TEST_ROWS} at most, the others for training. "
        f"Seed {settings.seed}, one thread. Versions: {versions}.",
        reading,
    ]


def tables(results: Sequence[Results], missing: dict[str, str]) -> list[Table]:
    """Numbers of training rows compared, the tables of each number, failed runs and what is missing."""
    finished = [size for size in results if size.models]
    made = [_growth(finished)] if len(finished) > 1 else []
    for size in finished:
        by_set = (_by_set(size, name) for name in ("accuracy", "log_loss", "fit_seconds"))
        made += [summary(size), *by_set]
    unfinished = {
        f"{model}, {size.rows_text}": "Not all of its runs are finished."
        for size in results
        for model in size.unfinished
    }
    lines = [[name, reason] for name, reason in (unfinished | missing).items()]
    left_out = Table("Missing", "Models and sets that were not run.", ["name", "reason"], lines)
    return [table for table in (*made, _failures(results), left_out) if table.lines]


def summary_title(results: Results) -> str:
    """The title of the summary, which the figure stands beside."""
    return f"Summary, {results.rows_text}"


def summary(results: Results) -> Table:
    """One line for each model, ordered by mean rank."""
    accuracies = results.values["accuracy"].mean(axis=2)
    mean_ranks, without = ranks(accuracies).mean(axis=0), np.full(len(results.models), np.nan)
    standing = [
        Column(_RANK.title, _RANK, mean_ranks, without),
        Column(_WINS.title, _WINS, wins(accuracies).astype(np.float64), without),
    ]
    accuracy, *others = (_column(results, name) for name in MEASURED)
    columns, order = [accuracy, *standing, *others], np.argsort(mean_ranks, kind="stable")
    return _of_models(summary_title(results), results.models, columns, order, [results])


def _column(results: Results, name: str) -> Column:
    measure, values, deviations = MEASURED[name], results.averages(name), results.deviations(name)
    if measure.average is not np.mean:  # medians are of times and sizes, which differ between sets
        deviations = np.full_like(values, np.nan)
    return Column(measure.title, measure, measure.scale * values, measure.scale * deviations)


def _of_models(
    title: str,
    models: Sequence[str],
    columns: Sequence[Column],
    order: Iterable[int],
    results: Sequence[Results],
) -> Table:
    """A table with a line for each model; the best values are in bold, but not where a model failed."""
    order, names = list(order), [marked(model, *results) for model in models]
    eligible = np.array([name == model for name, model in zip(names, models, strict=True)], bool)
    texts = zip(*(map(column.measure.text, *column[2:]) for column in columns), strict=True)
    lines = [[name, *cells] for name, cells in zip(names, texts, strict=True)]
    judged = (column.measure.best(np.where(eligible, column.values, np.nan)) for column in columns)
    best = np.column_stack(list(judged))[order]
    bold = {(int(line), int(column) + 1) for line, column in np.argwhere(best)}
    header = ["model", *(column.title for column in columns)]
    return Table(title, "", header, [lines[model] for model in order], bold=bold)


def _growth(results: Sequence[Results]) -> Table:
    """Accuracy and fit time of each model with each number of training rows."""
    models = list(dict.fromkeys(model for size in results for model in size.models))
    columns = []
    for name in ("accuracy", "fit_seconds"):
        for size in results:
            column = _column(size, name)
            order = [size.models.index(model) if model in size.models else -1 for model in models]
            values, deviations = (
                np.append(numbers, np.nan)[order] for numbers in (column.values, column.deviations)
            )
            title = f"{column.title}, {size.train_rows}"
            columns.append(Column(title, column.measure, values, deviations))
    return _of_models(GROWTH, models, columns, range(len(models)), results)


def _by_set(results: Results, name: str) -> Table:
    measure, splits = MEASURED[name], MEASURED[name].scale * results.values[name]
    means, deviations = splits.mean(axis=2), splits.std(axis=2)
    if splits.shape[2] == 1:
        deviations = np.full_like(means, np.nan)
    failed = np.isnan(results.values["accuracy"]).sum(axis=2)
    lines = []
    for number, set_name in enumerate(results.sets):
        cells = zip(failed[number], means[number], deviations[number], strict=True)
        texts = (
            f"failed ({n_failed} of {splits.shape[2]})" if n_failed else measure.text(mean, std)
            for n_failed, mean, std in cells
        )
        lines.append([set_name, *texts])
    best = measure.best(means)
    bold = {(int(line), int(model) + 1) for line, model in np.argwhere(best)}
    title = measure.title[0].upper() + measure.title[1:]
    text = "Mean ± standard deviation over splits."
    header = ["set", *results.models]
    folded = name != "accuracy"
    return Table(f"{title} by set, {results.rows_text}", text, header, lines, folded=folded, bold=bold)


def _failures(results: Sequence[Results]) -> Table:
    splits = defaultdict(list)
    for size in results:
        for run in size.errors:
            splits[run.set, run.train_rows, run.model, run.error].append(str(run.split))
    lines = [[*where, ", ".join(of), why] for (*where, why), of in splits.items()]
    header = ["set", "training rows", "model", "splits", "error"]
    return Table("Failed runs", "Errors by set and model.", header, lines)


def write_pages(
    results: Sequence[Results],
    runs: Sequence[BenchmarkRun],
    settings: Settings,
    missing: dict[str, str],
    folder: Path,
) -> None:
    """Write ``report.md``, ``report.html`` and, with matplotlib, the figures."""
    undrawn = why_missing("matplotlib", "figures")
    text = introduction(results, runs, settings)
    made = tables(results, {**missing, "figures": undrawn} if undrawn else missing)
    pictures = [] if undrawn else _pictures(results, folder / "figures")
    write_whole(folder / "report.md", to_markdown(TITLE, text, made, pictures).encode())
    write_whole(folder / "report.html", to_html(TITLE, text, made, pictures).encode())


def _pictures(results: Sequence[Results], folder: Path) -> list[Picture]:
    """Write the figures; nothing is drawn of results without any accuracy."""
    drawn = [size for size in results if not np.isnan(size.values["accuracy"]).all()]
    if drawn:
        folder.mkdir(exist_ok=True)
    pictures = []
    bars = "Bars: standard deviation over splits."

    def add(name: str, figure: Figure, title: str, caption: str, beside: str) -> None:
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=150)
        write_whole(folder / name, png.getvalue())
        pictures.append(Picture(png.getvalue(), title, caption, beside, f"{folder.name}/{name}"))

    if len(drawn) > 1:
        caption = f"Mean accuracy and median fit time over the mean number of training rows. {bars}"
        title = "Accuracy and fit time by training rows"
        add("training_rows.png", growth(drawn), title, caption, GROWTH)
    for size in drawn:
        title = f"Accuracy and fit time, {size.rows_text}"
        caption = f"Mean accuracy against median fit time of each model. {bars}"
        name = f"accuracy_time_{size.train_rows}.png"
        add(name, accuracy_and_time(size), title, caption, summary_title(size))
    return pictures


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
