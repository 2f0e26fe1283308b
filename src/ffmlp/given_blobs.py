"""Validation of blobs that are given to `FFMLPClassifier.fit` as such."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.network.blobs import Blobs

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier


def check_given_blobs(
    classifier: FFMLPClassifier, blobs: Blobs, categories: Sequence[object], labels: NDArray
) -> None:
    """Raise a ValueError if blobs that do not follow from samples do not fit them.

    ``categories`` has an entry for each column, None for numbers.
    """
    classes, n_classes, n_columns = np.unique(blobs.classes), len(labels), len(categories)
    shapes = {
        "classes": (len(blobs),),
        "means": (len(blobs), n_columns),
        "covariances": (len(blobs), n_columns, n_columns),
    }
    for name, shape in shapes.items():
        found = np.shape(getattr(blobs, name))
        if found != shape or blobs.axes is not None:
            raise ValueError(
                f"blobs.{name} must have the shape {shape} for {n_columns} columns, without axes, got "
                f"{found}."
            )
    if not np.array_equal(classes, np.arange(n_classes)) or (np.diff(blobs.classes) < 0).any():
        raise ValueError(
            f"blobs must be sorted by class and of all {n_classes} classes of y, got blobs of the "
            f"classes {classes.tolist()[:10]}. Samples that lack a class can be fitted like another "
            "classifier: fit(X, y, like=first)."
        )
    if any(known is not None for known in categories):
        raise ValueError(
            "Given blobs need columns of numbers: categories become shares of the classes of other "
            "samples. Leave the categories out, or fit like another classifier: fit(X, y, like=first)."
        )
    if classifier.gaussianise is True:
        raise ValueError("gaussianise=True does not fit given blobs, which are in the space of X.")
    if not (np.isfinite(blobs.means).all() and _are_covariances(blobs.covariances)):
        raise ValueError("blobs must have finite means and symmetric, positive definite covariances.")
    if not (np.all(blobs.weights > 0) and np.isclose(blobs.weights.sum(), 1.0)):
        raise ValueError("blobs.weights must be positive and sum to one.")


def _are_covariances(matrices: Floats) -> bool:
    """Whether matrices (G, N, N) are symmetric, up to rounding, and positive definite."""
    if not np.isfinite(matrices).all():
        return False
    rounding = 1e-8 * np.abs(matrices).max()
    if not np.allclose(matrices, matrices.transpose(0, 2, 1), rtol=0.0, atol=rounding):
        return False
    return bool((np.linalg.eigvalsh(matrices) > 0).all())
