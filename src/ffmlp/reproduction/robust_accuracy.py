"""How many test samples keep their right class when they may move: the paper's question on attacks."""

from __future__ import annotations

import numpy as np

from ffmlp.backprop import BackpropClassifier
from ffmlp.classifier import FFMLPClassifier
from ffmlp.datasets import Dataset
from ffmlp.design.blobs import Floats
from ffmlp.robustness.attacks import pgd, random_search

# Euclidean distances that test samples may move, in standard deviations of the features.
RADII = (0.0, 0.05, 0.1, 0.2, 0.4)
# An attack takes as many steps for each sample, so only the first ones are attacked.
MAX_SAMPLES = 300
_STEPS, _RESTARTS = 20, 2


def proved_accuracy(clf: FFMLPClassifier, test: Dataset, radii: tuple[float, ...] = RADII) -> Floats:
    """The share of samples that are right and farther than each radius from another class: exact."""
    X, y = test.X[:MAX_SAMPLES], test.y[:MAX_SAMPLES]
    right = clf.predict(X) == y
    distance = clf.robustness(X).distance
    return np.array([np.mean(right & (distance > radius)) for radius in radii])


def attacked_accuracy(
    model: FFMLPClassifier | BackpropClassifier, test: Dataset, radii: tuple[float, ...] = RADII
) -> Floats:
    """The share of samples that are right and stay so under attacks at each radius: an upper bound.

    PGD, and a random search: networks with silent neurons have no gradient that PGD could follow.
    """
    X, y = test.X[:MAX_SAMPLES], test.y[:MAX_SAMPLES]
    right = model.predict(X) == y
    accuracies = []
    for radius in radii:
        if radius > 0:
            # What was overturned within a smaller radius stays overturned.
            attack = pgd(model, X[right], radius, n_steps=_STEPS, n_restarts=_RESTARTS)
            right[right] = ~attack.succeeded
        if radius > 0 and right.any():
            right[right] = ~random_search(model, X[right], radius).succeeded
        accuracies.append(np.mean(right))
        if not right.any():
            return np.array(accuracies + [0.0] * (len(radii) - len(accuracies)))
    return np.array(accuracies)
