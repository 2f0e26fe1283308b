"""What verifiers of networks read: ReLU layers, the box around a sample, and the claim about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import AnyFloats, Floats
from ffmlp.inputs.features import Gaussianisation
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network


@dataclass(frozen=True, eq=False)
class ReluLayers:
    """Affine layers ``a @ weights[k] + biases[k]`` with ReLU between them.

    The predicted class has the largest output. The outputs are the pre-activations of l_out.
    """

    weights: tuple[AnyFloats, ...]  # of shapes (inputs, outputs)
    biases: tuple[AnyFloats, ...]

    @classmethod
    def of(cls, network: Network) -> ReluLayers:
        """The whole network; the maps of gaussianised features are two more layers."""
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
                tuple(part.astype(np.float32) for part in layers)
                for layers in (self.weights, self.biases)
            ]
        if not all(np.isfinite(part).all() for layers in parts for part in layers):
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
            'design="readout" and max_leaves=0, or with design="paper".'
        )
    # `sides` gives the half-spaces of responses; weights and biases have the same ones.
    first = planes.sides(planes.weights.T), planes.sides(planes.biases[None])[0]
    return [first, *((weights.T, biases) for weights, biases in upper)]


def _map_layers(maps: Gaussianisation) -> list[tuple[Floats, Floats]]:
    """Weights and biases of three layers, ReLU between them, that are the maps of all features.

    A map rises from one knot to the next in proportion to t, which goes from 0 to 1 between them. The
    first layer computes t, the second one ``1 - relu(t)``, and ``1 - relu(1 - relu(t))`` is t clipped to
    0 and 1. So no large terms cancel, and a verifier that bounds each neuron bounds the map well.
    """
    pieces = [len(knots) - 1 for knots in maps.knots]
    features = np.repeat(np.eye(len(pieces)), pieces, axis=0)  # (pieces, N)
    runs, rises = (
        np.concatenate([np.diff(each) for each in part]) for part in (maps.knots, maps.scores)
    )
    starts = np.concatenate([knots[:-1] for knots in maps.knots])
    ends = np.array([scores[-1] for scores in maps.scores])
    return [
        ((features / runs[:, None]).T, -starts / runs),
        (-np.eye(len(runs)), np.ones(len(runs))),
        (-features * rises[:, None], ends),
    ]


@dataclass(frozen=True, eq=False)
class Box:
    """All inputs from ``low`` to ``high`` (N,), as steps from -1 to 1.

    Each input moves independently, and the map of a gaussianised one never falls and has no jumps. So
    the input of the hyperplanes takes the values ``middle + half * steps``: all of these and no others.
    """

    low: Floats
    high: Floats
    middle: Floats  # (N,)
    half: Floats  # (N,)

    @classmethod
    def around(cls, network: Network, cells: Floats, radius: ArrayLike) -> Box:
        """The inputs of one row of validated cells (1, M), whose numbers change by up to a radius."""
        if len(cells) != 1:
            raise ValueError(f"x must be one sample, got {len(cells)}.")
        reach = _checked_radius(radius, cells.shape[1])[network.table.owners]
        reach = np.where(network.table.changeable(cells)[0], reach, 0.0)
        (centre,) = np.asarray(network.inputs(cells), np.float64)
        with np.errstate(over="ignore"):
            low, high = centre - reach, centre + reach
        if not np.isfinite([low, high]).all():
            raise ValueError("The box is too large for floating-point numbers. Choose a smaller radius.")
        if network.hyperplanes.gaussianisation is None:
            return cls(low, high, centre, reach)
        least, most = network.hyperplanes.mapped(np.stack([low, high]))
        return cls(low, high, (least + most) / 2, (most - least) / 2)

    def inputs(self, planes: Hyperplanes, steps: Floats) -> Floats:
        """The network's inputs (n, N) at steps (n, N)."""
        return np.clip(planes.unmapped(self.middle + self.half * steps), self.low, self.high)

    def layers(self, network: Network) -> ReluLayers:
        """The network as a function of steps from -1 to 1.

        Neurons of l_1 that are silent in the whole box are left out. What the next layer gets from those
        that respond in the whole box is linear, so that the steps themselves pass l_1 instead: as
        ``relu(1 + steps)``. Large terms that cancel are thereby added in float64.
        """
        (weights, biases), (readout, offsets), *others = relu_stages(network)
        with np.errstate(over="ignore", invalid="ignore"):
            biases = self.middle @ weights + biases
            weights = self.half[:, None] * weights
        reach = np.abs(weights).sum(axis=0)
        responding, bent = biases >= reach, np.abs(biases) < reach
        slopes = weights[:, responding] @ readout[responding]
        offsets = offsets + biases[responding] @ readout[responding] - slopes.sum(axis=0)
        n_inputs = len(weights)
        layers = (
            (
                np.hstack([np.eye(n_inputs), weights[:, bent]]),
                np.concatenate([np.ones(n_inputs), biases[bent]]),
            ),
            (np.vstack([slopes, readout[bent]]), offsets),
            *others,
        )
        return ReluLayers(*zip(*layers, strict=True))


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


# The printed error has two digits; this covers what they round off.
_ROUNDED_UP = 1.1


def to_vnnlib(network: Network, cells: Floats, radius: ArrayLike) -> str:
    """The property of one row of validated cells (1, M): see `FFMLPClassifier.to_vnnlib`."""
    box, samples = Box.around(network, cells, radius), np.asarray(network.inputs(cells), np.float64)
    error = box.layers(network).rounding_error()
    scores = network.stages.scores(network.hyperplanes.signed_responses(samples))[0]
    winner = int(network.classes(samples)[0])
    rivals = [label for label in np.flatnonzero(np.isfinite(scores)).tolist() if label != winner]
    lead = scores[winner] - scores[rivals].max(initial=-np.inf)
    ends = (("-1.0", "1.0") if half else ("0.0", "0.0") for half in box.half)
    bounds = [
        line
        for number, (low, high) in enumerate(ends)
        for line in (f"(assert (>= X_{number} {low}))", f"(assert (<= X_{number} {high}))")
    ]
    inputs, outputs = _steps(network, box), map(_one_line, network.labels)
    return "\n".join([
        f"; Is the class {_one_line(network.labels[winner])} for every input in a box? unsat: it is.",
        "; sat: an input of another class, or a tie. The network is to_relu_onnx(x, radius).",
        f"; At x, Y_{winner} leads by {lead:.4g}. In the box, weights in float32 change the outputs by",
        f"; at most {_ROUNDED_UP * error:.1e}. Inputs are steps within the box:",
        "",
        *(f"(declare-const X_{number} Real) ; {text}" for number, text in enumerate(inputs)),
        *(f"(declare-const Y_{number} Real) ; {name}" for number, name in enumerate(outputs)),
        "",
        *bounds,
        "",
        "(assert (or",
        *(f"    (and (>= Y_{rival} Y_{winner}))" for rival in rivals),
        "))",
        "",
    ])  # fmt: skip


def _steps(network: Network, box: Box) -> Iterator[str]:
    """What each step stands for."""
    is_mapped = network.hyperplanes.gaussianisation is not None
    ends = (part.tolist() for part in (box.low, box.high, box.middle, box.half))
    parts = zip(map(_one_line, network.feature_names), *ends, strict=True)
    for number, (name, low, high, middle, half) in enumerate(parts):
        subject = f"{name} from {low} to {high}, score" if is_mapped else name
        yield f"{subject} = {middle} + {half} * X_{number}"


def _one_line(name: object) -> str:
    return " ".join(str(name).split())
