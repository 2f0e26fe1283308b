"""Attributions: how the lead of a sample over that of a reference divides among the inputs.

The smooth part of a lead is followed along the straight way from the reference to the sample. Its slope
by each input is known there, so nothing is sampled, and hyperplanes cancel within an input, not between
inputs. Regions change the lead in steps: their part is divided by exact Shapley values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from ffmlp.arrays import Flags, Floats, Indices
from ffmlp.explain.shapley import region_shapley
from ffmlp.network.blobs import Blobs
from ffmlp.network.network import Network
from ffmlp.network.stages import LARGEST


@dataclass(frozen=True, eq=False)
class Points:
    """Points Z (n, N), inputs of the hyperplanes, their responses h (n, L) and scores (n, C)."""

    Z: Floats
    h: Floats
    scores: Floats

    @classmethod
    def of(cls, network: Network, Z: Floats) -> Points:
        """Points, their responses and scores."""
        h = Z @ network.hyperplanes.weights.T + network.hyperplanes.biases
        return cls(Z, h, network.stages.scores(h))

    def __getitem__(self, rows: Indices | Flags) -> Points:
        return Points(self.Z[rows], self.h[rows], self.scores[rows])

    def leads(self, winner: Indices, rival: Indices) -> Floats:
        """The lead (n,) of the winner over the rival."""
        each = np.arange(len(winner))
        return self.scores[each, winner] - self.scores[each, rival]


@dataclass(frozen=True, eq=False)
class Attribution:
    """The difference of the lead between samples and their references, divided in two ways.

    Attributes
    ----------
    inputs : ndarray of shape (n, N)
        What each input adds. The sum is the difference.
    hyperplanes : ndarray of shape (n, L)
        What each hyperplane adds. With ``regions``, the sum is the difference.
    regions : ndarray of shape (n,)
        What regions beside a readout add; 0 if there are none.
    reference_leads : ndarray of shape (n,)
        The lead at the reference.
    """

    inputs: Floats
    hyperplanes: Floats
    regions: Floats
    reference_leads: Floats


def attributed(
    network: Network, points: Points, references: Points, winner: Indices, rival: Indices
) -> Attribution:
    """Divide the difference of the winner's lead over the rival between points and references.

    O(n·L·N) time for a readout, and for regions at most O(n·R).
    """
    planes, stages = network.hyperplanes, network.stages
    slopes = stages.mean_slopes(references.h, points.h, winner, rival)
    # Unlike those of a BLAS product, these sums do not depend on the number of rows.
    by_input = np.einsum("nl,lj->nj", slopes, planes.weights) * (points.Z - references.Z)
    regions = np.zeros(len(slopes))
    if stages.trees is not None:
        by_axis = region_shapley(stages.trees, points.h, references.h, winner, rival)
        features = np.abs(planes.weights[stages.trees.axes]).argmax(axis=1)
        np.add.at(by_input.T, features, by_axis.T)
        regions = by_axis.sum(axis=1)
    effects = slopes * (points.h - references.h)
    return Attribution(by_input, effects, regions, references.leads(winner, rival))


def mean_attribution(
    network: Network, points: Points, references: Points, winner: Indices, rival: Indices
) -> Attribution:
    """The mean over several references, each for all points."""
    sums: list[Floats] = []
    for number in range(len(references.Z)):  # one after the other: each takes (n, L) numbers
        reference = references[np.full(len(winner), number)]
        parts = vars(attributed(network, points, reference, winner, rival)).values()
        sums = [total + part for total, part in zip(sums, parts, strict=True)] if sums else [*parts]
    return Attribution(*(total / len(references.Z) for total in sums))


def rival_blobs(
    network: Network, blobs: Blobs, points: Points, winner: Indices, rival: Indices
) -> Indices:
    """The blob (n,) of the rival's class that is nearest to each point, in standard deviations.

    Blobs whose mean the network gives to the rival come first. A class without samples of positive
    weight has no blobs: then all are looked at.
    """
    scores, units = Points.of(network, blobs.means).scores, blobs.feature_spreads
    found = np.empty(len(winner), np.intp)
    for first, second in np.unique(np.column_stack([winner, rival]), axis=0):
        own = np.flatnonzero(blobs.classes == second)
        own = own if len(own) else np.arange(len(blobs))
        lost = own[scores[own, second] >= scores[own, first]]
        own = lost if len(lost) else own
        rows = (winner == first) & (rival == second)
        away = cdist(_in_units(points.Z[rows], units), _in_units(blobs.means[own], units))
        found[rows] = own[away.argmin(axis=1)]
    return found


def _in_units(Z: Floats, units: Floats) -> Floats:
    """Samples in units of each feature, as numbers whose squares are floats."""
    with np.errstate(over="ignore"):
        return np.clip(Z / units, -LARGEST, LARGEST)
