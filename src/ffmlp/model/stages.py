"""Stages 2 and 3, as everything after the design reads them.

What the neurons of l_2 are, and how l_out reads them, is all in which the designs differ. A design is a
class that has what `Stages` asks for: one module here, and one in `ffmlp.design` that makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ffmlp.arrays import Floats
from ffmlp.model.activations import ACTIVATIONS
from ffmlp.model.hyperplanes import Hyperplanes, in_whole_tiles

if TYPE_CHECKING:
    from ffmlp.model.network import Network

# Responses are taken up to this: sums of larger ones would overflow, and no sample is so far.
LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class Places:
    """The places that samples are in, ``numbers`` (n,), of all that a design has.

    ``unseen`` (n,) tells which samples are in none, so that the nearest place stands for theirs.
    ``classes`` (R,) and ``shares`` (R,) are the class of each place and its share of the training
    samples, ``counts`` (R, C) these samples by class, where they are known.
    """

    kind: str
    numbers: NDArray[np.intp]
    unseen: NDArray[np.bool_]
    classes: NDArray[np.intp]
    shares: Floats
    counts: NDArray | None = None


@dataclass(frozen=True, eq=False)
class LinearPieces:
    """The score of a class is the largest ``h @ weights[r]`` of the pieces r that are of this class."""

    weights: Floats  # (R, L)
    classes: NDArray[np.intp]  # (R,)


class OnnxGraph(Protocol):
    """An ONNX graph in the making; results are known by name."""

    def apply(self, operator: str, *inputs: str | NDArray, **attributes: Any) -> str:
        """Add a node; arrays among the inputs become constants."""

    def cast(self, x: str, dtype: DTypeLike) -> str:
        """Convert a result to another type."""


class Stages(Protocol):
    """What a design makes of layer l_1."""

    @property
    def design(self) -> str:
        """The name of the design."""

    @property
    def neurons(self) -> str:
        """What the neurons of l_2 are, in the plural."""

    @property
    def each_neuron(self) -> str:
        """What a neuron of l_2 is for, to complete "one neuron of the second layer for …"."""

    @property
    def link_names(self) -> tuple[str, str]:
        """What the positive and the negative weights of stage 2 are called in a drawing."""

    @property
    def activations(self) -> tuple[str, str, str]:
        """The activations of l_1, l_2 and l_out, as names in `ACTIVATIONS`."""

    @property
    def neuron_classes(self) -> NDArray[np.intp]:
        """The class that each neuron of l_2 speaks for (D_2,)."""

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """Weight matrices (D_2, D_1) and (D_out, D_2)."""

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """Bias vectors (D_2,) and (D_out,)."""

    def meaning(self, neuron: int, network: Network) -> str:
        """What a neuron of l_2 stands for."""

    def description(self, network: Network, spreads: Floats, max_items: int) -> list[str]:
        """How the classes follow from the hyperplanes, whose responses deviate by ``spreads`` (L,)."""

    def outputs(self, planes: Hyperplanes, X: NDArray[np.floating]) -> Floats:
        """What l_out puts out (n, C)."""

    def probabilities(self, planes: Hyperplanes, X: NDArray[np.floating]) -> Floats:
        """The probability of each class (n, C)."""

    def classes(self, planes: Hyperplanes, X: NDArray[np.floating]) -> NDArray[np.intp]:
        """The argmax (n,) of the probabilities."""

    def confidences(self, planes: Hyperplanes, X: NDArray[np.floating]) -> Floats:
        """What orders the classes of samples (n, C): log-odds, where the design has any."""

    def places(self, planes: Hyperplanes, X: NDArray[np.floating]) -> Places | None:
        """The places of samples, if the design has places of its own."""

    def scores(self, h: Floats) -> Floats:
        """The score (n, C) of each class at responses h (n, L); -inf for a class that nothing votes for.

        The predicted class has the largest score. Scores are compared, never read alone: their
        difference is the *lead* of one class over another.
        """

    def slopes(self, h: Floats) -> Floats:
        """How fast the score of each class grows with each response: (n, C, L)."""

    def contributions(
        self, h: Floats, winner: NDArray[np.intp], rival: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """What each hyperplane adds to the winner's lead over the rival (n, L), and the rest (n,).

        The rest is what no hyperplane adds: the lead is the sum of both.
        """

    @property
    def linear_pieces(self) -> LinearPieces | None:
        """The pieces of the scores, if these are piecewise linear and convex."""

    @property
    def safe_distance(self) -> Callable[[Floats, NDArray[np.intp], Floats, Floats], Floats] | None:
        """A function (h, winner, reach, steepness) of a distance (n,) within which the winner wins.

        ``reach`` (n, L) is how much a step of length one changes each response at most, ``steepness``
        (n, C) how much it lowers the winner's lead over each class at first. None where distances
        follow exactly from the linear pieces.
        """

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """Raise a ValueError if the parts do not fit together, as those of a changed file may not."""

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """Add nodes that give the class (n,) and the probabilities (n, C).

        ``z`` are the features as the hyperplanes take them, ``h`` the responses to these.
        """


def layer_responses(
    stages: Stages, planes: Hyperplanes, X: NDArray[np.floating]
) -> Iterator[tuple[slice, tuple[Floats, Floats, Floats]]]:
    """Yield rows, and their responses of l_1, l_2 and l_out, in constant memory."""
    (w_2, w_3), (b_2, b_3) = stages.weights, stages.biases
    to_2, to_3 = in_whole_tiles(w_2.T), in_whole_tiles(w_3.T)
    first, second, third = (ACTIVATIONS[name] for name in stages.activations)
    for rows, tile in planes.tiles(X):
        h, n = tile[:, : len(planes)], rows.stop - rows.start
        with np.errstate(over="ignore", invalid="ignore"):
            l_1 = np.fmin(first(planes.sides(h)), LARGEST)
            l_2 = second((l_1 @ to_2)[:, : len(b_2)] + b_2)
            out = third((l_2 @ to_3)[:, : len(b_3)] + b_3)
        yield rows, (l_1[:n], l_2[:n], out[:n])


def layered_outputs(stages: Stages, planes: Hyperplanes, X: NDArray[np.floating]) -> Floats:
    """What l_out puts out (n, C), layer by layer."""
    out = np.empty((len(X), len(stages.biases[1])))
    for rows, (_, _, response) in layer_responses(stages, planes, X):
        out[rows] = response
    return out


def require_shapes(**shapes: tuple[NDArray, tuple[int, ...]]) -> None:
    """Raise a ValueError unless every array has the shape that it should have."""
    for name, (array, shape) in shapes.items():
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, not {shape}")


def require_indices(name: str, indices: NDArray, n_items: int) -> None:
    """Raise a ValueError unless all indices are those of existing items."""
    if indices.dtype.kind not in "iu" or not ((indices >= 0) & (indices < n_items)).all():
        raise ValueError(f"{name} does not number {n_items} items")


def votes(neuron_classes: NDArray[np.intp], n_classes: int) -> Floats:
    """Weights (C, D_2) of 1 from each neuron of l_2 to its class, 0 to the others."""
    return (neuron_classes == np.arange(n_classes)[:, None]).astype(np.float64)
