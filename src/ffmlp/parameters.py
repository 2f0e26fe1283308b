"""What the parameters of `FFMLPClassifier` may be, declared once, and what its data may be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.design.designs import DESIGNS
from ffmlp.design.intake import intake
from ffmlp.design.lda import DISCRIMINANTS
from ffmlp.design.problem import Samples
from ffmlp.design.selection import AUTO
from ffmlp.inputs.columns import Cells, NumberColumn, Schema
from ffmlp.inputs.data_frames import (
    FROM_DTYPE,
    columns_of,
    is_numeric,
    plain_labels,
    table_cells,
    training_cells,
)
from ffmlp.inputs.rows import Rows, SumOverParts, WeightSums
from ffmlp.network.blobs import Blobs
from ffmlp.words import listed

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier


# Least squares of classes whose weights differ by more than this loses one of them to rounding.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-6, 1e6
# Missing numbers are NaN.
NUMBERS: Any = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


class _Kind(NamedTuple):
    """A kind of value that a parameter may have: in words, and as a condition."""

    words: str
    holds: Callable[[Any], bool]


def _int_from(least: int) -> _Kind:
    return _Kind(f"an int of at least {least}", lambda value: _is_int(value) and value >= least)


def _mapping_to(what: str) -> _Kind:
    return _Kind(f"a mapping of class label to {what}", lambda value: isinstance(value, Mapping))


def _real(words: str, holds: Callable[[Any], bool]) -> _Kind:
    return _Kind(words, lambda value: _is_real(value) and holds(value))


# What each parameter may be for any data: kinds of values, and single values.
CONSTRAINTS: dict[str, tuple[_Kind | str | bool | None, ...]] = {
    "n_components": (_int_from(1), _mapping_to("int"), AUTO),
    "design": (AUTO, *DESIGNS),
    "gaussianise": (True, False, AUTO),
    "discriminant": (AUTO, *DISCRIMINANTS),
    "all_pairs": (True, False),
    "error_threshold": (_real("a number in [0, 1]", lambda rate: 0 <= rate <= 1), None, AUTO),
    "max_neurons": (_int_from(1), None),
    "max_leaves": (_int_from(0), AUTO),
    "pruning": ("greedy", "optimal"),
    "time_limit": (_real("a positive number of seconds", lambda seconds: seconds > 0),),
    "penalty": (_real("a number from 1 to 1e300", lambda penalty: 1 <= penalty <= 1e300),),
    "class_weight": (_mapping_to("weight"), "balanced", None),
    "keep_statistics": (True, False),
    "n_jobs": (_Kind("an int other than 0 (-1: all cores)", lambda n: _is_int(n) and n != 0), None),
}


class _Requirement(NamedTuple):
    """The designs that a parameter needs, its values that any design has, and what to do."""

    designs: tuple[str, ...]
    neutral: tuple[Any, ...]
    remedy: str


REQUIREMENTS = {
    "max_neurons": _Requirement(
        (AUTO, "readout"), (None,), "Limit the size of this design by error_threshold."
    ),
    "max_leaves": _Requirement((AUTO, "readout"), (AUTO, 0), "Choose it, or max_leaves=0."),
    "all_pairs": _Requirement(("region", "paper"), (False,), "Choose one of them, or all_pairs=False."),
    "keep_statistics": _Requirement(
        ("region", "paper"), (False,), "Other designs depend on samples beyond sums over them."
    ),
}
# The parameters of extensions, and their values in the paper.
_OF_THE_PAPER = {"discriminant": ("lda",), "gaussianise": (AUTO, False), "pruning": ("greedy",)}


def check_parameters(classifier: FFMLPClassifier) -> None:
    """Raise a ValueError if a parameter is invalid for any data."""
    parameters, design = classifier.get_params(deep=False), classifier.design
    for name, allowed in CONSTRAINTS.items():
        value, kinds = parameters[name], [each for each in allowed if isinstance(each, _Kind)]
        single = [each for each in allowed if not isinstance(each, _Kind)]
        is_single = isinstance(value, Hashable) and value in single  # an array would equal many
        if not (is_single or any(kind.holds(value) for kind in kinds)):
            *first, last = [*(kind.words for kind in kinds), *map(repr, single)]
            words = f"{', '.join(first)} or {last}" if first else last
            raise ValueError(f"{name} must be {words}, got {value!r}.")
    for name, (designs, neutral, remedy) in REQUIREMENTS.items():
        if parameters[name] not in neutral and design not in designs:
            needed = " or ".join(repr(each) for each in designs if each != AUTO)
            raise ValueError(
                f"{name}={parameters[name]!r} needs design={needed}, got design={design!r}. {remedy}"
            )
    for name, values in _OF_THE_PAPER.items():
        if design == "paper" and parameters[name] not in values:
            raise ValueError(
                'design="paper" is the method of the paper without extensions, got '
                f'{name}={parameters[name]!r}. Use {name}={values[-1]!r}, or design="region", which '
                "allows it."
            )


def training_intake(
    classifier: FFMLPClassifier,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    blobs: ArrayLike | Blobs | None,
) -> tuple[Samples, Samples]:
    """The input of ``fit`` without samples of weight 0; sets the classifier's feature attributes."""
    cells, targets = _training_cells(classifier, X, y)
    try:
        check_classification_targets(targets)
        labels, targets = np.unique(targets, return_inverse=True)
    except TypeError as error:
        kinds = listed(sorted({type(label).__name__ for label in targets}))
        raise ValueError(
            f"y must have labels of one type, got {kinds}. Leave out rows without a label."
        ) from error
    given = members = None
    if isinstance(blobs, Blobs):
        check_given_blobs(classifier, blobs, cells.schema, labels)
        given = blobs
    elif blobs is not None:
        members = _checked_members(blobs, targets, labels)
    weight = checked_weight(sample_weight, len(targets), adds_up=classifier.keep_statistics)
    mass = np.bincount(targets, weight, len(labels)).astype(np.float64)
    rows, counted = Rows(cells, targets, weight), weight > 0
    if not counted.all():
        rows = rows.select(counted)
        members = None if members is None else members[counted]
    known = {"members": members, "given": given}
    return checked_intake(
        classifier, lambda statistic: statistic(rows), cells.schema, labels, mass, **known
    )


class TooFewClassesError(ValueError):
    """Samples that are not of at least two classes."""


def checked_intake(
    classifier: FFMLPClassifier,
    sum_over_parts: SumOverParts,
    schema: Schema,
    labels: NDArray,
    mass: Floats,
    **known: Any,
) -> tuple[Samples, Samples]:
    """Rows as samples, if there are at least two classes and as many neurons as these need.

    ``mass`` (C,) is the weight of each class, ``known`` what `intake` may know beside the rows.
    """
    class_weight = class_weights(classifier.class_weight, labels, mass)
    present, smallest, size = labels[mass > 0], 2 * len(labels) + 1, classifier.max_neurons
    if len(present) < 2:
        raise TooFewClassesError(
            "FFMLPClassifier needs samples of positive weight from at least 2 classes, got only 1 "
            f"class: {present.tolist()}."
        )
    if size is not None and size < smallest:
        raise ValueError(
            f"max_neurons must be at least {smallest} for {len(labels)} classes (two neurons per class "
            f"and one half-space), got {size}."
        )
    return intake(sum_over_parts, schema, labels, class_weight, **known)


@np.errstate(over="ignore", invalid="ignore")  # scikit-learn looks at the sum of all cells
def _training_cells(classifier: FFMLPClassifier, X: ArrayLike, y: ArrayLike) -> tuple[Cells, NDArray]:
    """Cells and labels; sets the classifier's feature attributes."""
    columns, categorical, y = columns_of(X), classifier.categorical_features, plain_labels(y)
    if are_numbers(columns, categorical):
        values, labels = validate_data(classifier, X, y, **NUMBERS)
        return Cells(values, Schema.of_numbers(column_names(classifier))), labels
    if columns is None:
        values = validate_data(classifier, X, **NUMBERS)
        columns = list(values.T)
    else:
        validate_data(classifier, X, skip_check_array=True)
    cells = training_cells(columns, column_names(classifier), categorical)
    values, labels = check_X_y(cells.values, y, **NUMBERS)
    return replace(cells, values=values), labels


def are_numbers(columns: list[Any] | None, categorical: Any) -> bool:
    """Whether columns, None for an array, are numbers by their types and by `categorical_features`."""
    by_type = categorical is None or (isinstance(categorical, str) and categorical == FROM_DTYPE)
    return by_type and (columns is None or all(map(is_numeric, columns)))


def column_names(classifier: FFMLPClassifier) -> list[str]:
    """The names of the columns that the classifier was given; numbered if they had none."""
    numbered = [f"x{number}" for number in range(classifier.n_features_in_)]
    return list(getattr(classifier, "feature_names_in_", numbered))


def class_weights(
    class_weight: Mapping[Any, float] | str | None, labels: NDArray, mass: Floats
) -> Floats:
    """The weight of a sample of each class, by the parameter `class_weight`.

    ``mass`` (C,) is the weight of all samples of each class.
    """
    if isinstance(class_weight, str):  # balanced
        present = mass > 0
        return np.divide(mass.sum() / present.sum(), mass, out=np.ones(len(labels)), where=present)
    given: Mapping[Any, float] = class_weight or {}
    known = labels.tolist()
    for label, value in given.items():
        if label not in known:
            raise ValueError(
                f"class_weight names class {label!r}, which is not in y. Classes: {known[:10]}."
            )
        if not (_is_real(value) and _LEAST_WEIGHT <= value <= _MOST_WEIGHT):
            raise ValueError(
                f"class_weight[{label!r}] must be a number from {_LEAST_WEIGHT:g} to "
                f"{_MOST_WEIGHT:g}, got {value!r}. Only the ratio of the weights matters."
            )
    return np.array([given.get(label, 1.0) for label in known], np.float64)


def checked_weight(sample_weight: ArrayLike | None, n_samples: int, *, adds_up: bool) -> Floats:
    """Sample weights as frequencies, one per sample, whose sums have no rounding error.

    Those that must add up with weights of other samples may not be scaled.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weight = checked_frequencies(sample_weight, n_samples)
    sums = WeightSums.of(weight)
    sums.check(adds_up=adds_up)
    return sums.scaled(weight)


def checked_frequencies(sample_weight: ArrayLike, n_samples: int) -> Floats:
    """Sample weights as non-negative floats, one per sample, as they are given."""
    weight = _one_per_sample(sample_weight, n_samples, "sample_weight", np.float64)
    if (weight < 0).any():
        first = int(np.argmax(weight < 0))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: sample_weight[{first}] is "
            f"{weight[first]}. Weights are frequencies: use 0 to leave out a sample."
        )
    return weight


def check_given_blobs(
    classifier: FFMLPClassifier, blobs: Blobs, schema: Schema, labels: NDArray
) -> None:
    """Raise a ValueError if blobs that do not follow from samples do not fit them."""
    classes, n_classes, n_columns = np.unique(blobs.classes), len(labels), len(schema.names)
    shapes = {
        "classes": (len(blobs),),
        "means": (len(blobs), n_columns),
        "covariances": (len(blobs), n_columns, n_columns),
    }
    for name, shape in shapes.items():
        given = np.shape(getattr(blobs, name))
        if given != shape or blobs.axes is not None:
            raise ValueError(
                f"blobs.{name} must have the shape {shape} for {n_columns} columns, without axes, got "
                f"{given}."
            )
    if not np.array_equal(classes, np.arange(n_classes)) or (np.diff(blobs.classes) < 0).any():
        raise ValueError(
            f"blobs must be sorted by class and of all {n_classes} classes of y, got blobs of the "
            f"classes {classes.tolist()[:10]}. Samples that lack a class can be fitted like another "
            "classifier: fit(X, y, like=first)."
        )
    if not schema.are_numbers:
        raise ValueError(
            "Given blobs need columns of numbers: categories become shares of the classes of other "
            "samples. Leave the categories out, or fit like another classifier: fit(X, y, like=first)."
        )
    if classifier.gaussianise is True:
        raise ValueError("gaussianise=True does not fit given blobs, which are in the space of X.")
    if not (np.isfinite(blobs.means).all() and _are_covariances(blobs.covariances)):
        raise ValueError("blobs must have finite means and symmetric, positive definite covariances.")
    if not (np.all(blobs.weights > 0) and np.isclose(blobs.weights.sum(), 1.0)):
        raise ValueError("blobs.weights must be positive and sum to one.")


def _are_covariances(matrices: Floats) -> bool:
    """Whether matrices (G, N, N) are symmetric, up to rounding, and positive definite."""
    if not np.isfinite(matrices).all():
        return False
    rounding = 1e-8 * np.abs(matrices).max()
    if not np.allclose(matrices, matrices.transpose(0, 2, 1), rtol=0.0, atol=rounding):
        return False
    return bool((np.linalg.eigvalsh(matrices) > 0).all())


def _checked_members(blobs: ArrayLike, y: Indices, labels: NDArray) -> Indices:
    """Blob ids as integers from 0, or a ValueError if the samples of one are of several classes."""
    members = _one_per_sample(blobs, len(y), "blobs", None)
    if members.dtype.kind == "f" and not np.array_equal(members, np.round(members)):
        raise ValueError(
            "blobs must be ids such as ints or strings, got fractions. Pass weights as sample_weight=."
        )
    try:
        ids, members = np.unique(members, return_inverse=True)
    except TypeError as error:
        raise ValueError("blobs must be ids of one type, such as ints or strings.") from error
    first = np.full(len(ids), -1)
    first[members[::-1]] = y[::-1]
    mixed = np.flatnonzero(first[members] != y)
    if len(mixed):
        row = mixed[0]
        blob, names = members[row], labels.tolist()
        raise ValueError(
            f"Blob {ids.tolist()[blob]!r} has samples of two classes, {names[first[blob]]!r} and "
            f"{names[y[row]]!r} (row {row}). Give each class its own blob ids."
        )
    return members


def _one_per_sample(values: ArrayLike, n_samples: int, name: str, dtype: Any) -> NDArray:
    array = np.asarray(values, dtype)
    if array.ndim and array.size:
        array = check_array(array, ensure_2d=False, allow_nd=True, dtype=dtype, input_name=name)
    if array.shape != (n_samples,):
        raise ValueError(
            f"{name} must have one entry for each of the {n_samples} samples, got shape {array.shape}."
        )
    return array


@np.errstate(over="ignore", invalid="ignore")  # as above
def checked_cells(classifier: FFMLPClassifier, X: ArrayLike) -> AnyFloats:
    """The cells (n, M) of samples for a fitted classifier, or an error."""
    check_is_fitted(classifier)
    fitted, columns = classifier.network_.columns, columns_of(X)
    if fitted is None:  # a drawing of the playground, which knows nothing of missing numbers
        return validate_data(classifier, X, reset=False, **NUMBERS | {"ensure_all_finite": True})
    plain = all(isinstance(part, NumberColumn) for part in fitted.parts)
    if plain and (columns is None or all(map(is_numeric, columns))):
        return validate_data(classifier, X, reset=False, **NUMBERS)
    if columns is None:
        columns = list(validate_data(classifier, X, reset=False, **NUMBERS).T)
    else:
        validate_data(classifier, X, reset=False, skip_check_array=True)
    return check_array(table_cells(columns, fitted.schema), **NUMBERS)


def checked_samples(classifier: FFMLPClassifier, X: ArrayLike) -> AnyFloats:
    """The inputs (n, N) of a fitted network for samples, or an error."""
    cells = checked_cells(classifier, X)
    return classifier.network_.inputs(cells)


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Restore the estimator if an exception is raised."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
