"""Activations of neurons, by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ffmlp.arrays import Floats


def softplus(z: Floats) -> Floats:
    """``np.logaddexp(z, 0)`` in a third of the time."""
    bend = np.abs(z)
    np.log1p(np.exp(np.negative(bend, out=bend), out=bend), out=bend)
    bend += np.maximum(z, 0.0)
    return bend


def sigmoid(z: Floats) -> Floats:
    """The probability whose log-odds are z."""
    return np.exp(-softplus(-z))


def softmax(z: Floats) -> Floats:
    """``scipy.special.softmax(z, axis=1)`` without SciPy."""
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def logsumexp(z: Floats) -> Floats:
    """``scipy.special.logsumexp(z, axis=1)`` without SciPy; -inf for a row of -inf."""
    largest = z.max(axis=1)
    finite = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(z - finite[:, None]).sum(axis=1)) + finite


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "softplus": softplus,
    "softmax": softmax,
}
