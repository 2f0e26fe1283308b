"""
Three designs of the same data
==============================

All designs begin with blobs and hyperplanes. They differ in what a neuron of the second layer stands for: a
region, a blob, or the evidence for a class.
"""

# sphinx_gallery_alternative_text = "Decision regions of two moons by three designs: straight pieces for the region design, smooth curves for the blob design and for the readout."

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier
from ffmlp.plots import DecisionRegionsDisplay

X, y = make_moons(600, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
designs = {
    "region": FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0),
    "blob": FFMLPClassifier(3, design="blob", gaussianise=False, random_state=0),
    "readout": FFMLPClassifier(design="readout", max_leaves=0),
}
figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
for ax, (name, clf) in zip(axes, designs.items(), strict=True):
    accuracy = clf.fit(X_train, y_train).score(X_test, y_test)
    sizes = " → ".join(map(str, clf.network_.layer_sizes))
    title = f"{name}: {sizes}\ntest accuracy {accuracy:.3f}"
    DecisionRegionsDisplay.from_estimator(clf, X_train, y_train, title=title, ax=ax)
