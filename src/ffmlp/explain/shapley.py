"""Exact Shapley values of regions: what each hyperplane adds to a lead, against one reference.

A coalition of hyperplanes has the sample's responses, the others have those of the reference. A region
contains this mixture if the coalition has every hyperplane at which only the sample is within its
limits, and none at which only the reference is. So its Shapley values have a closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ffmlp.arrays import Floats, Indices, row_blocks
from ffmlp.network.trees import RegionTrees, compiled


def region_shapley(
    trees: RegionTrees, h: Floats, reference: Floats, winner: Indices, rival: Indices
) -> Floats:
    """Shapley values (n, F) of what regions add to the winner's lead over the rival, F as in ``axes``.

    ``h`` and ``reference`` (n, L) are the responses of samples and of what they are compared with. The
    values of a sample add up to the difference of the two leads. Compiled code visits the regions
    between the two only, at most R of them; NumPy takes O(n·R·F) time.
    """
    own, other = trees.compared(h), trees.compared(reference)
    if compiled is None or trees.forest is None:
        return _by_boxes(trees, own, other, winner, rival)
    found, values = np.zeros(own.shape), np.require(trees.values, requirements=["C", "A"])
    first, second = (np.ascontiguousarray(part, np.int32) for part in (winner, rival))
    compiled.shapley_values(*trees.forest, own, other, values, first, second, found)
    return found


def _by_boxes(
    trees: RegionTrees,
    own: NDArray[np.float32],
    other: NDArray[np.float32],
    winner: Indices,
    rival: Indices,
) -> Floats:
    """The same from the limits of all regions."""
    low, high = trees.boxes
    found, unlimited = np.empty(own.shape), np.isneginf(low)
    for rows in row_blocks(len(own), low.size):
        with_sample, with_reference = (
            ((part[rows, None] > low) | unlimited) & (part[rows, None] <= high) for part in (own, other)
        )
        for_sample, for_reference = with_sample & ~with_reference, with_reference & ~with_sample
        a, b = for_sample.sum(axis=2), for_reference.sum(axis=2)
        # The region counts for a mixture only if sample or reference is within each of its limits.
        possible = (with_sample | with_reference).all(axis=2)
        share = np.where(possible, np.exp(gammaln(a + 1) + gammaln(b + 1) - gammaln(a + b + 1)), 0.0)
        weight = for_sample * (share / np.maximum(a, 1))[:, :, None]
        weight -= for_reference * (share / np.maximum(b, 1))[:, :, None]
        lead = (trees.values[:, winner[rows]] - trees.values[:, rival[rows]]).T
        found[rows] = np.einsum("nrf,nr->nf", weight, lead)
    return found
