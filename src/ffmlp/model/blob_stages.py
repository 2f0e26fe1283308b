"""The blob design: a neuron of l_2 for each blob.

``softplus(-h)`` is -log of the probability that a hyperplane gives to its positive side. The neuron of a
blob sums the log-probabilities of its duels with other blobs. A softmax makes shares of these sums, and
the shares of a class add up. The lead of a class over another is their log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.model.activations import logsumexp, sigmoid, softmax, softplus
from ffmlp.model.hyperplanes import Hyperplanes, both_sides
from ffmlp.model.stages import (
    LARGEST,
    OnnxGraph,
    layered_outputs,
    require_indices,
    require_shapes,
    votes,
)
from ffmlp.words import itemised

if TYPE_CHECKING:
    from ffmlp.model.network import Network

_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class BlobStages:
    """A neuron of l_2 for each blob, which the far sides of the blob's own hyperplanes silence.

    Attributes
    ----------
    pairs : ndarray of shape (L, 2)
        The l_2 neurons of the blobs that each hyperplane separates.
    blobs : ndarray of shape (D_2,)
        The blob of each l_2 neuron.
    neuron_classes : ndarray of shape (D_2,)
        The class of each of these blobs.
    n_classes : int
        D_out.
    temperature : float
        What the log-probabilities are multiplied with.
    """

    pairs: NDArray[np.intp]
    blobs: NDArray[np.intp]
    neuron_classes: NDArray[np.intp]
    n_classes: int
    temperature: float

    design = "blob"
    neurons = "blobs"
    each_neuron = "each Gaussian blob"
    link_names = ("positive weight", "negative weight")
    activations = ("softplus", "softmax", "identity")
    linear_pieces = None

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """-temperature from the far side of own hyperplanes; 1 to the own class."""
        own = np.arange(len(self.neuron_classes))[:, None]
        far = np.hstack([own == self.pairs[:, 1], own == self.pairs[:, 0]])
        return np.where(far, -self.temperature, 0.0), votes(self.neuron_classes, self.n_classes)

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """All zero."""
        return np.zeros(len(self.neuron_classes)), np.zeros(self.n_classes)

    def meaning(self, neuron: int, network: Network) -> str:
        """The blob and its class."""
        return f"blob {self.blobs[neuron]} of class {network.labels[self.neuron_classes[neuron]]}"

    def description(self, network: Network, spreads: Floats, max_items: int) -> list[str]:
        """The duels of each blob."""

        def line(neuron: int) -> str:
            sides = [f"h{l} > 0" for l in np.flatnonzero(self.pairs[:, 0] == neuron)]
            sides += [f"h{l} < 0" for l in np.flatnonzero(self.pairs[:, 1] == neuron)]
            label = network.labels[self.neuron_classes[neuron]]
            return f"blob {self.blobs[neuron]} of {label}: {', '.join(sides)}"

        return [
            "A blob sums the log-probabilities of its duels, one for each of its hyperplanes, times",
            f"{self.temperature:.4g}; a softmax makes shares of them, and those of a class add up.",
            *itemised(len(self.blobs), max_items, line),
        ]

    def outputs(self, planes: Hyperplanes, X: NDArray[np.floating]) -> Floats:
        """The summed shares of each class's blobs."""
        return layered_outputs(self, planes, X)

    def probabilities(self, planes: Hyperplanes, X: NDArray[np.floating]) -> Floats:
        """What l_out puts out; by a rounding error, shares may add up to more than 1."""
        return np.minimum(self.outputs(planes, X), 1.0)

    def classes(self, planes: Hyperplanes, X: NDArray[np.floating]) -> NDArray[np.intp]:
        """The most probable class."""
        return self.outputs(planes, X).argmax(axis=1)

    def confidences(self, planes: Hyperplanes, X: NDArray[np.floating]) -> Floats:
        """The scores, whose softmax are the probabilities."""
        scores = np.empty((len(X), self.n_classes))
        for rows, h in planes.blocks(X):
            scores[rows] = self.scores(np.clip(np.nan_to_num(h), -LARGEST, LARGEST))
        return scores

    def places(self, planes: Hyperplanes, X: NDArray[np.floating]) -> None:
        """The design has none of its own."""
        return

    def _duels(self, h: Floats) -> Floats:
        """What the l_2 neurons take in (n, D_2)."""
        return softplus(both_sides(h)) @ self.weights[0].T

    def scores(self, h: Floats) -> Floats:
        """The log-probability of each class, but for a constant of each sample."""
        duels = self._duels(h)
        scores = np.full((len(h), self.n_classes), -np.inf)
        for label in np.unique(self.neuron_classes):
            scores[:, label] = logsumexp(duels[:, self.neuron_classes == label])
        return scores

    def slopes(self, h: Floats) -> Floats:
        """Those of each class's blobs, by their share of the class."""
        first, second = np.hsplit(self.weights[0], 2)
        each = first * sigmoid(h)[:, None] - second * sigmoid(-h)[:, None]
        duels = self._duels(h)
        slopes = np.zeros((len(h), self.n_classes, h.shape[1]))
        for label in np.unique(self.neuron_classes):
            mine = self.neuron_classes == label
            slopes[:, label] = np.einsum("nb,nbl->nl", softmax(duels[:, mine]), each[:, mine])
        return slopes

    def contributions(
        self, h: Floats, winner: NDArray[np.intp], rival: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """The duels of the strongest blob of each class; the other blobs of both are the rest."""
        l_1, duels = softplus(both_sides(h)), self._duels(h)
        lead, summands = np.zeros(len(h)), np.zeros(h.shape)
        for classes, sign in ((winner, 1.0), (rival, -1.0)):
            mine = np.where(self.neuron_classes == classes[:, None], duels, -np.inf)
            first, second = np.hsplit(l_1 * self.weights[0][mine.argmax(axis=1)], 2)
            summands += sign * (first + second)
            lead += sign * logsumexp(mine)
        return summands, lead - summands.sum(axis=1)

    def safe_distance(
        self, h: Floats, winner: NDArray[np.intp], reach: Floats, steepness: Floats
    ) -> Floats:
        """Within it, the winner leads though every hyperplane moves against it as far as it can.

        Within distance r, the winner's blobs have at least the score that they have with every
        hyperplane moved by ``r·reach_l`` against them, other blobs at most that with every one moved
        for them.
        """
        weights = self.weights[0].T
        sides, speed = both_sides(h), np.hstack([reach, reach])
        mine = self.neuron_classes == winner[:, None]

        def is_safe(radius: Floats) -> NDArray[np.bool_]:
            worst = softplus(sides + radius[:, None] * speed) @ weights
            best = softplus(sides - radius[:, None] * speed) @ weights
            own = logsumexp(np.where(mine, worst, -np.inf))
            others = [
                logsumexp(best[:, self.neuron_classes == label]) - np.where(winner == label, np.inf, 0.0)
                for label in np.unique(self.neuron_classes)
            ]
            return own > np.max(others, axis=0)

        high = 1e-6 / np.maximum(speed.max(axis=1), 1e-100)
        for _ in range(_BISECTIONS):
            growing = is_safe(high)
            if not growing.any():
                break
            high = np.where(growing, 2 * high, high)
        low = np.where(is_safe(high), high, 0.0)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            inside = is_safe(middle)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return low

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """Pairs are of blobs that have a neuron, and these of classes that there are."""
        n_neurons = (len(self.blobs),)
        require_shapes(
            pairs=(self.pairs, (len(planes), 2)), neuron_classes=(self.neuron_classes, n_neurons)
        )
        require_indices("pairs", self.pairs, len(self.blobs))
        require_indices("neuron_classes", self.neuron_classes, n_classes)

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """The layers."""
        (w_2, w_3), (b_2, b_3) = self.weights, self.biases
        l_2 = graph.apply("Gemm", _onnx_softplus_of_sides(graph, h), w_2, b_2, transB=1)
        share = graph.apply("Gemm", graph.apply("Softmax", l_2, axis=1), w_3, b_3, transB=1)
        return graph.apply("ArgMax", share, axis=1, keepdims=0), share


def _onnx_softplus_of_sides(graph: OnnxGraph, h: str) -> str:
    """The softplus of h and of -h, which bend by the same.

    Without the operator of this name, which runtimes lack for float64.
    """
    small = graph.apply("Exp", graph.apply("Neg", graph.apply("Abs", h)))
    bend = graph.apply("Log", graph.apply("Add", small, np.array(1.0)))
    sides = (graph.apply("Relu", side) for side in (h, graph.apply("Neg", h)))
    return graph.apply("Concat", *(graph.apply("Add", side, bend) for side in sides), axis=1)
