"""The designed network: three layers whose every weight is known and every neuron has a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.model.hyperplanes import Hyperplanes, in_whole_tiles
from ffmlp.model.stages import ACTIVATIONS, ReadoutStages, RegionStages, Stages, softmax

Floats = NDArray[np.float64]

# A soft reading takes responses up to this: sums of larger ones would overflow, and no sample is so far.
_LARGEST = 1e150
# So that what comes between evidence and probabilities stays in the cache.
_ROWS_PER_SOFTMAX = 1 << 13


@dataclass(frozen=True, eq=False)
class Network:
    """A feedforward-designed MLP: l_in → l_1 (half-spaces) → l_2 → l_out (classes).

    It takes the features as the user gives them: ``hyperplanes.gaussianisation``, where there is one,
    maps each of them before stage 1.

    Attributes
    ----------
    hyperplanes : Hyperplanes
        The L hyperplanes behind layer l_1.
    stages : RegionStages, BlobStages or ReadoutStages
        Stages 2 and 3: what the neurons of l_2 are, by the design.
    labels : ndarray of shape (D_out,)
        The class label of each output neuron.
    blob_classes : ndarray of shape (G,)
        The class of each blob that ``hyperplanes.pairs`` names, as an index into ``labels``.
    feature_names : tuple of str
        The name of each input neuron.
    """

    hyperplanes: Hyperplanes
    stages: Stages
    labels: NDArray
    blob_classes: NDArray[np.intp]
    feature_names: tuple[str, ...]

    @property
    def layer_sizes(self) -> tuple[int, int, int, int]:
        """Neurons in each layer: (D_in, D_1, D_2, D_out)."""
        n_features = self.hyperplanes.weights.shape[1]
        n_half_spaces = len(self.hyperplanes) * (1 if self.hyperplanes.one_sided else 2)
        return n_features, n_half_spaces, len(self.stages.neuron_classes), len(self.labels)

    @property
    def kinds(self) -> tuple[str, str, str, str]:
        """What the neurons of each layer are, in the plural."""
        return "features", "half-spaces", self.stages.neurons, "classes"

    @property
    def activations(self) -> tuple[str, str, str]:
        """The activations of l_1, l_2 and l_out."""
        return self.stages.activations

    @property
    def weights(self) -> tuple[Floats, Floats, Floats]:
        """Weight matrices of the three stages, each of shape (neurons of the layer, inputs)."""
        return self.hyperplanes.sides(self.hyperplanes.weights.T).T, *self.stages.weights

    @property
    def biases(self) -> tuple[Floats, Floats, Floats]:
        """Bias vectors of the three stages."""
        return self.hyperplanes.sides(self.hyperplanes.biases[None])[0], *self.stages.biases

    def responses(self, X: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """The output of every layer: l_1 (n, D_1), l_2 (n, D_2) and l_out (n, D_out).

        Works in float64 whatever the type of X.
        """
        samples = self.hyperplanes.checked(X)
        _, *sizes = self.layer_sizes
        l_1, l_2, out = (np.empty((len(samples), size)) for size in sizes)
        for rows, responses in self._blocks(samples):
            l_1[rows], l_2[rows], out[rows] = responses
        return l_1, l_2, out

    def forward(self, X: ArrayLike) -> Floats:
        """The output of the network, shape (n, D_out), in memory that does not grow with D_1 and D_2.

        Probabilities, but for the region design: there each class has the summed responses of its
        regions, all zero in a region that no neuron covers.
        """
        return self.outputs(self.hyperplanes.checked(X))

    def outputs(self, samples: NDArray[np.floating]) -> Floats:
        """What `forward` gives, for samples that have been checked."""
        if isinstance(self.stages, ReadoutStages):
            out = self.evidence(samples)
            for start in range(0, len(out), _ROWS_PER_SOFTMAX):
                rows = slice(start, start + _ROWS_PER_SOFTMAX)
                out[rows] = softmax(out[rows])
            return out
        out = np.empty((len(samples), len(self.labels)))
        for rows, (_, _, response) in self._blocks(samples):
            out[rows] = response
        return out

    def evidence(self, samples: NDArray[np.floating], dtype: type[np.floating] = np.float64) -> NDArray:
        """What l_out takes in from a readout, shape (n, D_out), computed in the given type.

        For samples that have been checked. Opposite neurons take half the work: there are L bends
        instead of 2L neurons.

        Raises
        ------
        ValueError
            If the network is of another design, which has no evidence.
        """
        stages = self.stages
        if not isinstance(stages, ReadoutStages):
            raise ValueError(f"a network of {stages.neurons} has no evidence; one of a readout has.")
        if stages.one_sided:
            linear, even = np.zeros(0, np.intp), 2.0 * stages.temperature * stages.even
        else:
            linear = np.flatnonzero(stages.odd.any(axis=1))
            even = stages.temperature * stages.even
        odd, bias = stages.temperature * stages.odd[linear], stages.temperature * stages.bias
        # As many rows as h has columns.
        even = in_whole_tiles(even.T).T
        even, odd, bias = (in_whole_tiles(part.astype(dtype)) for part in (even, odd, bias[None]))
        bounded = self.hyperplanes.reach(samples).max(initial=0.0) <= _LARGEST
        out = np.empty((len(samples), len(self.labels)), dtype)
        for rows, h in self.hyperplanes.tiles(samples, dtype):
            lines = h[:, linear]
            bends = np.maximum(h, 0.0, out=h) if stages.one_sided else np.abs(h, out=h)
            if not bounded:
                np.nan_to_num(lines, copy=False, nan=0.0, posinf=_LARGEST, neginf=-_LARGEST)
                np.fmin(bends, _LARGEST, out=bends)
            with np.errstate(over="ignore", invalid="ignore"):
                evidence = lines @ odd
                evidence += bends @ even
                evidence += bias
            out[rows] = evidence[: rows.stop - rows.start, : len(self.labels)]
        return out

    def _blocks(self, samples: NDArray) -> Iterator[tuple[slice, tuple[Floats, Floats, Floats]]]:
        (w_2, w_3), (b_2, b_3) = self.stages.weights, self.stages.biases
        to_2, to_3 = in_whole_tiles(w_2.T), in_whole_tiles(w_3.T)
        first, second, third = (ACTIVATIONS[name] for name in self.activations)
        for rows, tile in self.hyperplanes.tiles(samples):
            h, n = tile[:, : len(self.hyperplanes)], rows.stop - rows.start
            with np.errstate(over="ignore", invalid="ignore"):
                l_1 = first(self.hyperplanes.sides(h))
                if not isinstance(self.stages, RegionStages):
                    l_1 = np.fmin(l_1, _LARGEST)
                l_2 = second((l_1 @ to_2)[:, : len(b_2)] + b_2)
                out = third((l_2 @ to_3)[:, : len(b_3)] + b_3)
            yield rows, (l_1[:n], l_2[:n], out[:n])

    def to_torch(self, dtype: Any = None) -> Any:
        """The network as a PyTorch module that gives what `forward` gives and can be trained.

        Needs the extra ``torch``.

        Parameters
        ----------
        dtype : torch.dtype, default=None
            Of the weights; PyTorch's default if None. Convert here rather than with
            ``module.double()`` later, which cannot bring back the digits that float32 has lost.

        Returns
        -------
        torch.nn.Sequential
            Layers ``gaussianise`` (where there is one), ``half_spaces``, ``regions`` (or ``blobs`` or
            ``evidence``) and ``classes``, each of the last three followed by its activation.
            `ffmlp.from_torch` makes a network of it again.
        """
        from ffmlp.export import to_torch  # it reads networks

        return to_torch(self, dtype)

    def meaning(self, layer: int, neuron: int) -> str:
        """What a neuron stands for; layer 0 is the input, layer 3 the output.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ffmlp import FFMLPClassifier
        >>> iris = load_iris()
        >>> clf = FFMLPClassifier().fit(iris.data, iris.target_names[iris.target])
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
            return f"half-space {self.half_space(neuron)}"
        if layer == 2:
            return self.stages.meaning(neuron, self)
        return f"class {self.labels[neuron]}"

    def half_space(self, neuron: int) -> str:
        """The side of a hyperplane that an l_1 neuron is active on."""
        negative, hyperplane = divmod(neuron, len(self.hyperplanes))
        threshold = self.hyperplanes.threshold(hyperplane)
        if threshold is not None:
            feature, value = threshold
            negative ^= self.hyperplanes.weights[hyperplane, feature] < 0
            return f"{self.feature_names[feature]} {'below' if negative else 'above'} {value:.4g}"
        near, far = self.hyperplanes.pairs[hyperplane][:: -1 if negative else 1]
        near_class, far_class = self.labels[self.blob_classes[[near, far]]]
        about = "about " if self.hyperplanes.one_sided else ""
        return f"{about}blob {near} ({near_class}) over blob {far} ({far_class})"
