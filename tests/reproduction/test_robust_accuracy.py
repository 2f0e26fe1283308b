import numpy as np
import pytest
from problems import four_moons, region_design

from ffmlp.datasets import Dataset

pytest.importorskip("daqp")

from ffmlp.backprop import BackpropClassifier
from ffmlp.reproduction.experiments import RADII, attacked_accuracy, proved_accuracy

X, Y = four_moons(300)
TEST = Dataset("moons", X[::3], Y[::3], None)


def test_attacks_leave_no_less_than_what_is_proved():
    clf = region_design(3, random_state=0).fit(X, Y)
    proved, attacked = proved_accuracy(clf, TEST), attacked_accuracy(clf, TEST)
    assert proved[0] == attacked[0] == clf.score(TEST.X, TEST.y)
    assert (attacked >= proved).all()
    assert np.abs(attacked - proved).max() < 0.05  # in the plane the search is dense
    for accuracies in (proved, attacked):
        assert (np.diff(accuracies) <= 0).all()
        assert len(accuracies) == len(RADII)


def test_where_nothing_is_left_the_rest_is_zero():
    bp = BackpropClassifier((4, 4), n_epochs=1, random_state=0).fit(X, Y)
    accuracies = attacked_accuracy(bp, TEST, (0.0, 50.0, 60.0))
    assert accuracies[0] == bp.score(TEST.X, TEST.y)
    assert accuracies[-1] <= accuracies[0]
    assert len(accuracies) == 3
