"""One classifier of several sites, without moving their rows."""

from __future__ import annotations

from collections.abc import Iterable

from sklearn.base import clone

from ffmlp.classifier import FFMLPClassifier
from ffmlp.following import checked_statistics


def merge(classifiers: Iterable[FFMLPClassifier]) -> FFMLPClassifier:
    """The classifier of all samples that classifiers of several sites were fitted to.

    Exact: it equals a fit of all samples with the hyperplanes of the first classifier. Only sums are
    exchanged. Classifiers that do not share plan, classes, columns, blobs and hyperplanes are refused.
    They share them if they were given the same blobs, or if they were fitted like one of them.

    Parameters
    ----------
    classifiers : iterable of FFMLPClassifier
        The first one is fitted with ``keep_statistics=True``, the others with
        ``fit(X, y, like=first)``. Or all are fitted with ``keep_statistics=True`` and
        ``fit(X, y, blobs=blobs)``, where ``blobs`` are the same `Blobs`.

    Returns
    -------
    FFMLPClassifier
        With the parameters of the first one. It has ``statistics_``, too.

    Examples
    --------
    >>> import ffmlp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> here = ffmlp.FFMLPClassifier(2, design="region", keep_statistics=True, random_state=0)
    >>> here = here.fit(X[::2], y[::2])
    >>> there = ffmlp.FFMLPClassifier(2, design="region").fit(X[1::2], y[1::2], like=here)
    >>> both = ffmlp.merge([here, there])
    >>> int(both.regions_.counts.sum()), round(both.score(X, y), 3)
    (150, 0.953)
    """
    classifiers = list(classifiers)
    if not classifiers:
        raise ValueError("classifiers is empty. Give at least one.")
    names = [f"Classifier {number}" for number in range(len(classifiers))]
    statistics, *others = map(checked_statistics, classifiers, names)
    for name, other in zip(names[1:], others, strict=True):
        try:
            statistics = statistics + other
        except ValueError as error:
            raise ValueError(f"{name} cannot be merged with classifier 0: {error}") from None
    first = classifiers[0]
    merged = clone(first)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, name):
            setattr(merged, name, getattr(first, name))
    merged._follow(statistics)  # noqa: SLF001
    return merged
