"""Indices of a model file that other packages use without a check: they must point to what is there.

SciPy writes where a one-hot encoder of scikit-learn points, and NumPy reads where the state of a
random generator points, even out of bounds.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ffmlp.storage.schema import Node, sklearn_tag

# Words in the state of NumPy's Mersenne Twister; after the last one, it makes new ones.
_N_WORDS = 624
# What decides where an encoder writes: scikit-learn's names.
_OF_ENCODERS = (
    *("categories_", "_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings"),
    *("_drop_idx_after_grouping", "_n_features_outs"),
)


def check_foreign_indices(root: Node) -> None:
    """Raise a ValueError if an encoder or a random generator in a content points out of bounds."""
    for node in root.nodes():
        if node.loader == "RandomStateNode":
            _check_random_state(node)
        elif node.kind == sklearn_tag("OneHotEncoder") and "categories_" in node.attributes:
            parts = node.attributes
            _check_encoder({name: parts[name].value() for name in _OF_ENCODERS if name in parts})


def _check_random_state(node: Node) -> None:
    position = node.attributes["state"].entries["pos"].value()
    if not 0 <= index(position) <= _N_WORDS:
        raise ValueError(f"a random generator is at word {position} of {_N_WORDS}")


def _check_encoder(parts: dict[str, Any]) -> None:
    categories, n_outputs = parts["categories_"], parts.get("_n_features_outs")
    rare = groups = dropped = [None] * len(categories)
    if parts.get("_infrequent_enabled"):  # else scikit-learn does not read what is there
        rare, groups = parts["_infrequent_indices"], parts["_default_to_infrequent_mappings"]
    if parts.get("_drop_idx_after_grouping") is not None:
        dropped = parts["_drop_idx_after_grouping"].tolist()
    columns: tuple[Any, ...] = (categories, rare, groups, dropped, n_outputs)
    if any(not isinstance(part, list) or len(part) != len(categories) for part in columns):
        raise ValueError("the parts of a one-hot encoder differ in length")
    for column in zip(*columns, strict=True):
        _check_column(*column)


def _check_column(categories: Any, rare: Any, groups: Any, dropped: Any, n_outputs: Any) -> None:
    """Check one column: its categories, the rare ones, the group of each, the group without output."""
    if not isinstance(categories, np.ndarray) or categories.ndim != 1:
        raise ValueError("the categories of a one-hot encoder are not a list")
    is_numeric = categories.dtype.kind in "biufc"  # which is found by bisection
    if is_numeric and not np.array_equal(categories, np.sort(categories), equal_nan=True):
        raise ValueError("the numbers of a one-hot encoder are not sorted")
    n_groups = n_categories = len(categories)
    if rare is not None:
        _check_indices(rare, n_categories)
    if groups is not None:
        _check_indices(groups, n_categories)
        n_groups = int(groups.max(initial=-1)) + 1
    if dropped is not None and not 0 <= index(dropped) < n_groups:
        raise ValueError(f"a one-hot encoder drops group {dropped} of {n_groups}")
    if index(n_outputs) != n_groups - (dropped is not None):
        raise ValueError(f"a one-hot encoder has {n_outputs} outputs for {n_groups} groups")


def _check_indices(indices: Any, below: int) -> None:
    is_list = isinstance(indices, np.ndarray) and indices.ndim == 1 and indices.dtype.kind in "iu"
    if not is_list or not ((indices >= 0) & (indices < below)).all():
        raise ValueError(f"a one-hot encoder must have integers from 0 to {below - 1}")
