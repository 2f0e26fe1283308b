"""Effect curves: how the lead of a class changes along each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from ffmlp.explain.effects import EffectCurve, effect_curves
from ffmlp.plots.view import INK, FigureDisplay, colours, fitted_attribute

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffmlp.plots.view import AnyFigure

# Panels in a row, and categories in a panel.
_PER_ROW = 3
_MAX_CATEGORIES = 8
_MAX_LETTERS = 18


@dataclass(eq=False)
class EffectsDisplay(FigureDisplay):
    """The effect curves of columns, one panel each, the one with the largest range first.

    A line is the median change of the class's lead over the best other class, a band its quartiles over
    the samples.

    Attributes
    ----------
    curves : tuple of EffectCurve
    label : object
        The class whose lead is drawn.
    number : int
        Its number.
    title : str
    axes_ : ndarray of shape (n_curves,)
    """

    curves: tuple[EffectCurve, ...]
    label: Any
    number: int
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        label: Any = None,
        columns: Sequence[int | str] | None = None,
        max_columns: int = 6,
        title: str | None = None,
        figure: AnyFigure | None = None,
    ) -> EffectsDisplay:
        """Compute the curves of a class and draw them.

        Parameters
        ----------
        estimator : FFMLPClassifier
        X : array-like of shape (n_samples, n_features)
        label : object, default=None
            The class whose lead is drawn; the last class if None.
        columns : sequence of int or str, default=None
            Columns, by number or name; all if None.
        max_columns : int, default=6
            The number of panels.
        """
        labels = fitted_attribute(estimator, "network_").labels.tolist()
        label = labels[-1] if label is None else label
        if label not in labels:
            raise ValueError(f"label must be one of {labels}, got {label!r}.")
        if max_columns < 1:
            raise ValueError(f"max_columns must be at least 1, got {max_columns!r}.")
        number = labels.index(label)
        curves = [curve for curve in effect_curves(estimator, X, columns) if len(curve.values)]
        curves.sort(key=lambda curve: -curve.reach[number])
        title = f"What each column does to the lead of class {label}" if title is None else title
        return cls(tuple(curves[:max_columns]), label, number, title).plot(figure)

    def plot(self, figure: AnyFigure | None = None) -> EffectsDisplay:
        """Draw into ``figure``, or into a new one."""
        n_columns = min(_PER_ROW, len(self.curves))
        n_rows = -(-len(self.curves) // n_columns)
        figure = self._open(figure, (3.2 * n_columns, 0.5 + 2.5 * n_rows))
        axes = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False).ravel()
        for ax in axes[len(self.curves) :]:
            ax.set_axis_off()
        self.axes_ = axes[: len(self.curves)]
        for ax, curve in zip(self.axes_, self.curves, strict=True):
            self._draw(ax, curve)
        for ax in self.axes_[::n_columns]:
            ax.set_ylabel("change of the lead", fontsize="small")
        figure.suptitle(self.title)
        return self

    def _draw(self, ax: Axes, curve: EffectCurve) -> None:
        low, middle, high = (part[:, self.number] for part in (curve.low, curve.middle, curve.high))
        colour = colours(self.number)
        ax.axhline(0.0, color=INK, linewidth=0.6, linestyle=":")
        if curve.is_number:
            ax.fill_between(curve.values, low, high, color=colour, alpha=0.25, linewidth=0)
            ax.plot(curve.values, middle, color=colour)
        else:
            shown = slice(_MAX_CATEGORIES)
            places = np.arange(len(curve.values[shown]))
            spread = np.stack([middle - low, high - middle])[:, shown]
            ax.errorbar(places, middle[shown], spread, fmt="o", color=colour, capsize=2)
            names = [shorten(str(name), _MAX_LETTERS, placeholder="…") for name in curve.values[shown]]
            ax.set_xticks(places, names, rotation=30, ha="right", fontsize="x-small")
        ax.set_xlabel(curve.column, fontsize="small")
        ax.tick_params(labelsize="x-small")
        ax.spines[["top", "right"]].set_visible(False)
