"""Statistics of a design that add up: fits like another classifier, one classifier of many sites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import starmap
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_consistent_length, column_or_1d

from ffmlp.arrays import Floats, Shape
from ffmlp.design.designs import Design
from ffmlp.design.problem import Plan, Progress, Samples
from ffmlp.design.region import occupied_regions, pruned, region_layers
from ffmlp.design.selection import AUTO
from ffmlp.inputs.columns import Columns
from ffmlp.inputs.data_frames import plain_labels
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.region import Regions
from ffmlp.parameters import checked_cells, checked_weight

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# What statistics must have in common to be added up.
_SHARED = {
    "plan": "plans",
    "labels": "classes",
    "hyperplanes": "hyperplanes",
    "blobs": "blobs",
    "columns": "columns, or what stands for categories and missing numbers,",
}


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over the samples of a region or paper design, from which it can be repeated; addable.

    Attributes
    ----------
    plan : Plan
        The plan of the design.
    labels : ndarray of shape (C,)
        Class labels.
    columns : Columns
        The columns, and the inputs that they become.
    blobs, hyperplanes : Blobs, Hyperplanes
        The blobs, and the hyperplanes before pruning.
    regions : Regions
        The regions between the hyperplanes that samples occupy, with the weight of each class.
    """

    plan: Plan
    labels: Annotated[NDArray[Any], Shape("C")]
    columns: Columns
    blobs: Blobs
    hyperplanes: Hyperplanes
    regions: Regions

    def __add__(self, other: Statistics) -> Statistics:
        for name, what in _SHARED.items():
            how = _difference(name, getattr(self, name), getattr(other, name))
            if how is not None:
                raise ValueError(
                    f"the {what} differ: {how}. Only statistics of the same ones add up: fit the others "
                    "with fit(X, y, like=first), or all with the same given blobs."
                )
        return replace(self, regions=self.regions + other.regions)

    def check(self) -> None:
        """Raise a ValueError if no samples have these statistics."""
        counts, planes = self.regions.counts, self.hyperplanes
        if not (np.isfinite(planes.weights).all() and np.isfinite(planes.biases).all()):
            raise ValueError("a hyperplane of the statistics is not made of finite numbers")
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("counts of the statistics must be finite and not negative")

    def design(self, class_weight: Floats, progress: Progress) -> Design:
        """The design of all samples that were added up."""
        plan, planes = self.plan, self.hyperplanes
        with progress.step("boundaries"):
            path, regions = pruned(self.regions, class_weight, plan, progress)
        upper = replace(region_layers(path, regions, plan, planes, progress), table=self.regions)
        return Design.of(self.blobs, planes, upper, self.labels, self.columns)


def _difference(name: str, first: Any, second: Any) -> str | None:
    """How two parts of this name differ, in the first of their fields and entries that does.

    None if they are equal to the last bit.
    """
    if type(first) is type(second) and is_dataclass(first):
        names = [field.name for field in fields(first)]
        parts = [(f"{name}.{each}", getattr(first, each), getattr(second, each)) for each in names]
        return next(filter(None, starmap(_difference, parts)), None)
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        parts = [(f"{name}[{number}]", *pair) for number, pair in pairs]
        return next(filter(None, starmap(_difference, parts)), None)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        if first.shape != second.shape or first.dtype != second.dtype:
            kinds = (f"{array.dtype} of shape {array.shape}" for array in (first, second))
            return f"{name} is {' and '.join(kinds)}"
        if np.array_equal(first, second):
            return None
        index = np.unravel_index(int(np.argmax(first != second)), first.shape)
        where = ", ".join(map(str, index))
        return f"{name}[{where}] is {first[index].item()!r} and {second[index].item()!r}"
    if type(first) is type(second) and first == second:
        return None
    return f"{name} is {first!r} and {second!r}"


def followed(classifier: FFMLPClassifier, like: FFMLPClassifier, blobs: object) -> Statistics:
    """The statistics of the classifier to follow; sets the feature attributes of the other."""
    given = checked_statistics(like, "like")
    if classifier.design not in (AUTO, given.plan.design):
        raise ValueError(
            f"like has the {given.plan.design} design, which is used, got design="
            f"{classifier.design!r}. Choose design={given.plan.design!r}."
        )
    if blobs is not None:
        raise ValueError("blobs cannot be given beside like, which has blobs. Leave out one of them.")
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(like, name):
            setattr(classifier, name, getattr(like, name))
    return given


def statistics_of_samples(
    classifier: FFMLPClassifier,
    like: FFMLPClassifier,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    blobs: object,
) -> Statistics:
    """The statistics of samples for the hyperplanes of another classifier."""
    given, targets = followed(classifier, like, blobs), column_or_1d(plain_labels(y))
    weight = checked_weight(sample_weight, len(targets), adds_up=True)
    samples = samples_like(like, X, targets, weight)
    return replace(given, regions=occupied_regions(given.hyperplanes, samples))


def samples_like(like: FFMLPClassifier, X: Any, y: NDArray, weight: Floats) -> Samples:
    """Labelled rows of positive weight as samples for the hyperplanes of another classifier."""
    labels, columns = like.statistics_.labels, like.statistics_.columns
    cells = checked_cells(like, X)
    check_consistent_length(cells, y)
    unknown = sorted({*y.tolist()} - {*labels.tolist()}, key=str)
    if unknown:
        raise ValueError(
            f"y has the class {unknown[0]!r}, which like does not know. Classes: {labels.tolist()[:10]}."
        )
    counted = weight > 0
    inputs, number = columns.inputs(cells[counted]), np.searchsorted(labels, y[counted])
    return Samples(inputs, number, weight[counted], labels, np.ones(len(labels)), columns)


def checked_statistics(classifier: Any, name: str) -> Statistics:
    """The statistics of a fitted classifier, or an error."""
    statistics = getattr(classifier, "statistics_", None)
    if not isinstance(statistics, Statistics):
        raise ValueError(
            f"{name} has no statistics_. Fit it with keep_statistics=True, or like one that has them, "
            f"got {classifier!r}."
        )
    return statistics


def merge(classifiers: Iterable[FFMLPClassifier]) -> FFMLPClassifier:
    """The classifier of all samples that classifiers of several sites were fitted to.

    Exact: it equals a fit of all samples with the hyperplanes of the first classifier. Only sums are
    exchanged. Classifiers that do not share plan, classes, columns, blobs and hyperplanes are refused.
    They share them if they were given the same blobs, or if they were fitted like one of them.

    Parameters
    ----------
    classifiers : iterable of FFMLPClassifier
        The first one is fitted with ``keep_statistics=True``, the others with
        ``fit(X, y, like=first)``. Or all are fitted with ``keep_statistics=True`` and
        ``fit(X, y, blobs=blobs)``, where ``blobs`` are the same `Blobs`.

    Returns
    -------
    FFMLPClassifier
        With the parameters of the first one. It has ``statistics_``, too.

    Examples
    --------
    >>> import ffmlp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> here = ffmlp.FFMLPClassifier(2, design="region", keep_statistics=True, random_state=0)
    >>> here = here.fit(X[::2], y[::2])
    >>> there = ffmlp.FFMLPClassifier(2, design="region").fit(X[1::2], y[1::2], like=here)
    >>> both = ffmlp.merge([here, there])
    >>> int(both.regions_.counts.sum()), round(both.score(X, y), 3)
    (150, 0.953)
    """
    classifiers = list(classifiers)
    if not classifiers:
        raise ValueError("classifiers is empty. Give at least one.")
    names = [f"Classifier {number}" for number in range(len(classifiers))]
    statistics, *others = map(checked_statistics, classifiers, names)
    for name, other in zip(names[1:], others, strict=True):
        try:
            statistics = statistics + other
        except ValueError as error:
            raise ValueError(f"{name} cannot be merged with classifier 0: {error}") from None
    first = classifiers[0]
    merged = clone(first)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, name):
            setattr(merged, name, getattr(first, name))
    merged._follow(statistics)  # noqa: SLF001
    return merged
