"""A network as affine layers with ReLU between them, which verifiers of neural networks can read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ffmlp.arrays import AnyFloats, Floats
from ffmlp.inputs.features import Gaussianisation
from ffmlp.network.network import Network


@dataclass(frozen=True, eq=False)
class ReluLayers:
    """Affine layers ``a @ weights[k] + biases[k]`` with ReLU between them.

    The largest output is that of the predicted class. The outputs are the pre-activations of l_out.
    """

    weights: tuple[AnyFloats, ...]  # of shapes (inputs, outputs)
    biases: tuple[AnyFloats, ...]

    @classmethod
    def of(cls, network: Network) -> ReluLayers:
        """The whole network; the maps of gaussianised features are two layers of their own."""
        first, *upper = relu_stages(network)
        layers = [first, *upper]
        if network.hyperplanes.gaussianisation is not None:
            *lower, (rises, ends) = _map_layers(network.hyperplanes.gaussianisation)
            layers = [*lower, (rises @ first[0], ends @ first[0] + first[1]), *upper]
        return cls(*zip(*layers, strict=True))

    def in_float32(self) -> ReluLayers:
        """The same layers with rounded weights, or a ValueError if one of them overflows."""
        with np.errstate(over="ignore"):
            parts = [
                tuple(part.astype(np.float32) for part in own) for own in (self.weights, self.biases)
            ]
        if not all(np.isfinite(part).all() for own in parts for part in own):
            raise ValueError(
                "A weight is too large for float32. Fit to scaled features, for example with "
                "StandardScaler, or choose a smaller radius."
            )
        return replace(self, weights=parts[0], biases=parts[1])

    def rounding_error(self) -> float:
        """A bound of the change of all outputs by weights in float32, for inputs from -1 to 1.

        A neuron that is silent for all of them passes no error on.
        """
        rounded, n_inputs = self.in_float32(), len(self.weights[0])
        low, high, error = -np.ones(n_inputs), np.ones(n_inputs), np.zeros(n_inputs)
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


def relu_stages(network: Network) -> list[tuple[Floats, Floats]]:
    """Weights (inputs, outputs) and biases of the layers after the map of the features.

    A ValueError if the design needs more than ReLU neurons.
    """
    planes, upper = network.hyperplanes, network.stages.relu_layers
    if upper is None:
        raise ValueError(
            f"The {network.stages.design} design with {network.stages.neurons} is not a ReLU "
            'network, which verifiers need. Fit with design="readout" and max_neurons=50, with '
            'design="readout" and max_regions=0, or with design="paper".'
        )
    # `sides` gives the half-spaces of responses; those of weights and biases are the same.
    first = planes.sides(planes.weights.T), planes.sides(planes.biases[None])[0]
    return [first, *((weights.T, biases) for weights, biases in upper)]


def _map_layers(maps: Gaussianisation) -> list[tuple[Floats, Floats]]:
    """Weights and biases of three layers, ReLU between them, that are the maps of all features.

    A map rises from one knot to the next in proportion to t, which goes from 0 to 1 between them. The
    first layer computes t, the second one ``1 - relu(t)``, and ``1 - relu(1 - relu(t))`` is t clipped to
    0 and 1. So no large terms cancel, and a verifier that bounds each neuron bounds the map well.
    """
    pieces = [len(knots) - 1 for knots in maps.knots]
    own = np.repeat(np.eye(len(pieces)), pieces, axis=0)  # (pieces, N)
    runs, rises = (
        np.concatenate([np.diff(each) for each in part]) for part in (maps.knots, maps.scores)
    )
    starts = np.concatenate([knots[:-1] for knots in maps.knots])
    ends = np.array([scores[-1] for scores in maps.scores])
    return [
        ((own / runs[:, None]).T, -starts / runs),
        (-np.eye(len(runs)), np.ones(len(runs))),
        (-own * rises[:, None], ends),
    ]
