"""BP-MLP: the same architecture trained by backpropagation, from a design or from random weights.

The setting is the paper's: cross-entropy, stochastic gradient descent with learning rate 0.01 and no
momentum, weights by Xavier uniform initialisation or from a designed network. The paper does not report
its batch size; the default here is 32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ffmlp.arrays import Floats
from ffmlp.extras import imported
from ffmlp.model.network import Network


@dataclass(frozen=True, eq=False)
class History:
    """Accuracy and time by epoch, from epoch 0 (before training); arrays of shape (n_epochs + 1,).

    Attributes
    ----------
    train_accuracy, test_accuracy : ndarray
        Accuracy after each epoch. Test accuracy is NaN if ``fit`` was given no test samples.
    batch_accuracy : ndarray
        Training accuracy averaged over the batches of each epoch: that of each batch is measured before
        its step. NaN at epoch 0.
    seconds : ndarray
        Total training time, without evaluation.
    """

    train_accuracy: Floats
    test_accuracy: Floats
    batch_accuracy: Floats
    seconds: Floats


class BackpropClassifier(ClassifierMixin, BaseEstimator):
    """A multilayer perceptron with two ReLU layers, trained by stochastic gradient descent in PyTorch.

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
    device : str, default="cpu"
        The PyTorch device.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights and of the batches.
    on_epoch : callable, default=None
        Called after each epoch with the number of epochs so far, for example by a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    weights_, biases_ : tuples of three ndarrays
        The trained network, in the format of `Network.weights` and `Network.biases`.
    history_ : History
        Accuracy and time by epoch.

    Notes
    -----
    Standardise the features, as for any gradient descent. `predict` does not need PyTorch.
    """

    def __init__(
        self,
        hidden_layer_sizes: tuple[int, int] = (18, 28),
        *,
        initial_network: Network | None = None,
        n_epochs: int = 50,
        learning_rate: float = 0.01,
        batch_size: int = 32,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        on_epoch: Callable[[int], None] | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.initial_network = initial_network
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.device = device
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
        if X_test is not None:
            test: Floats = validate_data(self, X_test, reset=False, dtype=np.float64)
            expected = column_or_1d(y_test)
            check_consistent_length(test, expected)
            # A label that is not in y counts as an error: no output stands for it.
            number = {label: number for number, label in enumerate(labels.tolist())}
            held_out = test, np.array([number.get(label, -1) for label in expected.tolist()])
        sizes = self._layer_sizes(samples.shape[1], len(labels))
        self.weights_, self.biases_, self.history_ = self._train(samples, targets, held_out, sizes)
        self.classes_ = labels
        return self

    def _check_parameters(self) -> None:
        sizes = self.hidden_layer_sizes
        if len(sizes) != 2 or any(not isinstance(size, Integral) or size < 1 for size in sizes):
            raise ValueError(f"hidden_layer_sizes must be two positive ints, got {sizes!r}.")
        for name, least in (("n_epochs", 0), ("batch_size", 1)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                raise ValueError(f"{name} must be an int of at least {least}, got {value!r}.")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate!r}.")

    def _layer_sizes(self, n_features: int, n_classes: int) -> tuple[int, ...]:
        network = self.initial_network
        if network is None:
            return n_features, *self.hidden_layer_sizes, n_classes
        if network.activations != ("relu", "relu", "identity") or network.hyperplanes.gaussianisation:
            raise ValueError(
                "initial_network must be a region design without gaussianised features: training needs "
                f"ReLU layers. This network has the activations {network.activations}."
            )
        sizes = network.layer_sizes
        if (sizes[0], sizes[-1]) != (n_features, n_classes):
            raise ValueError(
                f"initial_network has {sizes[0]} features and {sizes[-1]} classes, but the data have "
                f"{n_features} and {n_classes}."
            )
        return sizes

    def _train(
        self,
        X: Floats,
        y: NDArray[np.intp],
        held_out: tuple[Floats, NDArray[np.intp]] | None,
        sizes: tuple[int, ...],
    ) -> tuple[tuple[Floats, ...], tuple[Floats, ...], History]:
        torch = imported("torch", "training by backpropagation")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        generator = torch.Generator().manual_seed(seed)
        module = _module(torch, sizes, self.initial_network, generator).to(self.device)
        optimizer = torch.optim.SGD(module.parameters(), lr=self.learning_rate)
        loss = torch.nn.CrossEntropyLoss()

        def tensors(samples: Floats, targets: NDArray[np.intp]) -> tuple[Any, Any]:
            inputs = torch.tensor(samples, dtype=torch.float32, device=self.device)
            return inputs, torch.tensor(targets, dtype=torch.long, device=self.device)

        def accuracy(data: tuple[Any, Any] | None) -> float:
            if data is None:
                return np.nan
            with torch.no_grad():
                return float((module(data[0]).argmax(dim=1) == data[1]).float().mean())

        train = tensors(X, y)
        test = None if held_out is None else tensors(*held_out)
        spent = 0.0
        curve = [(accuracy(train), accuracy(test), np.nan, spent)]
        for epoch in range(self.n_epochs):
            start, n_correct = perf_counter(), 0
            order = torch.randperm(len(X), generator=generator).to(self.device)
            for batch in order.split(self.batch_size):
                optimizer.zero_grad()
                outputs, targets = module(train[0][batch]), train[1][batch]
                loss(outputs, targets).backward()
                optimizer.step()
                n_correct += (outputs.argmax(dim=1) == targets).sum()
            spent += perf_counter() - start
            curve.append((accuracy(train), accuracy(test), float(n_correct) / len(X), spent))
            if self.on_epoch is not None:
                self.on_epoch(epoch + 1)
        layers = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
        weights = tuple(layer.weight.detach().cpu().double().numpy() for layer in layers)
        biases = tuple(layer.bias.detach().cpu().double().numpy() for layer in layers)
        return weights, biases, History(*np.array(curve).T)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class: the softmax of the output.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        response: Floats = validate_data(self, X, reset=False, dtype=np.float64)
        for weight, bias in zip(self.weights_[:-1], self.biases_[:-1], strict=True):
            response = np.maximum(response @ weight.T + bias, 0.0)
        return softmax(response @ self.weights_[-1].T + self.biases_[-1], axis=1)

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probability = self.predict_proba(X)
        return self.classes_[np.argmax(probability, axis=1)]


def _module(torch: Any, sizes: tuple[int, ...], network: Network | None, generator: Any) -> Any:
    """Linear layers with ReLU between them, with the weights of a design or random ones."""
    layers = [torch.nn.Linear(n_in, n_out) for n_in, n_out in pairwise(sizes)]
    with torch.no_grad():
        for number, layer in enumerate(layers):
            if network is None:
                torch.nn.init.xavier_uniform_(layer.weight, generator=generator)
                torch.nn.init.zeros_(layer.bias)
            else:
                layer.weight.copy_(torch.as_tensor(network.weights[number]))
                layer.bias.copy_(torch.as_tensor(network.biases[number]))
    return torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
