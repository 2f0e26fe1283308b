"""Exact Shapley values of regions: what each hyperplane adds to them, against one reference.

A coalition of hyperplanes has the sample's responses, the others have those of the reference. A region
contains this mixture if the coalition has every hyperplane at which only the sample is within its
limits, and none at which only the reference is. So its Shapley values have a closed form.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ffmlp.arrays import Floats, row_blocks
from ffmlp.model.region_trees import RegionTrees


def region_shapley(trees: RegionTrees, h: Floats, reference: Floats) -> Floats:
    """Shapley values (n, F, C) of the regions' evidence at responses h (n, L), F as in ``trees.axes``.

    ``reference`` (L,) or (n, L) are the responses of the reference. The values of a sample add up to the
    difference of ``trees.evidence`` between sample and reference. O(n·R·F) time.
    """
    low, high = trees.boxes
    ours, theirs = (
        np.broadcast_to(part, h.shape)[:, trees.axes].astype(np.float32) for part in (h, reference)
    )
    values = np.empty((len(h), len(trees.axes), trees.values.shape[1]))
    for rows in row_blocks(len(h), low.size):
        with_sample, with_reference = (
            (part[rows, None] > low) & (part[rows, None] <= high) for part in (ours, theirs)
        )
        for_sample, for_reference = with_sample & ~with_reference, with_reference & ~with_sample
        a, b = for_sample.sum(axis=2), for_reference.sum(axis=2)
        # The region counts for a mixture only if sample or reference is within each of its limits.
        possible = (with_sample | with_reference).all(axis=2)
        share = np.where(possible, np.exp(gammaln(a + 1) + gammaln(b + 1) - gammaln(a + b + 1)), 0.0)
        weight = for_sample * (share / np.maximum(a, 1))[:, :, None]
        weight -= for_reference * (share / np.maximum(b, 1))[:, :, None]
        values[rows] = weight.transpose(0, 2, 1) @ trees.values
    return values
