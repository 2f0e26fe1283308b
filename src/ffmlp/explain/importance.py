"""Feature importance: how often a column decides, and how much it adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats, Indices
from ffmlp.explain.explain import explained
from ffmlp.inputs.subsets import evenly
from ffmlp.validation import checked_cells

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# Samples, and other samples for each of them, that stand for all.
_MAX_SAMPLES = 500
_MAX_OTHERS = 20


@dataclass(frozen=True, eq=False)
class FeatureImportance:
    """The importance of each column. Prints as a table, the most important column first.

    Attributes
    ----------
    feature_names : tuple of str
    values : ndarray of shape (M,)
        The share of predictions that change if the column takes the value of another sample.
    attributions : ndarray of shape (M,)
        The mean absolute attribution of the column in the explanations of the samples.
    """

    feature_names: tuple[str, ...]
    values: Floats
    attributions: Floats

    @property
    def ranking(self) -> Indices:
        """Columns from the most to the least important."""
        return np.lexsort([-self.attributions, -self.values])

    def __str__(self) -> str:
        width = max(map(len, self.feature_names))
        lines = [f"{'':{width}}  changed  attribution"]
        for j in self.ranking:
            shown = f"{self.values[j]:7.3f}  {self.attributions[j]:11.3g}"
            lines.append(f"{self.feature_names[j]:{width}}  {shown}")
        return "\n".join(lines)


def feature_importance(clf: FFMLPClassifier, X: ArrayLike) -> FeatureImportance:
    """The share of predictions that change if one column takes the value of another sample.

    It is permutation importance without chance: the network predicts again with the values of 20 other
    samples, evenly spaced, for each of up to 500 samples. Nothing is approximated. Columns that repeat
    the information of others look less important than they are together.

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
                       changed  attribution
    petal length (cm)    0.568           61
    petal width (cm)     0.273           24
    sepal width (cm)     0.083         6.26
    sepal length (cm)    0.022         4.24
    """
    cells: Floats = np.asarray(checked_cells(clf, X), np.float64)
    network, n = clf.network_, len(cells)
    chosen = evenly(n, _MAX_SAMPLES)
    samples, own = cells[chosen], network.classes(network.inputs(cells[chosen]))
    n_others = min(n, _MAX_OTHERS)
    steps = ((np.arange(n_others) + 0.5) * n / n_others).astype(np.intp)
    others = (chosen[:, None] + steps) % n
    changed = np.empty(cells.shape[1])
    for column in range(cells.shape[1]):
        moved = np.repeat(samples, n_others, axis=0)
        moved[:, column] = cells[others.ravel(), column]
        changed[column] = np.mean(network.classes(network.inputs(moved)) != np.repeat(own, n_others))
    attributions = np.abs(explained(network, clf.blobs_, samples).attributions).mean(axis=0)
    return FeatureImportance(network.table.names, changed, attributions)
