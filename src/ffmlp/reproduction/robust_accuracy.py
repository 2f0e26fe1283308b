"""Robust accuracy: the share of test samples that are right at every point within a radius."""

from __future__ import annotations

from functools import partial

import numpy as np

from ffmlp.arrays import Floats
from ffmlp.backprop import BackpropClassifier
from ffmlp.classifier import FFMLPClassifier
from ffmlp.datasets import Dataset
from ffmlp.robustness.attacks import pgd, random_search

# Euclidean distances in standard deviations of the features.
RADII = (0.0, 0.05, 0.1, 0.2, 0.4)
# Attacks are slow: only the first test samples are used.
MAX_SAMPLES = 300


def proved_accuracy(clf: FFMLPClassifier, test: Dataset, radii: tuple[float, ...] = RADII) -> Floats:
    """Exact robust accuracy at each radius, from the distances to another class."""
    X, y = test.X[:MAX_SAMPLES], test.y[:MAX_SAMPLES]
    right = clf.predict(X) == y
    distance = clf.robustness(X).distance
    return np.array([np.mean(right & (distance > radius)) for radius in radii])


def attacked_accuracy(
    model: FFMLPClassifier | BackpropClassifier, test: Dataset, radii: tuple[float, ...] = RADII
) -> Floats:
    """Accuracy under attack at each radius: an upper bound of the robust accuracy.

    The attacks are PGD and random search. Where the neurons of a network are silent, PGD has no gradient
    to follow.
    """
    X, y = test.X[:MAX_SAMPLES], test.y[:MAX_SAMPLES]
    right = model.predict(X) == y
    accuracies = []
    for radius in radii:
        for attack in (partial(pgd, n_steps=20, n_restarts=2), random_search):
            # An attack that succeeded at a smaller radius succeeds at this one, too.
            if radius > 0 and right.any():
                right[right] = ~attack(model, X[right], radius).succeeded
        accuracies.append(np.mean(right))
    return np.array(accuracies)
