"""How far samples are from the blobs of the training samples, and how two sets of samples differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.explain.drift import Drift, occupancy
from ffmlp.network.blobs import Familiarity
from ffmlp.plots.view import INK, AxesDisplay, colours, network_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_N_BINS = 40
# Scores beyond this multiple of the threshold are drawn in the last bin.
_FARTHEST = 3.0


@dataclass(eq=False)
class FamiliarityDisplay(AxesDisplay):
    """The scores of samples, and the threshold beyond which they are unfamiliar.

    Attributes
    ----------
    found : Familiarity
    title : str
    """

    found: Familiarity
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
        found = estimator.familiarity(X, keep)
        if title is None:
            share = float(np.mean(~found.familiar))
            title = f"{share:.1%} of the samples are unfamiliar, {1 - keep:.1%} of the training samples"
        return cls(found, title).plot(ax)

    def plot(self, ax: Axes | None = None) -> FamiliarityDisplay:
        """Draw into ``ax``, or into a new figure."""
        ax, threshold = self._open(ax, (6.4, 3.4)), self.found.threshold
        most = _FARTHEST * threshold if threshold > 0 else 1.0
        edges = np.linspace(0.0, most, _N_BINS + 1)
        scores = np.minimum(self.found.scores, most)
        for number, (name, rows) in enumerate(
            {"familiar": self.found.familiar, "unfamiliar": ~self.found.familiar}.items()
        ):
            label = f"{name} ({int(rows.sum())})"
            shade: Any = colours(3 * number)
            ax.hist(scores[rows], edges.tolist(), color=shade, alpha=0.8, label=label)
        ax.axvline(threshold, color=INK, linestyle="--", linewidth=1, label="threshold")
        ax.set(xlabel="standard deviations from the nearest blob", ylabel="samples", title=self.title)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
        return self


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
        """Draw two sets of samples, of which those beyond ``familiarity(X, keep)`` are in no blob."""
        network = network_of(estimator)
        counts = [occupancy(network, estimator.familiarity(X, keep)) for X in (before, after)]
        return cls.from_drift(Drift.between(network, *counts), max_blobs=max_blobs, title=title, ax=ax)

    @classmethod
    def from_drift(
        cls, drift: Drift, *, max_blobs: int = 15, title: str | None = None, ax: Axes | None = None
    ) -> DriftDisplay:
        """Draw a drift that is known."""
        if max_blobs < 1:
            raise ValueError(f"max_blobs must be at least 1, got {max_blobs}.")
        chance = f"by chance {drift.by_chance:.1%}, p = {drift.p_value:.3f}"
        usual = f"Drift: {drift.distance:.1%} of the samples moved\n({chance})"
        return cls(drift, max_blobs, usual if title is None else title).plot(ax)

    def plot(self, ax: Axes | None = None) -> DriftDisplay:
        """Draw into ``ax``, or into a new figure."""
        last = len(self.drift.names) - 1
        blobs = [place for place in self.drift.order.tolist() if place != last][: self.max_blobs]
        shown = [last, *blobs]
        ax = self._open(ax, (6.4, 1.6 + 0.32 * len(shown)))
        places = np.arange(len(shown))
        for number, (name, shares) in enumerate(
            zip(("before", "after"), self.drift.shares, strict=True)
        ):
            ax.barh(places + _BAR * number, 100 * shares[shown], _BAR, color=colours(number), label=name)
        ax.set_yticks(places + _BAR / 2, [self.drift.names[place] for place in shown])
        ax.invert_yaxis()
        ax.set(xlabel="share of the samples in %", title=self.title)
        ax.grid(axis="x", alpha=0.3)
        ax.legend(loc="best")
        return self
