"""A model of a data file as one ONNX graph: columns by name go in, labels come out (extra ``onnx``)."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, checker, helper
from sklearn.pipeline import Pipeline

from ffmlp.export.onnx_graph import (
    IR_VERSION,
    ML_DOMAIN,
    ML_OPSET,
    OPSET,
    Graph,
    add_classifier,
    label_constants,
)
from ffmlp.tabular.preparation import MISSING_CATEGORY, Encoding
from ffmlp.tabular.table_model import TableModel


def to_onnx(model: TableModel) -> ModelProto:
    """Imputation, encoding and classifier; each column is an input of shape (rows, 1).

    Numbers are float64, NaN where missing; categories are strings, empty where missing. Outputs are
    ``label`` and ``probabilities``, with an underscore more where a column has that name.
    """
    if not isinstance(model.estimator, Pipeline):
        return model.classifier.to_onnx("float64")
    if model.preparation is None:
        raise ValueError("only models of ffmlp fit and classifiers alone can be exported to ONNX.")
    graph, parts = Graph(_free_start("ffmlp", model.features)), []
    for name, median in zip(model.numbers, model.preparation.medians, strict=True):
        missing = graph.apply("IsNaN", name)
        parts.append(graph.apply("Where", missing, np.array([[median]], np.float64), name))
    for name, encoding in zip(model.categories, model.preparation.encodings, strict=True):
        parts.append(_encoded(graph, encoding, name))
    x = graph.apply("Concat", *parts, axis=1)
    label, probabilities = (_free(name, model.features) for name in ("label", "probabilities"))
    labels = label_constants(model.classifier.classes_)
    add_classifier(graph, model.classifier, labels, x, label, probabilities, TensorProto.DOUBLE)
    return _model(graph, model, labels, label, probabilities)


def _free(name: str, taken: list[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _free_start(start: str, taken: list[str]) -> str:
    """What no name begins with."""
    begun = any(name.startswith(start) for name in taken)
    return _free_start(f"{start}_", taken) if begun else start


def _encoded(graph: Graph, encoding: Encoding, name: str) -> str:
    """Look up the inputs of each category; the last row is for unknown ones."""
    known = encoding.known
    missing = known.index(MISSING_CATEGORY) if MISSING_CATEGORY in known else len(known)
    index = graph.apply(
        "LabelEncoder", name, keys_strings=[*known, ""], values_int64s=[*range(len(known)), missing],
        default_int64=len(known),
    )  # fmt: skip
    flat = graph.apply("Reshape", index, np.array([-1], np.int64))
    codes = encoding.inputs(np.append(np.arange(len(known)), -1))
    return graph.apply("Gather", codes, flat, axis=0)


def _model(
    graph: Graph, model: TableModel, labels: NDArray, label: str, probabilities: str
) -> ModelProto:
    types = dict.fromkeys(model.numbers, TensorProto.DOUBLE)
    types |= dict.fromkeys(model.categories, TensorProto.STRING)
    label_type = TensorProto.STRING if labels.dtype.kind == "O" else TensorProto.INT64
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "ffmlp",
            [helper.make_tensor_value_info(name, kind, ["rows", 1]) for name, kind in types.items()],
            [
                helper.make_tensor_value_info(label, label_type, ["rows"]),
                helper.make_tensor_value_info(probabilities, TensorProto.DOUBLE, ["rows", len(labels)]),
            ],
            graph.constants,
        ),
        producer_name="ffmlp",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)],
    )
    properties = {"target": model.target, "columns": model.features, "classes": labels.tolist()}
    helper.set_model_props(made, {name: json.dumps(value) for name, value in properties.items()})
    checker.check_model(made, full_check=True)
    return made
