"""FFMLPClassifier: validate the input, then one line per stage."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ffmlp.blobs import Blobs, Scaling, fitted_blobs, labelled_blobs
from ffmlp.hyperplanes import DISCRIMINANTS, pairs_of_different_classes
from ffmlp.network import Network
from ffmlp.optimal_pruning import prune_optimally
from ffmlp.pruning import PruningPath, prune
from ffmlp.regions import Regions, find_regions, sign_codes, tabulate
from ffmlp.validation import (
    check_parameters,
    check_two_classes,
    checked_blobs,
    checked_weight,
    components_of_each,
)


class FFMLPClassifier(ClassifierMixin, BaseEstimator):
    """A multilayer perceptron that is designed in one feedforward pass instead of trained.

    Each class becomes a few Gaussian blobs, each pair of blobs of different classes a hyperplane
    (two neurons of layer l_1), each region that the hyperplanes cut out and a training sample
    occupies a neuron of l_2, and each region votes for its majority class. No backpropagation is used.

    Parameters
    ----------
    n_components : int or mapping of class label to int, default=2
        Gaussian blobs per class.
    design : {"region"}, default="region"
        How layers 2 and 3 are made. ``"region"`` is the paper's: one neuron per occupied region.
    discriminant : {"lda", "heteroscedastic"}, default="lda"
        How two blobs are separated. ``"lda"`` is two-class LDA, prior term included;
        ``"heteroscedastic"`` the linear rule of least error for blobs whose covariances differ.
    error_threshold : float in [0, 1] or None, default=0.05
        Pruning: hyperplanes are deleted one by one, cheapest first, as long as the resulting
        training error rate is below this. At least one stays. ``None`` keeps all.
    pruning : {"greedy", "optimal"}, default="greedy"
        ``"greedy"`` is the paper's. ``"optimal"`` keeps the fewest hyperplanes that the threshold
        allows, with a proof (``pruning_path_.proved_minimum``), by integer programming.
    time_limit : float, default=60
        Seconds after which optimal pruning gives the best it has found so far.
    penalty : float, default=1000
        P: the weight from a half-space to a region outside of it is -P. At least 1.
    random_state : int, RandomState instance or None, default=None
        Draws the seeds of the Gaussian mixtures.
    verbose : int, default=0
        If positive, print progress by stage and, while pruning, how many hyperplanes are left.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if X had string column names.
    blobs_ : Blobs
        The G blobs: ``classes``, ``means``, ``covariances``, ``weights``.
    hyperplanes_ : Hyperplanes
        The L hyperplanes that pruning kept: ``weights``, ``biases``, ``pairs``.
    pruning_path_ : PruningPath
        What was deleted in which order (``deleted``), and the training error rate after each
        deletion (``error_rates``).
    regions_ : Regions
        The occupied regions: ``codes``, ``counts`` per class, majority ``classes``.
    network_ : Network
        The network: ``layer_sizes``, ``weights``, ``biases``, ``forward``, ``responses``, ``meaning``.
    timings_ : dict
        Seconds for the steps ``gmm``, ``boundaries``, ``regions`` and ``classes``.

    Notes
    -----
    Blobs and regions name a class by its index in ``classes_``.

    A sample weight is a frequency: a sample of weight 2 counts as two samples, one of weight 0 as none.
    Weights whose mean is below one cannot be frequencies and are scaled to a mean of one.

    References
    ----------
    R. Lin, Z. Zhou, S. You, R. Rao and C.-C. J. Kuo, "From Two-Class Linear Discriminant Analysis to
    Interpretable Multilayer Perceptron Design", 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FFMLPClassifier(random_state=0).fit(X, y)
    >>> clf.network_.layer_sizes
    (4, 4, 3, 3)
    >>> round(clf.score(X, y), 3)
    0.98
    """

    def __init__(
        self,
        n_components: int | Mapping[Any, int] = 2,
        *,
        design: str = "region",
        discriminant: str = "lda",
        error_threshold: float | None = 0.05,
        pruning: str = "greedy",
        time_limit: float = 60.0,
        penalty: float = 1000.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.design = design
        self.discriminant = discriminant
        self.error_threshold = error_threshold
        self.pruning = pruning
        self.time_limit = time_limit
        self.penalty = penalty
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        blobs: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FFMLPClassifier:
        """Design the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        blobs : array-like of shape (n_samples,), default=None
            The blob that each sample belongs to, where that is known. No mixture is fitted then and
            ``n_components`` is not used. Blobs are numbered by class, then by this id.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample counts.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            check_parameters(self)
            samples, targets = validate_data(self, X, y, dtype=[np.float64, np.float32])
            check_classification_targets(targets)
            labels, targets = np.unique(targets, return_inverse=True)
            n_components = components_of_each(self.n_components, labels)
            members = None if blobs is None else checked_blobs(blobs, targets, labels)
            weight = None if sample_weight is None else checked_weight(sample_weight, targets)
            if weight is not None and not weight.all():
                counted = weight > 0
                samples, targets, weight = samples[counted], targets[counted], weight[counted]
                members = None if members is None else members[counted]
            check_two_classes(labels[np.unique(targets)])
            self._design(samples, targets, labels, n_components, members, weight)
        return self

    def _design(
        self,
        X: NDArray[np.floating],
        y: NDArray[np.intp],
        labels: NDArray,
        n_components: NDArray[np.intp],
        members: NDArray[np.intp] | None,
        sample_weight: NDArray[np.float64] | None,
    ) -> None:
        """The stages of the paper, on validated input."""
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        rng = check_random_state(self.random_state)
        progress = _Progress(self.verbose)

        with progress.step("gmm"):
            scaling = Scaling.of(X, weight)
            if members is None:
                blobs = fitted_blobs(X, y, weight, scaling, n_components, rng)
                _warn_of_missing_blobs(blobs, labels, n_components, np.unique(y))
            else:
                blobs = labelled_blobs(X, y, members, weight, scaling)
            progress.say(f"{len(blobs)} blobs in {len(labels)} classes")

        with progress.step("boundaries"):
            separate = DISCRIMINANTS[self.discriminant]
            hyperplanes = separate(blobs, pairs_of_different_classes(blobs)).unscaled(scaling)
            codes = sign_codes(hyperplanes, X)
            regions = tabulate(codes, len(hyperplanes), y, len(labels), sample_weight)
            progress.say(f"{len(hyperplanes)} hyperplanes cut out {len(regions)} occupied regions")
            path = self._prune(regions, progress)
            hyperplanes = hyperplanes.select(path.kept)

        with progress.step("regions"):
            regions = regions.select(path.kept)
            progress.say(f"{len(regions)} regions after pruning")

        with progress.step("classes"):
            network = Network(
                hyperplanes,
                regions.codes,
                regions.classes,
                labels,
                blobs.classes,
                tuple(getattr(self, "feature_names_in_", _default_names(X.shape[1]))),
                self.penalty,
            )
            progress.say("network of {} → {} → {} → {} neurons".format(*network.layer_sizes))

        self.classes_ = labels
        self.blobs_ = blobs.unscaled(scaling)
        self.hyperplanes_ = hyperplanes
        self.pruning_path_ = path
        self.regions_ = regions
        self.network_ = network
        self.timings_ = progress.seconds

    def _prune(self, regions: Regions, progress: _Progress) -> PruningPath:
        # A threshold of 0 allows no deletion: no error rate is below it.
        threshold = 0.0 if self.error_threshold is None else self.error_threshold
        if self.pruning == "greedy":
            return prune(regions, threshold, progress.deletion)
        path = prune_optimally(regions, threshold, self.time_limit)
        progress.say(f"{len(path.kept)} hyperplanes left, at least {path.proved_minimum} are needed")
        return path

    def predict(self, X: ArrayLike) -> NDArray:
        """The majority class of each sample's region.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        region = self._regions_of(X)
        return self.classes_[self.regions_.classes[region]]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The class frequencies of each sample's region among the training samples.

        A sample in a region that no training sample occupied is counted to the region it violates
        least: the one with the smallest sum of ``|w·x + b|`` over the hyperplanes on whose wrong side
        the sample lies.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        region = self._regions_of(X)
        return self.regions_.frequencies[region]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Confidence: the class frequencies, or with two classes the second's lead over the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) with two classes
        """
        probability = self.predict_proba(X)
        if probability.shape[1] == 2:
            return probability[:, 1] - probability[:, 0]
        return probability

    def _regions_of(self, X: ArrayLike) -> NDArray[np.intp]:
        check_is_fitted(self)
        samples: NDArray = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return find_regions(self.hyperplanes_, self.regions_, samples)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever goes wrong, the estimator stays as it was before."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise


class _Progress:
    """Times the steps of a fit and, if asked, tells how it goes on."""

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose
        self.seconds: dict[str, float] = {}
        self._current = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self._current = name
        start = perf_counter()
        yield
        self.seconds[name] = perf_counter() - start
        self.say(f"done in {self.seconds[name]:.3f} s")

    def say(self, message: str) -> None:
        if self.verbose:
            print(f"[FFMLPClassifier] {self._current}: {message}")

    def deletion(self, n_left: int, error_rate: float) -> None:
        self.say(f"{n_left} hyperplanes left, training error {100 * error_rate:.2f} %")


def _warn_of_missing_blobs(
    blobs: Blobs, labels: NDArray, n_components: NDArray[np.intp], present: NDArray[np.intp]
) -> None:
    made = np.bincount(blobs.classes, minlength=len(labels))
    for label in present:
        if made[label] < n_components[label]:
            name = labels.tolist()[label]
            warnings.warn(
                f"class {name!r} has too few distinct samples for {n_components[label]} Gaussian "
                f"blobs: it gets {made[label]}.",
                UserWarning,
                stacklevel=4,
            )


def _default_names(n_features: int) -> tuple[str, ...]:
    return tuple(f"x{number}" for number in range(n_features))
