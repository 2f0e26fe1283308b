"""Designed networks in other frameworks: PyTorch (extra ``torch``) and ONNX (extra ``onnx``)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from ffmlp.model.network import Network

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier


def to_torch(network: Network, dtype: Any = None) -> Any:
    """A network as a PyTorch module: see `Network.to_torch`."""
    return _needing("torch", "PyTorch", "ffmlp.export.torch_module").to_torch(network, dtype)


def from_torch(module: Any) -> Network:
    """The network of a module that `Network.to_torch` made, with the weights that the module has now.

    Needs the extra ``torch``.

    Parameters
    ----------
    module : torch.nn.Sequential
        What ``to_torch`` returned, trained or not. Weights of a state dict can be loaded into such a
        module first.

    Returns
    -------
    Network
        In float64. Its layer l_1 consists of hyperplanes still; the neurons of l_2 have the weights
        that training gave them (`stages` are `TrainedStages`).

    Examples
    --------
    >>> import ffmlp, torch
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ffmlp.FFMLPClassifier(design="readout", gaussianise=False).fit(X, y)
    >>> module = clf.to_torch(torch.float64)
    >>> optimizer = torch.optim.Adam(module.parameters(), lr=1e-4)
    >>> for _ in range(50):
    ...     optimizer.zero_grad()
    ...     loss = torch.nn.functional.nll_loss(module(torch.tensor(X)).log(), torch.tensor(y))
    ...     loss.backward()
    ...     _ = optimizer.step()
    >>> trained = ffmlp.from_torch(module)
    >>> trained.layer_sizes == clf.network_.layer_sizes
    True
    >>> trained.meaning(2, 0)
    'trained neuron 0 of evidence, most for class 0'
    >>> bool((abs(trained.forward(X) - module(torch.tensor(X)).detach().numpy()) < 1e-9).all())
    True
    """
    network: Network = _needing("torch", "PyTorch", "ffmlp.export.torch_module").from_torch(module)
    return network


def to_onnx(clf: FFMLPClassifier, input_type: str = "float32") -> Any:
    """A classifier as an ONNX model: see `FFMLPClassifier.to_onnx`."""
    check_is_fitted(clf)
    return _needing("onnx", "onnx", "ffmlp.export.onnx_graph").to_onnx(clf, input_type)


def register_skl2onnx_converter() -> None:
    """Let skl2onnx convert pipelines that have an FFMLPClassifier in them (extra ``onnx``).

    Call it once; ``skl2onnx.to_onnx(pipeline, X)`` then works for float32 samples X, and for float64
    with ``options={"zipmap": False}``. What comes before the classifier is computed in the type of the
    input, the classifier in float64.
    """
    _needing("onnx", "onnx and skl2onnx", "ffmlp.export.onnx_graph").register_skl2onnx_converter()


def _needing(extra: str, package: str, module: str) -> Any:
    """A module of ours that imports the package of an extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} needs {package}: pip install 'ffmlp[{extra}]'") from error
