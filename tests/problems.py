"""Small classification problems that several tests share."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_iris, make_moons

from ffmlp import FFMLPClassifier
from ffmlp.design.problem import Samples
from ffmlp.inputs.columns import Columns, NumberColumn
from ffmlp.network.region import pack, tabulate
from ffmlp.network.trees import Trees


def plain_samples(X, y, weight, members=None):
    """Samples of numbers, of as many classes as there are."""
    n_classes = int(y.max()) + 1
    columns = Columns(tuple(NumberColumn(f"x{j}", 0.0) for j in range(X.shape[1])))
    return Samples(X, y, weight, np.arange(n_classes), np.ones(n_classes), columns, members)


IRIS = load_iris(return_X_y=True)
# Parameters of designs that differ in what predicts, stores and exports them.
DESIGNS = {
    "region": {"design": "region"},
    "blob": {"design": "blob"},
    "readout": {"design": "readout", "max_leaves": 0},
    "readout with trees": {"design": "readout", "max_leaves": "auto"},
}


def designed(name, X, y, n_components="auto", **parameters):
    """A classifier of one of these designs, or of any other, fitted to data that need trees."""
    parameters = DESIGNS.get(name, {"design": name}) | {"random_state": 0} | parameters
    clf = FFMLPClassifier(n_components, **parameters).fit(X, y)
    assert (clf.n_leaves_ > 0) == (name == "readout with trees")
    return clf


def classifiers():
    """A classifier of each kind of network, not yet fitted, by name."""
    readout = {"design": "readout", "max_leaves": 0}
    trees = {"design": "readout", "max_leaves": 500, "random_state": 0}
    blob = {"n_components": 2, "design": "blob", "random_state": 0}
    mapped = ", gaussianised"
    return {
        "region": region_design(random_state=0),
        "region" + mapped: region_design(gaussianise=True, random_state=0),
        "paper": paper_design(random_state=0),
        "blob": FFMLPClassifier(**blob, gaussianise=False),
        "blob" + mapped: FFMLPClassifier(**blob, gaussianise=True),
        "readout": FFMLPClassifier(**readout, gaussianise=False),
        "readout" + mapped: FFMLPClassifier(**readout, gaussianise=True),
        "regions": FFMLPClassifier(**trees, gaussianise=False),
        "regions" + mapped: FFMLPClassifier(**trees, gaussianise=True),
        "small readout": FFMLPClassifier(design="readout", max_neurons=24),
    }


def xor(n_samples=400, seed=0):
    """Four Gaussian blobs at the corners of a square; X, y and the blob of each sample."""
    rng = np.random.default_rng(seed)
    blob = rng.integers(4, size=n_samples)
    corners = np.array([[2.0, 2.0], [-2.0, -2.0], [-2.0, 2.0], [2.0, -2.0]])
    return corners[blob] + 0.5 * rng.normal(size=(n_samples, 2)), blob // 2, blob


def four_moons(n_samples=1200, seed=0):
    """Two pairs of interleaving half circles, every half circle a class."""
    half = n_samples // 2
    lower, y_lower = make_moons(half, noise=0.1, random_state=seed)
    upper, y_upper = make_moons(n_samples - half, noise=0.1, random_state=seed + 1)
    return np.vstack([lower, upper + np.array([0.0, 1.5])]), np.concatenate([y_lower, y_upper + 2])


def overlapping(n_samples, n_features=3, n_classes=3, seed=0):
    """Gaussian classes that overlap: many regions, many mistakes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % n_classes
    centres = rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_samples, n_features)), y


def swallowed(n_samples=600, seed=0):
    """A small narrow class within a large wide one: the best linear rule is constant."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 5 // 4
    spread, centre = np.where(y, 0.3, 1.0), np.where(y, 0.7, 0.0)
    X = spread[:, None] * rng.normal(size=(n_samples, 2))
    return X + np.column_stack([centre, np.zeros(n_samples)]), y


def steps(n_samples=400, seed=0):
    """Three classes that depend on thresholds of single features: a readout errs at their corners."""
    X = np.random.default_rng(seed).normal(size=(n_samples, 3))
    return X, np.where(X[:, 2] > 1.0, 2, (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2))


def with_trees(n_samples=400, **parameters):
    """A readout that trees correct, and its training samples: X, y, clf."""
    X, y = steps(n_samples)
    clf = FFMLPClassifier(design="readout", random_state=0, **{"max_leaves": 300, **parameters})
    clf.fit(X, y)
    assert clf.network_.stages.trees is not None
    return X, y, clf


def regions_alone(clf):
    """The same network if its readout had no weights: the lead is flat within leaves."""
    stages = clf.network_.stages
    parts = {"even": 0 * stages.even, "odd": 0 * stages.odd, "bias": np.full_like(stages.bias, 0.3)}
    clf.network_ = replace(clf.network_, stages=replace(stages, **parts))


def region_design(n_components=2, *, error_threshold=0.05, design="region", **parameters):
    """The paper's design, with the paper's parameters unless told otherwise."""
    return FFMLPClassifier(n_components, design=design, error_threshold=error_threshold, **parameters)


def paper_design(n_components=2, **parameters):
    """The paper to the letter."""
    return region_design(n_components, design="paper", **parameters)


def table(codes, y, n_classes, weight=None):
    """The region table of samples that are given by their codes."""
    return tabulate(pack(codes), codes.shape[1], y, n_classes, weight)


def random_pruning_problem(rng, n_samples, n_hyperplanes, n_features, n_classes):
    """Codes, and labels that the partition explains in part: deletions differ in what they cost."""
    X = rng.normal(size=(n_samples, n_features))
    codes = X @ rng.normal(size=(n_features, n_hyperplanes)) + 0.5 * rng.normal(size=n_hyperplanes) > 0
    y = (codes[:, : n_classes - 1].sum(axis=1) + (rng.random(n_samples) < 0.2)) % n_classes
    return codes, y


def random_trees(rng, n_hyperplanes, n_classes, tree_sizes):
    """Trees of the given numbers of nodes. Thresholds are few, so that responses can lie on them."""
    n_nodes, n_trees = sum(tree_sizes), len(tree_sizes)
    children = np.empty((n_nodes, 2), np.int32)
    roots = np.append(0, np.cumsum(tree_sizes)[:-1]).astype(np.int32)
    n_leaves = 0
    for root, size in zip(roots, tree_sizes, strict=True):
        open_places = []
        for node in range(root, root + size):
            if node > root:
                children[open_places.pop(rng.integers(len(open_places)))] = node
            open_places += [(node, 0), (node, 1)]
        for place in open_places:
            children[place] = -1 - n_leaves
            n_leaves += 1
    return Trees(
        rng.integers(n_hyperplanes, size=n_nodes).astype(np.int32),
        rng.choice(np.linspace(-1.0, 1.0, 11), n_nodes).astype(np.float32),
        children,
        roots,
        rng.normal(size=(n_nodes + n_trees, n_classes)),
    )


def mixed_table(n_samples=240, seed=0):
    """A data frame of two numbers and two categories with missing cells, and three classes."""
    import pandas as pd  # collecting the tests should not need it

    rng = np.random.default_rng(seed)
    towns = ["Ayr", "Bath", "Cork", "Deal", "Ely"]
    frame = pd.DataFrame(
        {
            "age": rng.normal(40.0, 12.0, n_samples).round(1),
            "sex": pd.Series(rng.choice(["man", "woman"], n_samples), dtype=object),
            "fare": rng.gamma(2.0, 10.0, n_samples).round(2),
            "town": pd.Series(rng.choice(towns, n_samples), dtype=object),
        }
    )
    late = (frame["age"] > 45) ^ (frame["sex"] == "man")
    y = np.where(late, "lost", np.where(frame["town"].isin(towns[:2]), "saved", "unknown"))
    frame["fare"] += 0.5 * frame["age"]  # so that one number says something of the other
    return frame.mask(rng.random(frame.shape) < 0.1), y


def unseen_rows():
    """Rows for `mixed_table` with unknown, missing and strangely written cells."""
    import pandas as pd  # collecting the tests should not need it

    cells = [
        [30.0, "man", 20.0, "Ayr"], [np.nan, "woman", 20.0, "Paris"], [30.0, None, np.nan, " Ely "],
        [np.nan, "child", np.nan, None], [1e6, "man", -1e6, "ayr"], [np.nan] * 4,
    ]  # fmt: skip
    frame = pd.DataFrame(cells, columns=["age", "sex", "fare", "town"])
    return frame.astype({"age": float, "sex": object, "fare": float, "town": object})
