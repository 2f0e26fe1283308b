"""
How far the next class is
=========================

For the region design, the distance of a sample to the nearest point of another class is exact and proved. The
arrows go there.
"""

# sphinx_gallery_alternative_text = "Decision regions of four moons with arrows from some samples to the nearest point of another class, each at a right angle to the boundary or into a corner."

import numpy as np

from ffmlp import FFMLPClassifier
from ffmlp.datasets import load
from ffmlp.plots import CounterfactualsDisplay, RobustAccuracyDisplay

moons = load("four_moons")
clf = FFMLPClassifier(3, design="region", error_threshold=0.05, random_state=0).fit(moons.X, moons.y)
some = np.random.default_rng(0).choice(len(moons.X), 25, replace=False)
CounterfactualsDisplay.from_estimator(clf, moons.X, moons.y, samples=moons.X[some], norm=2)

# %%
# How many samples keep their right class, whatever moves them by at most so much? (The Euclidean norm needs the
# extra ``robustness``.)

# sphinx_gallery_alternative_text = "The share of samples with the right class that no change of a given size takes away, falling from one as the size grows, for the maximum norm and the Euclidean norm."

X, y = moons.X[::10], moons.y[::10]
radii, right, spread = np.linspace(0, 1.5, 50), clf.predict(X) == y, moons.X.std(axis=0)
accuracies = {}
for norm in (2, "inf"):
    distances = clf.robustness(X, norm=norm, scale=spread).distance
    accuracies[f"norm {norm}"] = [np.mean(right & (distances > radius)) for radius in radii]
RobustAccuracyDisplay(radii, accuracies).plot()
