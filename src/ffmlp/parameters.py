"""What the parameters and the data of `FFMLPClassifier` may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.design.designs import DESIGNS
from ffmlp.design.intake import Intake, intake
from ffmlp.design.lda import DISCRIMINANTS
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
from ffmlp.inputs.rows import OnePartition, Rows, WeightSums
from ffmlp.network.blobs import Blobs
from ffmlp.words import listed

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier
    from ffmlp.explain.decisions import DecisionsMixin
    from ffmlp.export.exports import ExportsMixin


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
        found = np.shape(getattr(blobs, name))
        if found != shape or blobs.axes is not None:
            raise ValueError(
                f"blobs.{name} must have the shape {shape} for {n_columns} columns, without axes, got "
                f"{found}."
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


# Least squares of classes whose weights differ by more than this loses one of them to rounding.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-6, 1e6
# Missing numbers are NaN.
NUMBERS: Any = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}


def check_parameters(classifier: FFMLPClassifier) -> None:
    """Raise a ValueError if a parameter is invalid for any data."""
    choices = {
        "design": (AUTO, *DESIGNS),
        "gaussianise": (AUTO, True, False),
        "discriminant": (AUTO, *DISCRIMINANTS),
        "pruning": ("greedy", "optimal"),
        "all_pairs": (True, False),
        "keep_statistics": (True, False),
    }
    for name, allowed in choices.items():
        value = getattr(classifier, name)
        if not any(value is choice or value == choice for choice in allowed):
            raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}.")
    if classifier.n_components is None:
        raise ValueError(
            'n_components must be an int, a mapping of class label to int or "auto", got None.'
        )
    threshold: Any = classifier.error_threshold
    if threshold not in (AUTO, None) and not (_is_real(threshold) and 0 <= threshold <= 1):
        raise ValueError(
            "error_threshold must be a number in [0, 1] (a training error rate), None for no pruning, "
            f"or 'auto', got {threshold!r}."
        )
    _check_limits(classifier)
    if classifier.all_pairs and classifier.design not in ("paper", "region"):
        raise ValueError(
            f'all_pairs=True needs design="region" or design="paper", got design={classifier.design!r}. '
            "Choose one of them, or all_pairs=False."
        )
    if classifier.keep_statistics and classifier.design not in ("paper", "region"):
        raise ValueError(
            'keep_statistics=True needs design="region" or design="paper", got design='
            f"{classifier.design!r}. Other designs depend on samples beyond sums over them."
        )
    if classifier.design == "paper":
        _check_no_extension(classifier)
    if not (_is_real(classifier.time_limit) and classifier.time_limit > 0):
        raise ValueError(
            f"time_limit must be a positive number of seconds, got {classifier.time_limit!r}."
        )
    if not (_is_real(classifier.penalty) and 1 <= classifier.penalty <= 1e300):
        raise ValueError(f"penalty must be a number from 1 to 1e300, got {classifier.penalty!r}.")


def _check_limits(classifier: FFMLPClassifier) -> None:
    """Raise a ValueError if the size of the network or the number of threads is invalid."""
    size = classifier.max_neurons
    if size is not None and (not isinstance(size, Integral) or isinstance(size, bool) or size < 1):
        raise ValueError(f"max_neurons must be an int of at least 1, or None, got {size!r}.")
    if size is not None and classifier.design not in (AUTO, "readout"):
        raise ValueError(
            f"max_neurons needs the readout design, got design={classifier.design!r}. Limit the size "
            "of this design by error_threshold."
        )
    regions: Any = classifier.max_leaves
    if regions != AUTO and (
        not isinstance(regions, Integral) or isinstance(regions, bool) or regions < 0
    ):
        raise ValueError(f"max_leaves must be an int of at least 0, or 'auto', got {regions!r}.")
    if regions not in (AUTO, 0) and classifier.design not in (AUTO, "readout"):
        raise ValueError(
            f"max_leaves needs the readout design, got design={classifier.design!r}. Choose it, or "
            "max_leaves=0."
        )
    jobs = classifier.n_jobs
    if jobs is not None and (not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs == 0):
        raise ValueError(
            f"n_jobs must be an int other than 0, or None for one thread, got {jobs!r}. Use -1 for all "
            "cores."
        )


def _check_no_extension(classifier: FFMLPClassifier) -> None:
    """Raise a ValueError if a parameter asks for more than the paper has."""
    allowed = {"discriminant": ("lda",), "gaussianise": (AUTO, False), "pruning": ("greedy",)}
    for name, values in allowed.items():
        if getattr(classifier, name) not in values:
            raise ValueError(
                'design="paper" is the method of the paper without extensions, got '
                f'{name}={getattr(classifier, name)!r}. Use {name}={values[-1]!r}, or design="region", '
                "which allows it."
            )


def training_intake(
    classifier: FFMLPClassifier,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    blobs: ArrayLike | Blobs | None,
) -> Intake:
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
    given, members = _known_blobs(classifier, blobs, cells.schema, targets, labels)
    n_samples = len(targets)
    weight = checked_weight(sample_weight, n_samples, adds_up=classifier.keep_statistics)
    mass = np.bincount(targets, weight, len(labels)).astype(np.float64)
    class_weight = class_weights(classifier.class_weight, labels, mass)
    rows, counted = Rows(cells, targets, weight), weight > 0
    if not counted.all():
        rows = rows.select(counted)
        members = None if members is None else members[counted]
    check_two_classes(labels[mass > 0])
    check_size(classifier.max_neurons, len(labels))
    table = OnePartition(rows)
    return intake(table, cells.schema, labels, class_weight, members=members, given=given)


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
    """Whether columns, None for those of an array, are numbers by their types and the parameter."""
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
    if isinstance(class_weight, str) and class_weight == "balanced":
        present = mass > 0
        return np.divide(mass.sum() / present.sum(), mass, out=np.ones(len(labels)), where=present)
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in labels.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight names class {unknown[0]!r}, which is not in y. Classes: "
                f"{labels.tolist()[:10]}."
            )
        for label, value in class_weight.items():
            if not (_is_real(value) and _LEAST_WEIGHT <= value <= _MOST_WEIGHT):
                raise ValueError(
                    f"class_weight[{label!r}] must be a number from {_LEAST_WEIGHT:g} to "
                    f"{_MOST_WEIGHT:g}, got {value!r}. Only the ratio of the weights matters."
                )
    elif class_weight is not None:
        raise ValueError(
            "class_weight must be 'balanced', a mapping of class label to weight, or None, got "
            f"{class_weight!r}."
        )
    given: Mapping[Any, float] = class_weight or {}
    return np.array([given.get(label, 1.0) for label in labels.tolist()], np.float64)


def check_size(max_neurons: int | None, n_classes: int) -> None:
    """Raise a ValueError if ``max_neurons`` is too small to separate the classes."""
    smallest = 2 * n_classes + 1
    if max_neurons is not None and max_neurons < smallest:
        raise ValueError(
            f"max_neurons must be at least {smallest} for {n_classes} classes (two neurons per class "
            f"and one half-space), got {max_neurons}."
        )


class TooFewClassesError(ValueError):
    """Samples that are not of at least two classes."""


def check_two_classes(labels: NDArray) -> None:
    """Raise an error unless there are samples of at least two classes."""
    if len(labels) < 2:
        raise TooFewClassesError(
            "FFMLPClassifier needs samples of positive weight from at least 2 classes, got only 1 "
            f"class: {labels.tolist()}."
        )


def checked_weight(sample_weight: ArrayLike | None, n_samples: int, *, adds_up: bool) -> Floats:
    """Sample weights as frequencies, one per sample, whose sums have no rounding error.

    Those that must add up with weights of other samples may not be scaled.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weight = checked_frequencies(sample_weight, n_samples)
    sums = WeightSums.of(weight)
    sums.check()
    if adds_up:
        sums.check_adds_up()
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


def _known_blobs(
    classifier: FFMLPClassifier,
    blobs: ArrayLike | Blobs | None,
    schema: Schema,
    y: Indices,
    labels: NDArray,
) -> tuple[Blobs | None, Indices | None]:
    """The blobs themselves and the blob of each sample, whichever is given."""
    if isinstance(blobs, Blobs):
        check_given_blobs(classifier, blobs, schema, labels)
        return blobs, None
    return None, None if blobs is None else _checked_members(blobs, y, labels)


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


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


@np.errstate(over="ignore", invalid="ignore")  # as above
def checked_cells(classifier: DecisionsMixin | ExportsMixin, X: ArrayLike) -> AnyFloats:
    """The cells (n, M) of samples for a fitted classifier, or an error."""
    check_is_fitted(classifier)
    fitted, columns = classifier.network_.columns, columns_of(X)
    if fitted is None:  # a model of an earlier version
        return validate_data(classifier, X, reset=False, **NUMBERS | {"ensure_all_finite": True})
    plain = all(isinstance(part, NumberColumn) for part in fitted.parts)
    if plain and (columns is None or all(map(is_numeric, columns))):
        return validate_data(classifier, X, reset=False, **NUMBERS)
    if columns is None:
        columns = list(validate_data(classifier, X, reset=False, **NUMBERS).T)
    else:
        validate_data(classifier, X, reset=False, skip_check_array=True)
    return check_array(table_cells(columns, fitted.schema), **NUMBERS)


def checked_samples(classifier: DecisionsMixin, X: ArrayLike) -> AnyFloats:
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
