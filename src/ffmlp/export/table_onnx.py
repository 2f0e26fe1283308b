"""A model of a data file as one ONNX graph: columns by name go in, labels come out (extra ``onnx``)."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, checker, helper
from sklearn.compose import ColumnTransformer
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
from ffmlp.files.tables import pandas
from ffmlp.files.tabular import MISSING_CATEGORY, TableModel


def to_onnx(model: TableModel) -> ModelProto:
    """Imputation, encoding and classifier; each column is an input of shape (rows, 1).

    Numbers are float64, NaN where missing; categories are strings, empty where missing. Outputs are
    ``label`` and ``probabilities``, with an underscore more where a column has that name.
    """
    if not isinstance(model.estimator, Pipeline):
        return model.classifier.to_onnx("float64")
    graph, prepared = Graph(_free_start("ffmlp", model.columns)), _prepared(model)
    parts = []
    if model.numbers:
        medians = prepared.named_transformers_["numbers"].statistics_
        for name, median in zip(model.numbers, medians, strict=True):
            missing = graph.apply("IsNaN", name)
            parts.append(graph.apply("Where", missing, np.array([[median]], np.float64), name))
    if model.categories:
        encoder = prepared.named_transformers_["categories"]
        for column, name in enumerate(model.categories):
            parts.append(_encoded(graph, encoder, model.categories, column, name))
    x = graph.apply("Concat", *parts, axis=1)
    label, probabilities = (_free(name, model.columns) for name in ("label", "probabilities"))
    labels = label_constants(model.classifier.classes_)
    add_classifier(graph, model.classifier, labels, x, label, probabilities, TensorProto.DOUBLE)
    return _model(graph, model, labels, label, probabilities)


def _prepared(model: TableModel) -> ColumnTransformer:
    prepared = model.estimator.steps[0][1]
    if len(model.estimator.steps) != 2 or not isinstance(prepared, ColumnTransformer):
        raise ValueError("only models of ffmlp fit and classifiers alone can be exported to ONNX.")
    return prepared


def _free(name: str, taken: list[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _free_start(start: str, taken: list[str]) -> str:
    """What no name begins with."""
    begun = any(name.startswith(start) for name in taken)
    return _free_start(f"{start}_", taken) if begun else start


def _encoded(graph: Graph, encoder: Pipeline, names: tuple[str, ...], column: int, name: str) -> str:
    """Look up what the encoder makes of each category; the last row is for unknown ones."""
    known = encoder[-1].categories_[column].tolist()
    codes = _codes(encoder, names, column, known)
    keys = [*known, ""]
    rows = [
        *range(len(known)),
        known.index(MISSING_CATEGORY) if MISSING_CATEGORY in known else len(known),
    ]
    index = graph.apply(
        "LabelEncoder", name, keys_strings=keys, values_int64s=rows, default_int64=len(known)
    )
    flat = graph.apply("Reshape", index, np.array([-1], np.int64))
    return graph.apply("Gather", codes, flat, axis=0)


def _codes(
    encoder: Pipeline, names: tuple[str, ...], column: int, known: list[str]
) -> NDArray[np.float64]:
    """What each category of a column is encoded as, and what one that the encoder does not know."""
    fitted = encoder[-1]
    rare = fitted.infrequent_categories_
    widths = [
        len(categories) - (0 if rare[number] is None else len(rare[number]) - 1)
        for number, categories in enumerate(fitted.categories_)
    ]
    unknown = "\0".join(["", *known])  # longer than each of them
    values: dict[str, Any] = {other: [unknown] * (len(known) + 1) for other in names}
    values[names[column]] = [*known, unknown]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it is unknown is the point
        encoded = np.asarray(encoder.transform(pandas().DataFrame(values, dtype=object)), np.float64)
    start = sum(widths[:column])
    return encoded[:, start : start + widths[column]]


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
    properties = {"target": model.target, "columns": model.columns, "classes": labels.tolist()}
    helper.set_model_props(made, {name: json.dumps(value) for name, value in properties.items()})
    checker.check_model(made, full_check=True)
    return made
