"""FFMLPClassifier: validate the input, select a plan, design the network."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state

from ffmlp.arrays import Floats
from ffmlp.design.designs import familiar_space
from ffmlp.design.intake import Intake
from ffmlp.design.problem import Progress
from ffmlp.design.selection import Selection, possible_plans, selected_design, threads_for
from ffmlp.explain.decisions import DecisionsMixin
from ffmlp.export.exports import ExportsMixin
from ffmlp.merging import Statistics, statistics_of_samples
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.region import Regions
from ffmlp.parameters import (
    all_or_nothing,
    check_parameters,
    checked_cells,
    class_weights,
    training_intake,
)

_ROWS_WORTH_A_THREAD = 10_000


class FFMLPClassifier(DecisionsMixin, ExportsMixin, ClassifierMixin, BaseEstimator):
    """A multilayer perceptron that is designed in one feedforward pass instead of trained.

    Each class becomes a mixture of Gaussian blobs. Hyperplanes separate pairs of blobs; each is two
    neurons of layer l_1. A neuron of l_2 stands for a region between hyperplanes, a blob or the evidence
    for a class, by the design. No backpropagation is used.

    What is ``"auto"`` is chosen on held-out samples.

    Parameters
    ----------
    n_components : int, mapping of class label to int or "auto", default="auto"
        Gaussian blobs per class. With ``"auto"``, the readout design has many small blobs, each
        separated from its nearest ones of other classes; the other designs try 1, 2 and 4.
    design : {"auto", "paper", "region", "blob", "readout"}, default="auto"
        How layers l_2 and l_out are made. ``"paper"`` is the paper to the letter, with one l_2 neuron
        per occupied region. ``"region"`` has the same neurons and an answer for every sample.
        ``"blob"`` has one per blob. ``"readout"`` has one per class, fitted by least squares, beside
        regions where it errs. ``"auto"`` tries the readout and, up to 600 samples, the blob design.
    gaussianise : bool or "auto", default="auto"
        Whether each feature is first mapped towards a Gaussian distribution. ``"auto"`` tries both,
        but does not map features for the region and paper designs.
    discriminant : {"lda", "heteroscedastic", "auto"}, default="lda"
        How two blobs are separated. ``"lda"`` is two-class LDA with its prior term.
        ``"heteroscedastic"`` is the linear rule of least error for blobs with different covariances.
        ``"auto"`` tries both.
    all_pairs : bool, default=False
        Whether blobs of the same class are separated, too, as in the paper's text; its experiments
        leave these pairs out. For the region and paper designs only.
    error_threshold : float in [0, 1], None or "auto", default="auto"
        Pruning deletes hyperplanes one by one, always the one that costs the fewest errors, while the
        training error rate stays below this. At least one is kept. ``None`` keeps all; ``"auto"`` tries
        0.05 and None if there are regions, and else keeps all. The readout design adds hyperplanes
        instead, the most informative first, until the leave-one-out error rate is below it, at most all.
    max_neurons : int or None, default=None
        The largest number of neurons in l_1, l_2 and l_out together, without regions. Half-spaces are
        chosen and moved so that they approximate the readout of all hyperplanes.
    max_leaves : int or "auto", default="auto"
        The largest number of leaves of the trees that correct the readout. Each leaf is a region neuron
        between half-spaces parallel to the axes. ``"auto"`` has as many as lower the left-out error.
    pruning : {"greedy", "optimal"}, default="greedy"
        ``"greedy"`` is the paper's method. ``"optimal"`` keeps the fewest hyperplanes that the threshold
        allows, with a proof (``pruning_path_.proved_minimum``), by integer programming.
    time_limit : float, default=60
        Seconds after which optimal pruning returns the best solution so far. Choices by ``"auto"`` are
        made with greedy pruning and do not count.
    penalty : float, default=1000
        P of the paper, at least 1: a half-space has the weight -P to regions outside of it.
    categorical_features : "from_dtype", None, or array-like of str, int or bool, default="from_dtype"
        The columns of categories: by the types of a data frame (texts, categories, booleans), none, or
        by names, positions or a mask. Columns of categories and numbers may have missing cells.
    class_weight : mapping of class label to float, "balanced" or None, default=None
        The weight of a sample of each class; ``"balanced"`` gives all classes the same total weight.
    random_state : int, RandomState instance or None, default=None
        Seeds the mixtures and what is drawn from them. The readout design needs no seed.
    keep_statistics : bool, default=False
        Whether ``statistics_`` are kept, from which classifiers of several sites are merged
        (`ffmlp.merge`). For the region and paper designs only.
    n_jobs : int or None, default=None
        Threads that grow trees of regions and predict; -1 for all cores. Results do not depend on it.
    verbose : int, default=0
        If positive, print the progress by stage and the number of hyperplanes left.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        Class labels.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` are their names, if X had any.
    blobs_ : Blobs
        The G blobs: ``classes``, ``means``, ``covariances``, ``weights``.
    hyperplanes_ : Hyperplanes
        The L hyperplanes that pruning kept: ``weights``, ``biases``, ``pairs``.
    pruning_path_ : PruningPath
        The deletions in order (``deleted``) and the training error rate after each (``error_rates``).
    regions_ : Regions or None
        The occupied regions of the region and paper designs: ``codes``, ``counts``, ``classes``.
    n_leaves_ : int
        The number of leaves of the trees that correct a readout; 0 without trees.
    selection_ : Selection
        The plans that were compared and the chosen one; prints as a table.
    network_ : Network
        The network: ``layer_sizes``, ``weights``, ``biases``, ``forward``, ``responses``, ``meaning``.
    statistics_ : Statistics
        With ``keep_statistics``: what the design reads of its samples.
    timings_ : dict
        Seconds for ``gmm``, ``boundaries``, ``regions``, ``classes`` and, if any, ``selection``.

    Notes
    -----
    A category becomes the shares of the classes among its training samples. A missing number becomes its
    conditional mean under Gaussian blobs; the median if training had none, or beyond 128 inputs.
    Blobs and regions refer to a class by its index in ``classes_``. If features are gaussianised, blobs
    and hyperplanes are in the space of their scores.
    A sample of weight 2 counts as two samples. Weights are scaled to a mean of one if it is below.

    References
    ----------
    R. Lin et al., "From Two-Class Linear Discriminant Analysis to Interpretable Multilayer Perceptron
    Design", 2020, and "Geometrical Interpretation and Design of Multilayer Perceptrons", 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> small = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(X, y)
    >>> small.network_.layer_sizes, round(small.score(X, y), 3)
    ((4, 4, 3, 3), 0.98)
    >>> clf = FFMLPClassifier(random_state=0).fit(X, y)
    >>> print(clf.selection_)
       design   gaussianise  discriminant  components  threshold  log-loss  accuracy
       readout  yes          lda           many small  none       0.150     0.953
       readout  no           lda           many small  none       0.150     0.947
       blob     no           lda           1           none       0.112     0.973
    →  blob     no           lda           2           none       0.100     0.947
    >>> clf.network_.meaning(2, 0)
    'blob 0 of class 0'
    """

    def __init__(
        self,
        n_components: int | Mapping[Any, int] | str = "auto",
        *,
        design: str = "auto",
        gaussianise: bool | str = "auto",
        discriminant: str = "lda",
        all_pairs: bool = False,
        error_threshold: float | str | None = "auto",
        max_neurons: int | None = None,
        max_leaves: int | str = "auto",
        pruning: str = "greedy",
        time_limit: float = 60.0,
        penalty: float = 1000.0,
        categorical_features: ArrayLike | str | None = "from_dtype",
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        keep_statistics: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.design = design
        self.gaussianise = gaussianise
        self.discriminant = discriminant
        self.all_pairs = all_pairs
        self.error_threshold = error_threshold
        self.max_neurons = max_neurons
        self.max_leaves = max_leaves
        self.pruning = pruning
        self.time_limit = time_limit
        self.penalty = penalty
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state
        self.keep_statistics = keep_statistics
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        blobs: ArrayLike | Blobs | None = None,
        like: FFMLPClassifier | None = None,
    ) -> FFMLPClassifier:
        """Design the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training samples: numbers and categories, NaN, None or NA where they are missing.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The frequency of each sample.
        blobs : array-like of shape (n_samples,) or Blobs, default=None
            The blob of each sample, if known. Then no mixture is fitted and ``n_components`` is ignored.
            Blobs are numbered by class, then by this id. Or the blobs themselves, in the units of X and
            with their shares: then hyperplanes between them depend on no sample, and statistics of
            several sites can be merged (`ffmlp.merge`). For columns of numbers; their mean over all
            blobs replaces missing ones. ``blobs_`` are in the units of X if features are not
            gaussianised.
        like : FFMLPClassifier, default=None
            A classifier with ``statistics_``, whose plan, classes, columns, blobs and hyperplanes are
            used. Statistics of the two can be merged (`ffmlp.merge`).

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            check_parameters(self)
            if like is None:
                self._design(training_intake(self, X, y, sample_weight, blobs))
            else:
                self._follow(statistics_of_samples(self, like, X, y, sample_weight, blobs))
        return self

    def _design(self, found: Intake) -> None:
        """Select a plan, carry it out, and set the fitted attributes."""
        samples, plans = found.samples, possible_plans(self, found.samples)
        rng, progress = check_random_state(self.random_state), Progress(self.verbose)
        with warnings.catch_warnings(), threads_for(plans, self.n_jobs):
            if self.n_components == "auto":  # the user did not ask for a number of blobs
                warnings.filterwarnings("ignore", "Class .* has too few distinct samples")
            self.selection_, design = selected_design(samples, plans, rng, progress)
        familiar = familiar_space(design.blobs, design.network.hyperplanes, found.as_predicted)
        self.classes_, self.network_ = samples.labels, replace(design.network, familiar=familiar)
        self.blobs_, self.pruning_path_ = design.blobs, design.pruning_path
        self.timings_ = progress.seconds
        self.__dict__.pop("statistics_", None)  # those of an earlier fit
        if self.keep_statistics:
            self.statistics_ = Statistics.of(design, self.selection_.plan)

    def _follow(self, statistics: Statistics) -> None:
        """Design the network from statistics, and set the fitted attributes.

        How familiar samples are is not known: quantiles of distances do not add up.
        """
        mass = statistics.regions.counts.sum(axis=0, dtype=np.float64)
        weights = class_weights(self.class_weight, statistics.labels, mass)
        progress, unknown = Progress(self.verbose), np.full(1, np.nan)
        design = statistics.design(weights, progress)
        self.statistics_ = statistics
        self.selection_ = Selection((statistics.plan,), unknown, unknown, 0)
        self.classes_, self.network_ = statistics.labels, design.network
        self.blobs_, self.pruning_path_ = design.blobs, design.pruning_path
        self.timings_ = progress.seconds

    @property
    def hyperplanes_(self) -> Hyperplanes:
        """The hyperplanes."""
        return self.network_.hyperplanes

    @property
    def regions_(self) -> Regions | None:
        """The occupied regions, if the design has any."""
        return getattr(self.network_.stages, "regions", None)

    @property
    def n_leaves_(self) -> int:
        """The number of leaves of the trees that correct a readout."""
        trees = self.network_.stages.trees
        return 0 if trees is None else len(trees)

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class of each sample.

        Returns an array of shape (n_samples,).
        """
        numbers = self._by_rows("classes", X)
        return self.classes_[numbers]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class.

        For the region design it is the class frequencies of the training samples in the sample's region,
        or, if there are none, in the region that it violates least (by the sum of ``|w·x + b|`` over
        hyperplanes on whose wrong side it lies). For other designs it is the output of the network, in
        the paper design divided by its sum; where that is 0, all classes are equally probable.

        Returns an array of shape (n_samples, n_classes).
        """
        return self._by_rows("probabilities", X)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds of the classes.

        With two classes, those of the second over the first. With more, a score for each class whose
        softmax is `predict_proba`. The region and paper designs have probabilities of 0 and 1, whose
        log-odds are infinite. They return probabilities, and with two classes their difference.

        Returns an array of shape (n_samples, n_classes), or (n_samples,) with two classes.
        """
        confidence = self._by_rows("confidences", X)
        return confidence[:, 1] - confidence[:, 0] if confidence.shape[1] == 2 else confidence

    def _by_rows(self, what: str, X: ArrayLike) -> NDArray:
        """What the network computes for each row, in threads if there are many."""
        cells = checked_cells(self, X)
        samples = self.network_.inputs(cells)
        n_parts = min(effective_n_jobs(self.n_jobs), 1 + len(samples) // _ROWS_WORTH_A_THREAD)
        compute, parts = getattr(self.network_, what), np.array_split(samples, n_parts)
        return np.concatenate(Parallel(n_parts, require="sharedmem")(map(delayed(compute), parts)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        # On features of few distinct values, the paper's weights can be too large for its penalty.
        tags.classifier_tags.poor_score = self.design == "paper"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")
