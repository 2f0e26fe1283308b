"""Layer l_1: hyperplanes, and the responses of the neurons on their two sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import AnyFloats, Below, Floats, Indices, Shape, require_floats, whole_tiles
from ffmlp.inputs.features import Gaussianisation, mapped_features


def softplus(z: Floats) -> Floats:
    """``np.logaddexp(z, 0)`` in a third of the time."""
    bend = np.abs(z)
    np.log1p(np.exp(np.negative(bend, out=bend), out=bend), out=bend)
    bend += np.maximum(z, 0.0)
    return bend


def sigmoid(z: Floats) -> Floats:
    """The probability whose log-odds are z."""
    return np.exp(-softplus(-z))


def softmax(z: Floats) -> Floats:
    """``scipy.special.softmax(z, axis=1)`` without SciPy."""
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def logsumexp(z: Floats) -> Floats:
    """``scipy.special.logsumexp(z, axis=1)`` without SciPy; -inf for a row of -inf."""
    largest = z.max(axis=1)
    finite = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(z - finite[:, None]).sum(axis=1)) + finite


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "softplus": softplus,
    "softmax": softmax,
}


# Both entries of a pair if the hyperplane is a threshold of one feature and separates no blobs.
NO_BLOB = -1

# The responses of one product stay in the cache (0.3 MB). Fewer rows are not worth a call: threads would
# wait for each other more than they compute.
_RESPONSES_PER_PRODUCT = 40_000
_FEWEST_ROWS, _MOST_ROWS = 256, 1024
# Where so few rows take too much memory (32 MB of responses, 128 MB of inputs), there are fewer still.
_MOST_RESPONSES, _MOST_INPUTS = 1 << 22, 1 << 24
# Each call that maps a feature has overhead, so the rows of several products are mapped at once.
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
        The map applied to the features first; x then stands for the scores of a sample.
    one_sided : bool
        Whether layer l_1 has neurons for the positive sides only. Such hyperplanes have been moved
        from where their blobs put them, so their responses are not log-odds.
    """

    weights: Annotated[Floats, Shape("L", "N")]
    biases: Annotated[Floats, Shape("L")]
    pairs: Annotated[Indices, Shape("L", 2), Below("G", least=NO_BLOB)]
    gaussianisation: Gaussianisation | None = None
    one_sided: bool = False

    def __repr__(self) -> str:
        n_hyperplanes, n_features = self.weights.shape
        return f"Hyperplanes({n_hyperplanes} hyperplanes of {n_features} features)"

    def __len__(self) -> int:
        return len(self.biases)

    def check(self) -> None:
        """Raise a ValueError unless a network can have these hyperplanes."""
        require_floats("weights and biases", self.weights, self.biases)
        if not len(self):
            raise ValueError("there is no hyperplane")
        thresholds = self.pairs == NO_BLOB
        if (thresholds[:, 0] != thresholds[:, 1]).any():
            raise ValueError("a hyperplane separates a blob from none")
        if (np.count_nonzero(self.weights[thresholds[:, 0]], axis=1) != 1).any():
            raise ValueError("a threshold is not one of a single feature")
        if self.gaussianisation is not None:
            self.gaussianisation.check()

    def select(self, kept: Indices) -> Hyperplanes:
        """The hyperplanes with the given indices, in that order."""
        return replace(
            self, weights=self.weights[kept], biases=self.biases[kept], pairs=self.pairs[kept]
        )

    def joined(self, other: Hyperplanes) -> Hyperplanes:
        """These hyperplanes, followed by the others."""
        return replace(
            self,
            weights=np.concatenate([self.weights, other.weights]),
            biases=np.concatenate([self.biases, other.biases]),
            pairs=np.concatenate([self.pairs, other.pairs]),
        )

    def one_sided_by(self, sides: Indices) -> Hyperplanes:
        """Keep only the given side, 1 or -1, of each hyperplane, as its positive side."""
        return replace(
            self,
            weights=self.weights * sides[:, None],
            biases=self.biases * sides,
            pairs=np.where(sides[:, None] > 0, self.pairs, self.pairs[:, ::-1]),
            one_sided=True,
        )

    def mapped(self, X: AnyFloats) -> NDArray:
        """The input (n, N) of the hyperplanes: samples, or their scores if features are mapped."""
        return mapped_features(X, self.gaussianisation)

    def unmapped(self, Z: Floats) -> Floats:
        """The inverse of `mapped`: samples in the user's units."""
        return Z if self.gaussianisation is None else self.gaussianisation.values(Z)

    def by_features(self, gradient: Floats, X: Floats) -> Floats:
        """Gradients (n, C, N) by the user's features at X, from gradients by the mapped features."""
        if self.gaussianisation is None:
            return gradient
        return gradient * self.gaussianisation.slopes(X)[:, None]

    def threshold(self, hyperplane: int, response: float = 0.0) -> tuple[int, float] | None:
        """Feature and value, in the user's units, if the hyperplane is a threshold of one feature.

        The value is the one with the given response.
        """
        if self.pairs[hyperplane, 0] != NO_BLOB:
            return None
        feature = int(np.argmax(np.abs(self.weights[hyperplane])))
        score = (response - self.biases[hyperplane]) / self.weights[hyperplane, feature]
        if self.gaussianisation is not None:
            score = self.gaussianisation.values_of(feature, np.array(score))
        return feature, float(score)

    def checked(self, X: ArrayLike) -> AnyFloats:
        """Samples as a finite array of the right shape, or a ValueError."""
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
        """The number of rows of each product, a power of two.

        The rounding errors of a BLAS product depend on the shape of its operands. Every product
        therefore has exactly this many rows (the last block is padded) and its columns `in_whole_tiles`,
        so that a sample's response does not depend on the samples it is computed with.
        """
        n_rows = _power_of_two(_RESPONSES_PER_PRODUCT // max(1, len(self)))
        held = rows_held(self.weights.shape[1], _MOST_INPUTS)
        return min(max(n_rows, _FEWEST_ROWS), _MOST_ROWS, rows_held(len(self)), held)

    def blocks(self, X: AnyFloats) -> Iterator[tuple[slice, Floats]]:
        """Yield ``(rows, h)`` with ``h = X[rows] @ weights.T + biases``, in constant memory.

        The array h is reused.
        """
        for rows, h in self.tiles(X):
            yield rows, h[: rows.stop - rows.start, : len(self)]

    def tiles(
        self, X: AnyFloats, dtype: type[np.floating] = np.float64
    ) -> Iterator[tuple[slice, NDArray]]:
        """Yield ``(rows, h)`` as `blocks` does, including the rows and columns of the padding."""
        n_rows, n_features = self.rows_per_product, self.weights.shape[1]
        n_mapped = max(_power_of_two(_VALUES_PER_MAP // n_features), _FEWEST_ROWS_PER_MAP)
        n_mapped = min(n_mapped, _MOST_ROWS_PER_MAP)
        # Biases are the weights of a feature that is always 1, which saves a pass over h.
        mapped = np.ones((min(n_mapped, -(-len(X) // n_rows) * n_rows), n_features + 1), dtype)
        transposed = np.zeros((n_features + 1, whole_tiles(len(self))), dtype)
        transposed[:-1, : len(self)], transposed[-1, : len(self)] = self.weights.T, self.biases
        h = np.empty((n_rows, transposed.shape[1]), dtype)
        for start in range(0, len(X), n_rows):
            if start % n_mapped == 0:
                samples = self.mapped(X[start : start + n_mapped])
                mapped[: len(samples), :n_features] = samples
            # Features beyond 1e300 may overflow; they have no sensible response.
            with np.errstate(over="ignore", invalid="ignore"):
                np.matmul(mapped[start % n_mapped :][:n_rows], transposed, out=h)
            yield slice(start, min(start + n_rows, len(X))), h

    def extent(self, X: AnyFloats) -> Floats:
        """An upper bound (N,) of the absolute values of the hyperplanes' input."""
        if self.gaussianisation is None:
            return np.abs(X).max(axis=0, initial=0.0).astype(np.float64)
        return np.array([np.abs(scores).max() for scores in self.gaussianisation.scores])

    def reach(self, X: AnyFloats) -> Floats:
        """An upper bound (L,) of ``|h|``; infinite if it may overflow."""
        with np.errstate(over="ignore"):
            return np.abs(self.weights) @ self.extent(X) + np.abs(self.biases)

    def signed_responses(self, X: AnyFloats) -> Floats:
        """Signed responses ``h`` (n, L) of validated samples."""
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
        """Pre-activations (n, D_1) of l_1: h, then -h unless the hyperplanes are one-sided."""
        return h if self.one_sided else both_sides(h)


def both_sides(h: Floats) -> Floats:
    """Responses h (n, L), followed by -h."""
    return np.hstack([h, -h])


def rows_held(n_columns: int, n_entries: int = _MOST_RESPONSES) -> int:
    """The rows of a table that has at most so many entries: a power of two, and at least one."""
    return max(1, _power_of_two(n_entries // max(1, n_columns)))


def _power_of_two(number: int) -> int:
    """The largest power of two up to a number; 0 for 0."""
    return 1 << number.bit_length() >> 1
