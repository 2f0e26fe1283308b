"""The optional map of the features before the hyperplanes, piecewise linear for each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Floats, Shape, require_floats

try:
    from ffmlp.inputs import _interpolation as compiled
except ImportError:  # installed without a C compiler
    compiled = None  # type: ignore[assignment]

# A value below this share of the largest knot is a rounding error of 0.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Gaussianisation:
    """A monotone, piecewise linear map of each of N features, constant beyond its outermost knots.

    The ``knots`` of a feature are the values, ascending, at which the slope of its map changes; its
    ``scores`` are the values of the map there.
    """

    knots: Annotated[tuple[Annotated[Floats, Shape("?")], ...], Shape("N")]
    scores: Annotated[tuple[Annotated[Floats, Shape("?")], ...], Shape("N")]

    def check(self) -> None:
        """Raise a ValueError unless each feature has a map that does not fall."""
        for knots, scores in zip(self.knots, self.scores, strict=True):
            require_floats("knots and scores", knots, scores)
            if not len(knots) or len(knots) != len(scores) or not (np.diff(knots) > 0.0).all():
                raise ValueError("knots must ascend, and each needs a score")
            if not (np.diff(scores) >= 0.0).all():
                raise ValueError("scores must not fall")

    def apply(self, X: AnyFloats) -> Floats:
        """The scores of samples (n, N), in float64."""
        scores = np.empty(X.shape)
        for feature, (knots, values) in enumerate(zip(self.knots, self.scores, strict=True)):
            column = np.asarray(X[:, feature], np.float64)
            if compiled is None:
                scores[:, feature] = np.interp(column, knots, values)
            else:
                # Arrays that were sent from another process may be unaligned.
                x, at, values = (np.require(part, requirements="A") for part in (column, knots, values))
                compiled.interpolate(x, at, values, scores[:, feature])
        return scores

    def padded(self) -> tuple[Floats, Floats, Floats]:
        """Knots, scores and slopes as tables (N, K), padded to the same number of knots per feature.

        Knots beyond a feature's last one are infinite. From the last one on, scores repeat and slopes
        are 0.
        """
        shape = len(self.knots), max(len(knots) for knots in self.knots)
        knots, scores, slopes = np.full(shape, np.inf), np.empty(shape), np.zeros(shape)
        for feature, (own_knots, own_scores) in enumerate(zip(self.knots, self.scores, strict=True)):
            n = len(own_knots)
            knots[feature, :n] = own_knots
            scores[feature, :n], scores[feature, n:] = own_scores, own_scores[-1]
            slopes[feature, : n - 1] = self._slopes_of(feature)[1:-1]
        return knots, scores, slopes

    def slopes(self, X: AnyFloats) -> Floats:
        """The derivative (n, N) of each score by its feature; 0 beyond the outermost knots."""
        slopes = np.zeros(X.shape)
        for feature, knots in enumerate(self.knots):
            within = self._slopes_of(feature)
            slopes[:, feature] = within[np.searchsorted(knots, X[:, feature], side="right")]
        return slopes

    def steepest(self, X: AnyFloats, radius: Floats) -> Floats:
        """The largest ``|score(x') − score(x)| / |x' − x|`` of each feature, for ``|x' − x| <= radius``.

        The map is piecewise linear: the ratio is largest at a knot or at the end of the range, and no
        larger than the largest slope. X and radius are of shape (n, N).
        """
        scores, steepest = self.apply(X), np.zeros(X.shape)
        for feature, (knots, values) in enumerate(zip(self.knots, self.scores, strict=True)):
            x, reach = X[:, feature, None], radius[:, feature, None]
            inner = np.broadcast_to(knots, (len(X), len(knots)))
            places = np.hstack([inner, x - reach, x + reach])
            rise = np.abs(np.interp(places, knots, values) - scores[:, feature, None])
            # The run to a knot can be more than the largest float, or tiny.
            with np.errstate(over="ignore"):
                # The ends are exactly a radius away, although x ± radius is rounded.
                run = np.hstack([np.abs(inner - x), reach, reach])
                within = (run > 0) & (run <= reach) & np.isfinite(run)
                ratio = np.divide(rise, run, out=np.zeros_like(rise), where=within)
            steepest[:, feature] = np.minimum(ratio.max(axis=1), self._slopes_of(feature).max())
        return steepest

    def _slopes_of(self, feature: int) -> Floats:
        """The slopes before, between and after the knots of a feature."""
        with np.errstate(over="ignore"):  # from one end of the range of floats to the other
            rises, runs = np.diff(self.scores[feature]), np.diff(self.knots[feature])
            return np.concatenate([[0.0], rises / runs, [0.0]])

    def values(self, scores: Floats) -> Floats:
        """The inverse map: values (n, N) with the given scores."""
        return np.column_stack([self.values_of(j, column) for j, column in enumerate(scores.T)])

    def values_of(self, feature: int, scores: Floats) -> Floats:
        """The values of a feature with the given scores."""
        knots = self.knots[feature]
        values = np.interp(scores, self.scores[feature], knots)
        # Scores are rounded; a value of 0 must come back as 0.
        return np.where(np.abs(values) < _NEGLIGIBLE * np.abs(knots).max(), 0.0, values)


def mapped_features(X: AnyFloats, gaussianisation: Gaussianisation | None) -> NDArray:
    """The scores of samples (n, N), or the samples themselves if there is no map."""
    return X if gaussianisation is None else gaussianisation.apply(X)
