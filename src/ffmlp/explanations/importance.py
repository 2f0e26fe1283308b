"""Feature importance from the geometry of a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats, Indices
from ffmlp.validation import checked_samples

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier


@dataclass(frozen=True, eq=False)
class FeatureImportance:
    """The importance of each feature. Prints as a table, the most important feature first.

    Attributes
    ----------
    feature_names : tuple of str
    values : ndarray of shape (N,)
        The share of predictions that would change if the feature were shuffled, to first order.
    """

    feature_names: tuple[str, ...]
    values: Floats

    @property
    def ranking(self) -> Indices:
        """Features from the most to the least important."""
        return np.argsort(-self.values, kind="stable")

    def __str__(self) -> str:
        width = max(map(len, self.feature_names))
        return "\n".join(f"{self.feature_names[j]:{width}}  {self.values[j]:.3f}" for j in self.ranking)


def feature_importance(clf: FFMLPClassifier, X: ArrayLike) -> FeatureImportance:
    """The share of predictions that change if one feature takes the value of another sample.

    Within a region, the lead of a sample's class over class c is linear with gradient g. If feature j
    takes the value of another sample, the lead changes by ``g_j (x'_j − x_j)``. The importance of j is
    the frequency with which this makes a lead negative, over all samples and all values of the feature
    in X. Deterministic, O(n·N·log n) time after the gradients, no further predictions. Of gaussianised
    features, the scores are exchanged.

    The importance is a first-order approximation: it ignores what lies beyond the next hyperplane, and
    it can underrate a feature that matters only together with others (as in XOR).

    Parameters
    ----------
    clf : FFMLPClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples like those to be predicted.

    Returns
    -------
    FeatureImportance

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier, feature_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(X, y)
    >>> print(feature_importance(clf, X))
    petal length (cm)  0.489
    petal width (cm)   0.263
    sepal width (cm)   0.081
    sepal length (cm)  0.023
    """
    samples: Floats = np.asarray(checked_samples(clf, X), np.float64)
    network = clf.network_
    lead, gradient = network.leads(samples, network.classes(samples))
    Z = network.hyperplanes.mapped(samples)
    values = np.zeros(Z.shape[1])
    for feature, column in enumerate(Z.T):
        slope = gradient[:, :, feature]
        # The value beyond which the lead is lost; not finite if the lead does not depend on the feature.
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = column[:, None] - lead / slope
        ordered = np.sort(column)
        below = np.searchsorted(ordered, limit, side="left")
        above = len(ordered) - np.searchsorted(ordered, limit, side="right")
        lost = np.where(slope > 0, below, np.where(slope < 0, above, 0))
        lost[~np.isfinite(lead)] = 0
        values[feature] = lost.max(axis=1).mean() / len(ordered)
    return FeatureImportance(clf.network_.feature_names, values)
