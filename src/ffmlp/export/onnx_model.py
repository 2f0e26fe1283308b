"""A fitted classifier as an ONNX model: a table goes in, labels and probabilities come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from ffmlp.export.onnx_graph import Graph, add_classifier
from ffmlp.export.onnx_imputation import add_imputation
from ffmlp.inputs.columns import CategoryColumn, Columns, NumberColumn
from ffmlp.network.network import Network

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}


def to_onnx(
    network: Network, input_type: str, by_column: bool, properties: Mapping[str, Any]
) -> ModelProto:
    """See `ffmlp.export.to_onnx`."""
    if input_type not in TYPES:
        raise ValueError(f"input_type must be 'float32' or 'float64', got {input_type!r}.")
    kind, labels, table = TYPES[input_type], label_constants(network.labels), network.table
    by_column |= any(isinstance(part, CategoryColumn) for part in table.parts)
    taken = table.names if by_column else ("X",)
    graph = Graph(_free_start("ffmlp", taken))
    label, probabilities = (_free(name, taken) for name in ("label", "probabilities"))
    if by_column:
        x = graph.apply("Concat", *(_column_inputs(graph, part) for part in table.parts), axis=1)
        types = [_input_type(part, kind) for part in table.parts]
        inputs = [
            helper.make_tensor_value_info(name, own, ["rows", 1])
            for name, own in zip(taken, types, strict=True)
        ]
    else:
        x = "X"
        inputs = [helper.make_tensor_value_info("X", kind, ["rows", len(table)])]
    # Numbers beside categories are computed in float64, as they are in a data frame.
    given = "float64" if by_column else input_type
    x = completed(graph, table, x, given)
    add_classifier(graph, network, labels, x, TYPES[given], label, probabilities, kind)
    outputs = output_infos(labels, label, probabilities, kind)
    whole = {**properties, "feature_names": table.names, "classes": labels.tolist()}
    return graph.to_model(inputs, outputs, whole)


def output_infos(labels: NDArray, label: str, probabilities: str, kind: int) -> list[ValueInfoProto]:
    """The outputs of a classifier, under the given names."""
    label_type = TensorProto.STRING if labels.dtype.kind == "O" else TensorProto.INT64
    return [
        helper.make_tensor_value_info(label, label_type, ["rows"]),
        helper.make_tensor_value_info(probabilities, kind, ["rows", len(labels)]),
    ]


def label_constants(labels: NDArray) -> NDArray:
    """Class labels as int64 or as an object array of strings."""
    if labels.dtype.kind in "iub":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f" and (labels == labels.astype(np.int64)).all():
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
    return _shares(graph, part)


def _shares(graph: Graph, part: CategoryColumn) -> str:
    """Look up the shares of each category."""
    known = len(part.categories)
    numbers = {name: number for number, name in enumerate(part.categories)}
    # A column of integers is written with decimals if it has missing values.
    numbers = {f"{name}.0": own for name, own in numbers.items() if name.isdecimal()} | numbers
    row = graph.apply(
        "LabelEncoder", part.name, keys_strings=[*numbers, ""],
        values_int64s=[*numbers.values(), known], default_int64=known + 1,
    )  # fmt: skip
    return graph.apply("Gather", part.shares, graph.apply("Reshape", row, np.array([-1])), axis=0)


def completed(graph: Graph, table: Columns, x: str, dtype: str) -> str:
    """Inputs of a type whose missing numbers are replaced."""
    if table.imputation is not None:
        return add_imputation(graph, table.imputation, x, dtype)
    if np.isnan(table.fills).any():  # a network of an earlier version
        return x
    return graph.apply("Where", graph.apply("IsNaN", x), table.fills.astype(dtype), x)


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _free_start(start: str, taken: Sequence[str]) -> str:
    """What no name begins with."""
    begun = any(name.startswith(start) for name in taken)
    return _free_start(f"{start}_", taken) if begun else start


def _input_type(part: NumberColumn | CategoryColumn, kind: int) -> int:
    return TensorProto.STRING if isinstance(part, CategoryColumn) else kind
