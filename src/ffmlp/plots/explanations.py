"""Why one sample got its class, and what it would take to get another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from ffmlp.explanations.explanation import Explanation
from ffmlp.plots.samples import DecisionRegionsDisplay
from ffmlp.plots.view import INK, AxesDisplay, FigureDisplay, Floats, colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffmlp.plots.view import AnyFigure

# For and against the predicted class: blue and vermilion are told apart with any colour vision.
_FOR, _AGAINST, _NEITHER = colours(0), colours(3), colours(8)
# Letters of a hyperplane's half-space or a feature's name that are shown.
_MAX_LETTERS = 52


@dataclass(eq=False)
class ExplanationDisplay(FigureDisplay):
    """Bars for one sample: what hyperplanes add to the lead, the margins to them, and the features.

    Attributes
    ----------
    explanation : Explanation
    max_bars : int
        Bars in each panel; what is left is summed up in one more bar.
    title : str
    axes_ : ndarray of shape (3,)
    """

    explanation: Explanation
    max_bars: int
    title: str

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        max_bars: int = 8,
        figure: AnyFigure | None = None,
        title: str | None = None,
    ) -> ExplanationDisplay:
        """Draw ``clf.explain(X)[i]`` into ``figure``, or a new one."""
        if explanation.rival is None:
            raise ValueError(
                f"only class {explanation.label!r} can be predicted: there is no lead to draw."
            )
        if max_bars < 1:
            raise ValueError(f"max_bars must be at least 1, got {max_bars!r}.")
        if title is None:
            winner = f"{explanation.label} (probability {explanation.probability:.3f})"
            rival = f"{explanation.rival} ({explanation.rival_probability:.3f})"
            title = f"{winner} rather than {rival}: lead {explanation.lead:+.2f}"
        return cls(explanation, max_bars, title).plot(figure)

    def plot(self, figure: AnyFigure | None = None) -> ExplanationDisplay:
        """Draw into ``figure``, or a new one."""
        shown = self.explanation.margins[: self.max_bars]
        left = self.explanation.margins[self.max_bars :]
        names = [margin.side for margin in shown]
        added = [margin.contribution for margin in shown]
        if left:
            names.append(f"{len(left)} other hyperplane{'s' if len(left) > 1 else ''}")
            added.append(sum(margin.contribution for margin in left))
        if self.explanation.rest:
            names.append("not due to any one hyperplane")
            added.append(self.explanation.rest)
        features = self.explanation.features[: self.max_bars]
        values = [driver.contribution for driver in features]
        drivers = [f"{driver.feature} = {driver.value:.4g}" for driver in features]
        others = self.explanation.features[self.max_bars :]
        if others:
            drivers.append(f"{len(others)} other feature{'s' if len(others) > 1 else ''}")
            values.append(sum(driver.contribution for driver in others))
        n_bars = max(len(added), len(values))
        figure = self._open(figure, (14.0, 1.6 + 0.42 * n_bars))
        self.axes_ = figure.subplots(1, 3, width_ratios=[1.2, 0.8, 1.0])
        lead = "added to the lead"
        _bars(self.axes_[0], names, added, _signed(added), "Hyperplanes", lead)
        deviations = [margin.deviations for margin in shown]
        grey = np.tile(_NEITHER, (len(shown), 1))
        sides = [f"hyperplane {margin.hyperplane}" for margin in shown]
        far = "standard deviations from the hyperplane"
        _bars(self.axes_[1], sides, deviations, grey, "Margins", far)
        _bars(self.axes_[2], drivers, values, _signed(values), "Features, over all hyperplanes", lead)
        figure.suptitle(self.title)
        return self


def _signed(values: Sequence[float]) -> Floats:
    return np.where(np.asarray(values)[:, None] > 0, _FOR, _AGAINST)


def _bars(
    ax: Axes, names: Sequence[str], values: Sequence[float], shades: Floats, title: str, unit: str
) -> None:
    """Horizontal bars, the first on top, with their values at their ends."""
    places = np.arange(len(values))
    ax.barh(places, values, color=shades, edgecolor=INK, linewidth=0.5)
    for place, value in zip(places, values, strict=True):
        aside = 3 if value >= 0 else -3
        ax.annotate(
            f"{value:+z.2f}", (value, place), (aside, 0), textcoords="offset points", va="center",
            ha="left" if value >= 0 else "right", fontsize="small",
        )  # fmt: skip
    labels = [shorten(name, _MAX_LETTERS, placeholder=" …") for name in names]
    ax.set_yticks(places, labels, fontsize="small")
    ax.invert_yaxis()
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.margins(x=0.3)
    ax.set_title(title)
    ax.set_xlabel(unit)


@dataclass(eq=False)
class CounterfactualsDisplay(AxesDisplay):
    """Arrows from samples of two features to the nearest points of another class.

    Attributes
    ----------
    regions : DecisionRegionsDisplay
    starts, ends : ndarray of shape (n, 2)
        Samples and the points they are led to; those that can reach no other class are left out.
    exact : bool
        Whether nothing nearer exists, proved for all of them.
    """

    regions: DecisionRegionsDisplay
    starts: Floats
    ends: Floats
    exact: bool

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        samples: Any,
        *,
        norm: float | str = 2,
        ax: Axes | None = None,
        title: str | None = None,
        **limits: Any,
    ) -> CounterfactualsDisplay:
        """Draw the nearest change of class of ``samples`` over the data X (n, 2) of classes y.

        ``limits`` are ``scale``, ``frozen`` and ``bounds`` of `ffmlp.robustness`.
        """
        found = clf.robustness(samples, norm, **limits)
        there = np.isfinite(found.distance)
        exact = bool(found.exact[there].all())
        if title is None:
            title = f"Nearest change of class, norm {norm}" + ("" if exact else ", as found")
        starts = check_array(samples, dtype=np.float64)[there]
        display = DecisionRegionsDisplay.from_estimator(clf, X, y, hyperplanes=False, ax=ax, title=title)
        made = cls(display, starts, found.points[there], exact)
        made._draw_arrows(display.ax_)
        return made

    def plot(self, ax: Axes | None = None) -> CounterfactualsDisplay:
        """Draw into ``ax``, or a new figure."""
        self._draw_arrows(self.regions.plot(ax).ax_)
        return self

    def _draw_arrows(self, ax: Axes) -> None:
        self._open(ax)
        style = {"arrowstyle": "-|>", "color": INK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
        for start, end in zip(self.starts, self.ends, strict=True):
            ax.annotate("", end, start, arrowprops=style, zorder=5)
        x, y = self.starts.T
        ax.scatter(x, y, s=60, facecolors="white", edgecolors=INK, linewidths=1.6, zorder=6)
