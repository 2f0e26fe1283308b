"""Layer l_1: hyperplanes and the responses of their two sides.

A hyperplane ``h(x) = w·x + b`` is positive on the side of the first blob of its pair and negative on
the side of the second. Two ReLU neurons, ``+h`` and ``-h``, carry it in layer l_1, so a single
hyperplane is the paper's one-layer two-neuron perceptron.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import Floats
from ffmlp.model.features import Gaussianisation, mapped_features

# Stands for a blob in the pair of a hyperplane that is a threshold of one feature.
NO_BLOB = -1

# Responses that are computed at once stay in the cache (0.3 MB), but few rows are not worth the call:
# threads would wait for each other's calls more than they compute.
_RESPONSES_PER_PRODUCT = 40_000
_FEWEST_ROWS, _MOST_ROWS = 256, 1024
# Columns of a product that BLAS kernels round alike in all rows; fewer than so many are no matter.
_COLUMNS_PER_TILE, _FEWEST_COLUMNS = 8, 128
# Mapping a feature has a price for each call: it is done for the rows of several products at once.
_VALUES_PER_MAP = 1 << 19
_FEWEST_ROWS_PER_MAP, _MOST_ROWS_PER_MAP = _MOST_ROWS, 1 << 14


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """L hyperplanes in the space of N features.

    Attributes
    ----------
    weights : ndarray of shape (L, N)
        Normal vectors.
    biases : ndarray of shape (L,)
        Offsets: hyperplane l is where ``weights[l] @ x + biases[l] == 0``.
    pairs : ndarray of shape (L, 2)
        The blobs that each hyperplane separates; the first lies on its positive side. Both are
        `NO_BLOB` where the hyperplane is a threshold of one feature.
    gaussianisation : Gaussianisation or None
        The map of the features that comes first: x stands for the scores of a sample then.
    one_sided : bool
        Whether layer l_1 has a neuron for the positive side of each hyperplane only. Such hyperplanes
        have been moved from where their blobs put them: a response is no log-odds.
    """

    weights: Floats
    biases: Floats
    pairs: NDArray[np.intp]
    gaussianisation: Gaussianisation | None = None
    one_sided: bool = False

    def __repr__(self) -> str:
        n_hyperplanes, n_features = self.weights.shape
        return f"Hyperplanes({n_hyperplanes} hyperplanes of {n_features} features)"

    def __len__(self) -> int:
        return len(self.biases)

    def select(self, kept: NDArray[np.intp]) -> Hyperplanes:
        """The hyperplanes with the given indices, in that order."""
        return replace(
            self, weights=self.weights[kept], biases=self.biases[kept], pairs=self.pairs[kept]
        )

    def joined(self, other: Hyperplanes) -> Hyperplanes:
        """These hyperplanes, then the other ones."""
        return replace(
            self,
            weights=np.concatenate([self.weights, other.weights]),
            biases=np.concatenate([self.biases, other.biases]),
            pairs=np.concatenate([self.pairs, other.pairs]),
        )

    def one_sided_by(self, sides: NDArray[np.intp]) -> Hyperplanes:
        """The given side, 1 or -1, of each hyperplane as its positive one, and no other."""
        return replace(
            self,
            weights=self.weights * sides[:, None],
            biases=self.biases * sides,
            pairs=np.where(sides[:, None] > 0, self.pairs, self.pairs[:, ::-1]),
            one_sided=True,
        )

    def mapped(self, X: NDArray[np.floating]) -> NDArray:
        """Samples (n, N) as the hyperplanes take them: their scores, where features are mapped."""
        return mapped_features(X, self.gaussianisation)

    def unmapped(self, Z: Floats) -> Floats:
        """Samples in the user's units that `mapped` takes to Z."""
        return Z if self.gaussianisation is None else self.gaussianisation.values(Z)

    def by_features(self, gradient: Floats, X: Floats) -> Floats:
        """Gradients (n, C, N) by the user's features at X, from those by what `mapped` makes of them."""
        if self.gaussianisation is None:
            return gradient
        return gradient * self.gaussianisation.slopes(X)[:, None]

    def threshold(self, hyperplane: int) -> tuple[int, float] | None:
        """The feature and its value that a hyperplane without blobs stands for, in the user's units."""
        if self.pairs[hyperplane, 0] != NO_BLOB:
            return None
        feature = int(np.argmax(np.abs(self.weights[hyperplane])))
        score = -self.biases[hyperplane] / self.weights[hyperplane, feature]
        if self.gaussianisation is not None:
            score = self.gaussianisation.value_of(feature, score)
        return feature, float(score)

    def is_log_odds(self, hyperplane: int) -> bool:
        """Whether a response is the log-odds of two blobs."""
        return bool(self.pairs[hyperplane, 0] != NO_BLOB) and not self.one_sided

    def checked(self, X: ArrayLike) -> NDArray[np.floating]:
        """Samples as an array of finite numbers and of the right shape, or a ValueError."""
        samples = np.asarray(X)
        if samples.dtype not in (np.float64, np.float32):
            samples = samples.astype(np.float64)
        n_features = self.weights.shape[1]
        if samples.ndim != 2 or samples.shape[1] != n_features:
            raise ValueError(
                f"X must have shape (n_samples, {n_features}), one column for each feature, got "
                f"{samples.shape}."
            )
        if not np.isfinite(samples).all():
            row, column = np.argwhere(~np.isfinite(samples))[0]
            raise ValueError(
                f"X must be finite, got {samples[row, column]} in row {row}, column {column}."
            )
        return samples

    @property
    def rows_per_product(self) -> int:
        """How many rows responses are computed for at once, a power of two.

        A BLAS product may round differently with the shape of its operands. It is therefore computed
        for exactly this many rows (the last block is padded) and `in_whole_tiles`, so that a sample's
        response does not depend on the samples it is computed with.
        """
        n_rows = _RESPONSES_PER_PRODUCT // max(1, len(self))
        return min(max(_power_of_two(n_rows), _FEWEST_ROWS), _MOST_ROWS)

    @property
    def rows_per_map(self) -> int:
        """How many rows are mapped at once before their responses are computed, a power of two."""
        n_rows = _VALUES_PER_MAP // self.weights.shape[1]
        return min(max(_power_of_two(n_rows), _FEWEST_ROWS_PER_MAP), _MOST_ROWS_PER_MAP)

    def blocks(self, X: NDArray[np.floating]) -> Iterator[tuple[slice, Floats]]:
        """Yield ``(rows, h)`` with ``h = X[rows] @ weights.T + biases``, in constant memory.

        Each h is in the place of the one before it.
        """
        for rows, h in self.tiles(X):
            yield rows, h[: rows.stop - rows.start, : len(self)]

    def tiles(
        self, X: NDArray[np.floating], dtype: type[np.floating] = np.float64
    ) -> Iterator[tuple[slice, NDArray]]:
        """Yield ``(rows, h)`` as `blocks` does, with the rows and columns that fill up the product."""
        n_rows, n_mapped, n_features = self.rows_per_product, self.rows_per_map, self.weights.shape[1]
        # Biases are the weights of a feature that is always 1, which saves a pass over h.
        mapped = np.ones((min(n_mapped, -(-len(X) // n_rows) * n_rows), n_features + 1), dtype)
        transposed = in_whole_tiles(np.vstack([self.weights.T, self.biases]).astype(dtype))
        h = np.empty((n_rows, transposed.shape[1]), dtype)
        for start in range(0, len(X), n_rows):
            if start % n_mapped == 0:
                samples = self.mapped(X[start : start + n_mapped])
                mapped[: len(samples), :n_features] = samples
            # Features beyond 1e300 may overflow; there is no sensible response to warn about then.
            with np.errstate(over="ignore", invalid="ignore"):
                np.matmul(mapped[start % n_mapped :][:n_rows], transposed, out=h)
            yield slice(start, min(start + n_rows, len(X))), h

    def extent(self, X: NDArray[np.floating]) -> Floats:
        """A bound (N,) on the absolute values that the features of samples have before stage 1."""
        if self.gaussianisation is None:
            return np.abs(X).max(axis=0, initial=0.0).astype(np.float64)
        return np.array([np.abs(scores).max() for scores in self.gaussianisation.scores])

    def reach(self, X: NDArray[np.floating]) -> Floats:
        """A bound (L,) on the ``|h|`` of samples; infinite if they may overflow."""
        with np.errstate(over="ignore"):
            return np.abs(self.weights) @ self.extent(X) + np.abs(self.biases)

    def signed_responses(self, X: NDArray[np.floating]) -> Floats:
        """Responses ``h`` (n, L) of samples that have been checked."""
        h = np.empty((len(X), len(self)))
        for rows, block in self.blocks(X):
            h[rows] = block
        return h

    def log_odds(self, X: ArrayLike) -> Floats:
        """Signed responses ``h`` of shape (n, L): log-odds of a pair's first blob over its second."""
        return self.signed_responses(self.checked(X))

    def responses(self, X: ArrayLike) -> Floats:
        """Layer l_1 of shape (n, D_1): neurons l and L + l are the two sides of hyperplane l."""
        return np.maximum(self.sides(self.log_odds(X)), 0.0)

    def sides(self, h: Floats) -> Floats:
        """What the neurons of l_1 take in, shape (n, D_1): h, then -h unless there is one side only."""
        return h if self.one_sided else both_sides(h)


def both_sides(h: Floats) -> Floats:
    """Responses h (n, L), then their opposites."""
    return np.hstack([h, -h])


def _power_of_two(number: int) -> int:
    """The largest one up to a number; 0 has none."""
    return 1 << number.bit_length() >> 1


def in_whole_tiles(factor: NDArray) -> NDArray:
    """The second factor of a product, with columns of zeros up to a multiple of a BLAS kernel's tile.

    In the columns that are left beside many tiles, some kernels round a few rows unlike the others.
    """
    n_columns = factor.shape[1]
    missing = -n_columns % _COLUMNS_PER_TILE if n_columns > _FEWEST_COLUMNS else 0
    return np.ascontiguousarray(np.pad(factor, ((0, 0), (0, missing))))
