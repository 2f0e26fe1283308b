"""The paper's procedures done literally: slow, obvious, and the oracle of the fast ones."""

import numpy as np


def training_errors(codes, y, n_classes, weight):
    """Weight of the samples that are not of the majority class of their region."""
    _, region = np.unique(np.packbits(codes, axis=1), axis=0, return_inverse=True)
    counts = np.zeros((region.max() + 1, n_classes))
    np.add.at(counts, (region.ravel(), y), weight)
    return weight.sum() - counts.max(axis=1).sum()


def prune(codes, y, n_classes, error_threshold, weight=None):
    """Try every deletion on all samples, make the cheapest one, start again (paper, Sec. III-B).

    Returns the deleted hyperplanes in order and the error rate after each deletion.
    """
    weight = np.ones(len(y)) if weight is None else weight
    left = list(range(codes.shape[1]))
    deleted, error_rates = [], []
    while len(left) > 1:
        errors = [
            training_errors(codes[:, [k for k in left if k != l]], y, n_classes, weight) for l in left
        ]
        cheapest = int(np.argmin(errors))
        error_rate = errors[cheapest] / weight.sum()
        if not error_rate < error_threshold:
            break
        deleted.append(left.pop(cheapest))
        error_rates.append(error_rate)
    return deleted, error_rates
