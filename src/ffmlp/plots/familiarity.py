"""Familiar and unfamiliar samples: how far they are from the blobs of the training samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ffmlp.network.familiarity import Familiarity
from ffmlp.plots.view import INK, AxesDisplay, colours

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
