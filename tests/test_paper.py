import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ffmlp.datasets import load
from ffmlp.paper import FFMLP


@parametrize_with_checks([FFMLP(random_state=0)])
def test_it_is_a_classifier_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("name", "d_1", "d_2"), [("iris", 4, 3), ("xor", 4, 4)])
def test_it_has_the_neurons_of_the_paper_on_most_splits(name, d_1, d_2):
    same, accuracies = [], []
    for split in range(20):
        train, test = load(name).split(split)
        clf = FFMLP(random_state=split).fit(train.X, train.y, blobs=train.blobs)
        same.append(clf.network_.W_2.shape == (d_2, d_1))
        accuracies.append(clf.score(test.X, test.y))
    assert sum(same) >= 18
    assert np.mean(accuracies) > 0.95


def test_three_blobs_without_pruning_have_six_regions_whose_neurons_come_in_pairs():
    """Example 2: three lines that intersect at nearly the same point."""
    data = load("three_blobs")
    network = FFMLP(error_threshold=0).fit(data.X, data.y, blobs=data.blobs).network_
    assert network.W_2.shape == (6, 6)
    l_1, l_2, l_out = network.responses(data.X)
    assert not ((l_1[:, :3] > 0) & (l_1[:, 3:] > 0)).any()
    assert ((l_2 > 0).sum(axis=1) >= 1).mean() > 0.99
    np.testing.assert_array_equal(l_out, l_2 @ network.W_3.T)


def test_components_are_one_number_or_one_for_each_class():
    data = load("circle_and_ring")
    clf = FFMLP((4, 1), 0.1, random_state=0).fit(data.X, data.y)
    assert [blob.target for blob in clf.blobs_] == [0, 0, 0, 0, 1]
    assert clf.network_.W_1.shape == (8, 2)
