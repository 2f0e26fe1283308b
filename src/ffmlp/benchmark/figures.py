"""The figures of a benchmark as PNG files. Bars are standard deviations over splits."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from ffmlp.benchmark.peers import OWN
from ffmlp.benchmark.results import Results, marked
from ffmlp.plots import AccuracyTimeDisplay
from ffmlp.plots.view import colours, matplotlib

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
