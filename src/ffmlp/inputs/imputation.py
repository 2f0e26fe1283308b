"""Missing inputs: their conditional means under Gaussian blobs, given the other inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ffmlp.arrays import Flags, Floats, Indices, Shape, in_whole_tiles, require_floats, row_blocks

# Inputs count as at most so many units away from the centre, so that squares stay finite.
FARTHEST = 1e15
# Entries of the matrices that are solved at once (32 MB).
ENTRIES_AT_ONCE = 1 << 22
_ROWS_PER_PRODUCT = 256


@dataclass(frozen=True, eq=False)
class Imputation:
    """G Gaussian blobs of all N inputs, of samples of all classes together.

    Under one blob, the most probable values of the missing inputs are their conditional means. Those of
    all blobs are averaged, each with the density of the sample that it completes.

    ``centre`` and ``scale`` are the origin and the unit of each input, for ``means`` and ``precisions``,
    the inverses of the covariances. Imputed values stay between ``low`` and ``high``, the range of the
    training samples. ``log_weights`` are the logarithms of the blobs' densities at their means.
    """

    centre: Annotated[Floats, Shape("N")]
    scale: Annotated[Floats, Shape("N")]
    low: Annotated[Floats, Shape("N")]
    high: Annotated[Floats, Shape("N")]
    log_weights: Annotated[Floats, Shape("g")]
    means: Annotated[Floats, Shape("g", "N")]
    precisions: Annotated[Floats, Shape("g", "N", "N")]

    def check(self) -> None:
        """Raise a ValueError unless all missing inputs can be replaced by finite numbers."""
        require_floats("the imputation", *vars(self).values())
        if not (self.scale > 0.0).all() or (self.low > self.high).any():
            raise ValueError("a unit of the imputation is not positive, or a range is empty")
        precisions, n_inputs = self.precisions, len(self.centre)
        np.linalg.cholesky(precisions)  # an error unless all equations have a solution
        if not np.allclose(precisions, precisions.swapaxes(1, 2)):
            raise ValueError("the precisions of the imputation are not symmetric")
        reach = FARTHEST + np.abs(self.means).max(initial=0.0)
        with np.errstate(all="ignore"):  # bounds of what equations are made of, and of their solutions
            product = n_inputs * np.abs(precisions).max(initial=0.0) * reach
            solution = n_inputs * product / np.linalg.eigvalsh(precisions).min(initial=np.inf)
            density = n_inputs * product * solution
        if not np.isfinite(density) or density < 0.0:
            raise ValueError("the precisions of the imputation are too large or too different")
        self.filled(np.full((1, n_inputs), np.nan))

    def filled(self, X: Floats) -> Floats:
        """Samples (n, N) whose missing inputs, NaN, are replaced.

        Takes O(G·(N² + m³)) time for a sample with m missing inputs.
        """
        filled = X.copy(order="K")
        incomplete = np.flatnonzero(np.isnan(X).any(axis=1))
        for rows in row_blocks(len(incomplete), X.shape[1] ** 2, ENTRIES_AT_ONCE):
            filled[incomplete[rows]] = self._completed(X[incomplete[rows]])
        return filled

    def _completed(self, X: Floats) -> Floats:
        missing = np.isnan(X)
        with np.errstate(over="ignore"):
            Z = np.clip((X - self.centre) / self.scale, -FARTHEST, FARTHEST)
        gaps, densities, means = gaps_of(missing), [], []
        for log_weight, mean, precision in zip(
            self.log_weights, self.means, self.precisions, strict=True
        ):
            known = np.where(missing, 0.0, Z - mean)
            deviations, squares = conditional_deviations(known, gaps, precision)
            densities.append(log_weight - 0.5 * squares)
            means.append([mean[some.inputs] + own for some, own in zip(gaps, deviations, strict=True)])
        share = np.exp(np.array(densities) - np.max(densities, axis=0))
        share /= share.sum(axis=0)
        completed = X.copy()
        for some, of_blobs in zip(gaps, zip(*means, strict=True), strict=True):
            value = sum(own[some.rows, None] * mean for own, mean in zip(share, of_blobs, strict=True))
            value = value * self.scale[some.inputs] + self.centre[some.inputs]
            limits = self.low[some.inputs], self.high[some.inputs]
            completed[some.places] = np.clip(value, *limits)
        return completed


@dataclass(frozen=True, eq=False)
class Gaps:
    """Samples ``rows`` (k,) with m missing inputs each, and these ``inputs`` (k, m)."""

    rows: Indices
    inputs: Indices

    @property
    def places(self) -> tuple[Indices, Indices]:
        """Where they are in a table (n, N)."""
        return self.rows[:, None], self.inputs

    def own(self, precision: Floats) -> Floats:
        """The precision (k, m, m) of the missing inputs."""
        return precision[self.inputs[:, :, None], self.inputs[:, None, :]]


def gaps_of(missing: Flags) -> list[Gaps]:
    """The missing inputs of samples (n, N), by their number."""
    counts, found = missing.sum(axis=1), []
    for number in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == number)
        found.append(Gaps(rows, np.nonzero(missing[rows])[1].reshape(-1, number)))
    return found


def conditional_deviations(
    deviation: Floats, gaps: list[Gaps], precision: Floats
) -> tuple[list[Floats], Floats]:
    """What completes deviations (n, N) from a mean, and the squares (n,) of the completed ones.

    Missing deviations are 0 and become their conditional means, (k, m) for each of the gaps, given the
    others. The squares are of Mahalanobis distances.
    """
    # BLAS rounds rows alike, whatever the other rows are, only in products of the same shape.
    factor, n_blocks = in_whole_tiles(precision), -(-len(deviation) // _ROWS_PER_PRODUCT)
    blocks = np.zeros((n_blocks * _ROWS_PER_PRODUCT, len(precision)))
    blocks[: len(deviation)] = deviation
    product = blocks.reshape(n_blocks, _ROWS_PER_PRODUCT, len(precision)) @ factor
    product = product.reshape(len(blocks), len(factor.T))[: len(deviation), : len(precision)]
    squares = np.einsum("nd,nd->n", product, deviation)
    found = []
    for some in gaps:
        pull, own = product[some.places], some.own(precision)
        if pull.shape[1] == 1:  # nearly all, and much faster than many calls
            found.append(-pull / own[:, :, 0])
        else:
            found.append(np.linalg.solve(own, -pull[:, :, None])[:, :, 0].astype(np.float64))
        # What the missing ones add is 2·pull·x + x·P·x, where P·x = -pull.
        squares[some.rows] += np.einsum("km,km->k", pull, found[-1])
    return found, squares
