"""Missing inputs in an ONNX graph: the conditional means of `ffmlp.inputs.imputation`.

ONNX cannot solve linear equations. Conjugate gradients need products only, and at most as many steps as
inputs are missing.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ffmlp.export.onnx_graph import Graph
from ffmlp.inputs.imputation import FARTHEST, Imputation

# Steps beyond the number of inputs, because of rounding errors, and the squared error that ends them.
_MORE_STEPS, _SMALL = 10, 1e-26
_TINY = np.array(1e-300)


def add_imputation(graph: Graph, imputation: Imputation, x: str, dtype: str) -> str:
    """Samples ``x`` of a type with missing inputs, NaN, replaced, where there are any."""
    missing = graph.apply("IsNaN", x)
    number = graph.apply("ReduceSum", graph.cast(missing, np.int64), keepdims=0)
    complete, incomplete = graph.inner(), graph.inner()
    untouched = complete.apply("Identity", x)
    filled = incomplete.cast(_filled(incomplete, imputation, x, missing), dtype)
    some = graph.apply("Greater", number, np.array(0))
    return graph.branch(some, (incomplete, filled), (complete, untouched))


def _filled(graph: Graph, imputation: Imputation, x: str, missing: str) -> str:
    """The samples, completed under each blob and averaged; arrays are of shape (G, n, N)."""
    # In units in which the precision of each input is 1, fewer steps are needed.
    unit = 1.0 / np.sqrt(np.diagonal(imputation.precisions, axis1=1, axis2=2))
    precision = graph.constant(imputation.precisions * unit[:, :, None] * unit[:, None, :])
    wide = graph.cast(x, np.float64)
    z = graph.apply("Div", graph.apply("Sub", wide, imputation.centre), imputation.scale)
    z = graph.apply("Max", graph.apply("Min", z, np.array(FARTHEST)), np.array(-FARTHEST))
    gaps = graph.cast(missing, np.float64)
    away = graph.apply("Sub", graph.apply("Unsqueeze", z, np.array([0])), imputation.means[:, None])
    away = graph.apply("Div", away, unit[:, None])
    known = graph.apply("Where", missing, np.array(0.0), away)
    goal = graph.apply("Mul", graph.apply("Neg", graph.apply("MatMul", known, precision)), gaps)
    solution = _solved(graph, precision, gaps, goal, imputation.means.shape[1])
    deviation = graph.apply("Add", known, solution)
    square = graph.apply("Mul", graph.apply("MatMul", deviation, precision), deviation)
    distance = graph.apply("ReduceSum", square, np.array([2]), keepdims=1)
    density = graph.apply(
        "Sub", imputation.log_weights[:, None, None], graph.apply("Mul", distance, np.array(0.5))
    )
    share = graph.apply("Softmax", density, axis=0)
    place = graph.apply("Add", graph.apply("Mul", deviation, unit[:, None]), imputation.means[:, None])
    mean = graph.apply("ReduceSum", graph.apply("Mul", share, place), np.array([0]), keepdims=0)
    value = graph.apply("Add", graph.apply("Mul", mean, imputation.scale), imputation.centre)
    value = graph.apply("Max", graph.apply("Min", value, imputation.high), imputation.low)
    return graph.apply("Where", missing, value, wide)


def _solved(graph: Graph, precision: str, gaps: str, goal: str, n_inputs: int) -> str:
    """The solution of the missing inputs' equations by conjugate gradients, 0 for other inputs."""
    start = graph.apply("Mul", goal, np.array(0.0))
    squared = _sum(graph, goal, goal)
    body = graph.inner()
    step, go_on, solution, residual, direction, size = (body.name(f"taken{k}") for k in range(6))
    product = body.apply("Mul", body.apply("MatMul", direction, precision), gaps)
    length = body.apply("Div", size, body.apply("Max", _sum(body, direction, product), _TINY))
    reached = body.apply("Add", solution, body.apply("Mul", length, direction))
    left = body.apply("Sub", residual, body.apply("Mul", length, product))
    now = _sum(body, left, left)
    turn = body.apply("Div", now, body.apply("Max", size, _TINY))
    turned = body.apply("Add", left, body.apply("Mul", turn, direction))
    again = body.apply("Greater", body.apply("ReduceMax", now, keepdims=0), np.array(_SMALL))
    kinds = [TensorProto.INT64, TensorProto.BOOL] + [TensorProto.DOUBLE] * 4
    shapes = [[], [], *[[None, None, None]] * 4]
    taken = (step, go_on, solution, residual, direction, size)
    given = (again, reached, left, turned, now)
    inner = helper.make_graph(
        body.nodes,
        f"{again}_body",
        [helper.make_tensor_value_info(*item) for item in zip(taken, kinds, shapes, strict=True)],
        [
            helper.make_tensor_value_info(*item)
            for item in zip(given, kinds[1:], shapes[1:], strict=True)
        ],
    )
    results = [f"{again}_{number}" for number in range(4)]
    most = graph.constant(np.array(n_inputs + _MORE_STEPS))
    always = graph.constant(np.array(True))
    names = [most, always, start, goal, goal, squared]
    graph.nodes.append(helper.make_node("Loop", names, results, name=f"{again}_Loop", body=inner))
    return results[0]


def _sum(graph: Graph, first: str, second: str) -> str:
    """The products of two results, added up over the inputs."""
    return graph.apply("ReduceSum", graph.apply("Mul", first, second), np.array([2]), keepdims=1)
