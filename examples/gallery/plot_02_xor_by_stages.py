"""
XOR by stages
=============

XOR cannot be solved by one neuron. The design solves it in four steps: blobs, hyperplanes, regions and
classes. Each step is a layer, and each neuron has a name.
"""

# sphinx_gallery_alternative_text = "Four panels. Samples of two classes in four clouds; two lines between them; four coloured regions with the outlines of the blobs; the network with two inputs, four half-spaces, four regions and two classes."

import matplotlib.pyplot as plt

from ffmlp import FFMLPClassifier
from ffmlp.datasets import load
from ffmlp.plots import DecisionRegionsDisplay, HyperplanesDisplay, NetworkDisplay, SamplesDisplay

train, test = load("xor").split(0)
clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(train.X, train.y)

figure, ((first, second), (third, fourth)) = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
SamplesDisplay.from_data(train.X, train.y, title="samples", ax=first)
HyperplanesDisplay.from_estimator(clf, train.X, train.y, title="hyperplanes after pruning", ax=second)
DecisionRegionsDisplay.from_estimator(
    clf, train.X, train.y, blobs=True, title="blobs and regions", ax=third
)
NetworkDisplay.from_estimator(clf, title="the network", ax=fourth)

# %%
# Every neuron says what it stands for.

print(f"test accuracy {clf.score(test.X, test.y):.4f}")
for layer, n_neurons in enumerate(clf.network_.layer_sizes[1:], start=1):
    for neuron in range(n_neurons):
        print(f"layer {layer}, neuron {neuron}: {clf.network_.meaning(layer, neuron)}")
