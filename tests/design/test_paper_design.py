"""The paper to the letter against a pipeline of scikit-learn's parts."""

from dataclasses import replace
from itertools import combinations, product

import naive
import numpy as np
import pytest
from problems import IRIS, four_moons, overlapping, paper_design, region_design, xor
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ffmlp import FFMLPClassifier
from ffmlp.design.designs import design_network
from ffmlp.design.lda import drawn_samples
from ffmlp.design.mixtures import fitted_blobs, shrunk
from ffmlp.design.problem import Progress
from ffmlp.design.scaling import Scaling
from ffmlp.design.selection import possible_plans
from ffmlp.parameters import training_intake

SETS = {"iris": IRIS, "wine": load_wine(return_X_y=True), "moons": four_moons(600)}


def literal_predictions(X, y, new, n_components, seed):
    """Mixtures, drawn samples, scikit-learn's LDA, naive pruning and matrix products."""
    rng, weight, scaling = np.random.RandomState(seed), np.ones(len(X)), Scaling.of(X, np.ones(len(X)))
    n_classes = len(np.unique(y))
    blobs = fitted_blobs(X, y, weight, scaling, (n_components,) * n_classes, rng, shrink=False)
    drawn, members = drawn_samples(blobs, np.bincount(y).astype(float), rng)
    weights, biases = [], []
    for i, j in combinations(np.unique(members), 2):
        if blobs.classes[i] != blobs.classes[j]:
            both = (members == i) | (members == j)
            lda = LinearDiscriminantAnalysis(solver="lsqr").fit(drawn[both], members[both] == j)
            weights.append(-lda.coef_[0])
            biases.append(-lda.intercept_[0])
    h = scaling.apply(X) @ np.array(weights).T + biases
    deleted, _ = naive.prune(h > 0, y, n_classes, 0.05)
    kept = np.setdiff1d(np.arange(len(weights)), deleted)
    codes = np.unique(h[:, kept] > 0, axis=0)
    majority = [np.bincount(y[((h[:, kept] > 0) == code).all(axis=1)]).argmax() for code in codes]
    response = scaling.apply(new) @ np.array(weights)[kept].T + np.array(biases)[kept]
    l_1 = np.maximum(np.hstack([response, -response]), 0)
    l_2 = np.maximum(l_1 @ np.where(np.hstack([codes, ~codes]), 1.0, -1000.0).T, 0)
    return kept, (l_2 @ np.eye(n_classes)[majority]).argmax(axis=1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("data", SETS)
def test_it_is_the_literal_pipeline(data, seed):
    X, y = SETS[data]
    noise = np.random.default_rng(seed).normal(size=(1000, X.shape[1]))
    new = np.vstack([X, X.mean(axis=0) + 3 * X.std(axis=0) * noise])
    kept, expected = literal_predictions(X, y, new, 2, seed)
    clf = paper_design(random_state=seed).fit(X, y)
    np.testing.assert_array_equal(clf.pruning_path_.kept, kept)
    # The variances that we increase by 1e-6 move a hyperplane a little.
    assert (clf.predict(new) == expected).mean() > 0.998


def test_drawn_samples_have_the_moments_of_their_blobs():
    X, y = overlapping(300)
    rng, weight = np.random.RandomState(0), np.ones(300)
    blobs = fitted_blobs(X, y, weight, Scaling.of(X, weight), (2, 2, 2), rng, shrink=False)
    mass = np.array([2e5, 1e5, 0.2])
    drawn, members = drawn_samples(blobs, mass, rng)
    assert np.bincount(blobs.classes[members]).tolist() == [200_000, 100_000, 1]
    for blob in range(4):
        mine = drawn[members == blob]
        share = blobs.weights[blob] / blobs.weights[blobs.classes == blobs.classes[blob]].sum()
        assert len(mine) / mass[blobs.classes[blob]] == pytest.approx(share, abs=0.01)
        np.testing.assert_allclose(mine.mean(axis=0), blobs.means[blob], atol=0.03)
        np.testing.assert_allclose(np.cov(mine.T), blobs.covariances[blob], atol=0.05)


@pytest.mark.parametrize("n_components", [1, 2])
def test_a_constant_feature_has_no_weight_by_the_chance_of_what_is_drawn(n_components):
    """Its large product would take the last digits of responses."""
    X, y = overlapping(60, 3)
    clf, again = (
        paper_design(n_components, error_threshold=None, random_state=0).fit(
            np.insert(X, 1, constant, axis=1), y
        )
        for constant in (3e15, 3.0)
    )
    assert not clf.hyperplanes_.weights[:, 1].any()
    assert (clf.hyperplanes_.weights[:, [0, 2, 3]] != 0.0).all()
    np.testing.assert_array_equal(clf.hyperplanes_.weights, again.hyperplanes_.weights)
    np.testing.assert_allclose(clf.hyperplanes_.biases, again.hyperplanes_.biases)


def test_a_blob_without_drawn_samples_has_no_hyperplane():
    X = np.concatenate([np.random.default_rng(0).normal(size=199), [50.0], np.arange(200.0) % 7 + 100])
    y = np.repeat([0, 1], 200)
    designs = [
        paper_design(2, error_threshold=None, random_state=s).fit(X[:, None], y) for s in range(9)
    ]
    assert all(len(clf.blobs_) == 4 for clf in designs)
    sizes = [len(clf.hyperplanes_) for clf in designs]
    assert set(sizes) == {2, 4}
    for clf in designs:
        separated = np.unique(clf.hyperplanes_.pairs)
        assert len(separated) == len(clf.hyperplanes_) // 2 + 2
        assert set(clf.blobs_.classes[separated]) == {0, 1}


def test_given_blobs_are_separated_by_lda_of_their_samples():
    X, y = overlapping(200, 8)
    blobs = 2 * y + (X[:, 0] > 0)
    clf = paper_design(error_threshold=None).fit(X, y, blobs=blobs)
    for (i, j), w, b in zip(
        clf.hyperplanes_.pairs, clf.hyperplanes_.weights, clf.hyperplanes_.biases, strict=True
    ):
        both = (blobs == i) | (blobs == j)
        lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X[both], blobs[both] == j)
        np.testing.assert_allclose(w, -lda.coef_[0], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(b, -lda.intercept_[0], rtol=1e-3, atol=1e-3)


def test_every_deviation_can_be_undone_on_its_own():
    X, y = overlapping(60, 8)
    samples = training_intake(FFMLPClassifier(), X, y, None, None).samples
    (plan,) = possible_plans(paper_design(error_threshold=None), samples)
    options = product(("paper", "region"), ("drawn_lda", "lda"), (False, True))
    made = {
        option: design_network(
            samples,
            replace(plan, design=option[0], discriminant=option[1], shrink=option[2]),
            np.random.RandomState(0),
            Progress(),
        )
        for option in options
    }
    for (design, discriminant, shrink), one in made.items():
        assert one.network.stages.design == design
        other = made["region" if design == "paper" else "paper", discriminant, shrink]
        np.testing.assert_allclose(one.network.weights[0], other.network.weights[0])
        sampled = made[design, "lda" if discriminant == "drawn_lda" else "drawn_lda", shrink]
        assert not np.allclose(one.network.weights[0], sampled.network.weights[0], rtol=0.1)
        np.testing.assert_array_equal(one.blobs.covariances, sampled.blobs.covariances)
    plain = made["region", "lda", False].blobs
    scale = Scaling.of(X, np.ones(60)).scale
    first = plain.classes == 0
    standardised = plain.covariances[first] / np.outer(scale, scale)
    expected = shrunk(standardised, 60 * plain.weights[first]) * np.outer(scale, scale)
    np.testing.assert_allclose(made["region", "lda", True].blobs.covariances[first], expected)


@pytest.mark.parametrize("design", [region_design, paper_design])
def test_all_pairs_of_xor_are_six_lines_of_which_the_diagonals_go(design):
    X, y, blobs = xor(1000)
    whole = design(all_pairs=True, error_threshold=None).fit(X, y, blobs=blobs)
    assert whole.hyperplanes_.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    clf = design(all_pairs=True).fit(X, y, blobs=blobs)
    assert clf.network_.layer_sizes == (2, 4, 4, 2)
    assert {0, 5} < set(clf.pruning_path_.deleted)
    # What is left is a horizontal and a vertical line.
    normals = np.sort(np.abs(clf.hyperplanes_.weights), axis=1)
    assert (normals[:, 0] < 0.2 * normals[:, 1]).all()
    assert set(np.abs(clf.hyperplanes_.weights).argmax(axis=1)) == {0, 1}
    assert clf.score(X, y) > 0.999


@pytest.mark.parametrize("design", [region_design, paper_design])
def test_all_pairs_of_mixtures(design):
    clf = design(all_pairs=True, error_threshold=None, random_state=0).fit(*IRIS)
    assert len(clf.hyperplanes_) == 6 * 5 / 2
    assert len(design(error_threshold=None, random_state=0).fit(*IRIS).hyperplanes_) == 12


def test_the_seed_makes_the_drawn_samples():
    one, again, other = (paper_design(random_state=seed).fit(*IRIS) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.hyperplanes_.weights, again.hyperplanes_.weights)
    assert not np.array_equal(one.hyperplanes_.weights[0], other.hyperplanes_.weights[0])


def test_weights_that_add_up_to_too_many_samples_are_refused():
    with pytest.raises(
        ValueError, match=r"draws as many samples as sample_weight adds up to, 1\.5e\+14\."
    ):
        paper_design().fit(*IRIS, sample_weight=np.full(150, 1e12))
