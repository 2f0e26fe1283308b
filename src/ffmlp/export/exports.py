"""What a fitted classifier becomes elsewhere: a PyTorch module, an ONNX model, a claim for verifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ffmlp import export
from ffmlp.arrays import Floats
from ffmlp.network.network import Network
from ffmlp.parameters import checked_cells


class ExportsMixin:
    """Methods of a fitted classifier with ``network_``."""

    network_: Network

    def to_torch(self, dtype: Any = None) -> Any:
        """The network as a PyTorch module that can be trained (extra ``torch``).

        Parameters
        ----------
        dtype : torch.dtype, default=None
            The type of the weights; PyTorch's default if None. Choose it here: ``module.double()``
            cannot restore the digits that float32 has lost.

        Returns
        -------
        torch.nn.Sequential
            Layers ``table`` (if there are categories: it takes their numbers in
            ``network_.columns``), ``imputation`` (of missing numbers), ``gaussianise`` (if features are
            mapped), ``half_spaces``, ``regions`` (or ``blobs`` or ``evidence``) and ``classes``, the
            last three with activations. The output is that of ``network_.forward``: no `predict_proba`
            in the region design. See `ffmlp.from_torch`.
        """
        check_is_fitted(self)
        return export.to_torch(self.network_, dtype)

    def to_onnx(self, input_type: str = "float32") -> Any:
        """The classifier as an ONNX model (extra ``onnx``).

        Parameters
        ----------
        input_type : {"float32", "float64"}, default="float32"
            The type of numbers and of the output ``probabilities``. The model computes in float64.

        Returns
        -------
        onnx.ModelProto
            Its input is ``X`` (rows, ``n_features_in_``). With categories, each column is an input of
            its own (rows, 1), by name; categories are strings, empty if missing. Its outputs are those
            of `predict` and `predict_proba`: ``label`` (rows,), ``probabilities`` (rows, n_classes).
        """
        check_is_fitted(self)
        return export.to_onnx(self.network_, input_type)

    def to_relu_onnx(self, x: ArrayLike | None = None, radius: ArrayLike | None = None) -> Any:
        """The network as a plain ONNX graph for verifiers (extra ``onnx``).

        It consists of MatMul, Add and Relu in float32. It is available for the readout design without
        regions (``max_neurons`` or ``max_leaves=0``) and for the paper design.

        Parameters
        ----------
        x, radius : optional
            As in `to_vnnlib`. With them, the graph is that of its property: a function of steps within
            the box, and smaller.

        Returns
        -------
        onnx.ModelProto
            Its input ``X`` (rows, inputs) are the network's inputs, ``network_.inputs(cells)``: numbers,
            and shares of classes in place of categories; nothing is missing. With a box, these are steps
            instead, from -1 to 1 for each input. Its output ``Y`` (rows, n_classes) is the evidence of
            the classes before the softmax. The largest one is that of the predicted class.
        """
        check_is_fitted(self)
        if x is None and radius is None:
            return export.to_relu_onnx(self.network_)
        if x is None or radius is None:
            raise ValueError("A box needs both x and radius, got one of them.")
        return export.to_relu_onnx(self.network_, export.Box.around(self.network_, self._row(x), radius))

    def to_vnnlib(self, x: ArrayLike, radius: ArrayLike) -> str:
        """The claim that a sample keeps its class within a box, for verifiers of neural networks.

        The text is a VNN-LIB property of the graph of ``to_relu_onnx(x, radius)``. If a verifier says
        *unsat*, no input in the box has another class. *sat* comes with such an input, or with a tie.

        Parameters
        ----------
        x : array-like or data frame of shape (n_features,) or (1, n_features)
            One sample. Categories and missing cells are fixed: only numbers change.
        radius : float or array-like of shape (n_features,)
            The largest change of each number.

        Returns
        -------
        str
            Each input of the graph is a step from -1 to 1. A comment says which value it stands for, or
            which score of a gaussianised feature: scores rise with their feature, so that the scores in
            the box are a box, too. The property is about the graph as it is, with weights in float32.
            A comment bounds their effect on the outputs in this box, and states the lead of the class.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ffmlp import FFMLPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FFMLPClassifier(design="readout", max_neurons=20, gaussianise=False).fit(X, y)
        >>> clf.to_vnnlib(X[0], radius=0.25).splitlines()[-3:]
        ['    (and (>= Y_1 Y_0))', '    (and (>= Y_2 Y_0))', '))']
        """
        return export.to_vnnlib(self.network_, self._row(x), radius)

    def _row(self, x: ArrayLike) -> Floats:
        """The cells (1, M) of one sample, which may be given without a dimension for samples."""
        X: Any = [x] if np.ndim(x) == 1 else x
        return np.asarray(checked_cells(self, X), np.float64)
