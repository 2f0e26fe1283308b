import subprocess
import sys

import numpy as np
import pytest
from problems import IRIS, four_moons, region_design
from sklearn.preprocessing import StandardScaler

from ffmlp import FFMLPClassifier, robustness
from ffmlp.backprop import BackpropClassifier
from ffmlp.explanations.evidence import class_scores
from ffmlp.robustness.attacks import _scores, fgsm, hop_skip_jump, pgd, random_search

torch = pytest.importorskip("torch")

MOONS = four_moons(300)
DESIGNS = {
    "region": region_design(3, random_state=0),
    "blob": FFMLPClassifier(2, design="blob", gaussianise=False, random_state=0),
    "readout": FFMLPClassifier(design="readout", gaussianise=False),
}


@pytest.mark.parametrize("design", DESIGNS)
def test_the_attacked_scores_are_those_that_predict_compares(design):
    X, y = MOONS
    clf = DESIGNS[design].fit(X, y)
    expected = class_scores(clf.network_.stages, clf.hyperplanes_.log_odds(X))
    np.testing.assert_allclose(_scores(torch, clf)(torch.as_tensor(X)).numpy(), expected, atol=1e-8)


@pytest.mark.parametrize("norm", [2, "inf"])
@pytest.mark.parametrize("design", DESIGNS)
def test_no_attack_is_nearer_than_the_proved_distance(design, norm):
    pytest.importorskip("quadprog")
    X, y = MOONS
    clf = DESIGNS[design].fit(X, y)
    some = X[::5]
    proved = robustness(clf, some, norm)
    own = clf.predict(some)
    for radius in (0.05, 0.2, 1.0):
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
    pytest.importorskip("quadprog")
    X, y = MOONS
    clf = DESIGNS["region"].fit(X, y)
    exact = robustness(clf, X).distance
    assert pgd(clf, X, 1.02 * exact).succeeded.mean() > 0.75  # it gets stuck now and then
    assert not pgd(clf, X, 0.999 * exact).succeeded.any()


@pytest.mark.parametrize("start", ["ff", "random"])
def test_backpropagated_networks_are_attacked_alike(start):
    X, y = StandardScaler().fit_transform(IRIS[0]), IRIS[1]
    network = region_design(random_state=0).fit(X, y).network_ if start == "ff" else None
    bp = BackpropClassifier((8, 6), initial_network=network, n_epochs=10, random_state=0).fit(X, y)
    weak, strong = fgsm(bp, X, 0.5, 2), pgd(bp, X, 0.5, 2)
    assert strong.succeeded.sum() >= weak.succeeded.sum()
    there = strong.succeeded
    assert there.any()
    assert (bp.predict(strong.points[there]) != bp.predict(X[there])).all()


def test_hop_skip_jump_is_not_nearer_than_the_exact_distance():
    pytest.importorskip("art")
    pytest.importorskip("quadprog")
    X, y = MOONS
    clf = DESIGNS["region"].fit(X, y)
    some = X[::20]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    found = hop_skip_jump(clf, some)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    exact = robustness(clf, some).distance
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
    with pytest.raises(ValueError, match="all samples are predicted to be of class 0"):
        hop_skip_jump(clf, X[clf.predict(X) == 0])
    with pytest.raises(ValueError, match="radius must not be negative, got -1"):
        pgd(clf, X, -1.0)
    with pytest.raises(ValueError, match="radius must not be negative, got -1"):
        random_search(clf, X, -1.0)
    mapped = FFMLPClassifier(design="readout", gaussianise=True).fit(X, y)
    with pytest.raises(ValueError, match="the features are gaussianised"):
        fgsm(mapped, X, 0.1)


@pytest.mark.parametrize(
    ("module", "call", "message"),
    [
        ("torch", "fgsm(clf, X, 0.1)", "gradient attacks need PyTorch: pip install 'ffmlp[torch]'"),
        ("art", "hop_skip_jump(clf, X)", "hop_skip_jump needs ART: pip install 'ffmlp[attacks]'"),
    ],
)
def test_without_an_extra_a_message_says_what_to_install(module, call, message):
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from sklearn.datasets import load_iris
from ffmlp import FFMLPClassifier
from ffmlp.robustness.attacks import fgsm, hop_skip_jump
X, y = load_iris(return_X_y=True)
clf = FFMLPClassifier(2, design="region", random_state=0).fit(X, y)
{call}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert message in done.stderr
