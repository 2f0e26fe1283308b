"""A network as affine layers with ReLU between them, which verifiers of neural networks can read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import AnyFloats, Floats
from ffmlp.model.features import Gaussianisation
from ffmlp.model.network import Network


@dataclass(frozen=True, eq=False)
class Box:
    """All inputs from ``low`` to ``high`` (N,)."""

    low: Floats
    high: Floats

    @classmethod
    def around(cls, network: Network, cells: Floats, radius: ArrayLike) -> Box:
        """The inputs of one row of validated cells (1, M), whose numbers change by up to a radius.

        The ends are float32 numbers, rounded outwards.
        """
        if len(cells) != 1:
            raise ValueError(f"x must be one sample, got {len(cells)}.")
        reach = _checked_radius(radius, cells.shape[1])[network.table.owners]
        reach = np.where(network.table.changeable(cells)[0], reach, 0.0)
        (centre,) = np.asarray(network.inputs(cells), np.float64)
        return cls(_outward(centre - reach, -np.inf), _outward(centre + reach, np.inf))


@dataclass(frozen=True, eq=False)
class ReluLayers:
    """Affine layers ``a @ weights[k] + biases[k]`` with ReLU between them.

    The largest output is that of the predicted class. The outputs are the pre-activations of l_out. The
    maps of gaussianised features are two layers of their own.
    """

    weights: tuple[AnyFloats, ...]  # of shapes (inputs, outputs)
    biases: tuple[AnyFloats, ...]

    @classmethod
    def of(cls, network: Network, box: Box | None = None) -> ReluLayers:
        """The layers of a network, or a ValueError if its design needs more than ReLU neurons.

        With a box, knots of gaussianised features outside of it are left out.
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
        layers = (first, *((weights.T, biases) for weights, biases in upper))
        if planes.gaussianisation is not None:
            maps = planes.gaussianisation if box is None else _within(planes.gaussianisation, box)
            *lower, (rises, ends) = _map_layers(maps)
            layers = (*lower, (rises @ first[0], ends @ first[0] + first[1]), *layers[1:])
        weights, biases = zip(*layers, strict=True)
        return cls(weights, biases)

    def in_float32(self) -> ReluLayers:
        """The same layers with rounded weights, or a ValueError if one of them overflows."""
        with np.errstate(over="ignore"):
            parts = [
                tuple(part.astype(np.float32) for part in own) for own in (self.weights, self.biases)
            ]
        if not all(np.isfinite(part).all() for own in parts for part in own):
            raise ValueError(
                "A weight is too large for float32. Fit to scaled features, for example with "
                "StandardScaler."
            )
        return replace(self, weights=parts[0], biases=parts[1])

    def rounding_error(self, box: Box) -> float:
        """A bound of the change of all outputs by weights in float32, for inputs in a box.

        A neuron that is silent everywhere in the box passes no error on.
        """
        rounded, low, high = self.in_float32(), box.low, box.high
        error = np.zeros(len(low))
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


def _within(maps: Gaussianisation, box: Box) -> Gaussianisation:
    """The maps with the knots in a box and the next ones on either side."""
    ends = zip(maps.knots, box.low, box.high, strict=True)
    kept = [
        slice(max(np.searchsorted(knots, low, side="right") - 1, 0), np.searchsorted(knots, high) + 1)
        for knots, low, high in ends
    ]
    knots, scores = (
        tuple(values[own] for values, own in zip(part, kept, strict=True))
        for part in (maps.knots, maps.scores)
    )
    return Gaussianisation(knots, scores)


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


def _checked_radius(radius: ArrayLike, n_columns: int) -> Floats:
    """The radius of each column."""
    values = np.asarray(radius, np.float64)
    if values.shape not in ((), (n_columns,)):
        raise ValueError(
            f"radius must be a number or have one entry for each of the {n_columns} columns, got shape "
            f"{values.shape}."
        )
    if not ((values >= 0.0) & (values < np.inf)).all():
        raise ValueError(f"radius must be finite and not negative, got {radius!r}.")
    return np.broadcast_to(values, (n_columns,))


def _outward(values: Floats, towards: float) -> Floats:
    """The nearest float32 values that are not on the inner side."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        inside = rounded < values if towards > 0 else rounded > values
        outer = np.where(inside, np.nextafter(rounded, np.float32(towards)), rounded)
    if not np.isfinite(outer).all():
        raise ValueError("The box is too large for float32. Choose a smaller radius.")
    return outer.astype(np.float64)
