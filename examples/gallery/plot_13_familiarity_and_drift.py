"""
Unfamiliar rows and drift
=========================

A network answers for every row. ``familiarity`` says which rows are like no training row, and drift how far two
sets of rows are apart, counted by blobs.
"""

# sphinx_gallery_alternative_text = "The distances of new samples to the nearest blob, with the threshold beyond which a sample is unfamiliar."

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier
from ffmlp.plots import DriftDisplay, FamiliarityDisplay

X, y = load_breast_cancer(return_X_y=True)
X, later, y, _ = train_test_split(X, y, random_state=0)
clf = FFMLPClassifier(4, design="region", error_threshold=0.05, random_state=0).fit(X, y)
# A sensor that has lost its calibration: every third new row has one feature at three times its value.
later[::3, 0] *= 3
FamiliarityDisplay.from_estimator(clf, later)

# %%
# The share of rows that would have to move to another blob, against what chance alone would give:

# sphinx_gallery_alternative_text = "Bars of the shares of two sets of rows in each blob; the later rows have a large share of unfamiliar ones."

display = DriftDisplay.from_estimator(clf, X, later)
print(f"distance {display.drift.distance:.3f}, by chance {np.mean(display.drift.by_chance):.3f}")
