"""A model of a data file as one ONNX graph: columns by name go in, labels come out (extra ``onnx``)."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper
from sklearn.pipeline import Pipeline

from ffmlp.export.onnx_graph import Graph, add_classifier, label_constants, output_infos
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
    add_classifier(graph, model.classifier.network_, labels, x, label, probabilities, TensorProto.DOUBLE)
    types = dict.fromkeys(model.numbers, TensorProto.DOUBLE)
    types |= dict.fromkeys(model.categories, TensorProto.STRING)
    inputs = [helper.make_tensor_value_info(name, kind, ["rows", 1]) for name, kind in types.items()]
    outputs = output_infos(labels, label, probabilities, TensorProto.DOUBLE)
    properties = {"target": model.target, "columns": model.features, "classes": labels.tolist()}
    return graph.to_model(inputs, outputs, properties)


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
