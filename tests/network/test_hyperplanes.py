import tracemalloc

import numpy as np
import pytest
from problems import overlapping
from threadpoolctl import threadpool_limits

from ffmlp import Hyperplanes, two_class_lda


@pytest.mark.parametrize("X", [[[1.0]], [1.0, 2.0], [[1.0, np.nan]], np.ones((2, 3))])
def test_hyperplanes_check_their_input(X):
    plane = two_class_lda(*overlapping(20, 2, n_classes=2))
    with pytest.raises(ValueError, match=r"X must have shape|X must be finite"):
        plane.log_odds(X)


def test_perceptron_has_two_opposite_neurons():
    X, y = overlapping(100, 2, n_classes=2)
    plane = two_class_lda(X, y)
    h = plane.log_odds(X)
    responses = plane.responses(X)
    assert responses.shape == (100, 2)
    assert (responses >= 0).all()
    np.testing.assert_array_equal(responses[:, :1] - responses[:, 1:], h)


@pytest.mark.parametrize(
    ("n_features", "n_planes"),
    [(2, 1), (3, 54), (10, 54), (64, 200), *((20, number) for number in (1, 7, 193, 300, 695))],
)
def test_a_response_depends_on_its_own_sample_only_and_not_on_its_place(n_features, n_planes):
    rng = np.random.default_rng(0)
    planes = Hyperplanes(
        rng.normal(size=(n_planes, n_features)), rng.normal(size=n_planes), np.zeros((n_planes, 2), int)
    )
    X = rng.normal(size=(700, n_features))
    whole = planes.log_odds(X)
    for size in (1, 7, 256, 300):
        parts = [planes.log_odds(X[start : start + size]) for start in range(0, 700, size)]
        np.testing.assert_array_equal(np.vstack(parts), whole)
    np.testing.assert_array_equal(planes.log_odds(np.asfortranarray(X)), whole)
    with threadpool_limits(1):
        np.testing.assert_array_equal(planes.log_odds(X), whole)
    np.testing.assert_allclose(whole, X @ planes.weights.T + planes.biases, atol=1e-12)
    repeated = planes.log_odds(np.tile(X[5], (1500, 1)))
    np.testing.assert_array_equal(repeated, np.broadcast_to(whole[5], repeated.shape))


def test_responses_copy_the_weights_of_many_features_once():
    planes = Hyperplanes(np.ones((1000, 1000)), np.zeros(1000), np.zeros((1000, 2), int))
    X = np.ones((1, 1000))
    tracemalloc.start()
    planes.signed_responses(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    blocks = 2 * planes.rows_per_product * 1000 * 8  # samples and responses
    assert peak < 1.1 * (planes.weights.nbytes + blocks)
