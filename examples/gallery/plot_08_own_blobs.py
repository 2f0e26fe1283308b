"""
Blobs that are known
====================

The subgroups of a class are sometimes known: a batch, a clinic, a machine. ``fit(X, y, blobs=...)`` uses
them instead of a mixture, and explanations name them.
"""

# sphinx_gallery_alternative_text = "Nine clouds of samples on a grid in three classes, each cloud outlined by an ellipse, with the regions between the lines that separate them."

from ffmlp import FFMLPClassifier
from ffmlp.datasets import load
from ffmlp.plots import DecisionRegionsDisplay

nine = load("nine_blobs")
clf = FFMLPClassifier(design="region", error_threshold=0.3).fit(nine.X, nine.y, blobs=nine.blobs)
DecisionRegionsDisplay.from_estimator(clf, nine.X, nine.y, blobs=True)

# %%
# Nothing is left to chance: the mixture was the only step with a seed.

print(clf.network_)
print(clf.network_.meaning(1, 0))
