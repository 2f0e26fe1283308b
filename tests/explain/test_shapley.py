from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_trees

from ffmlp.explain import attribution
from ffmlp.explain.attribution import tree_shapley
from ffmlp.network.trees import compiled


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


@pytest.fixture(params=["compiled", "numpy"])
def path(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(attribution, "compiled", None)
    elif compiled is None:
        pytest.skip("installed without a C compiler")


@pytest.mark.parametrize("seed", range(8))
def test_shapley_values_are_those_of_all_coalitions(seed, path):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 6, 3, [1, 4, 9, 15])
    # Some responses lie on thresholds.
    h, reference = rng.choice([rng.normal(size=(5, 6)), np.round(rng.normal(size=(5, 6)), 1)], size=2)
    winner, rival = np.array([0, 1, 2, 0, 1]), np.array([1, 2, 0, 2, 1])
    found = tree_shapley(trees, h, reference, winner, rival)
    for row in range(len(h)):
        expected = brute_force(trees, h[row], reference[row])
        expected = expected[:, winner[row]] - expected[:, rival[row]]
        np.testing.assert_allclose(found[row], expected, atol=1e-12)


@pytest.mark.skipif(compiled is None, reason="installed without a C compiler")
@given(st.integers(0, 10**6), st.integers(1, 12), st.lists(st.integers(1, 60), min_size=1, max_size=4))
def test_compiled_shapley_values_are_those_of_the_limits(seed, n_axes, sizes):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_axes, 2, sizes)
    h, reference = np.round(rng.normal(size=(2, 7, n_axes)), 1)
    h[rng.random(h.shape) < 0.1] = rng.choice([1e300, -1e300])  # infinite in single precision
    winner = rng.integers(2, size=7)
    fast = tree_shapley(trees, h, reference, winner, 1 - winner)
    boxes = attribution._by_boxes(
        trees, trees.compared(h), trees.compared(reference), winner, 1 - winner
    )
    np.testing.assert_allclose(fast, boxes, atol=1e-11)


@pytest.mark.skipif(compiled is None, reason="installed without a C compiler")
@pytest.mark.parametrize("winner", [-1, 3])
def test_classes_that_do_not_exist_are_refused(winner):
    trees = random_trees(np.random.default_rng(0), 2, 3, [4])
    with pytest.raises(ValueError, match="must fit each other"):
        tree_shapley(trees, np.zeros((1, 2)), np.ones((1, 2)), np.array([winner]), np.array([0]))
