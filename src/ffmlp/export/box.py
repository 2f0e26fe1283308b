"""The neighbourhood of a sample, about which verifiers are asked, and the network within it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.export.relu_layers import ReluLayers, relu_stages
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network


@dataclass(frozen=True, eq=False)
class Box:
    """All inputs from ``low`` to ``high`` (N,), as steps from -1 to 1.

    Each input moves on its own, and the map of a gaussianised one never falls and has no jumps. So the
    input of the hyperplanes takes the values ``middle + half * steps``: all of these and no others.
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
