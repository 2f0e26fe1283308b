"""Validation of the values in models that were read from a file.

Types and shapes have been checked before: see `ffmlp.storage.forms`.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import CategoryColumn, Columns
from ffmlp.inputs.features import Gaussianisation
from ffmlp.inputs.imputation import FARTHEST, Imputation
from ffmlp.network.blobs import FamiliarSpace
from ffmlp.network.hyperplanes import NO_BLOB, Hyperplanes
from ffmlp.network.network import Network

# Probabilities are sums of rounded numbers.
_ROUNDING = 1e-6


def check_network(
    network: Network, n_columns: int, labels: NDArray, names: NDArray | None = None
) -> None:
    """Raise an error if the values of a network are inconsistent, or do not fit labels and columns."""
    if len(labels) < 2 or not np.array_equal(labels, network.labels):
        raise ValueError(f"the labels of the network, {network.labels}, are not {labels}")
    if names is not None and names.tolist() != list(network.table.names):
        raise ValueError(f"the columns of the network, {network.table.names}, are not {names}")
    _check_planes(network.hyperplanes)
    network.stages.check(network.hyperplanes, len(labels))
    _check_columns(network.table, n_columns, network.hyperplanes.weights.shape[1])
    if network.columns is not None:
        _require_finite("what replaces missing numbers", network.columns.fills)
    if network.familiar is not None:
        _check_familiar(network.familiar)
    probabilities = network.probabilities(network.inputs(np.zeros((1, n_columns))))
    _require_finite("probabilities", probabilities)
    if probabilities.min() < 0.0 or abs(probabilities.sum() - 1.0) > _ROUNDING:
        raise ValueError(f"the probabilities {probabilities[0]} do not add up to 1")


def _check_planes(planes: Hyperplanes) -> None:
    _require_finite("weights and biases", planes.weights, planes.biases)
    if not len(planes):
        raise ValueError("there is no hyperplane")
    thresholds = planes.pairs == NO_BLOB
    if (thresholds[:, 0] != thresholds[:, 1]).any():
        raise ValueError("a hyperplane separates a blob from none")
    if (np.count_nonzero(planes.weights[thresholds[:, 0]], axis=1) != 1).any():
        raise ValueError("a threshold is not one of a single feature")
    if planes.gaussianisation is not None:
        _check_maps(planes.gaussianisation)


def _check_maps(gaussianisation: Gaussianisation) -> None:
    for knots, scores in zip(gaussianisation.knots, gaussianisation.scores, strict=True):
        _require_finite("knots and scores", knots, scores)
        if not len(knots) or len(knots) != len(scores) or not (np.diff(knots) > 0.0).all():
            raise ValueError("knots must ascend, and each needs a score")
        if not (np.diff(scores) >= 0.0).all():
            raise ValueError("scores must not fall")


def _check_familiar(space: FamiliarSpace) -> None:
    _require_finite("the space of familiar samples", *vars(space).values())
    if not (space.units > 0.0).all() or not (np.diff(space.quantiles) >= 0.0).all():
        raise ValueError("units must be positive, and quantiles must ascend")
    if not space.quantiles.size or not space.axes.size:
        raise ValueError("the space of familiar samples is empty")


def _check_columns(table: Columns, n_columns: int, n_inputs: int) -> None:
    if (len(table), len(table.owners)) != (n_columns, n_inputs):
        raise ValueError(f"{len(table)} columns become {len(table.owners)} of {n_inputs} inputs")
    if len(set(table.names)) < len(table):
        raise ValueError("two columns have the same name")
    for part in table.parts:
        if isinstance(part, CategoryColumn):
            _require_finite(f"column {part.name!r}", part.shares)
            if not len(part.classes) or len(set(part.categories)) < len(part.categories):
                raise ValueError(f"column {part.name!r} has no share, or a category twice")
    if table.imputation is not None:
        _check_imputation(table.imputation, n_inputs)


def _check_imputation(imputation: Imputation, n_inputs: int) -> None:
    _require_finite("the imputation", *vars(imputation).values())
    if not (imputation.scale > 0.0).all() or (imputation.low > imputation.high).any():
        raise ValueError("a unit of the imputation is not positive, or a range is empty")
    precisions, reach = imputation.precisions, FARTHEST + np.abs(imputation.means).max(initial=0.0)
    np.linalg.cholesky(precisions)  # an error unless all equations have a solution
    if not np.allclose(precisions, precisions.swapaxes(1, 2)):
        raise ValueError("the precisions of the imputation are not symmetric")
    with np.errstate(all="ignore"):  # bounds of what equations are made of, and of their solutions
        product = n_inputs * np.abs(precisions).max(initial=0.0) * reach
        solution = n_inputs * product / np.linalg.eigvalsh(precisions).min(initial=np.inf)
        density = n_inputs * product * solution
    if not np.isfinite(density) or density < 0.0:
        raise ValueError("the precisions of the imputation are too large or too different")
    imputation.filled(np.full((1, n_inputs), np.nan))


def _require_finite(name: str, *parts: Floats) -> None:
    for part in parts:
        if part.dtype != np.float64 or not np.isfinite(part).all():
            raise ValueError(f"{name} must be finite numbers of type float64")


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
    allowed = {float: (float, int, np.floating)}.get(origin, origin)
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
