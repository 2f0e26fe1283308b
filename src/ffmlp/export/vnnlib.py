"""The claim that a decision does not change within a box, as a VNN-LIB property for verifiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.export.relu_layers import ReluLayers
from ffmlp.model.network import Network

# The printed error has two digits; this covers what they round off.
_ROUNDED_UP = 1.1


def to_vnnlib(network: Network, cells: Floats, radius: ArrayLike) -> str:
    """The property of one row of validated cells (1, M): see `FFMLPClassifier.to_vnnlib`."""
    if len(cells) != 1:
        raise ValueError(f"A property is about one sample, got {len(cells)}. Call to_vnnlib for each.")
    layers, samples = ReluLayers.of(network), np.asarray(network.inputs(cells), np.float64)
    reach = _checked_radius(radius, cells.shape[1])[network.table.owners]
    reach = np.where(network.table.changeable(cells)[0], reach, 0.0)
    low, high = _outward(samples[0] - reach, -np.inf), _outward(samples[0] + reach, np.inf)
    scores = network.stages.scores(network.hyperplanes.signed_responses(samples))[0]
    own = int(network.classes(samples)[0])
    rivals = [label for label in np.flatnonzero(np.isfinite(scores)).tolist() if label != own]
    lead = scores[own] - scores[rivals].max(initial=-np.inf)
    error = _ROUNDED_UP * layers.rounding_error(low, high)
    bounds = [
        line
        for number, (least, most) in enumerate(zip(low, high, strict=True))
        for line in (f"(assert (>= X_{number} {_decimal(least)}))",
                     f"(assert (<= X_{number} {_decimal(most)}))")
    ]  # fmt: skip
    inputs, outputs = map(_one_line, network.feature_names), map(_one_line, network.labels)
    return "\n".join([
        f"; Is the class {_one_line(network.labels[own])} for every input in a box? unsat: it is.",
        "; sat: an input of another class, or a tie. The network is the graph of to_relu_onnx().",
        f"; At the centre of the box, Y_{own} leads by {lead:.4g}. In the box, weights in float32",
        f"; change the outputs by at most {error:.1e}.",
        "",
        *(f"(declare-const X_{number} Real) ; {name}" for number, name in enumerate(inputs)),
        *(f"(declare-const Y_{number} Real) ; {name}" for number, name in enumerate(outputs)),
        "",
        *bounds,
        "",
        "(assert (or",
        *(f"    (and (>= Y_{rival} Y_{own}))" for rival in rivals),
        "))",
        "",
    ])  # fmt: skip


def _checked_radius(radius: ArrayLike, n_columns: int) -> Floats:
    """The radius of each column."""
    values = np.asarray(radius, np.float64)
    if values.shape not in ((), (n_columns,)):
        raise ValueError(
            f"radius must be a number or have one entry for each of the {n_columns} columns, got shape "
            f"{values.shape}."
        )
    if not ((values >= 0.0) & (values < np.inf)).all():
        raise ValueError(f"radius must be finite and not negative, got {radius!r}.")
    return np.broadcast_to(values, (n_columns,))


def _outward(values: Floats, towards: float) -> Floats:
    """The nearest float32 values that are not on the inner side."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        inside = rounded < values if towards > 0 else rounded > values
        outer = np.where(inside, np.nextafter(rounded, np.float32(towards)), rounded)
    if not np.isfinite(outer).all():
        raise ValueError("The box is too large for float32. Choose a smaller radius.")
    return outer.astype(np.float64)


def _decimal(value: float) -> str:
    """All digits of a float32 value, in the notation of SMT-LIB, which has no exponents."""
    return np.format_float_positional(value, trim="0")


def _one_line(name: object) -> str:
    return " ".join(str(name).split())
