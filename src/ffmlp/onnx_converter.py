"""The skl2onnx converter of FFMLPClassifier (extra ``onnx``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ffmlp.classifier import FFMLPClassifier
from ffmlp.extras import require


def register_skl2onnx_converter() -> None:
    """Let skl2onnx convert pipelines that contain an FFMLPClassifier (extra ``onnx``).

    Call it once. Then ``skl2onnx.to_onnx(pipeline, X)`` works for float32 samples X, and for float64
    with ``options={"zipmap": False}``. The steps before the classifier are computed in the type of the
    input, the classifier in float64.
    """
    require("register_skl2onnx_converter", "onnx", "skl2onnx")
    from onnx import TensorProto
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    from ffmlp.export.onnx_model import (
        ML_DOMAIN,
        OPSET,
        Graph,
        add_classifier,
        completed,
        label_constants,
    )

    def convert(scope: Any, operator: Any, container: Any) -> None:
        x, label, probabilities = (item.full_name for item in (*operator.inputs, *operator.outputs))
        double = "Double" in type(operator.inputs[0].type).__name__
        kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
        clf, graph = operator.raw_operator, Graph(scope.get_unique_operator_name("ffmlp"))
        table = clf.network_.table
        if not table.are_inputs or table.imputation is not None:
            raise ValueError(
                "skl2onnx converts classifiers of numbers without missing values. Use clf.to_onnx()."
            )
        numbered = container.get_options(clf, {"nocl": False})["nocl"]
        labels = np.arange(len(clf.classes_)) if numbered else label_constants(clf.classes_)
        x = completed(graph, table, x, "float64" if double else "float32")
        add_classifier(graph, clf.network_, labels, x, kind, label, probabilities, kind)
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
