"""A network as affine layers with ReLU between them, which verifiers of neural networks can read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.model.features import Gaussianisation
from ffmlp.model.network import Network


@dataclass(frozen=True, eq=False)
class ReluLayers:
    """Affine layers ``a @ weights[k] + biases[k]`` with ReLU between them.

    The largest output is that of the predicted class. The outputs are the pre-activations of l_out. The
    map of gaussianised features is a layer of its own, with one neuron for each knot and one more.
    """

    weights: tuple[Floats, ...]  # of shapes (inputs, outputs)
    biases: tuple[Floats, ...]

    @classmethod
    def of(cls, network: Network) -> ReluLayers:
        """The layers of a network, or a ValueError if its design needs more than ReLU neurons."""
        planes, upper = network.hyperplanes, network.stages.relu_layers
        if upper is None:
            raise ValueError(
                f"The {network.stages.design} design with {network.stages.neurons} is not a ReLU "
                'network, which verifiers need. Fit with design="readout" and max_neurons=50, with '
                'design="readout" and max_regions=0, or with design="paper".'
            )
        # `sides` gives the half-spaces of responses; those of weights and biases are the same.
        first = planes.sides(planes.weights.T), planes.sides(planes.biases[None])[0]
        layers = (first, *((weights.T, biases) for weights, biases in upper))
        if planes.gaussianisation is not None:
            knots, (mixed, offsets) = _knot_layer(planes.gaussianisation), first
            layers = (knots[0], (knots[1][0] @ mixed, knots[1][1] @ mixed + offsets), *layers[1:])
        weights, biases = zip(*layers, strict=True)
        return cls(weights, biases)

    def in_float32(self) -> ReluLayers:
        """The same layers with rounded weights, or a ValueError if one of them overflows."""
        with np.errstate(over="ignore"):
            parts = [tuple(part.astype(np.float32) for part in own) for own in (self.weights, self.biases)]
        if not all(np.isfinite(part).all() for own in parts for part in own):
            raise ValueError(
                "A weight is too large for float32. Fit to scaled features, for example with "
                "StandardScaler."
            )
        return replace(self, weights=parts[0], biases=parts[1])

    def rounding_error(self, low: Floats, high: Floats) -> float:
        """A bound of the change of all outputs by weights in float32, for inputs from low to high (N,).

        A neuron that is silent everywhere in the box passes no error on.
        """
        rounded, error = self.in_float32(), np.zeros(len(low))
        for layer, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer:
                error = np.where(high + error > 0, error, 0.0)
                low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
            changed = np.abs(rounded.weights[layer] - weights)
            error = error @ np.abs(rounded.weights[layer]) + np.maximum(-low, high) @ changed
            error += np.abs(rounded.biases[layer] - biases)
            middle, reach = 0.5 * (low + high) @ weights + biases, 0.5 * (high - low) @ np.abs(weights)
            low, high = middle - reach, middle + reach
        return float(error.max())


def _knot_layer(maps: Gaussianisation) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Weights and biases before and after the ReLU of all knots: together the maps of the features.

    From its middle knot on, the slope of a map changes by a ReLU at each knot, to the right and to the
    left. So terms that cancel are large far from the middle only, where samples are few.
    """
    n_features, (before, biases, after) = len(maps.knots), ([], [], [])
    offsets = np.zeros(n_features)
    for feature, (knots, scores) in enumerate(zip(maps.knots, maps.scores, strict=True)):
        slopes = np.concatenate([[0.0], np.diff(scores) / np.diff(knots), [0.0]])
        bends, middle = np.diff(slopes), len(knots) // 2
        left, right = bends[: middle + 1].copy(), bends[middle:].copy()
        # The slope right of the middle knot is the one from which both sides start.
        left[-1], right[0] = left[-1] - slopes[middle + 1], slopes[middle + 1]
        signs = np.repeat([-1.0, 1.0], [len(left), len(right)])
        places = np.concatenate([knots[: middle + 1], knots[middle:]])
        own = np.eye(n_features)[feature]
        before.append(signs[:, None] * own)
        biases.append(-signs * places)
        after.append(np.concatenate([left, right])[:, None] * own)
        offsets[feature] = scores[middle]
    return (np.vstack(before).T, np.concatenate(biases)), (np.vstack(after), offsets)
