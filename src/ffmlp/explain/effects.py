"""Columns in the whole model: effect curves, and importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import Floats, Indices
from ffmlp.explain.explain import explained
from ffmlp.inputs.columns import CategoryColumn
from ffmlp.inputs.rows import evenly
from ffmlp.network.network import Network
from ffmlp.parameters import checked_cells
from ffmlp.robustness.limits import feature_number

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier


# Values of a column, and samples, that stand for all.
_MAX_VALUES = 32
_MAX_CURVES = 200


@dataclass(frozen=True, eq=False)
class EffectCurve:
    """How the leads change if all samples take a value of one column.

    Attributes
    ----------
    column : str
    values : ndarray of shape (K,)
        Numbers, ascending, or the names of categories, the most frequent first.
    middle, low, high : ndarray of shape (K, C)
        Median and quartiles, over samples, of the change of each class's lead over the best other class.
    """

    column: str
    values: NDArray
    middle: Floats
    low: Floats
    high: Floats

    @property
    def is_number(self) -> bool:
        """Whether the column has numbers."""
        return self.values.dtype.kind == "f"

    @property
    def reach(self) -> Floats:
        """The range (C,) of each class's curve."""
        return np.ptp(self.middle, axis=0)


def effect_curves(
    clf: FFMLPClassifier, X: ArrayLike, columns: Sequence[int | str] | None = None
) -> tuple[EffectCurve, ...]:
    """How the lead of each class changes along each column, with its spread over the samples.

    A value of the column replaces that of every sample, and the network answers again. Nothing is
    approximated, but up to 200 samples and 32 values, evenly spaced among those of X, stand for all.

    Parameters
    ----------
    clf : FFMLPClassifier
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Samples like those to be predicted.
    columns : sequence of int or str, default=None
        Columns, by number or name; all if None.

    Returns
    -------
    tuple of EffectCurve

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier, effect_curves
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(X, y)
    >>> (curve,) = effect_curves(clf, X, ["petal length (cm)"])
    >>> curve.values[[0, -1]], curve.middle[[0, -1], 0].round(1)
    (array([1. , 6.9]), array([ 190.7, -161.8]))
    """
    cells: Floats = np.asarray(checked_cells(clf, X), np.float64)
    table = clf.network_.table
    columns = [columns] if isinstance(columns, str) else columns
    numbers = (
        range(len(table))
        if columns is None
        else [feature_number(table.names, column) for column in columns]
    )
    samples = cells[evenly(len(cells), _MAX_CURVES)]
    return tuple(_curve(clf.network_, cells[:, number], samples, number) for number in numbers)


def _curve(network: Network, column: Floats, samples: Floats, number: int) -> EffectCurve:
    part = network.table.parts[number]
    known, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    if isinstance(part, CategoryColumn):
        cells = known[np.argsort(-counts, kind="stable")][:_MAX_VALUES]
        values = np.array([part.value(cell) for cell in cells], object)
    else:
        # From the least to the largest.
        places = np.linspace(0, max(len(known) - 1, 0), min(len(known), _MAX_VALUES))
        cells = values = known[places.round().astype(np.intp)]
    before = _leads(network, samples)
    changes = np.empty((len(cells), *before.shape))
    for place, cell in enumerate(cells):
        moved = samples.copy()
        moved[:, number] = cell
        changes[place] = _leads(network, moved) - before
    low, middle, high = np.percentile(changes, [25, 50, 75], axis=1)
    return EffectCurve(part.name, values, middle, low, high)


def _leads(network: Network, cells: Floats) -> Floats:
    """The lead (n, C) of each class over the best other one; 0 for one that is never predicted."""
    planes = network.hyperplanes
    scores = network.stages.scores(planes.signed_responses(network.inputs(cells)))
    best = np.sort(scores, axis=1)[:, ::-1]
    other = np.where(scores == best[:, :1], best[:, 1:2], best[:, :1])
    possible = np.isfinite(scores) & np.isfinite(other)
    return np.subtract(scores, other, out=np.zeros_like(scores), where=possible)


# Samples, and other samples for each of them, that stand for all.
_MAX_ROWS = 500
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
    chosen = evenly(n, _MAX_ROWS)
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
