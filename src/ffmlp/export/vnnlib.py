"""The claim that a decision does not change within a box, as a VNN-LIB property for verifiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.export.relu_layers import Box, ReluLayers
from ffmlp.model.network import Network

# The printed error has two digits; this covers what they round off.
_ROUNDED_UP = 1.1


def to_vnnlib(network: Network, cells: Floats, radius: ArrayLike) -> str:
    """The property of one row of validated cells (1, M): see `FFMLPClassifier.to_vnnlib`."""
    box, samples = Box.around(network, cells, radius), np.asarray(network.inputs(cells), np.float64)
    error = max(ReluLayers.of(network, limits).rounding_error(box) for limits in (None, box))
    scores = network.stages.scores(network.hyperplanes.signed_responses(samples))[0]
    own = int(network.classes(samples)[0])
    rivals = [label for label in np.flatnonzero(np.isfinite(scores)).tolist() if label != own]
    lead = scores[own] - scores[rivals].max(initial=-np.inf)
    bounds = [
        line
        for number, (least, most) in enumerate(zip(box.low, box.high, strict=True))
        for line in (f"(assert (>= X_{number} {_decimal(least)}))",
                     f"(assert (<= X_{number} {_decimal(most)}))")
    ]  # fmt: skip
    inputs, outputs = map(_one_line, network.feature_names), map(_one_line, network.labels)
    return "\n".join([
        f"; Is the class {_one_line(network.labels[own])} for every input in a box? unsat: it is.",
        "; sat: an input of another class, or a tie. The network is the graph of to_relu_onnx().",
        f"; At the centre of the box, Y_{own} leads by {lead:.4g}. In the box, weights in float32",
        f"; change the outputs by at most {_ROUNDED_UP * error:.1e}.",
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


def _decimal(value: float) -> str:
    """All digits of a float32 value, in the notation of SMT-LIB, which has no exponents."""
    return np.format_float_positional(value, trim="0")


def _one_line(name: object) -> str:
    return " ".join(str(name).split())
