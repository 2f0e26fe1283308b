"""Stages 2 and 3 of each design: what the neurons of l_2 are, and how l_out reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ffmlp.model.network import Network

Floats = NDArray[np.float64]


def _softplus(z: Floats) -> Floats:
    """What np.logaddexp(z, 0) gives, in a third of the time."""
    bend = np.abs(z)
    np.log1p(np.exp(np.negative(bend, out=bend), out=bend), out=bend)
    bend += np.maximum(z, 0.0)
    return bend


def softmax(z: Floats) -> Floats:
    """What scipy.special.softmax(z, axis=1) gives, which takes a tenth of a second to import."""
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "softplus": _softplus,
    "softmax": softmax,
}


class Stages(Protocol):
    """What a design makes of layer l_1: stages 2 and 3, as a network reads them."""

    @property
    def activations(self) -> tuple[str, str, str]:
        """The activations of l_1, l_2 and l_out, as names in `ACTIVATIONS`."""

    @property
    def neurons(self) -> str:
        """What the neurons of l_2 are, in the plural."""

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


@dataclass(frozen=True, eq=False)
class RegionStages:
    """The paper's design: an l_2 neuron for each occupied region, which votes for its majority class.

    The weights follow from codes and classes: they are made when they are asked for and cost no
    memory before.

    Attributes
    ----------
    codes : ndarray of bool, shape (D_2, L)
        The side of each hyperplane on which each region lies.
    neuron_classes : ndarray of shape (D_2,)
        The class each region votes for.
    n_classes : int
        D_out.
    penalty : float
        P: the weight from a half-space to a region outside of it is -P.
    """

    codes: NDArray[np.bool_]
    neuron_classes: NDArray[np.intp]
    n_classes: int
    penalty: float

    activations = ("relu", "relu", "identity")
    neurons = "regions"

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """1 from own half-spaces and -P from others; 1 to the own class and 0 to others."""
        own = np.hstack([self.codes, ~self.codes])
        votes = self.neuron_classes == np.arange(self.n_classes)[:, None]
        return np.where(own, 1.0, -float(self.penalty)), votes.astype(np.float64)

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """All zero."""
        return np.zeros(len(self.codes)), np.zeros(self.n_classes)

    def meaning(self, neuron: int, network: Network) -> str:
        """The class and the half-spaces of a region."""
        n_hyperplanes = self.codes.shape[1]
        sides = np.where(self.codes[neuron], 0, n_hyperplanes) + np.arange(n_hyperplanes)
        where = " and ".join(network.half_space(side) for side in sides)
        return f"region of class {network.labels[self.neuron_classes[neuron]]}: {where}"


@dataclass(frozen=True, eq=False)
class BlobStages:
    """An l_2 neuron for each blob, which is silenced by the far sides of the blob's own hyperplanes.

    ``softplus(-h)`` is -log of the probability that the hyperplane gives to its positive side, so the
    l_2 neuron of a blob sums the log-probabilities of its duels; a softmax makes them shares, and
    those of a class add up.

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

    activations = ("softplus", "softmax", "identity")
    neurons = "blobs"

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """-temperature from the far side of own hyperplanes; 1 to the own class."""
        own = np.arange(len(self.neuron_classes))[:, None]
        far = np.hstack([own == self.pairs[:, 1], own == self.pairs[:, 0]])
        votes = self.neuron_classes == np.arange(self.n_classes)[:, None]
        return np.where(far, -self.temperature, 0.0), votes.astype(np.float64)

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """All zero."""
        return np.zeros(len(self.neuron_classes)), np.zeros(self.n_classes)

    def meaning(self, neuron: int, network: Network) -> str:
        """The blob and its class."""
        return f"blob {self.blobs[neuron]} of class {network.labels[self.neuron_classes[neuron]]}"


@dataclass(frozen=True, eq=False)
class ReadoutStages:
    """An l_2 neuron for the evidence of each class, read out of l_1 by least squares.

    Attributes
    ----------
    even, odd : ndarray of shape (L, C)
        The evidence is ``|h| @ even + h @ odd + bias``: weights even + odd from the neurons of h and
        even - odd from those of -h.
    bias : ndarray of shape (C,)
        Evidence for each class where every l_1 neuron is silent.
    temperature : float
        The weight of stage 3, from the evidence of a class to the class.
    one_sided : bool
        Whether l_1 has no neurons of -h. Then even and odd are equal.
    """

    even: Floats
    odd: Floats
    bias: Floats
    temperature: float
    one_sided: bool = False

    activations = ("relu", "identity", "softmax")
    neurons = "evidence"

    @property
    def neuron_classes(self) -> NDArray[np.intp]:
        """Each class has its own."""
        return np.arange(len(self.bias))

    @property
    def readout(self) -> Floats:
        """The weights from h and -h to the evidence, shape (C, 2L)."""
        return np.hstack([(self.even + self.odd).T, (self.even - self.odd).T])

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """The readout; the temperature on the diagonal."""
        there = self.readout[:, : len(self.even)] if self.one_sided else self.readout
        return there, self.temperature * np.eye(len(self.bias))

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """The bias of the readout; zero."""
        return self.bias, np.zeros(len(self.bias))

    def meaning(self, neuron: int, network: Network) -> str:
        """The class."""
        return f"evidence for class {network.labels[neuron]}"


@dataclass(frozen=True, eq=False)
class TrainedStages:
    """Stages 2 and 3 as training has left them: any weights, on the neurons of a design.

    Attributes
    ----------
    weights, biases : tuples of two ndarrays
        In the form of `Stages.weights` and `Stages.biases`.
    activations : tuple of str
        The design's.
    neurons : str
        What the neurons of l_2 were in the design.
    neuron_classes : ndarray of shape (D_2,)
        The class to which each of them has its largest weight.
    """

    weights: tuple[Floats, Floats]
    biases: tuple[Floats, Floats]
    activations: tuple[str, str, str]
    neurons: str
    neuron_classes: NDArray[np.intp]

    def meaning(self, neuron: int, network: Network) -> str:
        """The class that it speaks for most; what training has made of it has no name."""
        label = network.labels[self.neuron_classes[neuron]]
        return f"trained neuron {neuron} of {self.neurons}, most for class {label}"
