import re

import numpy as np
import pytest
from problems import random_trees, with_trees

from ffmlp.benchmark.peers import n_parameters


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "gaussianised"])
def designed(request):
    return with_trees(gaussianise=request.param)


def test_responses_are_evidence_and_membership(designed):
    X, _, clf = designed
    network, trees = clf.network_, clf.network_.stages.trees
    _, l_2, out = network.responses(X)
    assert l_2.shape == (len(X), 3 + len(trees)) == (len(X), network.layer_sizes[2])
    assert set(np.unique(l_2[:, 3:])) == {0.0, 1.0}
    assert (l_2[:, 3:].sum(axis=1) == len(trees.roots)).all()
    evidence = l_2[:, :3] + l_2[:, 3:] @ trees.values
    scores = network.stages.scores(network.hyperplanes.log_odds(X))
    np.testing.assert_allclose(evidence, scores, atol=1e-12)
    np.testing.assert_array_equal(out, clf.predict_proba(X))


def test_sizes_and_parameters_count_regions(designed):
    *_, clf = designed
    network, n_regions = clf.network_, len(clf.network_.stages.trees)
    d_1 = network.layer_sizes[1]
    assert network.layers == (
        f"3 features → {d_1} half-spaces → 3 evidence and {n_regions} leaves → 3 classes"
    )
    n_nodes = n_regions - len(network.stages.trees.roots)
    assert n_parameters(clf) == 4 * d_1 + 3 * (d_1 + 1) + 3 * 4 + n_nodes + 3 * n_regions
    assert [weights.shape[0] for weights in network.weights] == list(network.weighted_sizes[1:])


def holds(limits, x):
    """Whether a sample is where the words of a region say."""
    operations = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    for part in limits.split(" and "):
        words = re.sub(r"x(\d)", lambda found: f"{float(x[int(found[1])])!r}", part).split()
        for left, sign, right in zip(words[::2], words[1::2], words[2::2], strict=False):
            if not operations[sign](float(left), float(right)):
                return False
    return True


def test_a_region_is_where_its_meaning_says(designed):
    X, _, clf = designed
    network = clf.network_
    inside = network.responses(X)[1][:, 3:] > 0
    assert network.meaning(2, 1) == "evidence for class 1"
    wrong = 0
    for region in range(0, inside.shape[1], 7):
        start, limits = network.meaning(2, 3 + region).split(": ")
        assert start == f"leaf of class {network.stages.trees.values[region].argmax()}"
        features = [re.search(r"x\d", part)[0] for part in limits.split(" and ")]
        assert len(set(features)) == len(features)
        wrong += sum(holds(limits, x) != own for x, own in zip(X, inside[:, region], strict=True))
    # Limits are printed with four digits.
    assert wrong <= 0.0005 * inside[:, ::7].size


def test_drawings_have_one_box_for_all_regions(designed):
    *_, clf = designed
    page = clf.network_._repr_html_()
    n_regions = len(clf.network_.stages.trees)
    assert page.count("<rect") == 1
    assert f"{n_regions} leaves in " in page
    assert page.count("<circle") == 3 + 10 + 3 + 3


@pytest.mark.parametrize("seed", range(5))
def test_no_step_reaches_a_region_that_is_farther(seed):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, 2, [3, 9])
    h, reach = rng.normal(size=(20, 4)), rng.choice([0.0, 0.5, 2.0], size=(20, 4))
    away = trees.distances(h, reach)
    for radius in (0.0, 0.3, 1.0):
        for _ in range(50):
            moved = h + radius * reach * rng.uniform(-1, 1, size=h.shape)
            there = trees.leaves(moved)
            assert (np.take_along_axis(away, there, axis=1) <= radius * (1 + 1e-9)).all()
