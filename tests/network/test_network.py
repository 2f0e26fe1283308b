from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import IRIS, four_moons, overlapping, region_design, xor
from sklearn.base import clone
from sklearn.datasets import load_wine, make_moons

from ffmlp.network.region import find_regions

PROBLEMS = {
    "iris": (IRIS, 2, 0.05),
    "wine": (load_wine(return_X_y=True), 2, 0.05),
    "moons": (make_moons(300, noise=0.3, random_state=0), 2, 0.1),
    "four moons": (four_moons(400), 3, 0.05),
    "xor": (xor()[:2], 2, 0.05),
    "overlapping": (overlapping(300), 3, None),
}


@pytest.fixture(params=PROBLEMS, scope="module")
def designed(request):
    (X, y), n_components, threshold = PROBLEMS[request.param]
    clf = region_design(n_components, error_threshold=threshold, random_state=0).fit(X, y)
    return clf, X, y


def test_the_papers_bounds_and_weights(designed):
    clf, X, y = designed
    network, n_hyperplanes, n_blobs = clf.network_, len(clf.hyperplanes_), len(clf.blobs_)
    d_in, d_1, d_2, d_out = network.layer_sizes
    assert (d_in, d_out) == (X.shape[1], len(np.unique(y)))
    assert d_1 == 2 * n_hyperplanes <= n_blobs * (n_blobs - 1)
    assert d_2 == len(clf.regions_) <= 2**n_hyperplanes
    assert d_2 <= sum(comb(n_hyperplanes, i) for i in range(d_in + 1))

    (w_1, w_2, w_3), (b_1, b_2, b_3) = network.weights, network.biases
    assert [w.shape for w in network.weights] == [(d_1, d_in), (d_2, d_1), (d_out, d_2)]
    assert [b.shape for b in network.biases] == [(d_1,), (d_2,), (d_out,)]
    np.testing.assert_array_equal(w_1[:n_hyperplanes], -w_1[n_hyperplanes:])
    np.testing.assert_array_equal(b_1[:n_hyperplanes], -b_1[n_hyperplanes:])
    assert set(np.unique(w_2)) == {1.0, -1000.0}
    np.testing.assert_array_equal((w_2 == 1).sum(axis=1), n_hyperplanes)
    assert set(np.unique(w_3)) <= {0.0, 1.0}
    np.testing.assert_array_equal(w_3.sum(axis=0), 1)
    assert not b_2.any()
    assert not b_3.any()


def test_forward_is_the_literal_network(designed):
    clf, X, _ = designed
    (w_1, w_2, w_3), (b_1, b_2, b_3) = clf.network_.weights, clf.network_.biases
    l_1 = np.maximum(X @ w_1.T + b_1, 0)
    l_2 = np.maximum(l_1 @ w_2.T + b_2, 0)
    out = l_2 @ w_3.T + b_3
    for ours, literal in zip(clf.network_.responses(X), (l_1, l_2, out), strict=True):
        np.testing.assert_allclose(ours, literal, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(clf.network_.forward(X), clf.network_.responses(X)[-1])


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1.0, np.float32), (1e30, np.float32), (1.0, np.float64), (1e6, np.float64), (1e200, np.float64)],
)
def test_the_strongest_region_neuron_is_the_samples_own(designed, scale, dtype):
    """On occupied regions, network and look-up agree whatever the size of x."""
    clf, X, _ = designed
    rng = np.random.default_rng(0)
    Z = (X[rng.integers(len(X), size=500)] * scale * rng.choice([-1, 1], size=(500, 1))).astype(dtype)
    _, l_2, _ = clf.network_.responses(Z)
    occupied = l_2.max(axis=1) > 0
    strongest = l_2.argmax(axis=1)
    region = find_regions(clf.hyperplanes_, clf.regions_, Z)
    np.testing.assert_array_equal(strongest[occupied], region[occupied])
    majority = clf.classes_[clf.regions_.classes[strongest[occupied]]]
    np.testing.assert_array_equal(majority, clf.predict(Z[occupied]))


def test_output_agrees_with_look_up_unless_several_regions_answer(designed):
    """A region neuron next to a hyperplane also answers for |h| < Σ|h| / (P + 1) beyond it."""
    clf, X, y = designed
    Z = np.random.default_rng(0).normal(X.mean(axis=0), 1.5 * X.std(axis=0), size=(5000, X.shape[1]))
    _, l_2, out = clf.network_.responses(Z)
    one = (l_2 > 0).sum(axis=1) == 1
    assert one.mean() > 0.3
    np.testing.assert_array_equal(clf.classes_[out[one].argmax(axis=1)], clf.predict(Z[one]))
    # With a huge penalty they agree everywhere in occupied regions.
    strict = clone(clf).set_params(penalty=1e12).fit(X, y)
    out = strict.network_.forward(Z)
    occupied = out.max(axis=1) > 0
    np.testing.assert_array_equal(
        strict.classes_[out[occupied].argmax(axis=1)], strict.predict(Z[occupied])
    )


def test_silent_in_unseen_regions():
    X, y, blob = xor()
    keep = blob != 3
    clf = region_design(error_threshold=None).fit(X[keep], y[keep], blobs=blob[keep])
    out = clf.network_.forward(X[~keep])
    silent = out.max(axis=1) == 0
    assert silent.any()
    # The prediction is that of the region violated least.
    h = clf.hyperplanes_.log_odds(X[~keep][silent])
    conflict = clf.regions_.codes[None] != (h > 0)[:, None]
    violation = (conflict * np.abs(h)[:, None]).sum(axis=2)
    nearest = clf.regions_.classes[violation.argmin(axis=1)]
    np.testing.assert_array_equal(clf.predict(X[~keep][silent]), nearest)


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([None, 0.1, 0.3]))
@settings(max_examples=30, deadline=None)
def test_predict_is_the_argmax_of_predict_proba(seed, n_components, threshold):
    X, y = overlapping(90, 2, seed=seed)
    clf = region_design(n_components, error_threshold=threshold, random_state=0).fit(X, y)
    Z = 3 * np.random.default_rng(seed).normal(size=(200, 2))
    probability = clf.predict_proba(Z)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(clf.classes_[probability.argmax(axis=1)], clf.predict(Z))
    region = find_regions(clf.hyperplanes_, clf.regions_, X)
    counts = np.zeros_like(clf.regions_.counts)
    np.add.at(counts, (region, y), 1)
    np.testing.assert_array_equal(counts, clf.regions_.counts)


def test_meanings():
    X, y, blob = xor(1000)
    labels = np.array(["same", "mixed"])[y]
    clf = region_design(error_threshold=0.02).fit(X, labels, blobs=blob)
    assert clf.hyperplanes_.pairs.tolist() == [[1, 2], [1, 3]]
    meaning = clf.network_.meaning
    assert meaning(0, 1) == "feature x1"
    assert meaning(1, 0) == "half-space blob 1 (mixed) over blob 2 (same)"
    assert meaning(1, 2) == "half-space blob 2 (same) over blob 1 (mixed)"
    assert clf.regions_.codes[3].all()
    assert meaning(2, 3) == (
        "region of class mixed: blob 1 (mixed) over blob 2 (same) and blob 1 (mixed) over blob 3 (same)"
    )
    assert meaning(3, 0) == "class mixed"


@pytest.mark.parametrize(("layer", "neuron"), [(4, 0), (-1, 0), (3, 2), (0, -1)])
def test_meaning_of_no_neuron(layer, neuron):
    X, y, blob = xor()
    network = region_design().fit(X, y, blobs=blob).network_
    with pytest.raises(ValueError, match="layer"):
        network.meaning(layer, neuron)


def test_network_checks_its_input():
    network = region_design(random_state=0).fit(*IRIS).network_
    with pytest.raises(
        ValueError, match=r"shape \(n_samples, 4\), one column for each feature, got \(2, 3\)"
    ):
        network.forward(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="X must be finite, got nan in row 0, column 0"):
        network.forward(np.full((2, 4), np.nan))
