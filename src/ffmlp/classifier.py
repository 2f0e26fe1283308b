"""FFMLPClassifier: validate the input, select a plan, design the network."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from ffmlp import export
from ffmlp.arrays import Floats
from ffmlp.design.designs import Design, design_network, familiar_space
from ffmlp.design.problem import Progress, Samples
from ffmlp.design.selection import Selection, possible_plans, select, threads_for
from ffmlp.explain.decisions import Explanations, explained, with_changes
from ffmlp.merging import Statistics, statistics_of_samples
from ffmlp.network.blobs import Blobs, Familiarity
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.region import Regions
from ffmlp.parameters import (
    all_or_nothing,
    check_parameters,
    checked_cells,
    class_weights,
    training_intake,
)
from ffmlp.robustness.distance import Effort, Robustness, robustness
from ffmlp.robustness.limits import Features, GivenBounds, checked_limits, checked_wishes
from ffmlp.robustness.recourse import Recourse, recourse

_ROWS_WORTH_A_THREAD = 10_000


class FFMLPClassifier(ClassifierMixin, BaseEstimator):
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
        trees that correct it. ``"auto"`` tries the readout and, up to 600 samples, the blob design.
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
        0.05 and None for the region and paper designs, and else keeps all. The readout design adds
        hyperplanes instead, the most informative first, until the leave-one-out error rate is below it,
        at most all.
    max_neurons : int or None, default=None
        The largest number of neurons in l_1, l_2 and l_out together, without trees. Half-spaces are
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
        Threads that grow trees and predict; -1 for all cores. Results do not depend on it.
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
        With ``keep_statistics``: sums over the samples from which the design can be repeated.
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
                self._design(*training_intake(self, X, y, sample_weight, blobs))
            else:
                self._follow(statistics_of_samples(self, like, X, y, sample_weight, blobs))
        return self

    def _design(self, samples: Samples, as_predicted: Samples) -> None:
        """Select a plan, carry it out, and set the fitted attributes."""
        plans = possible_plans(self, samples)
        rng, progress = check_random_state(self.random_state), Progress(self.verbose)
        if len(plans) > 1 or plans[0].design == "readout":
            samples = samples.merged()
        with warnings.catch_warnings(), threads_for(plans, self.n_jobs):
            if self.n_components == "auto":  # the user did not ask for a number of blobs
                warnings.filterwarnings("ignore", "Class .* has too few distinct samples")
            selection = select(samples, plans, rng, progress)
            design = design_network(samples, selection.plan, rng, progress)
        familiar = familiar_space(design.blobs, design.network.hyperplanes, as_predicted)
        self._set_fitted(design, selection, progress)
        self.network_ = replace(design.network, familiar=familiar)
        self.__dict__.pop("statistics_", None)  # of an earlier fit
        if self.keep_statistics:
            assert design.table is not None  # other designs depend on more
            parts = design.blobs, design.hyperplanes, design.table
            columns = self.network_.table
            self.statistics_ = Statistics(selection.plan, self.classes_, columns, *parts)

    def _follow(self, statistics: Statistics) -> None:
        """Design the network from statistics, and set the fitted attributes.

        How familiar samples are is not known: quantiles of distances do not add up.
        """
        mass = statistics.regions.counts.sum(axis=0, dtype=np.float64)
        weights = class_weights(self.class_weight, statistics.labels, mass)
        progress, unknown = Progress(self.verbose), np.full(1, np.nan)
        design = statistics.design(weights, progress)
        self._set_fitted(design, Selection((statistics.plan,), unknown, unknown, 0), progress)
        self.statistics_ = statistics

    def _set_fitted(self, design: Design, selection: Selection, progress: Progress) -> None:
        """Set the fitted attributes of any design."""
        self.classes_, self.network_, self.selection_ = design.network.labels, design.network, selection
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

        With two classes, the log-odds of the second over the first. With more, a score for each class
        whose softmax is `predict_proba`. The region and paper designs have probabilities of 0 and 1,
        whose log-odds are infinite. They return probabilities, and with two classes their difference.

        Returns an array of shape (n_samples, n_classes), or (n_samples,) with two classes.
        """
        confidence = self._by_rows("confidences", X)
        return confidence[:, 1] - confidence[:, 0] if confidence.shape[1] == 2 else confidence

    def _by_rows(self, method: str, X: ArrayLike) -> NDArray:
        """A method of the network for each row, in threads if there are many."""
        cells = checked_cells(self, X)
        samples = self.network_.inputs(cells)
        n_parts = min(effective_n_jobs(self.n_jobs), 1 + len(samples) // _ROWS_WORTH_A_THREAD)
        compute, parts = getattr(self.network_, method), np.array_split(samples, n_parts)
        return np.concatenate(Parallel(n_parts, require="sharedmem")(map(delayed(compute), parts)))

    def explain(
        self,
        X: ArrayLike,
        reference: ArrayLike | None = None,
        *,
        counterfactual: bool = False,
        frozen: Features = (),
        bounds: GivenBounds = None,
        norm: float | str = 2,
    ) -> Explanations:
        """Explain predictions: what each column adds to the lead of the predicted class.

        A sample is compared with a reference. The difference of their leads divides exactly among the
        columns, and among the boundaries between the two.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        reference : array-like of shape (n_references, n_features), default=None
            What samples are compared with; the mean over all references, if there are several. None is
            the centre of the nearest blob of the class that is second best for the sample.
        counterfactual : bool, default=False
            Whether to search for the smallest change that gives another class, in standard deviations.
        frozen : sequence of int or str, default=()
            Features, by number or name, that must not change.
        bounds : mapping of feature to (low, high), default=None
            Limits of the changed features, None for no limit.
        norm : {2, 1, "inf"}, default=2
            The size of a change: Euclidean (extra ``robustness``), sum or largest of the changes.

        Returns
        -------
        Explanations
            One page each if printed; ``explanations.to_frame()`` is a data frame.
        """
        cells, reference_cells = checked_cells(self, X), None
        if reference is not None:
            try:
                reference_cells = checked_cells(self, reference)
            except ValueError as error:
                raise ValueError(f"reference must be samples with the columns of X. {error}") from error
        explanations = explained(self.network_, self.blobs_, cells, reference_cells)
        return with_changes(explanations, norm, frozen, bounds) if counterfactual else explanations

    def robustness(
        self,
        X: ArrayLike,
        norm: float | str = 2,
        *,
        scale: ArrayLike | None = None,
        frozen: Features = (),
        bounds: GivenBounds = None,
        time_limit: float = 10.0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Robustness:
        """The distance of each sample to the nearest point that is predicted to be of another class.

        It is exact for the region design without gaussianised features, and for readouts of at most 100
        hyperplanes without trees (as with ``max_neurons``) within the time limit. Elsewhere it lies
        between ``lower``, a proved bound, and ``distance``, at which another class was found. Numbers
        change; categories and missing numbers stay. `recourse` changes categories, too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        norm : {2, 1, inf, "inf"}, default=2
            2 is the Euclidean distance, 1 the sum of all changes, inf the largest change. Exact
            distances in norm 2 need the extra ``robustness``.
        scale : array-like of shape (n_features,), default=None
            The unit of each feature's change; 1 by default.
        frozen : sequence of int or str, default=()
            Features, by number or name, that must not change.
        bounds : mapping of feature to (low, high), default=None
            Limits of features, None for no limit. The samples must lie within them.
        time_limit : float, default=10.0
            Seconds for the proof of each sample's distance. Where they are not enough, the distance is
            not ``exact``.
        n_jobs : int or None, default=None
            Processes for the samples, -1 for all cores; None is one.
        progress : bool, default=False
            Whether to show a progress bar (tqdm).

        Returns
        -------
        Robustness
        """
        effort = Effort(time_limit, n_jobs, progress)
        cells = np.asarray(checked_cells(self, X), np.float64)
        samples = np.asarray(self.network_.inputs(cells), np.float64)
        limits = checked_limits(self.network_.table, cells, samples, norm, scale, frozen, bounds)
        return robustness(self.network_, self.blobs_, cells, samples, limits, effort)

    def recourse(
        self,
        X: ArrayLike,
        *,
        wanted: Any = None,
        frozen: Features = (),
        bounds: GivenBounds = None,
        rising: Features = (),
        falling: Features = (),
        integer: Features = (),
        categories: Mapping[int | str, Sequence[Any]] | None = None,
        max_changed: int | None = None,
        costs: Mapping[int | str, float] | None = None,
        n_answers: int = 1,
        time_limit: float = 10.0,
    ) -> list[Recourse]:
        """Changes of rows that give another class, or a wanted one, within limits.

        A change costs the standard deviations by which numbers change, and 1 for each column with
        another category, times the costs of the columns. Missing numbers stay missing. Numbers change by
        at most 10 standard deviations. For readouts of at most 100 hyperplanes without trees (as with
        ``max_neurons``), the change is the cheapest one within the time limit, with a proof
        (``cheapest``). For other networks it is the cheapest one that a search finds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        wanted : class label, default=None
            The class to reach; None for any other class.
        frozen : sequence of int or str, default=()
            Columns, by number or name, that must not change.
        bounds : mapping of column to (low, high), default=None
            Limits of numbers, None for no limit. The samples must lie within them.
        rising, falling : sequence of int or str, default=()
            Numbers that may only rise, or only fall.
        integer : sequence of int or str, default=()
            Numbers that change to whole numbers only.
        categories : mapping of column to sequence of categories, default=None
            The categories that a column may change to; all known ones by default.
        max_changed : int or None, default=None
            The largest number of columns that change.
        costs : mapping of column to float, default=None
            The cost of a standard deviation of a number, or of another category; 1 by default.
        n_answers : int, default=1
            Changes for each sample. Each further one leaves at least one column as it is of those that
            an earlier one changes.
        time_limit : float, default=10.0
            Seconds for the proofs of a sample, shared by its answers. If there is none, as many again
            for the limits in the way.

        Returns
        -------
        list of Recourse
            One for each sample: ``changes``, cheapest first, and the ``reason`` if there are none, which
            names the limits in the way.
        """
        effort = Effort(time_limit)
        if not isinstance(n_answers, Integral) or n_answers < 1:
            raise ValueError(f"n_answers must be an int of at least 1, got {n_answers!r}.")
        cells = np.asarray(checked_cells(self, X), np.float64)
        wishes = checked_wishes(
            self.network_.table, cells, self.network_.labels, wanted=wanted, frozen=frozen,
            bounds=bounds, rising=rising, falling=falling, integer=integer, categories=categories,
            max_changed=max_changed, costs=costs,
        )  # fmt: skip
        return recourse(self.network_, self.blobs_, cells, wishes, int(n_answers), effort.time_limit)

    def familiarity(self, X: ArrayLike, keep: float = 0.99) -> Familiarity:
        """Whether samples lie where the model has seen training samples.

        The score of a sample is its distance to the nearest blob. One covariance, pooled over all blobs,
        gives the units. On 20 real sets, ``keep=0.99`` flags 1.0 % of held-out rows on average (0 to
        2.8 %), and 87 % of uniform noise within the ranges of the features (median 99.7 %).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Missing numbers count as the values that replace them.
        keep : float, default=0.99
            The share of training samples that are familiar.

        Returns
        -------
        Familiarity

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ffmlp import FFMLPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FFMLPClassifier(random_state=0).fit(X, y)
        >>> clf.familiarity([[5.0, 3.4, 1.5, 0.2], [5.0, 3.4, 6.0, 0.2]]).familiar
        array([ True, False])
        """
        network = self.network_
        samples = network.inputs(checked_cells(self, X))
        familiarity = network.familiarity(samples, keep)
        places = network.stages.places(network.hyperplanes, samples)
        return familiarity if places is None else replace(familiarity, unseen=places.unseen)

    def to_torch(self, dtype: Any = None) -> Any:
        """The network as a PyTorch module that can be trained (extra ``torch``).

        Parameters
        ----------
        dtype : torch.dtype, default=None
            The type of the weights; PyTorch's default if None. Choose it here: ``module.double()``
            cannot restore the digits that float32 has lost.

        Returns
        -------
        torch.nn.Sequential
            Layers ``table`` (if there are categories: it takes their numbers in
            ``network_.columns``), ``imputation`` (of missing numbers), ``gaussianise`` (if features are
            mapped), ``half_spaces``, ``regions`` (or ``blobs`` or ``evidence``) and ``classes``, the
            last three with activations. The output is ``network_.forward``: no `predict_proba`
            in the region design. See `ffmlp.from_torch`.
        """
        check_is_fitted(self)
        return export.to_torch(self.network_, dtype)

    def to_onnx(self, input_type: str = "float32") -> Any:
        """The classifier as an ONNX model (extra ``onnx``).

        Parameters
        ----------
        input_type : {"float32", "float64"}, default="float32"
            The type of numbers and of the output ``probabilities``. The model computes in float64.

        Returns
        -------
        onnx.ModelProto
            Its input is ``X`` (rows, ``n_features_in_``). With categories, each column is an input
            (rows, 1), by name; categories are strings, empty if missing. Its outputs are as `predict`
            and `predict_proba`: ``label`` (rows,), ``probabilities`` (rows, n_classes).
        """
        check_is_fitted(self)
        return export.to_onnx(self.network_, input_type)

    def to_relu_onnx(self, x: ArrayLike | None = None, radius: ArrayLike | None = None) -> Any:
        """The network as a plain ONNX graph for verifiers (extra ``onnx``).

        It consists of MatMul, Add and Relu in float32. It is available for the readout design without
        trees (``max_neurons`` or ``max_leaves=0``) and for the paper design.

        Parameters
        ----------
        x, radius : optional
            As in `to_vnnlib`. With them, the graph is for its property: a function of steps within
            the box, and smaller.

        Returns
        -------
        onnx.ModelProto
            Its input ``X`` (rows, inputs) are the network's inputs, ``network_.inputs(cells)``: numbers,
            and shares of classes in place of categories; nothing is missing. With a box, these are steps
            instead, from -1 to 1 for each input. Its output ``Y`` (rows, n_classes) is the evidence of
            the classes before the softmax. The predicted class has the largest one.
        """
        check_is_fitted(self)
        if x is None and radius is None:
            return export.to_relu_onnx(self.network_)
        if x is None or radius is None:
            raise ValueError("A box needs both x and radius, got one of them.")
        return export.to_relu_onnx(self.network_, export.Box.around(self.network_, self._row(x), radius))

    def to_vnnlib(self, x: ArrayLike, radius: ArrayLike) -> str:
        """The claim that a sample keeps its class within a box, for verifiers of neural networks.

        The text is a VNN-LIB property of the graph of ``to_relu_onnx(x, radius)``. If a verifier says
        *unsat*, no input in the box has another class. *sat* comes with such an input, or with a tie.

        Parameters
        ----------
        x : array-like or data frame of shape (n_features,) or (1, n_features)
            One sample. Categories and missing cells are fixed: only numbers change.
        radius : float or array-like of shape (n_features,)
            The largest change of each number.

        Returns
        -------
        str
            Each input of the graph is a step from -1 to 1. A comment says which value it stands for, or
            which score of a gaussianised feature: scores rise with their feature, so that the scores in
            the box are a box, too. The property is about the graph as it is, with weights in float32.
            A comment bounds their effect on the outputs in this box, and states the lead of the class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ffmlp import FFMLPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FFMLPClassifier(design="readout", max_neurons=20, gaussianise=False).fit(X, y)
        >>> clf.to_vnnlib(X[0], radius=0.25).splitlines()[-3:]
        ['    (and (>= Y_1 Y_0))', '    (and (>= Y_2 Y_0))', '))']
        """
        return export.to_vnnlib(self.network_, self._row(x), radius)

    def _row(self, x: ArrayLike) -> Floats:
        """The cells (1, M) of one sample, which may be given without a dimension for samples."""
        X: Any = [x] if np.ndim(x) == 1 else x
        return np.asarray(checked_cells(self, X), np.float64)

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
