"""The plans that the parameters allow, and the best one on held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ffmlp.arrays import Below, Floats, Indices, Shape, without_rounding
from ffmlp.design.designs import design_network
from ffmlp.design.lda import DISCRIMINANTS
from ffmlp.design.problem import Plan, Progress, Samples
from ffmlp.inputs.rows import evenly
from ffmlp.words import html_table

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier


N_FOLDS = 3
# With more distinct samples than this, plans are fitted to some and judged by others, once: many samples
# give a precise judgement, and few take little time to fit.
MAX_SAMPLES_OF_FOLDS = 600
N_PLANNED, N_JUDGED = 300, 1000
# The largest number of parts of one sample, because a weight may be any number.
_MOST_DEALT = 1e9
# Probabilities are clipped to this, so that one sample does not decide.
_SMALLEST_PROBABILITY = 1e-6
_HEAD = ["", "design", "gaussianise", "discriminant", "components", "threshold", "log-loss", "accuracy"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The plans that were compared, their results, and the chosen one. Prints as a table.

    Attributes
    ----------
    plans : tuple of Plan
        The plans that were compared.
    log_losses : ndarray of shape (n_plans,)
        Log-loss of each plan on held-out samples; NaN if there was only one plan.
    accuracies : ndarray of shape (n_plans,)
        Accuracy of each plan on the same samples.
    best : int
        The chosen plan: the first, unless the plan of least log-loss beats it by a standard error.
    """

    plans: Annotated[tuple[Plan, ...], Shape("p")]
    log_losses: Annotated[Floats, Shape("p")]
    accuracies: Annotated[Floats, Shape("p")]
    best: Annotated[int, Below("p")]

    @property
    def plan(self) -> Plan:
        """The chosen plan."""
        return self.plans[self.best]

    @property
    def table(self) -> list[list[str]]:
        """A header, and a row for each plan; an arrow marks the chosen one."""
        rows = [
            [
                "→" if number == self.best else "",
                plan.design,
                "yes" if plan.gaussianise else "no",
                plan.discriminant,
                _components(plan.n_components),
                "none" if plan.error_threshold is None else f"{plan.error_threshold:g}",
                _shown(self.log_losses[number]),
                _shown(self.accuracies[number]),
            ]
            for number, plan in enumerate(self.plans)
        ]
        return [_HEAD, *rows]

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in self.table
        )

    def _repr_html_(self) -> str:
        header, *rows = self.table
        return html_table(header, rows)


def _shown(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _components(n_components: tuple[int, ...] | None) -> str:
    if n_components is None:
        return "many small"
    distinct = sorted(set(n_components))
    return str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]} to {distinct[-1]}"


def select(
    samples: Samples, plans: Sequence[Plan], rng: np.random.RandomState, progress: Progress
) -> Selection:
    """The first plan, unless the one of least log-loss on held-out merged samples is clearly better."""
    unknown = np.full(len(plans), np.nan)
    unjudged = Selection(tuple(plans), unknown, unknown, 0)
    if len(plans) == 1:
        return unjudged
    with progress.step("selection"):
        judged = [_judged(plans, *parts, rng) for parts in splits(samples)]
        judged = [part for part in judged if part is not None]
        if not judged:  # all but a sample or two are of one class
            return unjudged
        losses, hits, weight, importance = (
            np.concatenate(parts, axis=-1) for parts in zip(*judged, strict=True)
        )
        share = importance / importance.sum()
        best = _winner(losses, weight, share)
        selection = Selection(tuple(plans), losses @ share, hits @ share, best)
        progress.say(f"{len(plans)} plans\n{selection}")
    return selection


def _winner(losses: Floats, weight: Floats, share: Floats) -> int:
    """The plan of least loss if it beats the first one by a standard error, otherwise the first.

    ``share`` (n,) is the share of each sample in the mean loss. ``weight`` (n,) is its frequency: it
    stands for that many samples of equal gain, whose mean has a smaller standard error than one sample.
    """
    best = int(np.argmax(without_rounding((losses[0] - losses) @ share)))
    gains = losses[0] - losses[best]
    gain = share @ gains
    error = np.sqrt(share**2 / weight @ (gains - gain) ** 2)
    return best if gain > error else 0


def _judged(
    plans: Sequence[Plan], training: Samples, held: Samples, rng: np.random.RandomState
) -> tuple[NDArray, NDArray, NDArray, NDArray] | None:
    """Log-loss and hit (P, n) of each plan on held-out samples; their weight and importance (n,)."""
    if len(np.unique(training.y)) < 2:
        return None
    losses, hits = np.empty((2, len(plans), len(held.y)))
    for index, plan in enumerate(plans):
        # The whole readout stands for the small one, which approximates it and takes longer to fit, and
        # for the one with trees. Greedy pruning stands for optimal pruning, whose time limit is for one
        # search.
        plan = replace(plan, max_neurons=None, max_leaves=0, pruning="greedy")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a fold has fewer samples than the user gave
            design = design_network(training, plan, rng, Progress())
        probability = design.network.probabilities(held.X)
        of_truth = probability[np.arange(len(held.y)), held.y]
        losses[index] = -np.log(np.maximum(of_truth, _SMALLEST_PROBABILITY))
        hits[index] = probability.argmax(axis=1) == held.y
    return losses, hits, held.weight, held.importance


def splits(merged: Samples) -> list[tuple[Samples, Samples]]:
    """Pairs of training samples and held-out samples.

    Distinct samples are dealt out in the order of class and value, so that each part is representative.
    Equal samples stay on the same side of a split. Only a sample that is frequent enough to be in every
    fold is divided; with many distinct samples, only if frequent ones make up most of the weight. A
    sample of weight 2 thus counts as two samples.
    """
    weight = merged.weight
    frequent, few = weight >= N_FOLDS, len(weight) <= MAX_SAMPLES_OF_FOLDS
    divided = frequent & (few or weight[frequent].sum() > weight.sum() / 2)
    dealt = np.where(divided, np.minimum(weight, _MOST_DEALT), 1).astype(np.int64)
    # A multiple of the common unit of all weights, so that sums stay exact.
    unit = 8 * np.spacing(weight.sum())
    each = np.round(weight / dealt / unit) * unit
    if few:
        last = np.cumsum(dealt)
        held = [
            (last + fold) // N_FOLDS - (last - dealt + fold) // N_FOLDS
            for fold in reversed(range(N_FOLDS))
        ]
        parts = [(dealt - judged, judged) for judged in held if judged.any()]
    else:
        planned = _some_of(dealt, N_PLANNED)
        parts = [(planned, _some_of(dealt - planned, N_JUDGED))]
    return [
        (merged.reweighted(planned * each), merged.reweighted(judged * each))
        for planned, judged in parts
    ]


def _some_of(numbers: NDArray[np.int64], at_most: int) -> Indices:
    """How many of the ``numbers`` (n,) of equal samples are taken, if ``at_most`` are taken evenly."""
    last = np.cumsum(numbers)
    taken = np.searchsorted(last, evenly(int(last[-1]), at_most), side="right")
    return np.bincount(taken, minlength=len(numbers))


# The value of a parameter that is to be chosen.
AUTO = "auto"
# Numbers of blobs per class that are tried in designs with few blobs.
_NUMBERS_OF_COMPONENTS = (1, 2, 4)
# Mixtures of more features take too long.
_MAX_FEATURES_OF_MIXTURES = 100


def possible_plans(classifier: FFMLPClassifier, samples: Samples) -> list[Plan]:
    """All plans that the parameters allow; the first one wins unless another is clearly better."""
    given = classifier.pruning, classifier.time_limit, classifier.penalty, classifier.max_neurons
    max_leaves = np.inf if classifier.max_leaves == AUTO else float(classifier.max_leaves)
    plans = []
    for design in _alternatives(classifier.design, _designs(classifier, samples)):
        literal, of_regions = design == "paper", design in ("paper", "region")
        simple = of_regions or (design == "blob" and classifier.design == AUTO)
        # Given blobs are in the space of the features.
        maps = (False,) if simple or samples.given is not None else (True, False)
        numbers: tuple[int | None, ...] = _NUMBERS_OF_COMPONENTS
        if design == "readout" or samples.have_blobs:
            numbers = (None,)
        elif classifier.design == AUTO:
            numbers = _components_that_fit(classifier, samples)
        choices = product(
            _alternatives(classifier.gaussianise, maps),
            ("drawn_lda",) if literal else _alternatives(classifier.discriminant, tuple(DISCRIMINANTS)),
            _alternatives(classifier.n_components, numbers),
            _alternatives(classifier.error_threshold, (0.05, None) if of_regions else (None,)),
        )
        for gaussianise, discriminant, components, threshold in choices:
            each = None if components is None else components_of_each(components, samples.labels)
            plan = Plan(design, bool(gaussianise), discriminant, each, threshold, *given)
            plan = replace(plan, shrink=not literal, all_pairs=bool(classifier.all_pairs))
            # Trees correct a readout of all its hyperplanes: a limit of the size allows none.
            if design == "readout" and plan.max_neurons is None and threshold is None:
                plan = replace(plan, max_leaves=max_leaves)
            plans.append(plan)
    return plans


def _alternatives(value: Any, automatic: tuple) -> tuple:
    return automatic if isinstance(value, str) and value == AUTO else (value,)


def _designs(classifier: FFMLPClassifier, samples: Samples) -> tuple[str, ...]:
    # With many samples, plans are compared on a subset. A simpler design may win there and lose on all
    # samples, so it is tried only where plans are compared by cross-validation.
    few_samples = samples.weight.sum() <= MAX_SAMPLES_OF_FOLDS
    few_features = samples.X.shape[1] <= _MAX_FEATURES_OF_MIXTURES
    if few_samples and few_features and _components_that_fit(classifier, samples):
        return ("readout", "blob")
    return ("readout",)


def _components_that_fit(classifier: FFMLPClassifier, samples: Samples) -> tuple[Any, ...]:
    """The numbers of components for which the blob design has no more neurons than allowed."""
    choices = _alternatives(classifier.n_components, _NUMBERS_OF_COMPONENTS[:2])
    limit = np.inf if classifier.max_neurons is None else classifier.max_neurons
    return tuple(choice for choice in choices if _size_of_blob_design(samples, choice) <= limit)


def _size_of_blob_design(samples: Samples, components: Any) -> int:
    """The number of neurons in l_1, l_2 and l_out, if every class gets all of its blobs."""
    if samples.given is not None:
        each = np.bincount(samples.given.classes, minlength=len(samples.labels))
    elif samples.members is not None:
        _, first = np.unique(samples.members, return_index=True)
        each = np.bincount(samples.y[first], minlength=len(samples.labels))
    else:
        each = np.array(components_of_each(components, samples.labels))
    n_blobs = int(each.sum())
    n_pairs = (n_blobs**2 - int(np.sum(each**2))) // 2
    return 2 * n_pairs + n_blobs + len(each)


def components_of_each(n_components: int | Mapping[Any, int], labels: NDArray) -> tuple[int, ...]:
    """The number of blobs of each class."""
    if not isinstance(n_components, Mapping):
        return (int(n_components),) * len(labels)
    known = labels.tolist()
    for label in n_components:
        if label not in known:
            raise ValueError(
                f"n_components names class {label!r}, which is not in y. Classes: {known[:10]}."
            )
    for label in known:
        if label not in n_components:
            raise ValueError(
                f"n_components has no entry for class {label!r}. Add one, or give a single int for "
                "all classes."
            )
        count = n_components[label]
        if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
            raise ValueError(f"n_components[{label!r}] must be an int of at least 1, got {count!r}.")
    return tuple(int(n_components[label]) for label in known)


@contextmanager
def threads_for(plans: list[Plan], n_jobs: int | None) -> Iterator[None]:
    """Trees in so many threads, and matrix products of a readout in one.

    Blocks of samples have their threads already. Threads of a product wait for each other: on two busy
    cores, a factor of ten has been measured. Their number would also change rounding errors. The other
    designs have few matrix products.
    """
    with ExitStack() as stack:
        if n_jobs is not None:
            stack.enter_context(parallel_config("threading", n_jobs=n_jobs))
        if any(plan.design == "readout" for plan in plans):
            stack.enter_context(threadpool_limits(1, user_api="blas"))
        yield
