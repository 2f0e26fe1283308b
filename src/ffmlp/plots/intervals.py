"""Accuracies of methods over many splits, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.plots.view import INK, FigureDisplay, colours, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffmlp.plots.view import AnyFigure

_HALF: dict[str, Any] = {"linewidth": 4.5, "alpha": 0.5, "zorder": 3}
_MOST: dict[str, Any] = {"linewidth": 1.2, "zorder": 2}
_DOT: dict[str, Any] = {"markersize": 6.5, "markeredgecolor": INK, "linestyle": "none", "zorder": 4}
_MARK: dict[str, Any] = {"marker": "|", "markersize": 10, "markeredgewidth": 2.4, "color": INK}
_MARK |= {"linestyle": "none", "zorder": 5}


class AccuracyIntervalsDisplay(FigureDisplay):
    """Accuracies of methods over many splits: median, middle half and middle 80 %, row by row.

    Every row has an axis of its own, so that rows of very different accuracies can be read.

    Parameters
    ----------
    rows : sequence of (str, mapping, mapping)
        The title of each row, the accuracies in % of each method, one for each split, and a reference
        accuracy in % of some methods.
    reference : str, default="reference"
        What the reference is, for the legend.
    title : str, default=None

    Attributes
    ----------
    methods : list of str
        All methods, in the order of their first appearance. They have this order in each row, too.
    axes_ : ndarray of shape (n_rows,)

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ffmlp.plots import AccuracyIntervalsDisplay
    >>> rows = [("Iris", {"lda": [96, 97, 98], "svm": [95, 96]}, {"lda": 98.0})]
    >>> display = AccuracyIntervalsDisplay(rows).plot(Figure(layout="constrained"))
    >>> display.methods, [ax.get_ylabel() for ax in display.axes_]
    (['lda', 'svm'], ['Iris'])
    """

    def __init__(
        self,
        rows: Sequence[tuple[str, Mapping[str, ArrayLike], Mapping[str, float]]],
        *,
        reference: str = "reference",
        title: str | None = None,
    ) -> None:
        self.rows = tuple(rows)
        self.reference = reference
        self.title = "Accuracy by method" if title is None else title
        if not self.rows:
            raise ValueError("rows must not be empty.")
        self.methods = list(dict.fromkeys(name for _, *both in rows for part in both for name in part))

    def plot(self, figure: AnyFigure | None = None) -> AccuracyIntervalsDisplay:
        """Draw into ``figure``, or into a new one."""
        n_rows = len(self.rows)
        figure = self._open(figure, (5.4, 1.9 + 0.82 * n_rows))
        legend, *axes = figure.subplots(n_rows + 1, 1, height_ratios=[1.5] + [1] * n_rows)
        self.axes_ = np.array(axes, object)
        for ax, (title, accuracies, references) in zip(axes, self.rows, strict=True):
            for place, name in enumerate(self.methods):
                values = np.asarray(accuracies.get(name, ()), np.float64)
                if len(values):
                    _draw_interval(ax, place, values)
                if name in references:
                    ax.plot(references[name], place, **_MARK)
            self._frame(ax, title)
        axes[-1].set_xlabel("test accuracy in %")
        self._draw_legend(legend)
        if self.title:
            figure.suptitle(self.title)
        return self

    def _frame(self, ax: Axes, title: str) -> None:
        ax.set_ylabel(title.replace(" (", "\n("), rotation=0, ha="right", va="center")
        ax.set(ylim=(len(self.methods) - 0.4, -0.6), yticks=[])
        low, high = ax.get_xlim()
        ax.set_xlim(low, min(high, 100 + 0.04 * (high - low)))
        ax.xaxis.set_major_locator(
            matplotlib("ticker").MaxNLocator(6, steps=[1, 2, 5, 10], min_n_ticks=3)
        )
        ax.tick_params(axis="x", labelsize="small", length=2, pad=2)
        ax.grid(axis="x", alpha=0.35)
        ax.spines[["top", "left", "right"]].set_visible(False)

    def _draw_legend(self, ax: Axes) -> None:
        grey = {"color": "0.5"}
        entries = {name: _dot(number) for number, name in enumerate(self.methods)} | {
            self.reference: _MARK,
            "median of the splits": _dot(0) | grey,
            "middle half of the splits": _HALF | grey,
            "middle 80 % of the splits": _MOST | grey,
        }
        line = matplotlib("lines").Line2D
        handles = [line([], [], label=name, **style) for name, style in entries.items()]
        ax.legend(handles=handles, loc="center", ncols=2, frameon=False, fontsize="small")
        ax.set_axis_off()


def _dot(number: int) -> dict[str, Any]:
    """The dot of a method, in a colour and a shape of its own."""
    return {"color": colours(number), "marker": "osD^vP*X"[number % 8], **_DOT}


def _draw_interval(ax: Axes, number: int, values: Floats) -> None:
    """The median of a method, its middle half and its middle 80 %."""
    low, lower, median, upper, high = np.percentile(values, [10, 25, 50, 75, 90])
    ax.plot([low, high], [number, number], color=colours(number), **_MOST)
    ax.plot([lower, upper], [number, number], color=colours(number), **_HALF)
    ax.plot(median, number, **_dot(number))
