"""Leads of one class over another as piecewise linear functions of the hyperplanes' input."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ffmlp.arrays import Flags, Floats
from ffmlp.network.activations import sigmoid, softplus
from ffmlp.network.network import Network

# Responses at which softplus is exact at first, and beyond which it is a line.
_KNOTS = np.array([-6.0, -3.0, -1.5, 0.0, 1.5, 3.0, 6.0])
_SATURATED = 25.0


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

    def bend(self, responses: Floats) -> Floats:
        """What each response adds to the lead, without its factor."""
        return np.maximum(responses, 0.0)

    def bend_slope(self, responses: Floats) -> Floats:
        """The slope of `bend`."""
        return (responses > 0).astype(np.float64)

    def cut(self, response: float, least: float, most: float) -> float:
        """Where to divide the interval of a response, so that chords of `bend` come nearer to it."""
        return 0.0

    def responses(self, z: Floats) -> Floats:
        """The responses (L,) whose positive parts bend the lead."""
        return self.weights @ z + self.biases

    def below(self, marks: Floats) -> BentLead:
        """A lead of bends that is nowhere larger: this one."""
        return self

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


@dataclass(frozen=True, eq=False)
class SoftLead(BentLead):
    """The same with softplus, ``log(1 + exp(h))``, instead of ``max(0, h)``."""

    def at(self, z: Floats) -> float:
        """The lead at z (N,)."""
        return float(self.slope @ z + self.offset + self.bends @ softplus(self.responses(z)))

    def bend(self, responses: Floats) -> Floats:
        """What each response adds to the lead, without its factor."""
        return softplus(responses)

    def bend_slope(self, responses: Floats) -> Floats:
        """The slope of `bend`."""
        return sigmoid(responses)

    def cut(self, response: float, least: float, most: float) -> float:
        """Where to divide the interval of a response, so that chords of `bend` come nearer to it."""
        margin = 0.1 * (most - least)
        return float(np.clip(response, least + margin, most - margin))

    def below(self, marks: Floats) -> BentLead:
        """A lead that is nowhere larger, and equal where all responses are among marks (k, L).

        A bend that raises the lead is replaced by tangents, one that lowers it by chords.
        """
        base, offset = self.slope, self.offset
        # Start with none, for a lead without bends.
        weights, biases, bends = [self.weights[:0]], [self.biases[:0]], [self.bends[:0]]
        for l in np.flatnonzero(self.bends):
            knots = np.unique(np.clip(np.append(_KNOTS, marks[:, l]), -_SATURATED, _SATURATED).round(5))
            corners, turns, value, slope = (_tangents if self.bends[l] > 0 else _chords)(knots)
            # The first line is value + slope·h.
            base = base + self.bends[l] * slope * self.weights[l]
            offset += self.bends[l] * (value + slope * self.biases[l])
            weights.append(np.tile(self.weights[l], (len(corners), 1)))
            biases.append(self.biases[l] - corners)
            bends.append(self.bends[l] * turns)
        parts = (np.concatenate(part) for part in (weights, biases, bends))
        return BentLead(base, offset, *parts)


def _chords(knots: Floats) -> tuple[Floats, Floats, float, float]:
    """Corners and turns of a polyline that is nowhere below softplus; value and slope of its start."""
    values = softplus(knots)
    slopes = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [1.0]])
    return knots, np.diff(slopes), float(values[0]), 0.0


def _tangents(knots: Floats) -> tuple[Floats, Floats, float, float]:
    """The same for a polyline that is nowhere above softplus."""
    values, slopes = softplus(knots), sigmoid(knots)
    heights = values - slopes * knots
    turns = np.diff(slopes)
    return -np.diff(heights) / turns, turns, float(heights[0]), float(slopes[0])


def bent_lead(network: Network, winner: int, rival: int) -> BentLead | None:
    """The lead of one class over another, if each hyperplane bends it once."""
    planes, bends = network.hyperplanes, network.stages.bends(winner, rival)
    if bends is None:
        return None
    lead = SoftLead if bends.soft else BentLead
    return lead(
        bends.slopes @ planes.weights,
        bends.offset + float(bends.slopes @ planes.biases),
        planes.weights,
        planes.biases,
        bends.turns,
    )
