"""Attributions: how the lead of a sample over a reference divides among the inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from ffmlp.arrays import Flags, Floats, Indices, row_blocks
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.stages import LARGEST
from ffmlp.network.trees import Trees, compiled


def response_spreads(blobs: Blobs, planes: Hyperplanes) -> Floats:
    """The standard deviation (L,) of each response.

    It is taken within the two blobs that a hyperplane separates; for the threshold of a feature, over
    all samples.
    """
    variance = np.sum((planes.weights * blobs.feature_spreads) ** 2, axis=1)
    within = np.zeros(planes.pairs.shape)
    for side, blob in enumerate(planes.pairs.T):
        for number in np.unique(blob[blob != NO_BLOB]):
            mine = blob == number
            normals = planes.weights[mine] if blobs.axes is None else planes.weights[mine] @ blobs.axes
            within[mine, side] = np.sum(normals @ blobs.covariances[number] * normals, axis=1)
    share = blobs.weights[planes.pairs]
    share = share / share.sum(axis=1, keepdims=True)
    pooled = np.sum(share * within, axis=1)
    variance = np.where(planes.pairs[:, 0] == NO_BLOB, variance, pooled)
    return np.where(variance > 0, np.sqrt(np.maximum(variance, 0.0)), 1.0)


def blob_distances(blobs: Blobs, Z: Floats, numbers: Indices) -> Floats:
    """The distance (n, k) of points from the means of blobs, in standard deviations of the features."""
    with np.errstate(over="ignore"):  # clipped to numbers whose squares are floats
        points, means = (
            np.clip(part / blobs.feature_spreads, -LARGEST, LARGEST)
            for part in (Z, blobs.means[numbers])
        )
    return cdist(points, means)


def tree_shapley(trees: Trees, h: Floats, reference: Floats, winner: Indices, rival: Indices) -> Floats:
    """Shapley values (n, F) of what leaves add to the winner's lead over the rival, F as in ``axes``.

    ``h`` and ``reference`` (n, L) are the responses of samples and of what they are compared with. The
    values of a sample add up to the difference of the two leads. Compiled code visits the leaves
    between the two only, at most R of them; NumPy takes O(n·R·F) time.
    """
    here, there = trees.compared(h), trees.compared(reference)
    if compiled is None or trees.forest is None:
        return _by_boxes(trees, here, there, winner, rival)
    shapley, values = np.zeros(here.shape), np.require(trees.values, requirements=["C", "A"])
    first, second = (np.ascontiguousarray(part, np.int32) for part in (winner, rival))
    compiled.shapley_values(*trees.forest, here, there, values, first, second, shapley)
    return shapley


def _by_boxes(
    trees: Trees, here: NDArray[np.float32], there: NDArray[np.float32], winner: Indices, rival: Indices
) -> Floats:
    """The same from the limits of all leaves."""
    low, high = trees.boxes
    shapley, unlimited = np.empty(here.shape), np.isneginf(low)
    for rows in row_blocks(len(here), low.size):
        with_sample, with_reference = (
            ((part[rows, None] > low) | unlimited) & (part[rows, None] <= high) for part in (here, there)
        )
        for_sample, for_reference = with_sample & ~with_reference, with_reference & ~with_sample
        a, b = for_sample.sum(axis=2), for_reference.sum(axis=2)
        # The leaf counts for a mixture only if sample or reference is within each of its limits.
        possible = (with_sample | with_reference).all(axis=2)
        share = np.where(possible, np.exp(gammaln(a + 1) + gammaln(b + 1) - gammaln(a + b + 1)), 0.0)
        weight = for_sample * (share / np.maximum(a, 1))[:, :, None]
        weight -= for_reference * (share / np.maximum(b, 1))[:, :, None]
        lead = (trees.values[:, winner[rows]] - trees.values[:, rival[rows]]).T
        shapley[rows] = np.einsum("nrf,nr->nf", weight, lead)
    return shapley


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

    Each way, inputs or hyperplanes with ``leaves``, adds up to the difference. ``leaves`` are what the
    trees that correct a readout add, 0 if there are none.
    """

    inputs: Floats  # (n, N)
    hyperplanes: Floats  # (n, L)
    leaves: Floats  # (n,)
    reference_leads: Floats  # (n,)


def attributed(
    network: Network, points: Points, references: Points, winner: Indices, rival: Indices
) -> Attribution:
    """Divide the difference of the winner's lead over the rival between points and references.

    O(n·L·N) time for a readout, and for its trees at most O(n·R).
    """
    planes, stages = network.hyperplanes, network.stages
    slopes = stages.mean_slopes(references.h, points.h, winner, rival)
    # Unlike a BLAS product, these sums do not depend on the number of rows.
    by_input = np.einsum("nl,lj->nj", slopes, planes.weights) * (points.Z - references.Z)
    leaves = np.zeros(len(slopes))
    if stages.trees is not None:
        by_axis = tree_shapley(stages.trees, points.h, references.h, winner, rival)
        features = np.abs(planes.weights[stages.trees.axes]).argmax(axis=1)
        np.add.at(by_input.T, features, by_axis.T)
        leaves = by_axis.sum(axis=1)
    effects = slopes * (points.h - references.h)
    return Attribution(by_input, effects, leaves, references.leads(winner, rival))


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
    scores = Points.of(network, blobs.means).scores
    nearest = np.empty(len(winner), np.intp)
    for first, second in np.unique(np.column_stack([winner, rival]), axis=0):
        candidates = np.flatnonzero(blobs.classes == second)
        candidates = candidates if len(candidates) else np.arange(len(blobs))
        lost = candidates[scores[candidates, second] >= scores[candidates, first]]
        candidates = lost if len(lost) else candidates
        rows = (winner == first) & (rival == second)
        nearest[rows] = candidates[blob_distances(blobs, points.Z[rows], candidates).argmin(axis=1)]
    return nearest
