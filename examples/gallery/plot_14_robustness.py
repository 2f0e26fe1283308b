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
# The whole map: how many samples keep their class, whatever moves them by at most so much? (Needs the extra
# ``robustness``.)

# sphinx_gallery_alternative_text = "The share of samples that no change of a given size can move to another class, falling from one as the size grows, for the maximum norm and the Euclidean norm."

sizes = np.linspace(0, 1, 50)
shares = {
    f"norm {norm}": (clf.robustness(moons.X[::10], norm=norm).distance[:, None] > sizes).mean(axis=0)
    for norm in (2, "inf")
}
RobustAccuracyDisplay(sizes, shares).plot()
