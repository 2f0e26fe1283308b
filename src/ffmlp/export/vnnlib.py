"""The claim that a decision does not change within a box, as a VNN-LIB property for verifiers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats
from ffmlp.export.box import Box
from ffmlp.network.network import Network

# The printed error has two digits; this covers what they round off.
_ROUNDED_UP = 1.1


def to_vnnlib(network: Network, cells: Floats, radius: ArrayLike) -> str:
    """The property of one row of validated cells (1, M): see `FFMLPClassifier.to_vnnlib`."""
    box, samples = Box.around(network, cells, radius), np.asarray(network.inputs(cells), np.float64)
    error = box.layers(network).rounding_error()
    scores = network.stages.scores(network.hyperplanes.signed_responses(samples))[0]
    own = int(network.classes(samples)[0])
    rivals = [label for label in np.flatnonzero(np.isfinite(scores)).tolist() if label != own]
    lead = scores[own] - scores[rivals].max(initial=-np.inf)
    ends = (("-1.0", "1.0") if half else ("0.0", "0.0") for half in box.half)
    bounds = [
        line
        for number, (low, high) in enumerate(ends)
        for line in (f"(assert (>= X_{number} {low}))", f"(assert (<= X_{number} {high}))")
    ]
    inputs, outputs = _steps(network, box), map(_one_line, network.labels)
    return "\n".join([
        f"; Is the class {_one_line(network.labels[own])} for every input in a box? unsat: it is.",
        "; sat: an input of another class, or a tie. The network is that of to_relu_onnx(x, radius).",
        f"; At x, Y_{own} leads by {lead:.4g}. In the box, weights in float32 change the outputs by at",
        f"; most {_ROUNDED_UP * error:.1e}. Inputs are steps within the box:",
        "",
        *(f"(declare-const X_{number} Real) ; {text}" for number, text in enumerate(inputs)),
        *(f"(declare-const Y_{number} Real) ; {name}" for number, name in enumerate(outputs)),
        "",
        *bounds,
        "",
        "(assert (or",
        *(f"    (and (>= Y_{rival} Y_{own}))" for rival in rivals),
        "))",
        "",
    ])  # fmt: skip


def _steps(network: Network, box: Box) -> Iterator[str]:
    """What each step stands for."""
    is_mapped = network.hyperplanes.gaussianisation is not None
    ends = (part.tolist() for part in (box.low, box.high, box.middle, box.half))
    parts = zip(map(_one_line, network.feature_names), *ends, strict=True)
    for number, (name, low, high, middle, half) in enumerate(parts):
        subject = f"{name} from {low} to {high}, score" if is_mapped else name
        yield f"{subject} = {middle} + {half} * X_{number}"


def _one_line(name: object) -> str:
    return " ".join(str(name).split())
