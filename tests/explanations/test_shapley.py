from itertools import combinations
from math import factorial

import numpy as np
import pytest
from problems import random_region_trees, with_regions

from ffmlp.explanations.shapley import region_shapley


def brute_force(trees, h, reference):
    """Shapley values (F, C) of one sample, from the evidence of all coalitions."""
    axes = list(trees.axes)

    def evidence(coalition):
        mixed = reference.copy()
        mixed[list(coalition)] = h[list(coalition)]
        return trees.evidence(mixed[None])[0]

    values = np.zeros((len(axes), trees.values.shape[1]))
    for place, axis in enumerate(axes):
        others = [other for other in axes if other != axis]
        for size in range(len(axes)):
            weight = factorial(size) * factorial(len(axes) - size - 1) / factorial(len(axes))
            for coalition in combinations(others, size):
                values[place] += weight * (evidence([*coalition, axis]) - evidence(coalition))
    return values


@pytest.mark.parametrize("seed", range(8))
def test_shapley_values_are_those_of_all_coalitions(seed):
    rng = np.random.default_rng(seed)
    trees = random_region_trees(rng, 6, 3, [1, 4, 9, 15])
    # Some responses lie on thresholds.
    h, reference = rng.choice([rng.normal(size=(5, 6)), np.round(rng.normal(size=(5, 6)), 1)], size=2)
    found = region_shapley(trees, h, reference)
    for row in range(len(h)):
        np.testing.assert_allclose(found[row], brute_force(trees, h[row], reference[row]), atol=1e-12)


def test_shapley_values_add_up_to_the_difference():
    X, _, clf = with_regions()
    trees, h = clf.network_.stages.trees, clf.hyperplanes_.log_odds(X)
    found = region_shapley(trees, h, h[7])
    np.testing.assert_allclose(found.sum(axis=1), trees.evidence(h) - trees.evidence(h[7:8]), atol=1e-12)
    assert not found[7].any()
