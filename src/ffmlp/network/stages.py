"""Stages 2 and 3: what every design provides for all that reads a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, in_whole_tiles, row_blocks
from ffmlp.network.hyperplanes import ACTIVATIONS, Hyperplanes, rows_held

if TYPE_CHECKING:
    from ffmlp.network.network import Network
    from ffmlp.network.trees import Trees


# Gauss-Legendre quadrature of each part of the way, from 0 to 1.
_NODES, _WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(8))
_NODES = _NODES + 0.5
# The error of a part of the way, relative to the change of the lead, and to the scores: rounding.
_TOLERANCE, _ROUNDING = 1e-10, 1e-13
# The shortest part of the way that is divided, and the most parts of one way that are.
_SHORTEST, _MOST_PARTS = 2.0**-40, 200


def _mean_slopes(stages: Stages, start: Floats, way: Floats, winner: Indices, rival: Indices) -> Floats:
    """`Stages.mean_slopes` of a few samples on straight ways; ``t`` runs from 0 to 1."""

    def of_both(
        of_classes: Callable[[Floats], Floats], rows: Indices, t: Floats
    ) -> tuple[Floats, Floats]:
        """What a function of responses gives for the winner and for the rival."""
        values, each = of_classes(start[rows] + t[:, None] * way[rows]), np.arange(len(rows))
        return values[each, winner[rows]], values[each, rival[rows]]

    total = np.zeros_like(start)
    rows, left = np.arange(len(total)), np.zeros(len(total))
    right = left + 1.0
    allowed, division = None, 0
    while len(rows):
        width = right - left
        at_nodes = (of_both(stages.slopes, rows, left + width * t) for t in _NODES)
        nodes = [winner - rival for winner, rival in at_nodes]
        slopes = np.tensordot(_WEIGHTS, np.stack(nodes), axes=1)
        ends = [part for t in (left, right) for part in of_both(stages.scores, rows, t)]
        if allowed is None:
            allowed = _TOLERANCE * np.abs(slopes * way).sum(axis=1)
            allowed += _ROUNDING * np.abs(ends).max(axis=0)
        rise = ends[2] - ends[3] - (ends[0] - ends[1])
        error = np.abs(width * np.sum(slopes * way[rows], axis=1) - rise)
        bad = (error > allowed[rows]) & (width > _SHORTEST)
        bad &= np.bincount(rows, minlength=len(total))[rows] <= _MOST_PARTS
        np.add.at(total, rows[~bad], (width[:, None] * slopes)[~bad])
        first, last = (np.sum(part * way[rows], axis=1)[bad] for part in (nodes[0], nodes[-1]))
        rows, left, right, width, rise = (part[bad] for part in (rows, left, right, width, rise))
        middle = left + 0.5 * width
        if division % 2 == 0:
            with np.errstate(over="ignore"):  # a bend outside the part is not used
                bend = np.divide(rise - last * width, first - last, out=0.5 * width, where=first != last)
            middle = np.where((bend > 0) & (bend < width), left + bend, middle)
        rows = np.concatenate([rows, rows])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        division += 1
    return total


# Responses are clipped to this: sums of larger ones would overflow, and no sample is that far away.
LARGEST = 1e150
# With more neurons of l_2 than this, they respond to fewer rows at once, for their memory.
_MOST_NEURONS = 1 << 14


@dataclass(frozen=True, eq=False)
class Places:
    """The place of each sample, ``numbers`` (n,), among the R places of a design.

    ``unseen`` (n,) marks the samples that are in none; their number is the nearest place's.
    ``classes`` (R,) and ``shares`` (R,) are the class of each place and its share of the training
    samples. ``counts`` (R, C) are these samples by class, if known. ``answers_unseen`` says whether the
    nearest place answers for samples that are in none.
    """

    kind: str
    numbers: Indices
    unseen: Flags
    classes: Indices
    shares: Floats
    counts: NDArray | None = None
    answers_unseen: bool = True


@dataclass(frozen=True, eq=False)
class LinearPieces:
    """The score of a class is the largest ``h @ weights[r]`` of the pieces r of this class."""

    weights: Floats  # (R, L)
    classes: Indices  # (R,)


@dataclass(frozen=True, eq=False)
class Bends:
    """A lead ``offset + h @ slopes + φ(h) @ turns`` at responses h (L,).

    φ is ``max(0, h)``, or softplus if ``soft``.
    """

    slopes: Floats  # (L,)
    offset: float
    turns: Floats  # (L,)
    soft: bool = False


class OnnxGraph(Protocol):
    """An ONNX graph under construction; results are referred to by name."""

    def apply(self, operator: str, *inputs: str | NDArray, **attributes: Any) -> str:
        """Add a node; arrays among the inputs become constants."""

    def cast(self, x: str, dtype: DTypeLike) -> str:
        """Convert a result to another type."""


class Stages(Protocol):
    """Layers l_2 and l_out of a design, and what most designs have in common.

    ``each_neuron`` says what a neuron of l_2 is for, to complete "one neuron of the second layer for …".
    """

    design: str
    each_neuron: str

    @property
    def neurons(self) -> str:
        """What the neurons of l_2 stand for, as a plural noun."""

    @property
    def link_names(self) -> tuple[str, str]:
        """The names of positive and of negative weights of stage 2 in a drawing."""
        return "positive weight", "negative weight"

    @property
    def trees(self) -> Trees | None:
        """The trees whose leaves are the last neurons of l_2, if there are any."""
        return None

    @property
    def activations(self) -> tuple[str, str, str]:
        """The activations of l_1, l_2 and l_out, as names in `ACTIVATIONS`."""

    if TYPE_CHECKING:  # a field of some designs

        @property
        def neuron_classes(self) -> Indices:
            """The class (D_2,) that each neuron of l_2 supports."""

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """Weight matrices (D_2, D_1) and (D_out, D_2)."""

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """Bias vectors (D_2,) and (D_out,)."""

    @property
    def relu_layers(self) -> tuple[tuple[Floats, Floats], ...] | None:
        """Weights (outputs, inputs) and biases after l_1, with ReLU between them.

        The predicted class has the largest output. None if the class follows in another way.
        """
        return None

    def meaning(self, neuron: int, network: Network) -> str:
        """What a neuron of l_2 stands for."""

    def description(self, network: Network, spreads: Floats, max_items: int) -> list[str]:
        """Lines of text: how classes follow from responses with standard deviations ``spreads`` (L,)."""

    def outputs(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The output (n, C) of l_out, computed layer by layer."""
        out = np.empty((len(X), len(self.biases[1])))
        for rows, (_, _, response) in layer_responses(self, planes, X):
            out[rows] = response
        return out

    def probabilities(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The probability of each class (n, C): the output; its shares may add up to more than 1."""
        return np.minimum(self.outputs(planes, X), 1.0)

    def classes(self, planes: Hyperplanes, X: AnyFloats) -> Indices:
        """The most probable class (n,)."""
        return self.outputs(planes, X).argmax(axis=1)

    def confidences(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """Values (n, C) that order the classes: log-odds, if the design has them."""

    def places(self, planes: Hyperplanes, X: AnyFloats) -> Places | None:
        """The place of each sample, if the design has places of its own."""
        return None

    def scores(self, h: Floats) -> Floats:
        """The score (n, C) of each class at responses h (n, L); -inf for one that is never predicted.

        The predicted class has the largest score. Only the difference of two scores has a meaning: it is
        the *lead* of one class over another.
        """

    def slopes(self, h: Floats) -> Floats:
        """The derivative (n, C, L) of each class's score by each response."""

    def mean_slopes(self, start: Floats, stop: Floats, winner: Indices, rival: Indices) -> Floats:
        """The mean slope (n, L) of the winner's lead over the rival, from responses (n, L) to others.

        Times the way, it is the change of the lead without the leaves of trees. By quadrature: a part
        of the way is divided until its mean slope explains the change of the lead: where the tangents
        at its ends meet, which is the bend of a lead with one bend, and in the middle by turns.
        """
        found = np.empty_like(start)
        n_entries = len(_NODES) * self.weights[1].shape[0] * start.shape[1]
        for rows in row_blocks(len(start), n_entries):
            way = stop[rows] - start[rows]
            found[rows] = _mean_slopes(self, start[rows], way, winner[rows], rival[rows])
        return found

    @property
    def linear_pieces(self) -> LinearPieces | None:
        """The pieces of the scores, if the scores are piecewise linear and convex."""
        return None

    def safe_distance(self, h: Floats, winner: Indices, reach: Floats, steepness: Floats) -> Floats:
        """A distance (n,) within which the winner leads; 0 where linear pieces give exact ones.

        ``reach`` (n, L) is the largest change of each response by a step of length one. ``steepness``
        (n, C) is the largest initial decrease of the winner's lead over each class by such a step.
        """
        return np.zeros(len(h))

    def bends(self, winner: int, rival: int) -> Bends | None:
        """The lead of one class over another, if each hyperplane bends it once."""
        return None

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """Raise a ValueError if the parts are inconsistent, as in a file that was changed."""

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """Add nodes that compute the class (n,) and the probabilities (n, C).

        ``z`` is the input of the hyperplanes, ``h`` their responses.
        """


def layer_responses(
    stages: Stages, planes: Hyperplanes, X: AnyFloats
) -> Iterator[tuple[slice, tuple[Floats, Floats, Floats]]]:
    """Yield slices of rows and their responses of l_1, l_2 and l_out, in constant memory."""
    to_2, to_3 = (in_whole_tiles(weights.T) for weights in stages.weights)
    b_2, b_3 = stages.biases
    first, second, third = (ACTIVATIONS[name] for name in stages.activations)
    n_rows = planes.rows_per_product if len(b_2) <= _MOST_NEURONS else rows_held(len(b_2))
    for rows, tile in planes.tiles(X):
        for some in row_blocks(rows.stop - rows.start, 1, n_rows):
            h = tile[some.start : some.start + n_rows, : len(planes)]
            n = some.stop - some.start
            with np.errstate(over="ignore", invalid="ignore"):
                l_1 = first(planes.sides(h))
                l_1 = np.fmin(l_1, LARGEST, out=l_1)
                l_2 = (l_1 @ to_2)[:, : len(b_2)]
                l_2 += b_2
                l_2 = second(l_2)
                out = third((l_2 @ to_3)[:, : len(b_3)] + b_3)
            yield slice(rows.start + some.start, rows.start + some.stop), (l_1[:n], l_2[:n], out[:n])


def require_shapes(**shapes: tuple[NDArray, tuple[int, ...]]) -> None:
    """Raise a ValueError unless every array has the given shape."""
    for name, (array, shape) in shapes.items():
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {array.shape}")


def require_finite(**parts: float | NDArray) -> None:
    """Raise a ValueError unless all numbers are finite."""
    for name, part in parts.items():
        if not np.isfinite(part).all():
            raise ValueError(f"{name} must be finite")


def require_indices(name: str, indices: NDArray, n_items: int) -> None:
    """Raise a ValueError unless all indices are integers from 0 to ``n_items - 1``."""
    if indices.dtype.kind not in "iu" or not ((indices >= 0) & (indices < n_items)).all():
        raise ValueError(f"{name} must be integers from 0 to {n_items - 1}")


def votes(neuron_classes: Indices, n_classes: int) -> Floats:
    """Weights (C, D_2) of 1 from each neuron of l_2 to its class, 0 to the others."""
    return (neuron_classes == np.arange(n_classes)[:, None]).astype(np.float64)
