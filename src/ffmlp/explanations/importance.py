"""Feature importance from the geometry of a design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ffmlp.arrays import Floats, Indices, row_blocks
from ffmlp.model.columns import CategoryColumn
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.network import Network
from ffmlp.model.region_trees import Neighbours, RegionTrees
from ffmlp.validation import checked_cells

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# Values of a feature that stand for all, where there are regions.
_MAX_VALUES = 32
# Regions of a tree, roughly, that a sample reaches if one feature changes.
_ENTRIES_PER_TREE = 32


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
    it can underrate a feature that matters only together with others (as in XOR). What regions
    beside a readout add is exact: it changes with the sample's regions. There, 32 values of a feature
    stand for all of them. Categories are exchanged by predicting again, the 32 most frequent ones.

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
    cells: Floats = np.asarray(checked_cells(clf, X), np.float64)
    network = clf.network_
    samples: Floats = np.asarray(network.inputs(cells), np.float64)
    own = network.classes(samples)
    lead, gradient = network.leads(samples, own)
    Z = network.hyperplanes.mapped(samples)
    trees = network.stages.trees
    if trees is None:
        values = np.array([_lost(column, lead, gradient[:, :, j]) for j, column in enumerate(Z.T)])
    else:
        values = _lost_with_regions(network.hyperplanes, trees, samples, own, lead, gradient)
    table = network.table
    of_columns = values[table.firsts]
    for number, part in enumerate(table.parts):
        if isinstance(part, CategoryColumn):
            of_columns[number] = _lost_by_category(network, cells, number, own)
    return FeatureImportance(table.names, of_columns)


def _lost_by_category(network: Network, cells: Floats, column: int, own: Indices) -> float:
    """The frequency with which the category of another sample changes the class; exact."""
    values, counts = np.unique(cells[:, column], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MAX_VALUES]
    changed = 0.0
    for value, count in zip(values[order], counts[order], strict=True):
        moved = cells.copy()
        moved[:, column] = value
        changed += count * float(np.mean(network.classes(network.inputs(moved)) != own))
    return changed / float(counts[order].sum())


def _lost(column: Floats, lead: Floats, slope: Floats) -> float:
    """The frequency with which another value of a feature makes a lead (n, C) negative."""
    # The value beyond which the lead is lost; not finite if the lead does not depend on the feature.
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = column[:, None] - lead / slope
    ordered = np.sort(column)
    below = np.searchsorted(ordered, limit, side="left")
    above = len(ordered) - np.searchsorted(ordered, limit, side="right")
    lost = np.where(slope > 0, below, np.where(slope < 0, above, 0))
    lost[~np.isfinite(lead)] = 0
    return float(lost.max(axis=1).mean() / len(ordered))


def _lost_with_regions(
    planes: Hyperplanes,
    trees: RegionTrees,
    samples: Floats,
    own: Indices,
    lead: Floats,
    gradient: Floats,
) -> Floats:
    """The frequency (N,) with which another value of each feature makes a lead negative."""
    Z = planes.mapped(samples)
    n_values = min(_MAX_VALUES, len(Z))
    places = ((np.arange(n_values) + 0.5) * len(Z) / n_values).astype(np.intp)
    grids = np.sort(Z, axis=0)[places]  # (K, N)
    axis_of = {int(np.abs(planes.weights[axis]).argmax()): int(axis) for axis in trees.axes}
    lost = np.zeros(Z.shape[1])
    for rows in row_blocks(len(Z), _ENTRIES_PER_TREE * trees.values.shape[1] * len(trees.roots)):
        near = trees.neighbours(planes.signed_responses(samples[rows]))
        for feature, grid in enumerate(grids.T):
            moved = (grid - Z[rows, feature, None])[:, :, None] * gradient[rows, None, :, feature]
            left = lead[rows, None] + moved
            if feature in axis_of:
                axis = axis_of[feature]
                responses = planes.weights[axis, feature] * grid + planes.biases[axis]
                left += _changes(trees, near, axis, responses, own[rows])
            lost[feature] += (left < 0).any(axis=2).mean(axis=1).sum()
    return lost / len(Z)


def _changes(trees: RegionTrees, near: Neighbours, axis: int, responses: Floats, own: Indices) -> Floats:
    """The change (n, K, C) of the lead of class ``own`` by regions at other responses (K,)."""
    chosen = near.axes == axis
    rows, regions = near.rows[chosen], near.regions[chosen]
    more = trees.values[regions] - trees.values[near.own[chosen]]
    ahead = np.take_along_axis(more, own[rows][:, None], axis=1) - more
    order, place = np.argsort(responses), np.searchsorted(trees.axes, axis)
    compared = responses[order].astype(np.float32)
    # A region counts from the first response above its lower limit to the last within its upper one.
    n_places = len(order) + 1
    first, last = (
        rows * n_places + np.searchsorted(compared, limit[regions, place], "right")
        for limit in trees.boxes
    )
    shape, size = (len(own), n_places), len(own) * n_places
    changes = np.empty((len(own), len(order), more.shape[1]))
    for label, weight in enumerate(ahead.T):
        steps = np.bincount(first, weight, size) - np.bincount(last, weight, size)
        changes[:, order, label] = steps.reshape(shape).cumsum(axis=1)[:, :-1]
    return changes
