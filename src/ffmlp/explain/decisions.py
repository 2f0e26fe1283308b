"""What a fitted classifier says about its decisions: reasons, and the distance to another class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import AnyFloats
from ffmlp.explain.explain import Explanations, explained
from ffmlp.network.blobs import Blobs, Familiarity, feature_units
from ffmlp.network.network import Network
from ffmlp.parameters import checked_cells
from ffmlp.robustness.distance import Robustness, as_predicted, checked_effort, scaled_distances
from ffmlp.robustness.limits import checked_limits
from ffmlp.robustness.recourse import Recourse, recourse
from ffmlp.robustness.wishes import checked_wishes


class DecisionsMixin:
    """Methods of a fitted classifier with ``network_`` and ``blobs_``."""

    network_: Network
    blobs_: Blobs

    def explain(
        self,
        X: ArrayLike,
        reference: ArrayLike | None = None,
        *,
        counterfactual: bool = False,
        frozen: Sequence[int | str] = (),
        bounds: Mapping[int | str, tuple[float | None, float | None]] | None = None,
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
        cells = checked_cells(self, X)
        given = None if reference is None else self._reference_cells(reference)
        explanations = explained(self.network_, self.blobs_, cells, given)
        if not counterfactual:
            return explanations
        scale = feature_units(self.blobs_, self.network_.hyperplanes)[self.network_.table.firsts]
        found = self.robustness(X, norm, scale=scale, frozen=frozen, bounds=bounds)
        return replace(explanations, robustness=found)

    def _reference_cells(self, reference: ArrayLike) -> AnyFloats:
        """The cells of references, or an error that says it is not about X."""
        try:
            return checked_cells(self, reference)
        except ValueError as error:
            raise ValueError(f"reference must be samples with the columns of X. {error}") from error

    def robustness(
        self,
        X: ArrayLike,
        norm: float | str = 2,
        *,
        scale: ArrayLike | None = None,
        frozen: Sequence[int | str] = (),
        bounds: Mapping[int | str, tuple[float | None, float | None]] | None = None,
        time_limit: float = 10.0,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Robustness:
        """The distance of each sample to the nearest point that is predicted to be of another class.

        It is exact for the region design without gaussianised features, and for readouts of at most 100
        hyperplanes without regions (those of ``max_neurons``) within the time limit. Elsewhere it lies
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
        effort = checked_effort(time_limit, n_jobs, progress)
        cells = np.asarray(checked_cells(self, X), np.float64)
        samples = np.asarray(self.network_.inputs(cells), np.float64)
        limits = checked_limits(self.network_.table, cells, samples, norm, scale, frozen, bounds)
        found = scaled_distances(self.network_, self.blobs_, samples, limits, effort)
        return as_predicted(self.network_, cells, found)

    def recourse(
        self,
        X: ArrayLike,
        *,
        wanted: Any = None,
        frozen: Sequence[int | str] = (),
        bounds: Mapping[int | str, tuple[float | None, float | None]] | None = None,
        rising: Sequence[int | str] = (),
        falling: Sequence[int | str] = (),
        integer: Sequence[int | str] = (),
        categories: Mapping[int | str, Sequence[Any]] | None = None,
        max_changed: int | None = None,
        costs: Mapping[int | str, float] | None = None,
        n_answers: int = 1,
        time_limit: float = 10.0,
    ) -> list[Recourse]:
        """Changes of rows that give another class, or a wanted one, within limits.

        A change costs the standard deviations by which numbers change, and 1 for each column with
        another category, times the costs of the columns. Missing numbers stay missing. Numbers change by
        at most 10 standard deviations. For readouts of at most 100 hyperplanes without regions (those of
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
        effort = checked_effort(time_limit, None, False)
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
        found = network.familiarity(samples, keep)
        places = network.stages.places(network.hyperplanes, samples)
        return found if places is None else replace(found, unseen=places.unseen)
