"""A fitted classifier as an ONNX graph that answers as it does (extra ``onnx``).

All of it works in float64 inside, as the classifier does, on some rows at a time: the responses of
many rows to many hyperplanes would fill the memory and take longer to move than to compute. The region
design finds a sample's region by its code, as a look-up, and only rows in unseen regions are compared
with all regions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper

from ffmlp.model.features import Gaussianisation
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.network import Network
from ffmlp.model.regions import Regions
from ffmlp.model.stages import ReadoutStages

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# What current runtimes load; newer defaults of onnx are refused by some.
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
ML_DOMAIN = "ai.onnx.ml"
TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
# Bits of a code that one float32 sum holds exactly.
_BITS_PER_KEY = 24
# As fast as with more, and a small file.
_CELLS_PER_KNOT = 16
# Rows at a time: few enough for their responses to stay in the cache, enough to share among threads.
_ROWS_PER_BLOCK = 1024


class Graph:
    """Nodes and constants in the making; every result has a name that starts with the prefix."""

    def __init__(self, prefix: str = "ffmlp", constants: list[TensorProto] | None = None) -> None:
        self.nodes: list[NodeProto] = []
        self.constants = [] if constants is None else constants
        self._prefix = prefix

    def inner(self) -> Graph:
        """An empty graph for the body of a node, whose constants are those of this one."""
        return Graph(f"{self._prefix}_inner", self.constants)

    @property
    def input(self) -> str:
        """The name of what the body of a node takes in."""
        return f"{self._prefix}_input"

    def constant(self, values: NDArray) -> str:
        """Add an array and give its name."""
        name = f"{self._prefix}_constant_{len(self.constants)}"
        if values.dtype.kind == "O":
            texts = [text.encode() for text in values.tolist()]
            tensor = helper.make_tensor(name, TensorProto.STRING, values.shape, texts)
        else:
            tensor = numpy_helper.from_array(np.array(values, order="C"), name)
        self.constants.append(tensor)
        return name

    def apply(self, operator: str, *inputs: str | NDArray, result: str = "", **attributes: Any) -> str:
        """Add a node and give the name of its output; arrays among the inputs become constants."""
        names = [item if isinstance(item, str) else self.constant(item) for item in inputs]
        output = result or f"{self._prefix}_{len(self.nodes)}"
        domain = ML_DOMAIN if operator == "LabelEncoder" else ""
        node = helper.make_node(
            operator, names, [output], name=f"{output}_{operator}", domain=domain, **attributes
        )
        self.nodes.append(node)
        return output

    def scan(self, x: str, body: Graph, taken: ValueInfoProto, *given: ValueInfoProto) -> list[str]:
        """Add a node that applies a body to each part of x; the results of all parts, stacked."""
        results = [f"{self._prefix}_{len(self.nodes)}_{number}" for number in range(len(given))]
        inner = helper.make_graph(body.nodes, f"{results[0]}_body", [taken], given)
        name = f"{results[0]}_Scan"
        self.nodes.append(
            helper.make_node("Scan", [x], results, name=name, body=inner, num_scan_inputs=1)
        )
        return results


def to_onnx(clf: FFMLPClassifier, input_type: str = "float32") -> ModelProto:
    """See `FFMLPClassifier.to_onnx`."""
    if input_type not in TYPES:
        raise ValueError(f"input_type must be 'float32' or 'float64', got {input_type!r}.")
    kind = TYPES[input_type]
    graph = Graph()
    labels = label_constants(clf.classes_)
    add_classifier(graph, clf, labels, "X", "label", "probabilities", kind)
    label_type = TensorProto.STRING if labels.dtype.kind == "O" else TensorProto.INT64
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "FFMLPClassifier",
            [helper.make_tensor_value_info("X", kind, ["rows", clf.n_features_in_])],
            [
                helper.make_tensor_value_info("label", label_type, ["rows"]),
                helper.make_tensor_value_info("probabilities", kind, ["rows", len(labels)]),
            ],
            graph.constants,
        ),
        producer_name="ffmlp",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)],
    )
    properties = {"feature_names": clf.network_.feature_names, "classes": labels.tolist()}
    helper.set_model_props(model, {name: json.dumps(value) for name, value in properties.items()})
    checker.check_model(model, full_check=True)
    return model


def label_constants(labels: NDArray) -> NDArray:
    """Class labels as int64 or as objects that are strings."""
    if labels.dtype.kind in "iub":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f" and (labels == labels.astype(np.int64)).all():
        return labels.astype(np.int64)
    if all(isinstance(label, str) for label in labels.tolist()):
        return labels.astype(object)
    raise ValueError(
        f"ONNX labels are integers or strings, got {labels.tolist()[:10]}. Fit with such labels."
    )


def add_classifier(
    graph: Graph,
    clf: FFMLPClassifier,
    labels: NDArray,
    x: str,
    label: str,
    probabilities: str,
    kind: int,
) -> None:
    """Add what turns samples into labels and probabilities (of type ``kind``), all given by name.

    ``labels`` are what the classes are called.
    """
    n_rows, blocks = _blocks(graph, x, clf.n_features_in_)
    body = graph.inner()
    chosen, share = _classified(body, clf, body.apply("Cast", body.input, to=TensorProto.DOUBLE))
    share = body.apply("Cast", share, to=kind)
    of_blocks = graph.scan(
        blocks,
        body,
        helper.make_tensor_value_info(body.input, kind, [None, clf.n_features_in_]),
        helper.make_tensor_value_info(chosen, TensorProto.INT64, [None]),
        helper.make_tensor_value_info(share, kind, [None, len(clf.classes_)]),
    )
    start, shapes = np.array([0]), (np.array([-1]), np.array([-1, len(clf.classes_)]))
    chosen, share = (
        graph.apply("Reshape", result, shape) for result, shape in zip(of_blocks, shapes, strict=True)
    )
    graph.apply("Slice", share, start, n_rows, start, result=probabilities)
    chosen = graph.apply("Slice", chosen, start, n_rows, start)
    graph.apply("Gather", labels, chosen, result=label)


def _blocks(graph: Graph, x: str, n_features: int) -> tuple[str, str]:
    """How many rows there are; and the rows (blocks, rows, N), in blocks of one size.

    As few rows of zeros as that takes are added, and one where there is none.
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


def _classified(graph: Graph, clf: FFMLPClassifier, x: str) -> tuple[str, str]:
    """The class of each row, as an index, and its probabilities."""
    network, regions = clf.network_, clf.regions_
    planes = network.hyperplanes
    scores = x if planes.gaussianisation is None else _gaussianised(graph, x, planes.gaussianisation)
    h = graph.apply("Gemm", scores, planes.weights, planes.biases, transB=1)
    if regions is None:
        share = _network_output(graph, scores, h, network)
        return graph.apply("ArgMax", share, axis=1, keepdims=0), share
    region = _region(graph, h, regions)
    chosen = graph.apply("Gather", regions.classes.astype(np.int64), region)
    return chosen, graph.apply("Gather", regions.frequencies, region)


@dataclass(frozen=True, eq=False)
class Grid:
    """Equal cells from the first to the last knot of a feature.

    Before the values of cell i come ``before[i]`` knots for sure, and at most ``n_steps`` more. A cell
    too many on either side makes up for rounding. Knots too far apart or too near share one cell.
    """

    before: NDArray[np.intp]
    cells_per_unit: float
    n_steps: int

    @classmethod
    def of(cls, knots: NDArray[np.float64]) -> Grid:
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
    """The scores of samples: a grid, then bisection finds the last knot at or below each value."""
    tables = gaussianisation.padded()
    grids = [Grid.of(own) for own in gaussianisation.knots]
    n_features, n_knots = tables[0].shape
    n_more = (1 << max(grid.n_steps for grid in grids).bit_length()) - 1
    # The tables are flat: knot k of feature j is entry j * width + k, and so are its cells.
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
    # What is not a number has no cell; it becomes a negative one.
    cell = graph.apply("Max", graph.apply("Cast", cell, to=TensorProto.INT32), np.array(0, np.int32))
    # Flat, for GatherElements: it is several times as fast as Gather, which can move whole rows.
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


def _softplus_of_sides(graph: Graph, h: str) -> str:
    """The softplus of h and of -h, which bend by the same.

    Without the operator of this name, which runtimes lack for float64.
    """
    small = graph.apply("Exp", graph.apply("Neg", graph.apply("Abs", h)))
    bend = graph.apply("Log", graph.apply("Add", small, np.array(1.0)))
    sides = (graph.apply("Relu", side) for side in (h, graph.apply("Neg", h)))
    return graph.apply("Concat", *(graph.apply("Add", side, bend) for side in sides), axis=1)


def _network_output(graph: Graph, scores: str, h: str, network: Network) -> str:
    """What `Network.forward` gives, from scores and their responses h."""
    (w_2, w_3), (b_2, b_3) = network.stages.weights, network.stages.biases
    if not isinstance(network.stages, ReadoutStages):  # blobs
        l_2 = graph.apply("Gemm", _softplus_of_sides(graph, h), w_2, b_2, transB=1)
        return graph.apply("Gemm", graph.apply("Softmax", l_2, axis=1), w_3, b_3, transB=1)
    if network.hyperplanes.one_sided:
        l_2 = graph.apply("Gemm", graph.apply("Relu", h), w_2, b_2, transB=1)
    else:
        l_2 = _bends(graph, scores, h, network.hyperplanes, network.stages)
    return graph.apply("Softmax", graph.apply("Gemm", l_2, w_3, b_3, transB=1), axis=1)


def _bends(graph: Graph, scores: str, h: str, planes: Hyperplanes, stages: ReadoutStages) -> str:
    """The evidence of opposite neurons in half the work: a sum of ``|h|``, and one of scores."""
    bias = stages.bias + planes.biases @ stages.odd
    linear = graph.apply("Gemm", scores, planes.weights.T @ stages.odd, bias)
    return graph.apply("Add", graph.apply("MatMul", graph.apply("Abs", h), stages.even), linear)


def _region(graph: Graph, h: str, regions: Regions) -> str:
    """The region of each sample; in an unseen region, the one it violates least."""
    region = _occupied_region(graph, h, regions)
    unseen = graph.apply("NonZero", graph.apply("Less", region, np.array(0)))
    unseen = graph.apply("Reshape", unseen, np.array([-1]))
    # The violation of a region is Σ relu(h) - h·code, so the least violated one has the largest h·code.
    agreement = graph.apply(
        "Gemm", graph.apply("Gather", h, unseen), regions.codes.astype(np.float64), transB=1
    )
    least_violated = graph.apply("ArgMax", agreement, axis=1, keepdims=0)
    return graph.apply("ScatterElements", region, unseen, least_violated, axis=0)


def _occupied_region(graph: Graph, h: str, regions: Regions) -> str:
    """The region that has a sample's code, -1 where none has.

    A part of the bits at a time becomes an integer, and it and the number of the code up to there are
    looked up for the number of the longer code.
    """
    n_hyperplanes = regions.codes.shape[1]
    parts = range(0, n_hyperplanes, _BITS_PER_KEY)
    powers = np.zeros((n_hyperplanes, len(parts)), np.float32)
    for number, start in enumerate(parts):
        stop = min(start + _BITS_PER_KEY, n_hyperplanes)
        powers[start:stop, number] = 2.0 ** np.arange(stop - start)
    bits = graph.apply("Cast", graph.apply("Greater", h, np.array(0.0)), to=TensorProto.FLOAT)
    keys = graph.apply("Cast", graph.apply("MatMul", bits, powers), to=TensorProto.INT64)
    own_keys = (regions.codes @ powers.astype(np.int64)).astype(np.int64)

    found, own = "", np.zeros(len(regions), np.int64)
    for number in range(len(parts)):
        key = graph.apply("Gather", keys, np.array(number), axis=1)
        if found:
            shifted = graph.apply("Mul", found, np.array(1 << _BITS_PER_KEY))
            key = graph.apply("Add", shifted, key)
        longer = own * (1 << _BITS_PER_KEY) + own_keys[:, number]
        distinct, own = np.unique(longer, return_inverse=True)
        is_last = number == len(parts) - 1
        found = graph.apply(
            "LabelEncoder",
            key,
            keys_int64s=longer.tolist() if is_last else distinct.tolist(),
            values_int64s=list(range(len(regions) if is_last else len(distinct))),
            default_int64=-1,
        )
    return found


def register_skl2onnx_converter() -> None:
    """See `ffmlp.export.register_skl2onnx_converter`."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    from ffmlp.classifier import FFMLPClassifier

    def convert(scope: Any, operator: Any, container: Any) -> None:
        label, probabilities = (output.full_name for output in operator.outputs)
        double = "Double" in type(operator.inputs[0].type).__name__
        clf, graph = operator.raw_operator, Graph(scope.get_unique_operator_name("ffmlp"))
        numbered = container.get_options(clf, {"nocl": False})["nocl"]
        add_classifier(
            graph,
            clf,
            np.arange(len(clf.classes_)) if numbered else label_constants(clf.classes_),
            operator.inputs[0].full_name,
            label,
            probabilities,
            TensorProto.DOUBLE if double else TensorProto.FLOAT,
        )
        container.initializers.extend(graph.constants)
        container.nodes.extend(graph.nodes)
        container.node_domain_version_pair_sets.update({("", OPSET), (ML_DOMAIN, 2)})

    update_registered_converter(
        FFMLPClassifier,
        "FFMLPClassifier",
        calculate_linear_classifier_output_shapes,
        convert,
        options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
    )
