"""Validation of models that were read from a file: types, shapes and consistency."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ffmlp.model.columns import NumberColumn
from ffmlp.model.familiarity import FamiliarSpace
from ffmlp.model.features import Gaussianisation
from ffmlp.model.hyperplanes import NO_BLOB
from ffmlp.model.imputation import Imputation
from ffmlp.model.network import Network
from ffmlp.model.stages import Stages, require_indices, require_shapes
from ffmlp.storage.schema import NETWORK_TAGS

_STAGES = tuple(kind for tag, kind in NETWORK_TAGS.items() if tag.endswith("-stages"))


def check_network(network: Network, n_columns: int, labels: NDArray) -> None:
    """Raise an error if the parts of a network are inconsistent, or do not fit columns and labels."""
    if labels.shape != (len(network.labels),) or labels.dtype.kind in "cV":
        raise ValueError(f"labels have type {labels.dtype} and shape {labels.shape}")
    planes = network.hyperplanes
    for part in (planes.weights, planes.biases):
        if part.dtype != np.float64 or not np.isfinite(part).all():
            raise ValueError("a hyperplane is not made of finite numbers")
    require_shapes(pairs=(planes.pairs, (len(planes), 2)))
    require_indices("pairs", planes.pairs - NO_BLOB, len(network.blob_classes) - NO_BLOB)
    require_indices("blob_classes", network.blob_classes, len(labels))
    network.stages.check(network.hyperplanes, len(labels))
    if network.hyperplanes.gaussianisation is not None:
        _check_maps(network.hyperplanes.gaussianisation)
    _check_columns(network, n_columns)
    if network.familiar is not None:
        _check_familiar(network.familiar, network)
    probabilities = network.probabilities(network.inputs(np.zeros((1, n_columns))))
    if probabilities.shape != (1, len(labels)) or not np.isfinite(probabilities).all():
        raise ValueError(f"probabilities of {len(labels)} classes are {probabilities}")


def _check_maps(gaussianisation: Gaussianisation) -> None:
    for knots, scores in zip(gaussianisation.knots, gaussianisation.scores, strict=True):
        for part in (knots, scores):
            if part.shape != knots.shape or part.dtype != np.float64 or not np.isfinite(part).all():
                raise ValueError(f"knots or scores have type {part.dtype} and shape {part.shape}")
        if not (np.diff(knots) > 0.0).all():
            raise ValueError("knots must ascend")


def _check_familiar(space: FamiliarSpace, network: Network) -> None:
    n_inputs, n_axes = network.hyperplanes.weights.shape[1], space.axes.shape[-1]
    require_shapes(
        axes=(space.axes, (n_inputs, n_axes)),
        centres=(space.centres, (len(network.blob_classes), n_axes)),
        units=(space.units, (2, n_inputs)),
        quantiles=(space.quantiles, (space.quantiles.size,)),
    )
    for part in vars(space).values():
        if part.dtype != np.float64 or not part.size or not np.isfinite(part).all():
            raise ValueError("the space of familiar samples is not made of finite numbers")
    if not (space.units > 0.0).all() or not (np.diff(space.quantiles) >= 0.0).all():
        raise ValueError("units must be positive, and quantiles must ascend")


def _check_columns(network: Network, n_columns: int) -> None:
    n_inputs = network.hyperplanes.weights.shape[1]
    counts = len(network.table), len(network.table.owners), len(network.feature_names)
    if counts != (n_columns, n_inputs, n_inputs):
        raise ValueError(f"{counts} columns, inputs and names of {n_columns} and {n_inputs}")
    for part in () if network.columns is None else network.columns.parts:
        if isinstance(part, NumberColumn):
            numbers = np.array([part.fill])
        else:
            require_shapes(shares=(part.shares, (len(part.categories) + 2, len(part.classes))))
            require_indices("classes", np.array(part.classes), len(network.labels))
            numbers = part.shares
            if not len(part.classes) or len(set(part.categories)) < len(part.categories):
                raise ValueError(f"column {part.name!r} has no share, or a category twice")
        if numbers.dtype != np.float64 or not np.isfinite(numbers).all():
            raise ValueError(f"column {part.name!r} has an input that is not a finite number")
    if network.table.imputation is not None:
        _check_imputation(network.table.imputation, n_inputs)


def _check_imputation(imputation: Imputation, n_inputs: int) -> None:
    n_blobs = len(imputation.log_weights)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("centre", "scale", "low", "high"), (n_inputs,))
    shapes |= {"log_weights": (n_blobs,), "means": (n_blobs, n_inputs)}
    shapes |= {"precisions": (n_blobs, n_inputs, n_inputs)}
    for name, shape in shapes.items():
        part = getattr(imputation, name)
        require_shapes(**{name: (part, shape)})
        if part.dtype != np.float64 or not np.isfinite(part).all():
            raise ValueError(f"{name} of the imputation are not finite numbers")
    if not (imputation.scale > 0.0).all():
        raise ValueError("a unit of the imputation is not positive")
    np.linalg.cholesky(imputation.precisions)  # an error unless all equations have a solution
    if not np.allclose(imputation.precisions, imputation.precisions.swapaxes(1, 2)):
        raise ValueError("the precisions of the imputation are not symmetric")
    imputation.filled(np.full((1, n_inputs), np.nan))


def check_part(value: Any, kind: Any, name: str) -> None:
    """Raise a ValueError unless a value and its parts have the annotated types."""
    origin, arguments = get_origin(kind) or kind, get_args(kind)
    if origin is UnionType:
        if value is None and type(None) in arguments:
            return
        kinds = [part for part in arguments if part is not type(None)]
        known = (part for part in kinds if isinstance(part, type) and isinstance(value, part))
        check_part(value, next(known, kinds[0]), name)
        return
    allowed = {Stages: _STAGES, float: (float, int, np.floating)}.get(origin, origin)
    if not isinstance(value, allowed):
        raise ValueError(f"{name} has the wrong type {type(value).__name__}")
    if origin is tuple and arguments[-1] is Ellipsis:
        for part in value:
            check_part(part, arguments[0], f"part of {name}")
    if is_dataclass(value):
        _check_fields(value, name)


def _check_fields(part: Any, name: str) -> None:
    hints = get_type_hints(type(part))
    for field in fields(part):
        if field.name in vars(part):
            check_part(getattr(part, field.name), hints[field.name], f"{name}.{field.name}")
        elif field.default is MISSING:  # a field that is newer than the file has its default
            raise ValueError(f"{name} has no {field.name}")
    unknown = vars(part).keys() - {field.name for field in fields(part)}
    if unknown:
        raise ValueError(f"{name} has an unknown {sorted(unknown)[0]}")
