"""Which samples lie where the model has seen training samples."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import DESIGNS, IRIS, designed, four_moons, mixed_table, overlapping
from sklearn.datasets import load_wine

import ffmlp
from ffmlp import FFMLPClassifier
from ffmlp.design import designs


@pytest.mark.parametrize("design", [*DESIGNS, "paper"])
@pytest.mark.parametrize("keep", [0.9, 0.99])
def test_the_stated_share_of_samples_is_familiar(design, keep):
    """Of training samples at least that many, of others about as many."""
    X, y = overlapping(2400)
    clf = designed(
        design, X[:1200], y[:1200], **({} if design.startswith("readout") else {"n_components": 2})
    )
    training, others = clf.familiarity(X[:1200], keep), clf.familiarity(X[1200:], keep)
    assert training.familiar.mean() >= keep
    assert others.familiar.mean() == pytest.approx(keep, abs=0.025)
    assert (training.familiar == (training.scores <= training.threshold)).all()
    assert (training.unseen is None) == (design not in ("region", "paper"))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("gaussianise", [True, False])
def test_samples_far_away_are_unfamiliar(design, gaussianise):
    X, y = IRIS
    clf = FFMLPClassifier(gaussianise=gaussianise, random_state=0, **DESIGNS[design]).fit(X, y)
    for direction in np.vstack([np.eye(4), -np.eye(4)]):
        found = clf.familiarity(X[::30] + np.outer([30.0, 1e3, 1e6, 1e100, 1e300], direction))
        assert not found.familiar.any()
        assert not np.isnan(found.scores).any()


def test_noise_is_unfamiliar():
    X, y = load_wine(return_X_y=True)
    clf = FFMLPClassifier(random_state=0).fit(X, y)
    noise = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (500, 13))
    assert clf.familiarity(noise).familiar.mean() < 0.1


@pytest.mark.parametrize("gaussianise", [True, False])
def test_units_of_the_features_do_not_matter(gaussianise):
    X, y = four_moons(400)
    parameters = {"design": "readout", "max_leaves": 0, "gaussianise": gaussianise}
    plain = FFMLPClassifier(**parameters).fit(X, y).familiarity(X)
    moved = np.array([1e4, 1e-3]) * X + np.array([5.0, -7.0])
    scaled = FFMLPClassifier(**parameters).fit(moved, y).familiarity(moved)
    np.testing.assert_allclose(scaled.scores, plain.scores, rtol=1e-5)
    np.testing.assert_array_equal(scaled.nearest, plain.nearest)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_scores_against_a_naive_version(seed, n_features):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, n_features)), np.arange(60) % 2
    clf = FFMLPClassifier(2, design="blob", gaussianise=False, random_state=0).fit(X, y)
    blobs, tried = clf.blobs_, rng.normal(size=(10, n_features))
    pooled = np.sum(blobs.weights[:, None, None] * blobs.covariances, axis=0)
    scale = np.diag(X.std(axis=0))
    variance, axes = np.linalg.eigh(np.linalg.inv(scale) @ pooled @ np.linalg.inv(scale))
    variance = variance + n_features / 60 * variance.mean()
    inverse = np.linalg.inv(scale @ (axes * np.maximum(variance, 0.01)) @ axes.T @ scale)
    away = [[(x - mean) @ inverse @ (x - mean) for mean in blobs.means] for x in tried]
    found = clf.familiarity(tried)
    np.testing.assert_allclose(found.scores, np.sqrt(np.min(away, axis=1) / n_features), rtol=1e-7)
    np.testing.assert_array_equal(found.nearest, np.argmin(away, axis=1))


def test_many_samples_are_represented_by_some(monkeypatch):
    X, y = overlapping(3000)
    monkeypatch.setattr(designs, "MAX_SAMPLES", 1000)
    clf = FFMLPClassifier(design="readout", max_leaves=0, gaussianise=False).fit(X, y)
    assert 0.98 < clf.familiarity(X).familiar.mean() < 1.0


def test_more_features_than_axes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 130)), np.arange(300) % 2
    clf = FFMLPClassifier(design="readout", max_leaves=0, gaussianise=False).fit(X[:200], y[:200])
    assert clf.blobs_.axes is not None
    assert clf.familiarity(X[200:]).familiar.mean() > 0.9
    assert not clf.familiarity(5.0 * X[200:]).familiar.any()


def test_tables_with_missing_cells():
    pytest.importorskip("pandas")
    X, y = mixed_table()
    clf = designed("readout", X, y)
    assert clf.familiarity(X).familiar.mean() >= 0.99
    assert not clf.familiarity(X.assign(fare=1e6)).familiar.any()


@pytest.mark.filterwarnings("error")
def test_training_samples_beyond_all_measure_have_scores_that_files_and_pickles_keep(tmp_path):
    X, y = IRIS[0].copy(), IRIS[1]
    X[0], weight = 1.7e308, np.where(np.arange(len(X)) > 0, 1.0, 0.1)  # too light for a knot of its own
    clf = FFMLPClassifier(1, design="blob", gaussianise=True, random_state=0).fit(X, y, weight)
    found = clf.familiarity(X, keep=1.0)
    assert np.isfinite([found.threshold, *found.scores]).all()
    assert found.familiar.all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).familiarity(X).scores, found.scores)
    ffmlp.save(clf, tmp_path / "far.model")
    np.testing.assert_array_equal(ffmlp.load(tmp_path / "far.model").familiarity(X).scores, found.scores)


def test_what_cannot_be_answered():
    X, y = IRIS
    clf = FFMLPClassifier(random_state=0).fit(X, y)
    for keep in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="keep must be above 0 and at most 1"):
            clf.familiarity(X, keep)
    clf.network_ = replace(clf.network_, familiar=None)
    with pytest.raises(ValueError, match=r"merged, fitted like another one.*Fit it again"):
        clf.familiarity(X)


def test_it_prints_as_a_sentence():
    X, y = IRIS
    found = FFMLPClassifier(random_state=0).fit(X, y).familiarity(np.vstack([X[:3], 9 * X[:1]]))
    text = f"{found.threshold:.3g} standard deviations from all blobs, as 1.00% of the training samples"
    assert repr(found) == f"Familiarity(1 of 4 samples unfamiliar: more than {text})"
