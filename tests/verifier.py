"""Marabou, a verifier of neural networks, asked about VNN-LIB properties."""

import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Property:
    """A box of inputs, and pairs of outputs of which the first one is at least the second one."""

    low: np.ndarray
    high: np.ndarray
    n_outputs: int
    alternatives: list


def read_property(text):
    """The property of a VNN-LIB text of the form that `to_vnnlib` writes; anything else is an error."""
    code = "\n".join(line.partition(";")[0].strip() for line in text.splitlines())
    names = re.findall(r"\(declare-const ([XY]_\d+) Real\)", code)
    bounds = dict.fromkeys(["<=", ">="])
    for sign in bounds:
        found = re.findall(rf"\(assert \({sign} X_(\d+) (-?\d+\.\d+)\)\)", code)
        assert [int(number) for number, _ in found] == list(range(len(found)))
        bounds[sign] = np.array([float(value) for _, value in found])
    pairs = re.findall(r"\(and \(>= Y_(\d+) Y_(\d+)\)\)", code)
    left = re.sub(r"\(declare-const \S+ Real\)|\(assert \([<>]= X_\d+ \S+\)\)|\(and .*\)", "", code)
    assert left.split() == ["(assert", "(or", "))"]
    n_inputs = len(bounds[">="])
    n_outputs = len(names) - n_inputs
    assert names == [f"X_{i}" for i in range(n_inputs)] + [f"Y_{i}" for i in range(n_outputs)]
    return Property(bounds[">="], bounds["<="], n_outputs, [tuple(map(int, pair)) for pair in pairs])


def verdict(model, text, seconds=20):
    """What Marabou says about a property of an ONNX model, and the input that it found, if any.

    Each alternative is a query of its own, with a time limit in seconds (0: none), because Marabou does
    not always come to an end with a disjunction.
    """
    asked = read_property(text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.onnx"
        path.write_bytes(model.SerializeToString())
        answers = []
        for pair in asked.alternatives:
            answers.append(_answer(path, asked, pair, seconds))
            if answers[-1][0] == "sat":
                return answers[-1]
    return next((one for one in answers if one[0] != "unsat"), ("unsat", None))


def _answer(path, asked, pair, seconds):
    """Whether the first output of a pair can be at least the second one, and an input where it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses a parser for another format
        from maraboupy import Marabou, MarabouCore, MarabouUtils
    network = Marabou.read_onnx(str(path))
    inputs, outputs = network.inputVars[0].ravel(), network.outputVars[0].ravel()
    assert len(outputs) == asked.n_outputs
    for variable, low, high in zip(inputs, asked.low, asked.high, strict=True):
        network.setLowerBound(variable, low)
        network.setUpperBound(variable, high)
    leads = MarabouUtils.Equation(MarabouCore.Equation.GE)
    for sign, output in zip((1.0, -1.0), pair, strict=True):
        leads.addAddend(sign, outputs[output])
    leads.setScalar(0.0)
    network.addEquation(leads)
    options = Marabou.createOptions(verbosity=0, timeoutInSeconds=seconds)
    answer, values, _ = network.solve(verbose=False, options=options)
    return answer, np.array([values[name] for name in inputs]) if answer == "sat" else None
