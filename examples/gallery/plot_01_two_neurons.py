"""
What a neuron does
==================

Two-class LDA is a perceptron of two neurons. Its hyperplane ``w·x + b = 0`` separates two Gaussian blobs,
and its response ``h(x) = w·x + b`` is the log-odds of one blob against the other. One neuron responds on
either side.
"""

# sphinx_gallery_alternative_text = "Two clouds of samples with the line between them, and the responses of two neurons, each of which rises from zero at the line towards its own side."

from sklearn.datasets import make_blobs

import ffmlp
from ffmlp.plots import TwoNeuronDisplay

X, y = make_blobs(400, centers=[[-1.5, -0.5], [1.5, 1.0]], cluster_std=0.8, random_state=0)
TwoNeuronDisplay.from_data(X, y)

# %%
# The weights are in closed form: no step of a training is needed.

plane = ffmlp.two_class_lda(X, y)
print("w =", plane.weights[0].round(3), " b =", plane.biases[0].round(3))
