"""Designed networks in other frameworks: PyTorch (extra ``torch``) and ONNX (extra ``onnx``)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ffmlp.export.verifiers import Box as Box
from ffmlp.export.verifiers import to_vnnlib as to_vnnlib
from ffmlp.extras import require
from ffmlp.network.network import Network


def to_torch(network: Network, dtype: Any = None) -> Any:
    """A network as a PyTorch module: see `FFMLPClassifier.to_torch`."""
    require("to_torch", "torch")
    return import_module("ffmlp.export.torch_module").to_torch(network, dtype)


def from_torch(module: Any) -> Network:
    """The network of a module made by `FFMLPClassifier.to_torch`, with the module's current weights.

    Needs the extra ``torch``.

    Parameters
    ----------
    module : torch.nn.Sequential
        A module that ``to_torch`` returned, trained or not. Weights of a state dict can be loaded into
        such a module first.

    Returns
    -------
    Network
        In float64. Layer l_1 still consists of hyperplanes. Layers l_2 and l_out have trained weights
        (`stages` are `TrainedStages`). A readout with trees has trained evidence and the trees of
        the design (`CorrectedReadoutStages`).

    Examples
    --------
    >>> import ffmlp, torch
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ffmlp.FFMLPClassifier(design="readout", max_leaves=0).fit(X, y)
    >>> module = clf.to_torch(torch.float64)  # to be trained as any module
    >>> ffmlp.from_torch(module).meaning(2, 0)
    'trained neuron 0 of evidence, largest weight to class 0'
    """
    require("from_torch", "torch")
    return import_module("ffmlp.export.torch_module").from_torch(module)


def to_onnx(
    network: Network,
    input_type: str = "float32",
    *,
    by_column: bool = False,
    properties: Mapping[str, Any] | None = None,
) -> Any:
    """A network as an ONNX model: see `FFMLPClassifier.to_onnx`.

    Each column is an input if a column is categorical, or with ``by_column``.
    ``properties`` are stored in the model.
    """
    require("to_onnx", "onnx")
    module = import_module("ffmlp.export.onnx_model")
    return module.to_onnx(network, input_type, by_column, properties or {})


def to_relu_onnx(network: Network, box: Box | None = None) -> Any:
    """A network as a plain ONNX graph, valid in a box if there is one: see `FFMLPClassifier`."""
    require("to_relu_onnx", "onnx")
    return import_module("ffmlp.export.onnx_model").to_relu_onnx(network, box)


def register_skl2onnx_converter() -> None:
    """Let skl2onnx convert pipelines that contain an FFMLPClassifier (extra ``onnx``).

    Call it once. Then ``skl2onnx.to_onnx(pipeline, X)`` works for float32 samples X, and for float64
    with ``options={"zipmap": False}``. The steps before the classifier are computed in the type of the
    input, the classifier in float64.
    """
    require("register_skl2onnx_converter", "onnx", "skl2onnx")
    import_module("ffmlp.export.onnx_model").register_skl2onnx_converter()
