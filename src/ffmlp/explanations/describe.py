"""The whole design in words: what its blobs, hyperplanes, regions and weights say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ffmlp.design.blobs import Floats
from ffmlp.explanations.margins import feature_spreads, response_spreads
from ffmlp.model.stages import BlobStages, ReadoutStages, RegionStages

if TYPE_CHECKING:
    from ffmlp.classifier import FFMLPClassifier

# Features that are named of a hyperplane or a blob.
_MAX_FEATURES = 3
# A feature with a smaller share of a hyperplane is not worth a word.
_SMALLEST_SHARE = 0.05


def feature_shares(clf: FFMLPClassifier) -> Floats:
    """The share (L, N) of each feature in each hyperplane: |weight| times the feature's spread."""
    size = np.abs(clf.hyperplanes_.weights) * feature_spreads(clf.blobs_)
    total = size.sum(axis=1, keepdims=True)
    return np.divide(size, total, out=np.zeros_like(size), where=total > 0)


def hyperplane_meaning(clf: FFMLPClassifier, hyperplane: int) -> str:
    """What a hyperplane separates, and which features it mostly looks at.

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
        raise ValueError(
            f"there are hyperplanes 0 to {len(clf.hyperplanes_) - 1}, got hyperplane {hyperplane!r}."
        )
    return _meaning(clf, hyperplane, feature_shares(clf)[hyperplane])


def _meaning(clf: FFMLPClassifier, hyperplane: int, shares: Floats) -> str:
    network = clf.network_
    threshold = clf.hyperplanes_.threshold(hyperplane)
    if threshold is not None:
        feature, value = threshold
        return f"is where {network.feature_names[feature]} reaches {value:.4g}"
    first, second = clf.hyperplanes_.pairs[hyperplane]
    near, far = network.labels[network.blob_classes[[first, second]]]
    order = np.argsort(-shares, kind="stable")[:_MAX_FEATURES]
    features = ", ".join(
        f"{network.feature_names[j]} {shares[j]:.0%}" for j in order if shares[j] >= _SMALLEST_SHARE
    )
    roughly = "roughly " if clf.hyperplanes_.one_sided else ""
    what = f"{roughly}separates blob {first} of {near} from blob {second} of {far}"
    return f"{what}; mostly {features}" if features else what


def export_text(clf: FFMLPClassifier, *, max_items: int = 20) -> str:
    """The design as a report: blobs, hyperplanes, and how the classes follow from them.

    Parameters
    ----------
    clf : FFMLPClassifier
        Fitted.
    max_items : int, default=20
        Blobs, hyperplanes and regions that are listed; the others are counted. Regions of most
        training samples, and hyperplanes of most weight, come first where not all are listed.

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
    3 regions; a sample in none of them is counted to the one it violates least
      h0 < 0, h1 < 0  →  virginica (49 of 51 training samples)
      h0 > 0, h1 > 0  →  setosa (50 of 50 training samples)
      h0 < 0, h1 > 0  →  versicolor (48 of 49 training samples)
    """
    check_is_fitted(clf)
    if max_items < 1:
        raise ValueError(f"max_items must be at least 1, got {max_items!r}.")
    network, stages = clf.network_, clf.network_.stages
    sizes = " → ".join(
        f"{size} {kind}" for size, kind in zip(network.layer_sizes, network.kinds, strict=True)
    )
    name, lines = {
        RegionStages: ("region", _region_lines),
        BlobStages: ("blob", _blob_lines),
        ReadoutStages: ("readout", _readout_lines),
    }[type(stages)]
    mapped = ", of gaussianised features" if network.hyperplanes.gaussianisation else ""
    parts = [
        [f"{name} design{mapped}: {sizes}"],
        [_n(len(clf.blobs_), "blob"), *_listed(len(clf.blobs_), max_items, _blob(clf))],
        [_n(len(clf.hyperplanes_), "hyperplane"), *_hyperplane_lines(clf, max_items)],
        lines(clf, max_items),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def _listed(
    number: int, max_items: int, line: Callable[[int], str], order: Iterable[int] | None = None
) -> list[str]:
    """Lines of the first items, and how many more there are."""
    chosen = list(range(number) if order is None else order)[:max_items]
    lines = [f"  {line(int(item))}" for item in chosen]
    return [*lines, f"  … and {number - max_items} more"] if number > max_items else lines


def _blob(clf: FFMLPClassifier) -> Callable[[int], str]:
    """A line for each blob: its class, its size and its place in the features that tell blobs apart."""
    blobs, network = clf.blobs_, clf.network_
    spread = np.sqrt(blobs.weights @ (blobs.means - blobs.weights @ blobs.means) ** 2)
    order = np.argsort(-spread / feature_spreads(blobs), kind="stable")[:_MAX_FEATURES]
    scores = network.hyperplanes.gaussianisation
    middles = blobs.means if scores is None else scores.values(blobs.means)

    def line(blob: int) -> str:
        label, share = network.labels[blobs.classes[blob]], blobs.weights[blob]
        place = ", ".join(f"{network.feature_names[j]} = {middles[blob, j]:.4g}" for j in order)
        return f"{blob}  {label}, {share:.1%} of the training samples, around {place}"

    return line


def _hyperplane_lines(clf: FFMLPClassifier, max_items: int) -> list[str]:
    shares = feature_shares(clf)
    return _listed(len(shares), max_items, lambda l: f"h{l}  {_meaning(clf, l, shares[l])}")


def _region_lines(clf: FFMLPClassifier, max_items: int) -> list[str]:
    regions = clf.regions_
    assert regions is not None
    total = regions.counts.sum(axis=1)

    def line(region: int) -> str:
        code = regions.codes[region]
        rule = ", ".join(f"h{l} {'>' if above else '<'} 0" for l, above in enumerate(code))
        label, own = clf.classes_[regions.classes[region]], regions.counts[region].max()
        return f"{rule}  →  {label} ({own:g} of {total[region]:g} training samples)"

    order = np.argsort(-total, kind="stable")
    head = (
        f"{_n(len(regions), 'region')}; a sample in none of them is counted to the one it violates least"
    )
    return [head, *_listed(len(regions), max_items, line, order)]


def _blob_lines(clf: FFMLPClassifier, max_items: int) -> list[str]:
    stages = clf.network_.stages
    assert isinstance(stages, BlobStages)
    return [
        "A blob sums the log-probabilities of its duels, one for each of its hyperplanes, times",
        f"{stages.temperature:.4g}; a softmax makes shares of them, and those of a class add up.",
        *_listed(len(stages.blobs), max_items, lambda neuron: _duels(clf, stages, neuron)),
    ]


def _duels(clf: FFMLPClassifier, stages: BlobStages, neuron: int) -> str:
    sides = [f"h{l} > 0" for l in np.flatnonzero(stages.pairs[:, 0] == neuron)]
    sides += [f"h{l} < 0" for l in np.flatnonzero(stages.pairs[:, 1] == neuron)]
    label = clf.classes_[stages.neuron_classes[neuron]]
    return f"blob {stages.blobs[neuron]} of {label}: {', '.join(sides)}"


def _readout_lines(clf: FFMLPClassifier, max_items: int) -> list[str]:
    """The strongest evidence for each class, by a standard deviation of each response."""
    stages = clf.network_.stages
    assert isinstance(stages, ReadoutStages)
    spread = response_spreads(clf.blobs_, clf.hyperplanes_)
    from_l_1 = stages.weights[0]
    weights = stages.temperature * from_l_1 * np.resize(spread, from_l_1.shape[1])
    lines = ["Evidence, in log-odds for one standard deviation beyond a hyperplane; the strongest:"]
    for label, row in zip(clf.classes_, weights, strict=True):
        order = np.argsort(-np.abs(row), kind="stable")[: min(max_items, 5)]
        strongest = ", ".join(f"{row[k]:+.2f} {clf.network_.half_space(int(k))}" for k in order)
        lines.append(f"  {label}: {strongest}")
    return lines


def _n(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("s" if number != 1 else "")
