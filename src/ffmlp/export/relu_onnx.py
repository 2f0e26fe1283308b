"""A network as a plain ONNX graph of MatMul, Add and Relu in float32 (extra ``onnx``)."""

from __future__ import annotations

from onnx import ModelProto, TensorProto, helper

from ffmlp.export.box import Box
from ffmlp.export.onnx_graph import Graph
from ffmlp.export.relu_layers import ReluLayers
from ffmlp.network.network import Network


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
