"""
Pruning, step by step
=====================

Three blobs in each of four classes have 54 pairs of different classes, hence 54 hyperplanes. Pruning deletes the
one that costs the fewest training errors, again and again, until the error rate would reach the threshold.
"""

# sphinx_gallery_alternative_text = "The training error against the number of hyperplanes: nearly flat from 54 down to seven hyperplanes, then it rises steeply through the threshold of five percent."

from ffmlp import FFMLPClassifier
from ffmlp.datasets import load
from ffmlp.plots import HyperplanesDisplay, PruningPathDisplay

moons = load("four_moons")
# A threshold of 1 deletes all hyperplanes but one: the whole path.
whole = FFMLPClassifier(3, design="region", error_threshold=1.0, random_state=0).fit(moons.X, moons.y)
PruningPathDisplay.from_estimator(whole, error_threshold=0.05)

# %%
# With the paper's threshold of 5 %, these hyperplanes are left.

# sphinx_gallery_alternative_text = "Four crescents of samples, one for each class, and the few lines that pruning keeps between them."

clf = FFMLPClassifier(3, design="region", error_threshold=0.05, random_state=0).fit(moons.X, moons.y)
HyperplanesDisplay.from_estimator(clf, moons.X, moons.y)

# %%
# Is that the smallest number? Integer programming answers with a proof.

proved = FFMLPClassifier(3, design="region", error_threshold=0.05, pruning="optimal", random_state=0)
proved.fit(moons.X, moons.y)
print("greedy pruning keeps", len(clf.hyperplanes_.biases), "hyperplanes")
print(
    "the fewest are",
    len(proved.hyperplanes_.biases),
    "and at least",
    proved.pruning_path_.proved_minimum,
)
