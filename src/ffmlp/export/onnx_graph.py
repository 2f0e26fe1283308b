"""A fitted classifier as an ONNX graph with the same predictions (extra ``onnx``).

The graph computes in float64, as the classifier does, and in blocks of rows: the responses of many rows
would fill the memory and take longer to move than to compute. The stages of the design
(`ffmlp.network.stages`) add the nodes that follow the hyperplanes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper

from ffmlp.arrays import Floats, Indices
from ffmlp.inputs.features import Gaussianisation
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.stages import LARGEST

# Versions that current runtimes load; some refuse the newer defaults of onnx.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
ML_DOMAIN = "ai.onnx.ml"
_ML_OPERATORS = ("LabelEncoder", "TreeEnsembleRegressor")
# More cells make the file larger, but not faster.
_CELLS_PER_KNOT = 16
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
        domain = ML_DOMAIN if operator in _ML_OPERATORS else ""
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
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)],
        )
        helper.set_model_props(model, {name: json.dumps(value) for name, value in properties.items()})
        checker.check_model(model, full_check=True)
        return model


def add_classifier(
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


@dataclass(frozen=True, eq=False)
class Grid:
    """Equal cells from the first to the last knot of a feature.

    At least ``before[i]`` knots, and at most ``n_steps`` more, are at or below a value in cell i. One
    more cell on either side allows for rounding. Knots too far apart or too close share one cell.
    """

    before: Indices
    cells_per_unit: float
    n_steps: int

    @classmethod
    def of(cls, knots: Floats) -> Grid:
        """The grid of knots, ascending."""
        n_cells = _CELLS_PER_KNOT * len(knots)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            from_first = knots - knots[0]
            edges = from_first[-1] / n_cells * np.arange(-1, n_cells + 2)
            counts = np.searchsorted(from_first, edges, side="right")
            cells_per_unit = float(n_cells / from_first[-1])
        if not 0.0 < cells_per_unit < np.inf:
            return cls(np.zeros(1, np.intp), 0.0, len(knots))
        n_steps = int((counts[3:] - counts[:-3]).max())
        return cls(counts[:n_cells], cells_per_unit, n_steps)


def _gaussianised(graph: Graph, x: str, gaussianisation: Gaussianisation) -> str:
    """The scores of samples. A grid and bisection find the last knot at or below each value."""
    tables = gaussianisation.padded()
    grids = [Grid.of(own) for own in gaussianisation.knots]
    n_features, n_knots = tables[0].shape
    n_more = (1 << max(grid.n_steps for grid in grids).bit_length()) - 1
    # The tables are flat: knot k of feature j is entry j * width + k; cells likewise.
    width, n_cells = n_knots + n_more, 1 + max(len(grid.before) for grid in grids)
    feature = np.arange(n_features, dtype=np.int32)
    cells = [np.pad(grid.before, (0, n_cells - len(grid.before)), mode="edge") for grid in grids]
    reached = np.maximum(np.array(cells) - 1, 0) + width * feature[:, None]
    knots, scores, slopes = (
        graph.constant(np.pad(table, ((0, 0), (0, n_more)), constant_values=filling).ravel())
        for table, filling in zip(tables, (np.inf, 0.0, 0.0), strict=True)
    )
    first = graph.constant(tables[0][:, 0])
    last = np.array([own[-1] for own in gaussianisation.knots])
    inside = graph.apply("Min", graph.apply("Max", x, first), last)
    per_unit = np.array([grid.cells_per_unit for grid in grids])
    cell = graph.apply("Mul", graph.apply("Sub", inside, first), per_unit)
    # NaN has no cell; its cast to an integer may be negative.
    cell = graph.apply("Max", graph.apply("Cast", cell, to=TensorProto.INT32), np.array(0, np.int32))
    # Flat, for GatherElements: it is several times as fast as Gather.
    cell, inside = (
        graph.apply("Reshape", part, np.array([-1]))
        for part in (graph.apply("Add", cell, n_cells * feature), inside)
    )
    knot = graph.apply("GatherElements", reached.astype(np.int32).ravel(), cell)
    for step in (n_more + 1 >> power for power in range(1, (n_more + 1).bit_length())):
        further = graph.apply("Add", knot, np.array(step, np.int32))
        below = graph.apply("LessOrEqual", graph.apply("GatherElements", knots, further), inside)
        knot = graph.apply("Where", below, further, knot)
    beyond = graph.apply("Sub", inside, graph.apply("GatherElements", knots, knot))
    rise = graph.apply("Mul", graph.apply("GatherElements", slopes, knot), beyond)
    score = graph.apply("Add", graph.apply("GatherElements", scores, knot), rise)
    return graph.apply("Reshape", score, np.array([-1, n_features]))
