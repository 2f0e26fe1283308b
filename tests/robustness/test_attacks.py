import numpy as np
import pytest
from problems import IRIS, classifiers, four_moons
from sklearn.preprocessing import StandardScaler

from ffmlp.backprop import BackpropClassifier
from ffmlp.robustness.attacks import _margin_gradient, fgsm, hop_skip_jump, pgd, random_search

MOONS = four_moons(300)
DESIGNS = classifiers()


@pytest.mark.parametrize("design", ["region", "paper", "blob", "readout"])
def test_gradients_are_those_of_the_scores_that_predict_the_class(design):
    X, y = MOONS
    clf = DESIGNS[design].fit(X, y)
    network = clf.network_

    def margin(points):
        scores = network.stages.scores(network.hyperplanes.log_odds(points))
        mine = scores[np.arange(len(points)), own]
        scores[np.arange(len(points)), own] = -np.inf
        return mine - scores.max(axis=1)

    X = X + 0.0123  # no threshold is there
    own, step = network.classes(X), 1e-6 * np.eye(2)
    expected = np.column_stack([(margin(X + e) - margin(X - e)) / 2e-6 for e in step])
    found = _margin_gradient(clf, X, own)
    close = np.abs(found - expected).max(axis=1) <= 1e-4 * (1 + np.abs(expected).max(axis=1))
    assert close.mean() > 0.99  # a step may cross a hyperplane


def test_gradients_of_trained_networks_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    X, y = MOONS
    bp = BackpropClassifier((12, 9), n_epochs=3, random_state=0).fit(X, y)
    points = torch.tensor(X, requires_grad=True)
    out = points
    for number, (weight, bias) in enumerate(zip(bp.weights_, bp.biases_, strict=True)):
        out = torch.relu(out) if number else out
        out = out @ torch.tensor(weight).T + torch.tensor(bias)
    own = bp.predict(X)
    mine = out.gather(1, torch.tensor(own)[:, None])[:, 0]
    others = out.scatter(1, torch.tensor(own)[:, None], -torch.inf).amax(dim=1)
    (mine - others).sum().backward()
    np.testing.assert_allclose(_margin_gradient(bp, X, own), points.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize(
    ("design", "norm"),
    [
        *[("region", 2), ("paper", "inf"), ("blob", 2), ("readout", "inf")],
        *[("readout, gaussianised", 2), ("small readout", "inf")],
    ],
)
def test_no_attack_is_nearer_than_the_proved_distance(design, norm):
    pytest.importorskip("daqp")
    X, y = MOONS
    clf = DESIGNS[design].fit(X, y)
    some = X[::10]
    proved = clf.robustness(some, norm)
    own = clf.predict(some)
    for radius in (0.1, 1.0):
        for attack in (fgsm, random_search, pgd):
            found = attack(clf, some, radius, norm)
            there = found.succeeded
            size = np.linalg.norm(found.points[there] - some[there], ord=float(norm), axis=1)
            np.testing.assert_allclose(size, found.distance[there])
            assert (size <= radius * (1 + 1e-9)).all()
            reached = clf.predict(np.where(there[:, None], found.points, some))
            assert ((reached != own) == there).all()
            assert (found.distance >= proved.lower * (1 - 1e-9)).all()
    assert found.succeeded.mean() > 0.9  # a radius of 1 is enough for PGD on moons of width 1


def test_pgd_finds_what_is_just_within_reach():
    pytest.importorskip("daqp")
    X, y = MOONS
    clf = DESIGNS["region"].fit(X, y)
    exact = clf.robustness(X).distance
    assert pgd(clf, X, 1.02 * exact).succeeded.mean() > 0.75  # it gets stuck now and then
    assert not pgd(clf, X, 0.999 * exact).succeeded.any()


def test_backpropagated_networks_are_attacked_alike():
    pytest.importorskip("torch")
    X, y = StandardScaler().fit_transform(IRIS[0]), IRIS[1]
    bp = BackpropClassifier((8, 6), n_epochs=10, random_state=0).fit(X, y)
    weak, strong = fgsm(bp, X, 0.5, 2), pgd(bp, X, 0.5, 2)
    assert strong.succeeded.sum() >= weak.succeeded.sum()
    there = strong.succeeded
    assert there.any()
    assert (bp.predict(strong.points[there]) != bp.predict(X[there])).all()


def test_hop_skip_jump_is_not_nearer_than_the_exact_distance():
    pytest.importorskip("art")
    pytest.importorskip("daqp")
    X, y = MOONS
    clf = DESIGNS["region"].fit(X, y)
    some = X[::30]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    found = hop_skip_jump(clf, some)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    exact = clf.robustness(some).distance
    assert found.succeeded.all()
    assert (found.distance >= exact * (1 - 1e-6)).all()
    assert np.median(found.distance / exact) < 1.5
    again = hop_skip_jump(clf, some)
    np.testing.assert_array_equal(found.points, again.points)


def test_wishes_that_cannot_be_met_are_refused():
    X, y = MOONS
    clf = DESIGNS["region"].fit(X, y)
    with pytest.raises(ValueError, match=r'norm must be 2 or "inf", got 1'):
        pgd(clf, X, 0.1, 1)
    with pytest.raises(ValueError, match=r'norm must be 2 or "inf", got 1'):
        hop_skip_jump(clf, X, 1)
    pytest.importorskip("art")
    with pytest.raises(ValueError, match="All samples are predicted to be of class 0"):
        hop_skip_jump(clf, X[clf.predict(X) == 0])
    for attack in (pgd, random_search):
        with pytest.raises(ValueError, match="radius must not be negative, got -1"):
            attack(clf, X, -1.0)
