"""A fitted classifier as an ONNX model, and a network as plain ReLU layers in ONNX (extra ``onnx``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper

from ffmlp.arrays import Floats
from ffmlp.export.verifiers import Box, ReluLayers
from ffmlp.inputs.columns import CategoryColumn, Columns, NumberColumn
from ffmlp.inputs.features import Gaussianisation
from ffmlp.inputs.imputation import FARTHEST, Imputation
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.stages import LARGEST

# Versions that current runtimes load; some refuse the newer defaults of onnx.
_OPSET, _ML_OPSET, _IR_VERSION = 17, 3, 8
_ML_DOMAIN = "ai.onnx.ml"
_ML_OPERATORS = ("LabelEncoder", "TreeEnsembleRegressor")
# Few enough rows for their responses to stay in the cache, enough to share among threads.
_ROWS_PER_BLOCK = 1024


class Graph:
    """Nodes and constants of a graph under construction; names of results start with the prefix."""

    def __init__(self, prefix: str = "ffmlp", constants: list[TensorProto] | None = None) -> None:
        self.nodes: list[NodeProto] = []
        self.constants = [] if constants is None else constants
        self._prefix = prefix
        self._n_inner = 0

    def inner(self) -> Graph:
        """An empty graph for the body of a node; it shares the constants of this one."""
        self._n_inner += 1
        return Graph(f"{self._prefix}_inner{self._n_inner}", self.constants)

    def name(self, what: str) -> str:
        """A name that no result has."""
        return f"{self._prefix}_{what}"

    @property
    def input(self) -> str:
        """The name of the input of a node's body."""
        return f"{self._prefix}_input"

    def constant(self, values: NDArray) -> str:
        """Add an array and return its name."""
        name = f"{self._prefix}_constant_{len(self.constants)}"
        if values.dtype.kind == "O":
            texts = [text.encode() for text in values.tolist()]
            tensor = helper.make_tensor(name, TensorProto.STRING, values.shape, texts)
        else:
            tensor = numpy_helper.from_array(np.array(values, order="C"), name)
        self.constants.append(tensor)
        return name

    def apply(self, operator: str, *inputs: str | NDArray, result: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output; arrays among the inputs become constants."""
        names = [item if isinstance(item, str) else self.constant(item) for item in inputs]
        output = result or f"{self._prefix}_{len(self.nodes)}"
        domain = _ML_DOMAIN if operator in _ML_OPERATORS else ""
        attributes |= {"name": f"{output}_{operator}", "domain": domain}
        self.nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def cast(self, x: str, dtype: DTypeLike) -> str:
        """Convert a result to another type."""
        return self.apply("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def scan(self, x: str, body: Graph, taken: ValueInfoProto, *given: ValueInfoProto) -> list[str]:
        """Add a node that applies a body to each block of x; return the names of the stacked results."""
        results = [f"{self._prefix}_{len(self.nodes)}_{number}" for number in range(len(given))]
        inner = helper.make_graph(body.nodes, f"{results[0]}_body", [taken], given)
        name = f"{results[0]}_Scan"
        self.nodes.append(
            helper.make_node("Scan", [x], results, name=name, body=inner, num_scan_inputs=1)
        )
        return results

    def branch(self, condition: str, then: tuple[Graph, str], otherwise: tuple[Graph, str]) -> str:
        """Add a node that gives the result of one of two bodies; return its name."""
        bodies = {}
        for key, (body, result) in {"then_branch": then, "else_branch": otherwise}.items():
            output = helper.make_empty_tensor_value_info(result)
            bodies[key] = helper.make_graph(body.nodes, f"{result}_body", [], [output])
        return self.apply("If", condition, **bodies)

    def to_model(
        self,
        inputs: Sequence[ValueInfoProto],
        outputs: Sequence[ValueInfoProto],
        properties: Mapping[str, Any],
    ) -> ModelProto:
        """The finished model, checked; properties become JSON."""
        model = helper.make_model(
            helper.make_graph(self.nodes, "ffmlp", inputs, outputs, self.constants),
            producer_name="ffmlp",
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_ML_DOMAIN, _ML_OPSET)],
        )
        helper.set_model_props(model, {name: json.dumps(value) for name, value in properties.items()})
        checker.check_model(model, full_check=True)
        return model


def _add_classifier(
    graph: Graph,
    network: Network,
    labels: NDArray,
    x: str,
    x_kind: int,
    label: str,
    probabilities: str,
    kind: int,
) -> None:
    """Add nodes that compute ``label`` and ``probabilities`` (of type ``kind``) from ``x``, all by name.

    ``x`` are the inputs of the network, of type ``x_kind``; ``labels`` are the labels of the classes.
    """
    n_features, *_, n_classes = network.layer_sizes
    n_rows, blocks = _blocks(graph, x, n_features)
    body = graph.inner()
    planes = network.hyperplanes
    z = body.cast(body.input, np.float64)
    if planes.gaussianisation is not None:
        z = _gaussianised(body, z, planes.gaussianisation)
    elif x_kind == TensorProto.DOUBLE:
        limits = _largest_inputs(planes)
        z = body.apply("Max", body.apply("Min", z, limits), -limits)
    h = body.apply("Gemm", z, planes.weights, planes.biases, transB=1)
    chosen, share = network.stages.to_onnx(body, planes, z, h)
    share = body.apply("Cast", share, to=kind)
    of_blocks = graph.scan(
        blocks,
        body,
        helper.make_tensor_value_info(body.input, x_kind, [None, n_features]),
        helper.make_tensor_value_info(chosen, TensorProto.INT64, [None]),
        helper.make_tensor_value_info(share, kind, [None, n_classes]),
    )
    start, shapes = np.array([0]), (np.array([-1]), np.array([-1, n_classes]))
    chosen, share = (
        graph.apply("Reshape", result, shape) for result, shape in zip(of_blocks, shapes, strict=True)
    )
    graph.apply("Slice", share, start, n_rows, start, result=probabilities)
    chosen = graph.apply("Slice", chosen, start, n_rows, start)
    graph.apply("Gather", labels, chosen, result=label)


def _largest_inputs(planes: Hyperplanes) -> Floats:
    """Where inputs (N,) are clipped, because responses to larger ones would overflow.

    That is above `LARGEST` for an input whose weights are so small that no response is that large.
    """
    steepest = np.maximum(np.abs(planes.weights).max(axis=0), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        return np.clip(LARGEST / steepest, LARGEST, np.finfo(np.float64).max)


def _blocks(graph: Graph, x: str, n_features: int) -> tuple[str, str]:
    """The number of rows, and the rows in blocks of equal size (blocks, rows, N).

    Rows of zeros fill up the last block; without any rows, there is one row of zeros.
    """
    one, most = np.array([1]), np.array([_ROWS_PER_BLOCK])
    n_rows = graph.apply("Gather", graph.apply("Shape", x), np.array([0]))
    needed = graph.apply("Max", n_rows, one)
    n_blocks = _ceiling(graph, needed, graph.constant(most))
    size = _ceiling(graph, needed, n_blocks)
    added = graph.apply("Sub", graph.apply("Mul", n_blocks, size), n_rows)
    zeros = np.array([0])
    padded = graph.apply("Pad", x, graph.apply("Concat", zeros, zeros, added, zeros, axis=0))
    shape = graph.apply("Concat", n_blocks, size, np.array([n_features]), axis=0)
    return n_rows, graph.apply("Reshape", padded, shape)


def _ceiling(graph: Graph, dividend: str, divisor: str) -> str:
    """The quotient of positive integers, rounded up."""
    most = graph.apply("Sub", graph.apply("Add", dividend, divisor), np.array([1]))
    return graph.apply("Div", most, divisor)


def _gaussianised(graph: Graph, x: str, gaussianisation: Gaussianisation) -> str:
    """The scores of samples. Bisection finds the last knot at or below each value."""
    tables = gaussianisation.padded()
    n_features, n_knots = tables[0].shape
    n_steps = (n_knots - 1).bit_length()
    # The tables are flat, for GatherElements, which is several times as fast as Gather: knot k of
    # feature j is entry j * width + k.
    width = 1 << n_steps
    knots, scores, slopes = (
        graph.constant(np.pad(table, ((0, 0), (0, width - n_knots)), constant_values=filling).ravel())
        for table, filling in zip(tables, (np.inf, 0.0, 0.0), strict=True)
    )
    last = np.array([knots[-1] for knots in gaussianisation.knots])
    inside = graph.apply("Min", graph.apply("Max", x, tables[0][:, 0]), last)
    first = width * np.arange(n_features, dtype=np.int32)
    knot = graph.apply("Expand", first, graph.apply("Shape", inside))
    knot, inside = (graph.apply("Reshape", part, np.array([-1])) for part in (knot, inside))
    for power in reversed(range(n_steps)):
        further = graph.apply("Add", knot, np.array(1 << power, np.int32))
        below = graph.apply("LessOrEqual", graph.apply("GatherElements", knots, further), inside)
        knot = graph.apply("Where", below, further, knot)
    beyond = graph.apply("Sub", inside, graph.apply("GatherElements", knots, knot))
    rise = graph.apply("Mul", graph.apply("GatherElements", slopes, knot), beyond)
    score = graph.apply("Add", graph.apply("GatherElements", scores, knot), rise)
    return graph.apply("Reshape", score, np.array([-1, n_features]))


# Steps beyond the number of inputs, because of rounding errors, and the squared error that ends them.
_MORE_STEPS, _SMALL = 10, 1e-26
_TINY = np.array(1e-300)


def _completed(graph: Graph, table: Columns, x: str, dtype: str) -> str:
    """Inputs of a type whose missing numbers are replaced, where there are any."""
    missing = graph.apply("IsNaN", x)
    if table.imputation is None:
        return graph.apply("Where", missing, table.fills.astype(dtype), x)
    number = graph.apply("ReduceSum", graph.cast(missing, np.int64), keepdims=0)
    complete, incomplete = graph.inner(), graph.inner()
    untouched = complete.apply("Identity", x)
    filled = incomplete.cast(_filled(incomplete, table.imputation, x, missing), dtype)
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
    completed = graph.apply(
        "Add", graph.apply("Mul", deviation, unit[:, None]), imputation.means[:, None]
    )
    mean = graph.apply("ReduceSum", graph.apply("Mul", share, completed), np.array([0]), keepdims=0)
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
    taken = zip((step, go_on, solution, residual, direction, size), kinds, shapes, strict=True)
    given = zip((again, reached, left, turned, now), kinds[1:], shapes[1:], strict=True)
    inputs, outputs = (
        [helper.make_tensor_value_info(*item) for item in part] for part in (taken, given)
    )
    inner = helper.make_graph(body.nodes, f"{again}_body", inputs, outputs)
    results = [f"{again}_{number}" for number in range(4)]
    most = graph.constant(np.array(n_inputs + _MORE_STEPS))
    always = graph.constant(np.array(True))
    names = [most, always, start, goal, goal, squared]
    graph.nodes.append(helper.make_node("Loop", names, results, name=f"{again}_Loop", body=inner))
    return results[0]


def _sum(graph: Graph, first: str, second: str) -> str:
    """The products of two results, added up over the inputs."""
    return graph.apply("ReduceSum", graph.apply("Mul", first, second), np.array([2]), keepdims=1)


_TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}


def to_onnx(
    network: Network, input_type: str, by_column: bool, properties: Mapping[str, Any]
) -> ModelProto:
    """See `ffmlp.export.to_onnx`."""
    if input_type not in _TYPES:
        raise ValueError(f"input_type must be 'float32' or 'float64', got {input_type!r}.")
    kind, labels, table = _TYPES[input_type], _label_constants(network.labels), network.table
    by_column |= any(isinstance(part, CategoryColumn) for part in table.parts)
    taken = table.names if by_column else ("X",)
    graph = Graph(_free_start("ffmlp", taken))
    label, probabilities = (_free(name, taken) for name in ("label", "probabilities"))
    if by_column:
        x = graph.apply("Concat", *(_column_inputs(graph, part) for part in table.parts), axis=1)
        inputs = [
            helper.make_tensor_value_info(
                part.name, kind if isinstance(part, NumberColumn) else TensorProto.STRING, ["rows", 1]
            )
            for part in table.parts
        ]
    else:
        x = "X"
        inputs = [helper.make_tensor_value_info("X", kind, ["rows", len(table)])]
    # Numbers beside categories are computed in float64, as they are in a data frame.
    given = "float64" if by_column else input_type
    x = _completed(graph, table, x, given)
    _add_classifier(graph, network, labels, x, _TYPES[given], label, probabilities, kind)
    label_type = TensorProto.STRING if labels.dtype.kind == "O" else TensorProto.INT64
    outputs = [
        helper.make_tensor_value_info(label, label_type, ["rows"]),
        helper.make_tensor_value_info(probabilities, kind, ["rows", len(labels)]),
    ]
    whole = {**properties, "feature_names": table.names, "classes": labels.tolist()}
    return graph.to_model(inputs, outputs, whole)


def _label_constants(labels: NDArray) -> NDArray:
    """Class labels as int64 or as an object array of strings."""
    if labels.dtype.kind in "iubf" and (labels == labels.astype(np.int64)).all():
        return labels.astype(np.int64)
    if all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(object)
    raise ValueError(
        f"ONNX labels must be integers or strings, got {labels.tolist()[:10]}. Fit with such labels."
    )


def _column_inputs(graph: Graph, part: NumberColumn | CategoryColumn) -> str:
    """The inputs of a column, in float64, from a result of the column's name."""
    if isinstance(part, NumberColumn):
        return graph.cast(part.name, np.float64)
    known = len(part.categories)
    numbers = {name: number for number, name in enumerate(part.categories)}
    # A column of integers is written with decimals if it has missing values.
    numbers = {f"{name}.0": number for name, number in numbers.items() if name.isdecimal()} | numbers
    row = graph.apply(
        "LabelEncoder", part.name, keys_strings=[*numbers, ""],
        values_int64s=[*numbers.values(), known], default_int64=known + 1,
    )  # fmt: skip
    return graph.apply("Gather", part.shares, graph.apply("Reshape", row, np.array([-1])), axis=0)


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _free_start(start: str, taken: Sequence[str]) -> str:
    """What no name begins with."""
    begun = any(name.startswith(start) for name in taken)
    return _free_start(f"{start}_", taken) if begun else start


def to_relu_onnx(network: Network, box: Box | None) -> ModelProto:
    """See `FFMLPClassifier.to_relu_onnx`."""
    layers = ReluLayers.of(network) if box is None else box.layers(network)
    layers, graph, result = layers.in_float32(), Graph(), "X"
    last = len(layers.weights) - 1
    for number, (weights, biases) in enumerate(zip(layers.weights, layers.biases, strict=True)):
        result = graph.apply("MatMul", result, weights)
        result = graph.apply("Add", result, biases, result="Y" if number == last else "")
        result = result if number == last else graph.apply("Relu", result)
    inputs, outputs = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size])
        for name, size in (("X", len(layers.weights[0])), ("Y", len(layers.biases[-1])))
    )
    names = {"input_names": network.feature_names, "classes": network.labels.tolist()}
    return graph.to_model([inputs], [outputs], names)


def register_skl2onnx_converter() -> None:
    """See `ffmlp.export.register_skl2onnx_converter`."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    from ffmlp import FFMLPClassifier

    update_registered_converter(
        FFMLPClassifier,
        "FFMLPClassifier",
        calculate_linear_classifier_output_shapes,
        _converted,
        options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
    )


def _converted(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a classifier to the graph that skl2onnx makes of a pipeline."""
    x, label, probabilities = (item.full_name for item in (*operator.inputs, *operator.outputs))
    input_type = "float64" if "Double" in type(operator.inputs[0].type).__name__ else "float32"
    clf, graph = operator.raw_operator, Graph(scope.get_unique_operator_name("ffmlp"))
    network, kind = clf.network_, _TYPES[input_type]
    if not network.table.are_inputs or network.table.imputation is not None:
        raise ValueError(
            "skl2onnx converts classifiers of numbers without missing values. Use clf.to_onnx()."
        )
    numbered = container.get_options(clf, {"nocl": False})["nocl"]
    labels = np.arange(len(clf.classes_)) if numbered else _label_constants(clf.classes_)
    x = _completed(graph, network.table, x, input_type)
    _add_classifier(graph, network, labels, x, kind, label, probabilities, kind)
    container.initializers.extend(graph.constants)
    container.nodes.extend(graph.nodes)
    container.node_domain_version_pair_sets.update({("", _OPSET), (_ML_DOMAIN, 2)})
