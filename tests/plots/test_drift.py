import numpy as np
import pytest
from problems import IRIS

from ffmlp import FFMLPClassifier

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib.figure import Figure  # noqa: E402

from ffmlp.plots import DriftDisplay  # noqa: E402

X, Y = IRIS


def test_drift_shows_unfamiliar_samples_and_the_most_changed_blobs():
    clf = FFMLPClassifier(2, design="blob", random_state=0).fit(X, Y)
    ax = Figure(layout="constrained").subplots()
    display = DriftDisplay.from_estimator(clf, X[Y < 2], X[Y > 0], max_blobs=3, ax=ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "unfamiliar"
    assert len(names) == 4
    drift = display.drift
    shown = [drift.names.index(name) for name in names]
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, 100 * drift.shares[:, shown].ravel())
    assert display.title.startswith(f"Drift: {drift.distance:.1%} of the samples moved\n(by chance")
    with pytest.raises(ValueError, match="max_blobs must be at least 1, got 0"):
        DriftDisplay.from_drift(drift, max_blobs=0)
