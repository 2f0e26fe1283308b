"""The report of a benchmark: tables and figures, for each number of training rows."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ffmlp.arrays import Flags, Floats
from ffmlp.benchmark.peers import OWN
from ffmlp.benchmark.runs import (
    MARK,
    MAX_TEST_ROWS,
    MEASURED,
    BenchmarkRun,
    Results,
    Settings,
    is_best,
    marked,
    ranks,
    wins,
)
from ffmlp.extras import why_missing
from ffmlp.plots import AccuracyTimeDisplay
from ffmlp.plots.view import colours, matplotlib
from ffmlp.report.layout import Picture, Table, to_html, to_markdown
from ffmlp.storage.whole_files import write_whole
from ffmlp.words import counted

_MARKERS = "os^vD"


def accuracy_and_time(results: Results) -> bytes:
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
        highlighted=[results.models[model] in OWN for model in drawn],
        title="Mean accuracy and median fit time (circles: FF-MLP, squares: others)",
    ).plot(axes)
    return _png(figure)


def growth(results: Sequence[Results]) -> bytes:
    """Mean accuracy and median fit time of each model over the mean number of training rows."""
    figure = matplotlib("figure").Figure((11.0, 5.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    models = dict.fromkeys(model for one in results for model in one.models)
    for number, model in enumerate(models):
        places = [(one, one.models.index(model)) for one in results if model in one.models]
        style = {
            "linestyle": "-" if model in OWN else "--",
            "color": colours(number),
            "marker": _MARKERS[number % len(_MARKERS)],
            "capsize": 2,
        }
        for axes, name in ((left, "accuracy"), (right, "fit_seconds")):
            rows, averages, bars = zip(
                *(
                    (one.mean_rows, one.averages(name)[place], one.deviations(name)[place])
                    for one, place in places
                ),
                strict=True,
            )
            axes.errorbar(rows, averages, bars, label=marked(model, *results), **style)
    for axes, label in ((left, "accuracy"), (right, "fit time in seconds")):
        axes.set(xscale="log", xlabel="training rows, mean over sets", ylabel=label)
        axes.set_xticks([one.mean_rows for one in results], [f"{one.mean_rows:.0f}" for one in results])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    right.set(yscale="log")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper")
    return _png(figure)


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()


TITLE = "FF-MLP compared with other classifiers"
GROWTH = "Training rows"


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table: values (n_models,) and deviations (n_models,), NaN where there are none.

    The largest values are the best if ``sign`` is 1, the smallest if it is -1, none if it is 0. Of equal
    values as they are shown, all are the best.
    """

    title: str
    values: Floats
    deviations: Floats
    digits: int
    sign: int

    def texts(self) -> list[str]:
        """The values as they are shown."""
        return [shown(*pair, self.digits) for pair in zip(self.values, self.deviations, strict=True)]

    def best(self, eligible: Flags) -> Flags:
        """Whether each of the eligible values is the best."""
        rounded = np.where(eligible, np.round(self.values, self.digits), np.nan)
        return is_best(self.sign * rounded) & (self.sign != 0)


def shown(value: float, deviation: float, digits: int) -> str:
    """A value with its deviation as text."""
    if np.isnan(value):
        return "–"
    return f"{value:.{digits}f}" + ("" if np.isnan(deviation) else f" ± {deviation:.{digits}f}")


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
    if any(one.failed for one in results):
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
    finished = [one for one in results if one.models]
    made = [_growth(finished)] if len(finished) > 1 else []
    for one in finished:
        by_set = (_by_set(one, name) for name in ("accuracy", "log_loss", "fit_seconds"))
        made += [summary(one), *by_set]
    unfinished = {
        f"{model}, {one.rows_text}": "Not all of its runs are finished."
        for one in results
        for model in one.unfinished
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
        Column("rank", mean_ranks, without, 2, -1),
        Column("wins", wins(accuracies).astype(np.float64), without, 0, 1),
    ]
    accuracy, *others = (_column(results, name) for name in MEASURED)
    columns, order = [accuracy, *standing, *others], np.argsort(mean_ranks, kind="stable")
    return _of_models(summary_title(results), results.models, columns, order, [results])


def _column(results: Results, name: str) -> Column:
    measure, values, deviations = MEASURED[name], results.averages(name), results.deviations(name)
    if measure.average is not np.mean:  # medians are of times and sizes, which differ between sets
        deviations = np.full_like(values, np.nan)
    scaled = measure.scale * values, measure.scale * deviations
    return Column(measure.title, *scaled, measure.digits, measure.sign)


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
    texts = zip(*(column.texts() for column in columns), strict=True)
    lines = [[name, *cells] for name, cells in zip(names, texts, strict=True)]
    best = np.column_stack([column.best(eligible) for column in columns])[order]
    bold = {(int(line), int(column) + 1) for line, column in np.argwhere(best)}
    header = ["model", *(column.title for column in columns)]
    return Table(title, "", header, [lines[model] for model in order], bold=bold)


def _growth(results: Sequence[Results]) -> Table:
    """Accuracy and fit time of each model with each number of training rows."""
    models = list(dict.fromkeys(model for one in results for model in one.models))
    columns = []
    for name in ("accuracy", "fit_seconds"):
        for one in results:
            column = _column(one, name)
            places = [one.models.index(model) if model in one.models else -1 for model in models]
            values, deviations = (
                np.append(numbers, np.nan)[places] for numbers in (column.values, column.deviations)
            )
            title = f"{column.title}, {one.train_rows}"
            columns.append(Column(title, values, deviations, column.digits, column.sign))
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
            f"failed ({n_failed} of {splits.shape[2]})" if n_failed else shown(mean, std, measure.digits)
            for n_failed, mean, std in cells
        )
        lines.append([set_name, *texts])
    best = is_best(measure.sign * np.round(means, measure.digits))
    bold = {(int(line), int(model) + 1) for line, model in np.argwhere(best)}
    title = measure.title[0].upper() + measure.title[1:]
    text = "Mean ± standard deviation over splits."
    header = ["set", *results.models]
    folded = name != "accuracy"
    return Table(f"{title} by set, {results.rows_text}", text, header, lines, folded=folded, bold=bold)


def _failures(results: Sequence[Results]) -> Table:
    splits = defaultdict(list)
    for one in results:
        for run in one.errors:
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
    drawn = [one for one in results if not np.isnan(one.values["accuracy"]).all()]
    if drawn:
        folder.mkdir(exist_ok=True)
    pictures = []
    bars = "Bars: standard deviation over splits."

    def add(name: str, png: bytes, title: str, caption: str, beside: str) -> None:
        write_whole(folder / name, png)
        pictures.append(Picture(png, title, caption, beside, f"{folder.name}/{name}"))

    if len(drawn) > 1:
        caption = f"Mean accuracy and median fit time over the mean number of training rows. {bars}"
        title = "Accuracy and fit time by training rows"
        add("training_rows.png", growth(drawn), title, caption, GROWTH)
    for one in drawn:
        title = f"Accuracy and fit time, {one.rows_text}"
        caption = f"Mean accuracy against median fit time of each model. {bars}"
        name = f"accuracy_time_{one.train_rows}.png"
        add(name, accuracy_and_time(one), title, caption, summary_title(one))
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
