"""The designed network: three layers whose every weight is known and every neuron has a meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.hyperplanes import ROWS_PER_PRODUCT, Hyperplanes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Network:
    """A feedforward-designed MLP: l_in → l_1 (half-spaces) → l_2 (regions) → l_out (classes).

    It takes the features as the user gives them. Stages 2 and 3 follow from codes and classes, so
    their weight matrices are made when they are asked for and cost no memory before.

    Attributes
    ----------
    hyperplanes : Hyperplanes
        The L hyperplanes behind layer l_1.
    codes : ndarray of bool, shape (D_2, L)
        The side of each hyperplane on which the region of each l_2 neuron lies.
    region_classes : ndarray of shape (D_2,)
        The class each l_2 neuron votes for, as an index into ``labels``.
    labels : ndarray of shape (D_out,)
        The class label of each output neuron.
    blob_classes : ndarray of shape (G,)
        The class of each blob that ``hyperplanes.pairs`` names, as an index into ``labels``.
    feature_names : tuple of str
        The name of each input neuron.
    penalty : float
        P: the weight from a half-space to a region outside of it is -P.
    """

    hyperplanes: Hyperplanes
    codes: NDArray[np.bool_]
    region_classes: NDArray[np.intp]
    labels: NDArray
    blob_classes: NDArray[np.intp]
    feature_names: tuple[str, ...]
    penalty: float

    @property
    def layer_sizes(self) -> tuple[int, int, int, int]:
        """Neurons in each layer: (D_in, D_1, D_2, D_out)."""
        n_hyperplanes, n_features = self.hyperplanes.weights.shape
        return n_features, 2 * n_hyperplanes, len(self.codes), len(self.labels)

    @property
    def weights(self) -> tuple[Floats, Floats, Floats]:
        """Weight matrices of the three stages, each of shape (neurons of the layer, inputs)."""
        own = np.hstack([self.codes, ~self.codes])
        votes = self.region_classes == np.arange(len(self.labels))[:, None]
        normals = self.hyperplanes.weights
        return (
            np.vstack([normals, -normals]),
            np.where(own, 1.0, -float(self.penalty)),
            votes.astype(np.float64),
        )

    @property
    def biases(self) -> tuple[Floats, Floats, Floats]:
        """Bias vectors of the three stages; those of stages 2 and 3 are zero."""
        offsets = self.hyperplanes.biases
        return (
            np.concatenate([offsets, -offsets]),
            np.zeros(len(self.codes)),
            np.zeros(len(self.labels)),
        )

    def responses(self, X: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """The output of every layer: l_1 (n, D_1) and l_2 (n, D_2) after ReLU, l_out (n, D_out).

        Works in float64 whatever the type of X.
        """
        samples = self.hyperplanes.checked(X)
        _, d_1, d_2, d_out = self.layer_sizes
        layers = (
            np.empty((len(samples), d_1)),
            np.empty((len(samples), d_2)),
            np.empty((len(samples), d_out)),
        )
        _, region_weights, class_weights = self.weights
        # Fixed product shapes: a sample's response does not depend on the other samples.
        padded = np.zeros((ROWS_PER_PRODUCT, d_1))
        for rows, h in self.hyperplanes.blocks(samples):
            padded[: len(h)] = np.hstack([np.maximum(h, 0.0), np.maximum(-h, 0.0)])
            with np.errstate(over="ignore", invalid="ignore"):
                inside = np.maximum(padded @ region_weights.T, 0.0)
                votes = inside @ class_weights.T
            for layer, response in zip(layers, (padded, inside, votes), strict=True):
                layer[rows] = response[: len(h)]
        return layers

    def forward(self, X: ArrayLike) -> Floats:
        """The output of the network, shape (n, D_out): all zero in a region that no neuron covers."""
        return self.responses(X)[-1]

    def meaning(self, layer: int, neuron: int) -> str:
        """What a neuron stands for; layer 0 is the input, layer 3 the output.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ffmlp import FFMLPClassifier
        >>> iris = load_iris()
        >>> clf = FFMLPClassifier(random_state=0).fit(iris.data, iris.target_names[iris.target])
        >>> clf.network_.meaning(3, 0)
        'class setosa'
        """
        sizes = self.layer_sizes
        if not 0 <= layer < len(sizes):
            raise ValueError(f"layer must be 0, 1, 2 or 3, got {layer!r}.")
        if not 0 <= neuron < sizes[layer]:
            raise ValueError(f"layer {layer} has neurons 0 to {sizes[layer] - 1}, got {neuron!r}.")
        if layer == 0:
            return f"feature {self.feature_names[neuron]}"
        if layer == 1:
            return f"half-space {self._half_space(neuron)}"
        if layer == 2:
            n_hyperplanes = len(self.hyperplanes)
            sides = np.where(self.codes[neuron], 0, n_hyperplanes) + np.arange(n_hyperplanes)
            where = " and ".join(self._half_space(side) for side in sides)
            return f"region of class {self.labels[self.region_classes[neuron]]}: {where}"
        return f"class {self.labels[neuron]}"

    def _half_space(self, neuron: int) -> str:
        """The side of a hyperplane that an l_1 neuron is active on."""
        negative, hyperplane = divmod(neuron, len(self.hyperplanes))
        near, far = self.hyperplanes.pairs[hyperplane][:: -1 if negative else 1]
        near_class, far_class = self.labels[self.blob_classes[[near, far]]]
        return f"blob {near} ({near_class}) over blob {far} ({far_class})"
