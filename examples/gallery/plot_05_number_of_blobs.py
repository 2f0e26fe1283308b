"""
How many blobs a class needs
============================

A ring is no Gaussian. More blobs follow it more closely: two cut it coarsely, four enclose it. Eight make
many more neurons and regions without samples, and are no better.
"""

# sphinx_gallery_alternative_text = "The same circle and ring three times, with two, four and eight blobs for each class: the region of the circle becomes rounder and the number of lines grows."

import matplotlib.pyplot as plt

from ffmlp import FFMLPClassifier
from ffmlp.datasets import load
from ffmlp.plots import DecisionRegionsDisplay

train, test = load("circle_and_ring").split(0)
figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
for ax, n_blobs in zip(axes, (2, 4, 8), strict=True):
    clf = FFMLPClassifier(n_blobs, design="region", error_threshold=0.05, random_state=0)
    accuracy = clf.fit(train.X, train.y).score(test.X, test.y)
    sizes = " → ".join(map(str, clf.network_.layer_sizes))
    title = f"{n_blobs} blobs per class: {sizes}\ntest accuracy {accuracy:.3f}"
    DecisionRegionsDisplay.from_estimator(clf, train.X, train.y, title=title, ax=ax)
