"""
Trees that correct a readout
============================

The default is a readout of half-spaces, corrected by an ensemble of trees whose leaves are region neurons with
half-spaces parallel to the axes. The readout is smooth; the trees follow what it leaves unexplained.
"""

# sphinx_gallery_alternative_text = "Decision regions of a disc and two bars in a square of samples. The readout alone finds a smooth outline of the disc and rounds off the bars; with trees, the bars have straight edges."

import matplotlib.pyplot as plt
import numpy as np

from ffmlp import FFMLPClassifier
from ffmlp.plots import DecisionRegionsDisplay

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (4000, 2))
disc = np.hypot(X[:, 0] + 0.4, X[:, 1]) < 0.4
bars = (np.abs(X[:, 0] - 0.55) < 0.06) | ((np.abs(X[:, 1] - 0.75) < 0.06) & (X[:, 0] > -0.5))
y = (disc | bars).astype(int)
y = np.where(rng.random(4000) < 0.05, 1 - y, y)  # one label in twenty is wrong
train, test = slice(0, 2000), slice(2000, None)

figure, axes = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
for ax, max_leaves in zip(axes, (0, "auto"), strict=True):
    clf = FFMLPClassifier(design="readout", max_leaves=max_leaves, random_state=0)
    accuracy = clf.fit(X[train], y[train]).score(X[test], y[test])
    title = f"{clf.n_leaves_:,} leaves\ntest accuracy {accuracy:.3f}"
    DecisionRegionsDisplay.from_estimator(clf, X[:400], y[:400], title=title, ax=ax)
    print(
        clf.network_, f"log-loss {-np.log(clf.predict_proba(X[test])[range(2000), y[test]]).mean():.3f}"
    )
