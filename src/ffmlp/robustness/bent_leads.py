"""Leads of one class over another as piecewise linear functions of the hyperplanes' input."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ffmlp.arrays import Flags, Floats
from ffmlp.model.network import Network
from ffmlp.model.readout_stages import ReadoutStages


@dataclass(frozen=True, eq=False)
class BentLead:
    """The lead ``slope·z + offset + Σ_l bends_l·max(0, weights_l·z + biases_l)`` at z (N,)."""

    slope: Floats
    offset: float
    weights: Floats  # (L, N)
    biases: Floats  # (L,)
    bends: Floats  # (L,)

    def at(self, z: Floats) -> float:
        """The lead at z (N,)."""
        return float(self.slope @ z + self.offset + self.bends @ np.maximum(self.responses(z), 0.0))

    def responses(self, z: Floats) -> Floats:
        """The responses (L,) whose positive parts bend the lead."""
        return self.weights @ z + self.biases

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the largest response (L,) in a box."""
        middle, half = (low + high) / 2, (high - low) / 2
        centre, reach = self.responses(middle), np.abs(self.weights) @ half
        return centre - reach, centre + reach

    def where(self, positive: Flags, bent: Flags) -> BentLead:
        """The lead where the responses ``positive`` (L,) are so; of the others only ``bent`` count."""
        sure = np.where(positive & ~bent, self.bends, 0.0)
        return BentLead(
            self.slope + sure @ self.weights,
            self.offset + float(sure @ self.biases),
            self.weights[bent],
            self.biases[bent],
            self.bends[bent],
        )

    def by_steps(self, start: Floats, unit: Floats) -> BentLead:
        """The lead as a function of steps v (N,), with z = start + unit·v."""
        return replace(
            self,
            slope=self.slope * unit,
            offset=self.offset + float(self.slope @ start),
            weights=self.weights * unit,
            biases=self.responses(start),
        )


def has_bent_leads(network: Network) -> bool:
    """Whether all leads of a network are piecewise linear with one bend for each hyperplane."""
    return isinstance(network.stages, ReadoutStages) and network.stages.trees is None


def bent_lead(network: Network, winner: int, rival: int) -> BentLead:
    """The lead of one class over another, for networks that have such leads."""
    planes, stages = network.hyperplanes, network.stages
    assert isinstance(stages, ReadoutStages)
    even, odd, bias = (
        stages.temperature * (part[..., winner] - part[..., rival])
        for part in (stages.even, stages.odd, stages.bias)
    )
    # even·|h| + odd·h = 2·even·max(0, h) + (odd − even)·h
    straight = odd - even
    return BentLead(
        straight @ planes.weights,
        float(bias + straight @ planes.biases),
        planes.weights,
        planes.biases,
        2.0 * even,
    )
