"""The plans that the parameters of a classifier allow; "auto" stands for alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ffmlp.design.discriminants import DISCRIMINANTS
from ffmlp.design.problem import Plan, Samples
from ffmlp.design.selection import MAX_SAMPLES_OF_FOLDS

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# The value of a parameter that is to be chosen.
AUTO = "auto"
# Numbers of blobs per class that are tried in designs with few blobs.
_NUMBERS_OF_COMPONENTS = (1, 2, 4)
# Mixtures of more features take too long.
_MAX_FEATURES_OF_MIXTURES = 100


def possible_plans(classifier: FFMLPClassifier, samples: Samples) -> list[Plan]:
    """All plans that the parameters allow; the first one wins unless another is clearly better."""
    given = classifier.pruning, classifier.time_limit, classifier.penalty, classifier.max_neurons
    plans = []
    for design in _alternatives(classifier.design, _designs(classifier, samples)):
        literal, of_regions = design == "paper", design in ("paper", "region")
        choices = product(
            _alternatives(classifier.gaussianise, _gaussianise(classifier, samples, design)),
            ("drawn_lda",) if literal else _alternatives(classifier.discriminant, tuple(DISCRIMINANTS)),
            _alternatives(classifier.n_components, _components(classifier, samples, design)),
            _alternatives(classifier.error_threshold, (0.05, None) if of_regions else (None,)),
        )
        for gaussianise, discriminant, components, threshold in choices:
            each = None if components is None else components_of_each(components, samples.labels)
            plan = Plan(design, bool(gaussianise), discriminant, each, threshold, *given)
            plan = replace(plan, shrink=not literal, all_pairs=bool(classifier.all_pairs))
            plans.append(replace(plan, max_regions=_max_regions(classifier, plan)))
    return plans


def _max_regions(classifier: FFMLPClassifier, plan: Plan) -> float:
    """Regions are for a readout of all its hyperplanes: a limit of the size allows none."""
    if plan.design != "readout" or plan.max_neurons is not None or plan.error_threshold is not None:
        return 0
    return np.inf if classifier.max_regions == AUTO else float(classifier.max_regions)


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


def _gaussianise(classifier: FFMLPClassifier, samples: Samples, design: str) -> tuple[bool, ...]:
    simple = design in ("paper", "region") or (design == "blob" and classifier.design == AUTO)
    if simple or samples.given is not None:  # given blobs are in the space of the features
        return (False,)
    return (True, False)


def _components(classifier: FFMLPClassifier, samples: Samples, design: str) -> tuple[int | None, ...]:
    if design == "readout" or samples.have_blobs:
        return (None,)
    if classifier.design == AUTO:
        return _components_that_fit(classifier, samples)
    return _NUMBERS_OF_COMPONENTS


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
        return (_checked_count(n_components, "n_components"),) * len(labels)
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
    return tuple(_checked_count(n_components[label], f"n_components[{label!r}]") for label in known)


def _checked_count(count: object, name: str) -> int:
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise ValueError(
            f"{name} must be an int of at least 1, or a mapping of class label to int, got {count!r}."
        )
    return int(count)


@contextmanager
def threads_for(plans: list[Plan], n_jobs: int | None) -> Iterator[None]:
    """Trees in so many threads, and matrix products of a readout in one.

    Blocks of samples have threads of their own. Threads of a product wait for each other: on two busy
    cores, a factor of ten has been measured. Their number would also change rounding errors. The other
    designs have few matrix products.
    """
    with ExitStack() as stack:
        if n_jobs is not None:
            stack.enter_context(parallel_config("threading", n_jobs=n_jobs))
        if any(plan.design == "readout" for plan in plans):
            stack.enter_context(threadpool_limits(1, user_api="blas"))
        yield
