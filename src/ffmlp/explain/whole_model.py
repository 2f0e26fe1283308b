"""The model as a whole: its design as text, effects of columns, and their importance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ffmlp.arrays import Floats, Indices
from ffmlp.explain.attribution import response_spreads
from ffmlp.explain.decisions import explained
from ffmlp.inputs.columns import CategoryColumn
from ffmlp.inputs.rows import evenly
from ffmlp.network.network import Network
from ffmlp.parameters import checked_cells
from ffmlp.robustness.limits import feature_number
from ffmlp.words import counted, itemised

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# Features that are named for each hyperplane or blob.
_MAX_FEATURES = 3
# Features with a smaller share of a hyperplane are not named.
_SMALLEST_SHARE = 0.05
# Values of a column, and samples, that stand for all in a curve.
_MAX_VALUES = 32
_MAX_CURVES = 200
# Samples, and other samples for each of them, that stand for all in an importance.
_MAX_ROWS = 500
_MAX_OTHERS = 20


def feature_shares(clf: FFMLPClassifier) -> Floats:
    """The share (L, M) of each column in each hyperplane: |weight| times the spread of its inputs."""
    inputs = np.abs(clf.hyperplanes_.weights) * clf.blobs_.feature_spreads
    size = np.add.reduceat(inputs, clf.network_.table.firsts, axis=1)
    total = size.sum(axis=1, keepdims=True)
    return np.divide(size, total, out=np.zeros_like(size), where=total > 0)


def hyperplane_meaning(clf: FFMLPClassifier, hyperplane: int) -> str:
    """What a hyperplane separates, and the features with the largest shares in it.

    Parameters
    ----------
    clf : FFMLPClassifier
        Fitted.
    hyperplane : int
        A row of ``clf.hyperplanes_``.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier, hyperplane_meaning
    >>> iris = load_iris()
    >>> clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0)
    >>> clf = clf.fit(iris.data, iris.target_names[iris.target])
    >>> hyperplane_meaning(clf, 1)
    'separates blob 2 of versicolor from blob 4 of virginica; mostly x2 46%, x3 34%, x1 14%'
    """
    check_is_fitted(clf)
    if not 0 <= hyperplane < len(clf.hyperplanes_):
        raise ValueError(f"hyperplane must be 0 to {len(clf.hyperplanes_) - 1}, got {hyperplane!r}.")
    return _meaning(clf, hyperplane, feature_shares(clf)[hyperplane])


def _meaning(clf: FFMLPClassifier, hyperplane: int, shares: Floats) -> str:
    network = clf.network_
    threshold = clf.hyperplanes_.threshold(hyperplane)
    if threshold is not None:
        feature, value = threshold
        if isinstance(network.table.parts[network.table.owners[feature]], CategoryColumn):
            return f"is between {network.half_space(hyperplane)} and the other categories"
        return f"is the threshold {network.feature_names[feature]} = {value:.4g}"
    first, second = clf.hyperplanes_.pairs[hyperplane]
    constant = not clf.hyperplanes_.weights[hyperplane].any()
    if constant and clf.hyperplanes_.biases[hyperplane] < 0:
        first, second = second, first
    near, far = network.labels[network.blob_classes[[first, second]]]
    if constant:
        return f"prefers blob {first} of {near} to blob {second} of {far} for every sample"
    order = np.argsort(-shares, kind="stable")[:_MAX_FEATURES]
    features = ", ".join(
        f"{network.table.names[j]} {shares[j]:.0%}" for j in order if shares[j] >= _SMALLEST_SHARE
    )
    roughly = "roughly " if clf.hyperplanes_.one_sided else ""
    what = f"{roughly}separates blob {first} of {near} from blob {second} of {far}"
    return f"{what}; mostly {features}" if features else what


def export_text(clf: FFMLPClassifier, *, max_items: int = 20) -> str:
    """The design as text: blobs, hyperplanes, and how the classes follow from them.

    Parameters
    ----------
    clf : FFMLPClassifier
        Fitted.
    max_items : int, default=20
        The number of blobs, hyperplanes, regions and leaves that are listed; the others are counted.
        Regions are listed in descending order of training samples, leaves of trees by what they add.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ffmlp import FFMLPClassifier, export_text
    >>> iris = load_iris()
    >>> clf = FFMLPClassifier(1, design="region", error_threshold=0.05, random_state=0)
    >>> print(export_text(clf.fit(iris.data, iris.target_names[iris.target])))
    region design: 4 features → 4 half-spaces → 3 regions → 3 classes
    <BLANKLINE>
    3 blobs
      0  setosa, 33.3% of the training samples, around x2 = 1.462, x3 = 0.246, x0 = 5.006
      1  versicolor, 33.3% of the training samples, around x2 = 4.26, x3 = 1.326, x0 = 5.936
      2  virginica, 33.3% of the training samples, around x2 = 5.552, x3 = 2.026, x0 = 6.588
    <BLANKLINE>
    2 hyperplanes
      h0  separates blob 0 of setosa from blob 1 of versicolor; mostly x2 53%, x3 33%, x1 11%
      h1  separates blob 1 of versicolor from blob 2 of virginica; mostly x2 45%, x3 35%, x0 11%
    <BLANKLINE>
    3 regions; a sample in none of them belongs to the one it violates least
      h0 < 0, h1 < 0  →  virginica (49 of 51 training samples)
      h0 > 0, h1 > 0  →  setosa (50 of 50 training samples)
      h0 < 0, h1 > 0  →  versicolor (48 of 49 training samples)
    """
    check_is_fitted(clf)
    if max_items < 1:
        raise ValueError(f"max_items must be at least 1, got {max_items!r}.")
    network, stages = clf.network_, clf.network_.stages
    spreads, shares = response_spreads(clf.blobs_, network.hyperplanes), feature_shares(clf)
    mapped = ", of gaussianised features" if network.hyperplanes.gaussianisation else ""
    parts = [
        [f"{stages.design} design{mapped}: {network.layers}"],
        [counted(len(clf.blobs_), "blob"), *itemised(len(clf.blobs_), max_items, _blob_line(clf))],
        [
            counted(len(shares), "hyperplane"),
            *itemised(len(shares), max_items, lambda l: f"h{l}  {_meaning(clf, l, shares[l])}"),
        ],
        stages.description(network, spreads, max_items),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def _blob_line(clf: FFMLPClassifier) -> Callable[[int], str]:
    """The line of each blob: class, share, and mean in the columns in which blobs differ most."""
    blobs, network = clf.blobs_, clf.network_
    # Deviations are divided before they are squared: squares of large ones would overflow.
    spread = np.sqrt(blobs.weights @ ((blobs.means - blobs.centre) / blobs.feature_spreads) ** 2)
    table = network.table
    telling = np.maximum.reduceat(spread, table.firsts)
    order = np.argsort(-telling, kind="stable")[:_MAX_FEATURES]
    means = network.hyperplanes.unmapped(blobs.means)

    def line(blob: int) -> str:
        label, share = network.labels[blobs.classes[blob]], blobs.weights[blob]
        centre = ", ".join(
            f"{table.names[j]} {table.parts[j].near(means[blob, table.owners == j])}" for j in order
        )
        return f"{blob}  {label}, {share:.1%} of the training samples, around {centre}"

    return line


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

    Every sample takes a value of the column, and the network answers again. Nothing is
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
    given = range(len(table)) if columns is None else columns
    numbers = [feature_number(table.names, column) for column in given]
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

    It is deterministic permutation importance: the network predicts again with the values of 20 other
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
    samples, predicted = cells[chosen], network.classes(network.inputs(cells[chosen]))
    n_others = min(n, _MAX_OTHERS)
    steps = ((np.arange(n_others) + 0.5) * n / n_others).astype(np.intp)
    others = (chosen[:, None] + steps) % n
    changed = np.empty(cells.shape[1])
    for column in range(cells.shape[1]):
        moved = np.repeat(samples, n_others, axis=0)
        moved[:, column] = cells[others.ravel(), column]
        classes = network.classes(network.inputs(moved))
        changed[column] = np.mean(classes != np.repeat(predicted, n_others))
    attributions = np.abs(explained(network, clf.blobs_, samples).attributions).mean(axis=0)
    return FeatureImportance(network.table.names, changed, attributions)
