"""Effect curves: how the lead of a class changes along one column, for all samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ffmlp.arrays import Floats
from ffmlp.inputs.columns import CategoryColumn
from ffmlp.inputs.subsets import evenly
from ffmlp.network.network import Network
from ffmlp.robustness.limits import feature_number
from ffmlp.validation import checked_cells

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# Values of a column, and samples, that stand for all.
_MAX_VALUES = 32
_MAX_SAMPLES = 200


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
    samples = cells[evenly(len(cells), _MAX_SAMPLES)]
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
