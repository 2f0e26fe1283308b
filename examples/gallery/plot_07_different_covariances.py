"""
Blobs with different covariances
================================

LDA assumes that two blobs have the same covariance. Where they do not, another straight line errs less:
``discriminant="heteroscedastic"`` finds the best one.
"""

# sphinx_gallery_alternative_text = "A narrow and a wide cloud of samples, with a line between them by LDA on the left and by the heteroscedastic rule on the right, which is closer to the narrow cloud."

import matplotlib.pyplot as plt
import numpy as np

from ffmlp import FFMLPClassifier
from ffmlp.plots import DecisionRegionsDisplay

rng = np.random.default_rng(0)
narrow = rng.normal(size=(1000, 2)) * [0.25, 0.6] + [-1.0, 0.0]
wide = rng.normal(size=(1000, 2)) * [1.2, 1.6] + [1.2, 0.8]
X, y = np.vstack([narrow, wide]), np.repeat(["narrow", "wide"], 1000)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for ax, discriminant in zip(axes, ("lda", "heteroscedastic"), strict=True):
    clf = FFMLPClassifier(1, design="region", error_threshold=None, discriminant=discriminant).fit(X, y)
    title = f"{discriminant}: training error {1 - clf.score(X, y):.3f}"
    DecisionRegionsDisplay.from_estimator(clf, X, y, blobs=True, title=title, ax=ax)
