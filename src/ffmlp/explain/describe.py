"""The whole design as text: blobs, hyperplanes, regions and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ffmlp.arrays import Floats
from ffmlp.explain.attribution import response_spreads
from ffmlp.inputs.columns import CategoryColumn
from ffmlp.words import counted, itemised

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# Features that are named for each hyperplane or blob.
_MAX_FEATURES = 3
# Features with a smaller share of a hyperplane are not named.
_SMALLEST_SHARE = 0.05


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
        The number of blobs, hyperplanes and regions that are listed; the others are counted. Regions
        are listed in descending order of training samples, those beside a readout by what they add.

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
        own = [means[blob, table.owners == j] for j in order]
        parts = zip((table.parts[j] for j in order), own, strict=True)
        place = ", ".join(f"{part.name} {part.near(inputs)}" for part, inputs in parts)
        return f"{blob}  {label}, {share:.1%} of the training samples, around {place}"

    return line
