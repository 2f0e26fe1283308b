"""Why a sample gets its class, and the smallest changes that give it another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from ffmlp.arrays import Floats
from ffmlp.explanations.explanation import Explanation
from ffmlp.plots.samples import DecisionRegionsDisplay
from ffmlp.plots.view import INK, AxesDisplay, FigureDisplay, colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffmlp.plots.view import AnyFigure

# For and against the predicted class: blue and vermilion are safe for colour-blind readers.
_FOR, _AGAINST, _NEITHER = colours(0), colours(3), colours(8)
# Longer labels of bars are cut.
_MAX_LETTERS = 52


@dataclass(eq=False)
class ExplanationDisplay(FigureDisplay):
    """The explanation of one sample as bars.

    The panels show what each hyperplane adds to the lead of the predicted class, the margin to each
    of these hyperplanes, and what each feature adds to the lead.

    Attributes
    ----------
    explanation : Explanation
    max_bars : int
        Bars in each panel; one more bar is the sum of the others.
    title : str
    axes_ : ndarray of shape (3,)
    """

    explanation: Explanation
    max_bars: int
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row: int = 0,
        max_bars: int = 8,
        title: str | None = None,
        figure: AnyFigure | None = None,
    ) -> ExplanationDisplay:
        """Explain a row of X and draw the explanation.

        Parameters
        ----------
        estimator : FFMLPClassifier
        X : array-like of shape (n_samples, n_features)
            All rows are explained: of many rows, pass only the one to draw.
        row : int, default=0
            The row of X to draw.
        max_bars : int, default=8
            Bars in each panel.
        """
        explanation = estimator.explain(X)[row]
        return cls.from_explanation(explanation, max_bars=max_bars, title=title, figure=figure)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        max_bars: int = 8,
        title: str | None = None,
        figure: AnyFigure | None = None,
    ) -> ExplanationDisplay:
        """Draw an explanation, for example ``clf.explain(X)[0]``, with ``max_bars`` in each panel."""
        if explanation.rival is None:
            raise ValueError(
                f"Only class {explanation.label!r} can be predicted, so there is no lead to draw. Fit "
                "with a lower error_threshold."
            )
        if max_bars < 1:
            raise ValueError(f"max_bars must be at least 1, got {max_bars!r}.")
        if title is None:
            winner = f"Class {explanation.label} (probability {explanation.probability:.3f})"
            rival = f"{explanation.rival} ({explanation.rival_probability:.3f})"
            title = f"{winner} rather than {rival}: lead {explanation.lead:+.2f}"
        return cls(explanation, max_bars, title).plot(figure)

    def plot(self, figure: AnyFigure | None = None) -> ExplanationDisplay:
        """Draw into ``figure``, or into a new one."""
        hyperplanes = self.explanation.hyperplane_bars(self.max_bars)
        features = self.explanation.feature_bars(self.max_bars)
        margins = [
            (f"hyperplane {margin.hyperplane}", margin.deviations)
            for margin in self.explanation.margins[: self.max_bars]
        ]
        n_bars = max(len(hyperplanes), len(features))
        figure = self._open(figure, (14.0, 1.6 + 0.42 * n_bars))
        self.axes_ = figure.subplots(1, 3, width_ratios=[1.2, 0.8, 1.0])
        lead, unit = "contribution to the lead", "standard deviations from the hyperplane"
        _draw_bars(self.axes_[0], hyperplanes, "Hyperplanes", lead, n_bars)
        _draw_bars(self.axes_[1], margins, "Margins", unit, n_bars, signed=False)
        _draw_bars(self.axes_[2], features, "Features (all hyperplanes)", lead, n_bars)
        figure.suptitle(self.title)
        return self


def _draw_bars(
    ax: Axes,
    bars: Sequence[tuple[str, float]],
    title: str,
    unit: str,
    n_places: int,
    signed: bool = True,
) -> None:
    """Horizontal bars with their values, the first on top, in axes with space for ``n_places``."""
    names, values = [name for name, _ in bars], [value for _, value in bars]
    places, sign = np.arange(len(values)), "+" if signed else ""
    shades = np.where(np.array(values)[:, None] > 0, _FOR, _AGAINST) if signed else _NEITHER
    drawn = ax.barh(places, values, color=shades, edgecolor=INK, linewidth=0.5)
    ax.bar_label(drawn, [f"{value:{sign}z.2f}" for value in values], padding=3, fontsize="small")
    labels = [shorten(name, _MAX_LETTERS, placeholder=" …") for name in names]
    ax.set_yticks(places, labels, fontsize="small")
    ax.set_ylim(n_places - 0.4, -0.6)
    ax.axvline(0.0, color=INK, linewidth=0.8)
    ax.margins(x=0.3)
    ax.set(title=title, xlabel=unit)


@dataclass(eq=False)
class CounterfactualsDisplay(AxesDisplay):
    """Arrows from samples of two features to their nearest points of another class.

    Attributes
    ----------
    regions : DecisionRegionsDisplay
    starts, ends : ndarray of shape (n, 2)
        The samples and their counterfactuals. Samples without a counterfactual are left out.
    exact : bool
        Whether it is proved that no counterfactual is nearer.
    """

    regions: DecisionRegionsDisplay
    starts: Floats
    ends: Floats
    exact: bool

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        samples: Any,
        norm: float | str = 2,
        scale: ArrayLike | None = None,
        frozen: Sequence[int | str] = (),
        bounds: Mapping[int | str, tuple[float | None, float | None]] | None = None,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> CounterfactualsDisplay:
        """Draw the smallest change of class of some samples, over decision regions and training samples.

        Parameters
        ----------
        estimator : FFMLPClassifier
        X : array-like of shape (n_samples, 2)
        y : array-like of shape (n_samples,)
        samples : array-like of shape (n, 2)
            The samples to start from.
        norm, scale, frozen, bounds
            As in `FFMLPClassifier.robustness`.
        """
        found = estimator.robustness(samples, norm, scale=scale, frozen=frozen, bounds=bounds)
        there = np.isfinite(found.distance)
        exact = bool(found.exact[there].all())
        if title is None:
            length = f"L{float(norm):g}".replace("inf", "∞")
            title = f"Smallest change {'' if exact else 'found '}to another class ({length} norm)"
        starts = check_array(samples, dtype=np.float64)[there]
        display = DecisionRegionsDisplay.from_estimator(
            estimator, X, y, hyperplanes=False, title=title, ax=ax
        )
        made = cls(display, starts, found.points[there], exact)
        made._draw_arrows(display.ax_)
        return made

    def plot(self, ax: Axes | None = None) -> CounterfactualsDisplay:
        """Draw into ``ax``, or into a new figure."""
        self._draw_arrows(self.regions.plot(ax).ax_)
        return self

    def _draw_arrows(self, ax: Axes) -> None:
        self._open(ax)
        style = {"arrowstyle": "-|>", "color": INK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
        for start, end in zip(self.starts, self.ends, strict=True):
            ax.annotate("", end, start, arrowprops=style, zorder=5)
        x, y = self.starts.T
        ax.scatter(x, y, s=60, facecolors="white", edgecolors=INK, linewidths=1.6, zorder=6)
