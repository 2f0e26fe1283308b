"""BP-MLP: the same architecture trained by backpropagation, from a design or from random weights.

The setting is the paper's: cross-entropy, stochastic gradient descent with learning rate 0.01 and no
momentum, weights by Xavier uniform initialisation or from a designed network. The paper does not report
its batch size; the default here is 32.

Training is written in NumPy. For networks this small a step in PyTorch is mostly the overhead of its
calls (`benchmarks/backprop.py`); the tests compare the two.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ffmlp.arrays import Floats, Indices
from ffmlp.network.network import Network

# Weights (n_out, n_in) and biases (n_out,) of a layer.
Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class History:
    """Accuracy and time by epoch, from epoch 0 (before training); arrays of shape (n_epochs + 1,)."""

    train_accuracy: Floats
    batch_accuracy: Floats  # the mean over the batches of an epoch, each before its step; first NaN
    test_accuracy: Floats  # NaN without test samples
    seconds: Floats  # of training in total, without evaluation


class BackpropClassifier(ClassifierMixin, BaseEstimator):
    """A multilayer perceptron with two ReLU layers, trained by stochastic gradient descent.

    Parameters
    ----------
    hidden_layer_sizes : tuple of two ints, default=(18, 28)
        Neurons in l_1 and l_2. Ignored if ``initial_network`` is given.
    initial_network : Network, default=None
        A designed network to start from, for example ``clf.network_``. Its classes must be those of
        ``fit``, in sorted order. By default, weights are random (Xavier uniform initialisation).
    n_epochs : int, default=50
    learning_rate : float, default=0.01
    batch_size : int, default=32
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights and of the batches.
    on_epoch : callable, default=None
        Called after each epoch with the number of epochs so far, for example by a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    weights_, biases_ : tuples of three ndarrays
        The trained network, in the format of ``Network.weights`` and ``Network.biases``.
    history_ : History
        Accuracy and time by epoch.

    Notes
    -----
    Standardise the features, as for any gradient descent. Training is in single precision.
    """

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, int] = (18, 28),
        *,
        initial_network: Network | None = None,
        n_epochs: int = 50,
        learning_rate: float = 0.01,
        batch_size: int = 32,
        random_state: int | np.random.RandomState | None = None,
        on_epoch: Callable[[int], None] | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.initial_network = initial_network
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state
        self.on_epoch = on_epoch

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
    ) -> BackpropClassifier:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        X_test, y_test : array-like, default=None
            Samples to compute the test accuracy by epoch; training does not use them.

        Returns
        -------
        self
        """
        self._check_parameters()
        samples, targets = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(targets)
        labels, targets = np.unique(targets, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(
                "BackpropClassifier needs samples of at least 2 classes, got only 1 class: "
                f"{labels.tolist()}."
            )
        held_out = None
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test must be given together, got only one of them.")
        if X_test is not None:
            test: Floats = validate_data(self, X_test, reset=False, dtype=np.float64)
            expected = column_or_1d(y_test)
            check_consistent_length(test, expected)
            # A label that is not in y counts as an error: no output stands for it.
            number = {label: number for number, label in enumerate(labels.tolist())}
            known = np.array([number.get(label, -1) for label in expected.tolist()])
            held_out = test.astype(np.float32), known
        sizes = self._layer_sizes(samples.shape[1], labels)
        self.weights_, self.biases_, self.history_ = self._train(samples, targets, held_out, sizes)
        self.classes_ = labels
        return self

    def _check_parameters(self) -> None:
        sizes = self.hidden_layer_sizes
        is_pair = isinstance(sizes, Sequence) and len(sizes) == 2
        if not is_pair or not all(_is_int(size) and size > 0 for size in sizes):
            raise ValueError(f"hidden_layer_sizes must be two positive ints, got {sizes!r}.")
        for name, least in (("n_epochs", 0), ("batch_size", 1)):
            value = getattr(self, name)
            if not _is_int(value) or value < least:
                raise ValueError(f"{name} must be an int of at least {least}, got {value!r}.")
        rate = self.learning_rate
        if not isinstance(rate, Real) or not 0 < rate < np.inf:
            raise ValueError(f"learning_rate must be a positive number, got {rate!r}.")
        if not isinstance(self.initial_network, Network | None):
            raise ValueError(f"initial_network must be a Network or None, got {self.initial_network!r}.")

    def _layer_sizes(self, n_features: int, labels: NDArray) -> tuple[int, ...]:
        network, n_classes = self.initial_network, len(labels)
        if network is None:
            return n_features, *self.hidden_layer_sizes, n_classes
        if network.activations != ("relu", "relu", "identity") or network.hyperplanes.gaussianisation:
            raise ValueError(
                "initial_network must be a region or paper design without gaussianised features: "
                f"training needs ReLU layers. This network has the activations {network.activations}."
            )
        sizes = network.layer_sizes
        if (sizes[0], sizes[-1]) != (n_features, n_classes):
            raise ValueError(
                f"initial_network has {sizes[0]} features and {sizes[-1]} classes, but the data have "
                f"{n_features} and {n_classes}."
            )
        if network.labels.tolist() != labels.tolist():
            raise ValueError(
                f"initial_network has the classes {network.labels.tolist()[:10]}, but the data have "
                f"{labels.tolist()[:10]}."
            )
        return sizes

    def _train(
        self, X: Floats, y: Indices, held_out: tuple[NDArray, Indices] | None, sizes: tuple[int, ...]
    ) -> tuple[tuple[Floats, ...], tuple[Floats, ...], History]:
        rng = check_random_state(self.random_state)
        layers = _starting_layers(sizes, self.initial_network, rng)
        with np.errstate(over="ignore"):  # reported as diverged
            samples = X.astype(np.float32)

        def accuracy(X: NDArray, y: Indices) -> float:
            return float(np.mean(_responses(layers, X)[-1].argmax(axis=1) == y))

        def row(batch_accuracy: float) -> tuple[float, float, float, float]:
            test = np.nan if held_out is None else accuracy(*held_out)
            return accuracy(samples, y), batch_accuracy, test, spent

        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            spent = 0.0
            curve = [row(np.nan)]
            for epoch in range(self.n_epochs):
                start = perf_counter()
                order = rng.permutation(len(X))
                n_right = 0
                for first in range(0, len(X), self.batch_size):
                    batch = order[first : first + self.batch_size]
                    n_right += _descend(layers, samples[batch], y[batch], self.learning_rate)
                spent += perf_counter() - start
                curve.append(row(n_right / len(X)))
                if self.on_epoch is not None:
                    self.on_epoch(epoch + 1)
        if not all(np.isfinite(part).all() for layer in layers for part in layer):
            warnings.warn(
                f"Training diverged: weights are not finite after {self.n_epochs} epochs. Standardise "
                f"the features or lower learning_rate ({self.learning_rate:g}).",
                ConvergenceWarning,
                stacklevel=3,
            )
        weights = tuple(weight.astype(np.float64) for weight, _ in layers)
        biases = tuple(bias.astype(np.float64) for _, bias in layers)
        return weights, biases, History(*np.array(curve).T)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability (n_samples, n_classes) of each class: the softmax of the output."""
        check_is_fitted(self)
        samples = validate_data(self, X, reset=False, dtype=np.float64)
        layers = list(zip(self.weights_, self.biases_, strict=True))
        return softmax(_responses(layers, samples)[-1], axis=1)

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class (n_samples,) of each sample."""
        probability = self.predict_proba(X)  # an error if there is no fit
        return self.classes_[probability.argmax(axis=1)]


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _starting_layers(
    sizes: tuple[int, ...], network: Network | None, rng: np.random.RandomState
) -> list[Layer]:
    """The layers of a design, or random ones (Xavier uniform weights, no biases)."""
    layers = []
    for number, (n_in, n_out) in enumerate(pairwise(sizes)):
        if network is None:
            limit = np.sqrt(6 / (n_in + n_out))
            weight, bias = rng.uniform(-limit, limit, (n_out, n_in)), np.zeros(n_out)
        else:
            weight, bias = network.weights[number], network.biases[number]
        layers.append((weight.astype(np.float32), bias.astype(np.float32)))
    return layers


def _responses(layers: Sequence[tuple[NDArray, NDArray]], X: NDArray) -> list[NDArray]:
    """The input and the response of each layer; the last one is the output, before the softmax."""
    responses = [X]
    for weight, bias in layers[:-1]:
        responses.append(np.maximum(responses[-1] @ weight.T + bias, 0))
    weight, bias = layers[-1]
    return [*responses, responses[-1] @ weight.T + bias]


def _descend(layers: list[Layer], X: NDArray, y: Indices, rate: float) -> int:
    """One step down the gradient of the mean cross-entropy; how many samples were right before it."""
    *inputs, out = _responses(layers, X)
    n_right = int(np.count_nonzero(out.argmax(axis=1) == y))
    slope = np.exp(out - out.max(axis=1, keepdims=True))
    slope /= slope.sum(axis=1, keepdims=True)
    slope[np.arange(len(y)), y] -= 1
    slope *= rate / len(y)
    for (weight, bias), below in zip(layers[::-1], inputs[::-1], strict=True):
        passed = (slope @ weight) * (below > 0)  # no slope where ReLU is silent
        weight -= slope.T @ below
        bias -= slope.sum(axis=0)
        slope = passed
    return n_right
