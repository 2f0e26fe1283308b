"""Arrays that were sent from another process: they may begin anywhere in memory."""

import pickle

import numpy as np
import pytest
from problems import DESIGNS, designed, overlapping

from ffmlp import FFMLPClassifier


def moved(content):
    """The same bytes, one place after the beginning of their memory."""
    memory = memoryview(bytearray(len(content) + 1))[1:]
    memory[:] = content
    return memory


def unaligned(array):
    copy = np.frombuffer(moved(array.tobytes()), array.dtype).reshape(array.shape)
    assert not copy.flags.aligned
    return copy


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("gaussianise", [True, False])
def test_unaligned_arrays_give_the_same_results(design, gaussianise):
    X, _ = overlapping(400)
    y = ((X[:, 0] > 0.3) ^ (X[:, 1] > -0.2) ^ (X[:, 2] > 0.9)).astype(int)
    clf = designed(design, X, y, n_components=2, gaussianise=gaussianise)
    buffers = []
    sent = pickle.dumps(clf, protocol=5, buffer_callback=buffers.append)
    assert buffers
    again = pickle.loads(sent, buffers=[moved(bytes(buffer.raw())) for buffer in buffers])
    assert not again.network_.hyperplanes.weights.flags.aligned
    np.testing.assert_array_equal(again.predict_proba(unaligned(X)), clf.predict_proba(X))
    np.testing.assert_array_equal(again.predict(unaligned(X)), clf.predict(X))
    explained = again.explain(unaligned(X[:5])).attributions
    np.testing.assert_array_equal(explained, clf.explain(X[:5]).attributions)
    refitted = FFMLPClassifier(**clf.get_params()).fit(unaligned(X), y)
    np.testing.assert_array_equal(refitted.predict_proba(X), clf.predict_proba(X))
