"""How far two sets of samples are apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import IRIS, overlapping

from ffmlp import FFMLPClassifier
from ffmlp.explain.drift import Drift, occupancy

CLF = FFMLPClassifier(2, design="blob", random_state=0).fit(*IRIS)


def drift(before, after, clf=CLF):
    counts = [occupancy(clf.network_, clf.familiarity(X)) for X in (before, after)]
    return Drift.between(clf.network_, *counts)


@given(st.lists(st.integers(0, 50), min_size=7, max_size=7), st.integers(1, 20))
def test_equal_shares_have_no_distance(counts, factor):
    counts = np.array([1, *counts[1:]])
    found = Drift.between(CLF.network_, counts, factor * counts)
    assert found.distance == pytest.approx(0.0, abs=1e-12)
    assert found.p_value == 1.0


@given(st.lists(st.integers(0, 50), min_size=7, max_size=7), st.permutations(range(7)))
def test_the_distance_is_the_share_that_would_have_to_move(counts, order):
    before, after = np.array(counts), np.array(counts)[list(order)]
    before[0], after[0] = before[0] + 1, after[0] + 1
    found = Drift.between(CLF.network_, before, after)
    moved = sum(max(own, 0) for own in (before - after).tolist())  # both sets are of the same size
    assert found.distance == pytest.approx(moved / before.sum())
    changes = np.abs(np.diff(found.shares, axis=0))[0][found.order]
    assert (np.diff(changes) <= 0).all()


def test_equal_distributions_differ_by_chance_only():
    X, y = overlapping(2000)
    clf = FFMLPClassifier(design="readout", max_leaves=0).fit(X[:400], y[:400])
    p_values, distances = [], []
    for start in range(400, 2000, 200):
        found = drift(X[start : start + 100], X[start + 100 : start + 200], clf)
        p_values.append(found.p_value)
        distances.append(found.distance / found.by_chance)
    assert min(p_values) > 0.01
    assert np.mean(distances) == pytest.approx(1.0, abs=0.1)


def test_other_samples_drift():
    X, _ = IRIS
    found = drift(X[::2], X[1::2] + np.array([0.0, 0.0, 3.0, 0.0]))
    assert found.p_value == 0.001
    assert found.distance > 0.5
    assert found.names[-1] == "unfamiliar"
    assert str(found) == (
        f"{found.distance:.1%} of the samples would have to move to another blob; by chance "
        f"{found.by_chance:.1%} (p = 0.001). Unfamiliar samples: {found.shares[0, -1]:.1%} before, "
        f"{found.shares[1, -1]:.1%} after."
    )


def test_nothing_has_no_drift():
    with pytest.raises(ValueError, match="There are no samples after"):
        Drift.between(CLF.network_, np.arange(7), np.zeros(7, int))
