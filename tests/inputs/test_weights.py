"""A row of weight 2 is two rows, and the order of the rows does not matter, in every design."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import IRIS, overlapping, paper_design, region_design
from sklearn.base import clone

from ffmlp import FFMLPClassifier

READOUT = FFMLPClassifier(design="readout", gaussianise=False, max_leaves=0)
DESIGNS = {
    "auto": FFMLPClassifier(),
    "auto, balanced": FFMLPClassifier(class_weight="balanced"),
    "readout": READOUT,
    "readout with trees": FFMLPClassifier(design="readout", gaussianise=False),
    "readout, gaussianised": FFMLPClassifier(design="readout", gaussianise=True, max_leaves=0),
    "readout, heteroscedastic": clone(READOUT).set_params(discriminant="heteroscedastic"),
    "readout, any": FFMLPClassifier(design="readout", discriminant="auto", max_leaves=0),
    "readout of mixtures": clone(READOUT).set_params(n_components=2),
    "readout, pruned": clone(READOUT).set_params(error_threshold=0.1),
    "small": FFMLPClassifier(max_neurons=30),
    "small readout": clone(READOUT).set_params(max_neurons=30),
    "small readout, balanced": FFMLPClassifier(
        design="readout", gaussianise=True, max_neurons=20, class_weight="balanced"
    ),
    "region": FFMLPClassifier(design="region"),
    "region, pruned": region_design(),
    "region, balanced": region_design(class_weight="balanced"),
    "region, optimal": region_design(pruning="optimal", discriminant="heteroscedastic"),
    "paper": FFMLPClassifier(design="paper"),
    "paper, pruned": paper_design(),
    "paper, balanced": paper_design(all_pairs=True, class_weight="balanced"),
    "blob": FFMLPClassifier(design="blob"),
    "blob, pruned": FFMLPClassifier(3, design="blob", error_threshold=0.1),
    "blob, heteroscedastic": FFMLPClassifier(
        2, design="blob", gaussianise=True, discriminant="heteroscedastic"
    ),
}
DATA = {"discrete": IRIS, "continuous": overlapping(100)}


def assert_alike(clf, X, y, weight, blobs=None, tolerance=1e-9):
    """Weights or repeated rows, in this order or another, make the same network."""

    def fitted(X, y, weight, blobs):
        return clone(clf).set_params(random_state=0).fit(X, y, weight, blobs=blobs)

    rng = np.random.default_rng(0)
    order, rows = rng.permutation(len(y)), rng.permutation(np.repeat(np.arange(len(y)), weight))
    members = (None, None) if blobs is None else (blobs[order], blobs[rows])
    reference = fitted(X, y, weight, blobs)
    reordered = fitted(np.asfortranarray(X[order]), y[order], weight[order], members[0])
    repeated = fitted(X[rows], y[rows], None, members[1])
    for other in (reordered, repeated):
        assert other.network_.layer_sizes == reference.network_.layer_sizes
        assert other.selection_.best == reference.selection_.best
        np.testing.assert_allclose(
            other.predict_proba(X), reference.predict_proba(X), rtol=0, atol=tolerance
        )


@pytest.mark.parametrize(
    ("design", "data"), [(design, [*DATA][number % 2]) for number, design in enumerate(DESIGNS)]
)
def test_weights_are_repetitions_in_any_order(design, data):
    X, y = DATA[data]
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    merged = any(word in design for word in ("auto", "readout", "small"))
    assert_alike(DESIGNS[design], X, y, weight, tolerance=0.0 if merged else 1e-9)


@pytest.mark.parametrize(
    "design", ["auto", "small", "region, pruned", "paper, pruned", "paper, balanced", "blob, pruned"]
)
def test_weights_are_repetitions_where_blobs_are_given(design):
    X, y = IRIS
    blobs = 2 * y + (X[:, 0] > 5.8)
    weight = np.random.default_rng(2).integers(1, 4, size=150)
    assert_alike(DESIGNS[design], X, y, weight, blobs)


@pytest.mark.parametrize("design", ["auto", "readout, pruned", "small"])
def test_weights_are_repetitions_where_only_some_samples_are_left_out(design):
    X, y = overlapping(700)  # fewer than MAX_LEFT_OUT and, repeated, more
    assert_alike(DESIGNS[design], X, y, np.full(700, 2))


@st.composite
def samples_on_a_grid(draw):
    """Few values, so that samples are equal, distances tie and hyperplanes go through samples."""
    n, n_features, n_classes = draw(st.integers(8, 40)), draw(st.integers(1, 3)), draw(st.integers(2, 3))
    numbers = draw(st.lists(st.integers(0, 2), min_size=n * n_features, max_size=n * n_features))
    y = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    weight = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    X = np.array(numbers, float).reshape(n, n_features)
    return X, np.array([0, 1, *y[2:]]), np.array(weight)


@pytest.mark.parametrize(
    "design",
    [
        *("auto", "readout", "readout, pruned", "small readout"),
        *("region, pruned", "paper, pruned", "blob, pruned"),
    ],
)
@settings(max_examples=6, deadline=None)
@given(samples=samples_on_a_grid())
@pytest.mark.filterwarnings("ignore:Class .* has too few distinct samples")
def test_ties_are_not_left_to_rounding(design, samples):
    assert_alike(DESIGNS[design], *samples)
