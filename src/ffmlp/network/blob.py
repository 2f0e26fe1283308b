"""The blob design: layer l_2 has one neuron per blob.

``-softplus(-h)`` is the log-probability that a hyperplane gives to its positive side. A blob's score is
the sum of its log-probabilities against other blobs. A softmax turns scores into shares; the shares of a
class add up to its probability. The lead of one class over another is their log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ffmlp.arrays import AnyFloats, Below, Flags, Floats, Indices, Shape
from ffmlp.network.hyperplanes import Hyperplanes, both_sides, logsumexp, sigmoid, softmax, softplus
from ffmlp.network.stages import (
    LARGEST,
    Bends,
    OnnxGraph,
    Stages,
    require_indices,
    require_shapes,
    votes,
)
from ffmlp.words import itemised

if TYPE_CHECKING:
    from ffmlp.network.network import Network

_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class BlobStages(Stages):
    """One l_2 neuron per blob; the far sides of the blob's own hyperplanes inhibit it.

    ``pairs`` are the neurons of the blobs that each hyperplane separates, ``blobs`` and
    ``neuron_classes`` the blob and the class of each neuron. The temperature is a factor of the
    log-probabilities.
    """

    pairs: Annotated[Indices, Shape("L", 2), Below("D")]
    blobs: Annotated[Indices, Shape("D"), Below("G")]
    neuron_classes: Annotated[Indices, Shape("D"), Below("C")]
    n_classes: int
    temperature: float

    design = "blob"
    neurons = "blobs"
    each_neuron = "each Gaussian blob"
    activations = ("softplus", "softmax", "identity")

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """-temperature from the far sides of a blob's hyperplanes; 1 to its class."""
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
        """The half-spaces of each blob."""

        def line(neuron: int) -> str:
            sides = [f"h{l} > 0" for l in np.flatnonzero(self.pairs[:, 0] == neuron)]
            sides += [f"h{l} < 0" for l in np.flatnonzero(self.pairs[:, 1] == neuron)]
            label = network.labels[self.neuron_classes[neuron]]
            return f"blob {self.blobs[neuron]} of {label}: {', '.join(sides)}"

        return [
            "The score of a blob is the sum of its log-probabilities, one per half-space, times",
            f"{self.temperature:.4g}. A softmax turns scores into shares; those of a class add up.",
            *itemised(len(self.blobs), max_items, line),
        ]

    def confidences(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The scores; their softmax is the probabilities."""
        scores = np.empty((len(X), self.n_classes))
        for rows, h in planes.blocks(X):
            scores[rows] = self.scores(np.clip(np.nan_to_num(h), -LARGEST, LARGEST))
        return scores

    def _blob_scores(self, h: Floats) -> Floats:
        """The score (n, D_2) of each blob: the pre-activation of its l_2 neuron."""
        return softplus(both_sides(h)) @ self.weights[0].T

    def scores(self, h: Floats) -> Floats:
        """The log-probability of each class, up to a constant per sample."""
        blob_scores = self._blob_scores(h)
        scores = np.full((len(h), self.n_classes), -np.inf)
        for label in np.unique(self.neuron_classes):
            scores[:, label] = logsumexp(blob_scores[:, self.neuron_classes == label])
        return scores

    def slopes(self, h: Floats) -> Floats:
        """The mean slope of each class's blobs, weighted by their shares of the class."""
        first, second = np.hsplit(self.weights[0], 2)
        above, below, blob_scores = sigmoid(h), sigmoid(-h), self._blob_scores(h)
        slopes = np.zeros((len(h), self.n_classes, h.shape[1]))
        for label in np.unique(self.neuron_classes):
            mine = self.neuron_classes == label
            share = softmax(blob_scores[:, mine])
            slopes[:, label] = share @ first[mine] * above - share @ second[mine] * below
        return slopes

    def safe_distance(self, h: Floats, winner: Indices, reach: Floats, steepness: Floats) -> Floats:
        """Within it, the winner leads even if every response moves against it as far as it can.

        Within distance r, the score of a winner's blob is at least that with every response moved by
        ``r·reach_l`` against it. The score of another blob is at most that with every response moved in
        its favour.
        """
        weights = self.weights[0].T
        sides, speed = both_sides(h), np.hstack([reach, reach])
        mine = self.neuron_classes == winner[:, None]

        def is_safe(radius: Floats) -> Flags:
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

    def bends(self, winner: int, rival: int) -> Bends | None:
        """The lead, as ``softplus(−h) = softplus(h) − h``; None if a class has several blobs."""
        if len(np.unique(self.neuron_classes)) < len(self.neuron_classes):
            return None
        mine, other = (np.argmax(self.neuron_classes == label) for label in (winner, rival))
        first, second = np.split(self.weights[0][mine] - self.weights[0][other], 2)
        return Bends(-second, 0.0, first + second, soft=True)

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """Pairs must name neurons of l_2, and these must name classes."""
        require_shapes(pairs=(self.pairs, (len(planes), 2)))
        require_shapes(neuron_classes=(self.neuron_classes, (len(self.blobs),)))
        require_indices("pairs", self.pairs, len(self.blobs))
        if len(self.blobs) > self.pairs.size:
            raise ValueError("a blob has no hyperplane")
        require_indices("neuron_classes", self.neuron_classes, n_classes)
        if self.n_classes != n_classes or not 0.0 < self.temperature < np.inf:
            raise ValueError("the temperature must be positive, and the classes must be the network's")

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """Add the layers as they are."""
        (w_2, w_3), (b_2, b_3) = self.weights, self.biases
        # The softplus of h and of -h exceed their ReLU by the same amount. The operator Softplus is not
        # used because runtimes lack it for float64.
        small = graph.apply("Exp", graph.apply("Neg", graph.apply("Abs", h)))
        bend = graph.apply("Log", graph.apply("Add", small, np.array(1.0)))
        sides = (graph.apply("Relu", side) for side in (h, graph.apply("Neg", h)))
        l_1 = graph.apply("Concat", *(graph.apply("Add", side, bend) for side in sides), axis=1)
        l_2 = graph.apply("Gemm", l_1, w_2, b_2, transB=1)
        share = graph.apply("Gemm", graph.apply("Softmax", l_2, axis=1), w_3, b_3, transB=1)
        return graph.apply("ArgMax", share, axis=1, keepdims=0), share
