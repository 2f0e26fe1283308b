"""Why a sample gets its class, what would change it, effects, familiarity and drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from ffmlp.arrays import Floats
from ffmlp.explain.drift import Drift, occupancy
from ffmlp.explain.explanation import Counterfactual, Explanation
from ffmlp.explain.whole_model import EffectCurve, effect_curves
from ffmlp.network.blobs import Familiarity
from ffmlp.plots.samples import DecisionRegionsDisplay
from ffmlp.plots.view import INK, AxesDisplay, FigureDisplay, colours, fitted_attribute, network_of
from ffmlp.words import class_name, short_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ffmlp.plots.view import AnyFigure


# For and against the predicted class: blue and vermilion are safe for colour-blind readers.
_FOR, _AGAINST = colours(0), colours(3)
# Longer labels of bars are cut.
_MAX_LETTERS = 52


@dataclass(eq=False)
class ExplanationDisplay(AxesDisplay):
    """The explanation of one sample as a waterfall, from the lead of its reference to its lead.

    Each bar is what a column adds to the lead of the predicted class over the next one. To the right of
    zero the predicted class leads, to the left the other one.

    Attributes
    ----------
    explanation : Explanation
    max_bars : int
        Columns that have a bar; one more bar is the sum of the others.
    title : str
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
        reference: Any = None,
        max_bars: int = 8,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> ExplanationDisplay:
        """Explain a row of X and draw the explanation.

        Parameters
        ----------
        estimator : FFMLPClassifier
        X : array-like of shape (n_samples, n_features)
            All rows are explained: of many rows, pass only the one to draw.
        row : int, default=0
            The row of X to draw.
        reference : array-like of shape (n_references, n_features), default=None
            As in `FFMLPClassifier.explain`.
        max_bars : int, default=8
            Columns that have a bar.
        """
        explanation = estimator.explain(X, reference)[row]
        return cls.from_explanation(explanation, max_bars=max_bars, title=title, ax=ax)

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        max_bars: int = 8,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> ExplanationDisplay:
        """Draw an explanation, for example ``clf.explain(X)[0]``, with at most ``max_bars`` columns."""
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
            title = f"{winner} rather than {rival}"
        return cls(explanation, max_bars, title).plot(ax)

    def _draw(self, ax: Axes) -> None:
        explanation, bars = self.explanation, self.explanation.bars(self.max_bars)
        self._resize(7.5, 1.9 + 0.38 * len(bars))
        values = np.array([value for _, value in bars])
        stops = explanation.reference_lead + np.cumsum(values)
        starts, places = stops - values, np.arange(len(bars))
        drawn = ax.barh(
            places, values, left=starts, color=np.where(values[:, None] > 0, _FOR, _AGAINST),
            edgecolor=INK, linewidth=0.5,
        )  # fmt: skip
        ax.bar_label(drawn, [f"{value:+z.3g}" for value in values], padding=3, fontsize="small")
        # Each bar starts where the one above it stops.
        for place, stop in zip(places[:-1], stops[:-1], strict=True):
            ax.plot([stop, stop], [place - 0.4, place + 1.4], color=INK, linewidth=0.5)
        labels = [shorten(name, _MAX_LETTERS, placeholder=" …") for name, _ in bars]
        ax.set_yticks(places, labels, fontsize="small")
        ax.set_ylim(len(bars) - 0.2, -0.8)
        ax.axvline(0.0, color=INK, linewidth=0.8, linestyle=":")
        marks = (
            ("reference", explanation.reference_lead, -0.6, "o"),
            ("sample", explanation.lead, len(bars) - 0.4, "D"),
        )
        for name, lead, height, marker in marks:
            ax.plot(lead, height, marker=marker, color=INK, markersize=5)
            text = f" {name} {lead:+z.3g}"
            ax.annotate(text, (lead, height), va="center", ha="left", fontsize="small", color=INK)
        low, high = min(0.0, starts.min(), stops.min()), max(0.0, starts.max(), stops.max())
        space = 0.2 * (high - low)
        ax.set_xlim(low - 0.25 * space, high + space)
        unit = f"lead over {class_name(explanation.rival)}{explanation.unit}"
        ax.set(title=self.title, xlabel=f"{unit}\ncompared with {explanation.reference}")


@dataclass(eq=False)
class ChangeDisplay(AxesDisplay):
    """The smallest change of one sample to another class: an arrow for each column.

    Attributes
    ----------
    change : Counterfactual
    max_bars : int
        Columns that are drawn, the largest changes first.
    title : str
    """

    change: Counterfactual
    max_bars: int
    title: str

    @classmethod
    def from_explanation(
        cls,
        explanation: Explanation,
        *,
        max_bars: int = 8,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> ChangeDisplay:
        """Draw the change of ``clf.explain(X, counterfactual=True)[0]``."""
        change = explanation.counterfactual
        if change is None:
            raise ValueError(
                "The explanation has no change to draw. Call explain with counterfactual=True; if it "
                "was, no change was found within the limits."
            )
        if max_bars < 1:
            raise ValueError(f"max_bars must be at least 1, got {max_bars!r}.")
        kind = "Smallest change" if change.exact else "Smallest change found"
        usual = f"{kind} from {explanation.label} to {change.label}"
        return cls(change, max_bars, usual if title is None else title).plot(ax)

    def _draw(self, ax: Axes) -> None:
        shown = self.change.changes[: self.max_bars]
        self._resize(6.4, 1.4 + 0.38 * len(shown))
        signs = np.sign([after - before for _, before, after in shown])
        sizes = signs * self.change.sizes[: len(shown)]
        places = np.arange(len(shown))
        shades = np.where(sizes[:, None] > 0, _FOR, _AGAINST)
        drawn = ax.barh(places, sizes, 0.5, color=shades, edgecolor=INK, linewidth=0.5)
        texts = [f"{short_number(before)} → {short_number(after)}" for _, before, after in shown]
        ax.bar_label(drawn, texts, padding=4, fontsize="small")
        labels = [shorten(name, _MAX_LETTERS, placeholder=" …") for name, _, _ in shown]
        ax.set_yticks(places, labels, fontsize="small")
        ax.set_ylim(len(shown) - 0.4, -0.6)
        ax.axvline(0.0, color=INK, linewidth=0.8)
        ax.margins(x=0.35)
        ax.set(title=self.title, xlabel="change in standard deviations of the column")


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
        nearest = estimator.robustness(samples, norm, scale=scale, frozen=frozen, bounds=bounds)
        there = np.isfinite(nearest.distance)
        exact = bool(nearest.exact[there].all())
        if title is None:
            length = f"L{float(norm):g}".replace("inf", "∞")
            title = f"Smallest change {'' if exact else 'found '}to another class ({length} norm)"
        starts = check_array(samples, dtype=np.float64)[there]
        display = DecisionRegionsDisplay.from_estimator(
            estimator, X, y, hyperplanes=False, title=title, ax=ax
        )
        made = cls(display, starts, nearest.points[there], exact)
        made.ax_, made.figure_ = display.ax_, display.figure_
        made._draw_arrows(display.ax_)
        return made

    def _draw(self, ax: Axes) -> None:
        self.regions.plot(ax)
        self._draw_arrows(ax)

    def _draw_arrows(self, ax: Axes) -> None:
        style = {"arrowstyle": "-|>", "color": INK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
        for start, end in zip(self.starts, self.ends, strict=True):
            ax.annotate("", end, start, arrowprops=style, zorder=5)
        x, y = self.starts.T
        ax.scatter(x, y, s=60, facecolors="white", edgecolors=INK, linewidths=1.6, zorder=6)


# Panels in a row, and categories in a panel.
_PER_ROW = 3
_MAX_CATEGORIES = 8
_VALUE_LETTERS = 18


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

    def _draw(self, figure: AnyFigure) -> None:
        n_columns = min(_PER_ROW, len(self.curves))
        n_rows = -(-len(self.curves) // n_columns)
        self._resize(3.2 * n_columns, 0.5 + 2.5 * n_rows)
        axes = figure.subplots(n_rows, n_columns, sharey=True, squeeze=False).ravel()
        for ax in axes[len(self.curves) :]:
            ax.set_axis_off()
        self.axes_ = axes[: len(self.curves)]
        for ax, curve in zip(self.axes_, self.curves, strict=True):
            self._draw_curve(ax, curve)
        for ax in self.axes_[::n_columns]:
            ax.set_ylabel("change of the lead", fontsize="small")
        figure.suptitle(self.title)

    def _draw_curve(self, ax: Axes, curve: EffectCurve) -> None:
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
            names = [shorten(str(name), _VALUE_LETTERS, placeholder="…") for name in curve.values[shown]]
            ax.set_xticks(places, names, rotation=30, ha="right", fontsize="x-small")
        ax.set_xlabel(curve.column, fontsize="small")
        ax.tick_params(labelsize="x-small")
        ax.spines[["top", "right"]].set_visible(False)


_N_BINS = 40
# Scores beyond this multiple of the threshold are drawn in the last bin.
_FARTHEST = 3.0


@dataclass(eq=False)
class FamiliarityDisplay(AxesDisplay):
    """The scores of samples, and the threshold beyond which they are unfamiliar.

    Attributes
    ----------
    familiarity : Familiarity
    title : str
    """

    familiarity: Familiarity
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        keep: float = 0.99,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> FamiliarityDisplay:
        """Draw how familiar the rows of X are; ``keep`` as in `FFMLPClassifier.familiarity`."""
        familiarity = estimator.familiarity(X, keep)
        if title is None:
            share = float(np.mean(~familiarity.familiar))
            title = f"{share:.1%} of the samples are unfamiliar, {1 - keep:.1%} of the training samples"
        return cls(familiarity, title).plot(ax)

    def _draw(self, ax: Axes) -> None:
        self._resize(6.4, 3.4)
        threshold, familiar = self.familiarity.threshold, self.familiarity.familiar
        most = _FARTHEST * threshold if threshold > 0 else 1.0
        edges = np.linspace(0.0, most, _N_BINS + 1)
        scores = np.minimum(self.familiarity.scores, most)
        for number, (name, rows) in enumerate({"familiar": familiar, "unfamiliar": ~familiar}.items()):
            label = f"{name} ({int(rows.sum())})"
            shade: Any = colours(3 * number)
            ax.hist(scores[rows], edges.tolist(), color=shade, alpha=0.8, label=label)
        ax.axvline(threshold, color=INK, linestyle="--", linewidth=1, label="threshold")
        ax.set(xlabel="standard deviations from the nearest blob", ylabel="samples", title=self.title)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")


_BAR = 0.38


@dataclass(eq=False)
class DriftDisplay(AxesDisplay):
    """The share of samples in each blob, before and after; the most changed blobs first.

    Attributes
    ----------
    drift : Drift
        ``before`` and ``after`` (counts), ``names``, ``distance``, ``by_chance``, ``p_value``.
    max_blobs : int
    title : str

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier
    >>> from ffmlp.plots import DriftDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FFMLPClassifier(1, design="blob", random_state=0).fit(X, y)
    >>> ax = Figure(layout="constrained").subplots()
    >>> drift = DriftDisplay.from_estimator(clf, X[::2], X[75:], ax=ax).drift
    >>> round(drift.distance, 2), drift.p_value
    (0.33, 0.001)
    """

    drift: Drift
    max_blobs: int
    title: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        before: ArrayLike,
        after: ArrayLike,
        *,
        keep: float = 0.99,
        max_blobs: int = 15,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> DriftDisplay:
        """Draw two sets of samples; samples that are unfamiliar at ``keep`` are in no blob."""
        network = network_of(estimator)
        counts = [occupancy(network, estimator.familiarity(X, keep)) for X in (before, after)]
        return cls.from_drift(Drift.between(network, *counts), max_blobs=max_blobs, title=title, ax=ax)

    @classmethod
    def from_drift(
        cls, drift: Drift, *, max_blobs: int = 15, title: str | None = None, ax: Axes | None = None
    ) -> DriftDisplay:
        """Draw a drift that was computed before."""
        if max_blobs < 1:
            raise ValueError(f"max_blobs must be at least 1, got {max_blobs}.")
        chance = f"by chance {drift.by_chance:.1%}, p = {drift.p_value:.3f}"
        usual = f"Drift: {drift.distance:.1%} of the samples moved\n({chance})"
        return cls(drift, max_blobs, usual if title is None else title).plot(ax)

    def _draw(self, ax: Axes) -> None:
        last = len(self.drift.names) - 1
        blobs = [blob for blob in self.drift.order.tolist() if blob != last][: self.max_blobs]
        shown = [last, *blobs]
        self._resize(6.4, 1.6 + 0.32 * len(shown))
        places = np.arange(len(shown))
        for number, (name, shares) in enumerate(
            zip(("before", "after"), self.drift.shares, strict=True)
        ):
            ax.barh(places + _BAR * number, 100 * shares[shown], _BAR, color=colours(number), label=name)
        ax.set_yticks(places + _BAR / 2, [self.drift.names[blob] for blob in shown])
        ax.invert_yaxis()
        ax.set(xlabel="share of the samples in %", title=self.title)
        ax.grid(axis="x", alpha=0.3)
        ax.legend(loc="best")
