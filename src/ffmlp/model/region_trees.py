"""Regions where the evidence errs: leaves of trees whose nodes are half-spaces.

A node compares the response of one hyperplane with a threshold: it is a half-space parallel to that
hyperplane. A leaf is the region in which all half-spaces on the way to it meet. It adds its values to
the evidence of the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Floats, Indices, row_blocks
from ffmlp.model.stages import require_indices, require_shapes

try:
    from ffmlp.model import _region_trees as compiled
except ImportError:  # installed without a C compiler
    compiled = None  # type: ignore[assignment]

# Entries of the (sample, tree) table that NumPy computes at once: they stay in the cache.
_ENTRIES_AT_ONCE = 1 << 17
# Shapley values take a frame of the stack for each node on the way. Trees that are grown have tens.
_DEEPEST = 5000
_TYPES = {
    "hyperplanes": np.int32,
    "thresholds": np.float32,
    "children": np.int32,
    "roots": np.int32,
    "values": np.float64,
}


@dataclass(frozen=True, eq=False)
class RegionTrees:
    """T trees of M nodes, with R regions as leaves.

    Attributes
    ----------
    hyperplanes : ndarray of int32, shape (M,)
        The hyperplane whose response a node compares.
    thresholds : ndarray of float32, shape (M,)
        A sample goes to the second child if its response, in single precision, exceeds this.
    children : ndarray of int32, shape (M, 2)
        The nodes below each node, which come after it; -1 - r stands for region r.
    roots : ndarray of int32, shape (T,)
        The first node of each tree, ascending: a tree is all nodes up to the next root.
    values : ndarray of shape (R, C)
        What each region adds to the evidence of each class.
    """

    hyperplanes: NDArray[np.int32]
    thresholds: NDArray[np.float32]
    children: NDArray[np.int32]
    roots: NDArray[np.int32]
    values: Floats

    def __repr__(self) -> str:
        return f"RegionTrees({len(self)} regions in {len(self.roots)} trees)"

    def __len__(self) -> int:
        return len(self.values)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are computed again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self, n_hyperplanes: int, n_classes: int) -> None:
        """Raise a ValueError unless the tables are trees whose leaves are the regions, each once."""
        for name, kind in _TYPES.items():
            part = getattr(self, name)
            if part.dtype != kind or not np.isfinite(part).all():
                raise ValueError(f"{name} of regions must be finite numbers of type {np.dtype(kind)}")
        n_nodes, n_trees = self.hyperplanes.size, self.roots.size
        require_shapes(
            hyperplanes=(self.hyperplanes, (n_nodes,)),
            thresholds=(self.thresholds, (n_nodes,)),
            children=(self.children, (n_nodes, 2)),
            roots=(self.roots, (n_trees,)),
            values=(self.values, (n_nodes + n_trees, n_classes)),
        )
        require_indices("hyperplanes", self.hyperplanes, n_hyperplanes)
        self._check_structure()
        if next(islice(self._levels(), _DEEPEST, None), None) is not None:
            raise ValueError(f"a tree has more than {_DEEPEST} nodes on the way to a region")

    def _check_structure(self) -> None:
        """Each tree is a run of nodes, children after their parents, and everything is reached once."""
        n_nodes = len(self.children)
        starts = np.append(self.roots, n_nodes)
        if not n_nodes or starts[0] != 0 or not (np.diff(starts) > 0).all():
            raise ValueError("roots must ascend from 0 and be nodes")
        end = np.repeat(starts[1:], np.diff(starts))[:, None]
        after = (self.children > np.arange(n_nodes)[:, None]) & (self.children < end)
        reached = np.sort(np.concatenate([self.roots, self.children.ravel()]))
        if not (after | (self.children < 0)).all() or not np.array_equal(
            reached, np.arange(-len(self.values), n_nodes)
        ):
            raise ValueError("children must be later nodes of the same tree or regions, each once")

    def regions(self, h: AnyFloats) -> NDArray[np.int32]:
        """The region (n, T) of each sample in each tree, from the responses h (n, L)."""
        return self._regions(self.compared(h))

    def evidence(self, h: AnyFloats) -> Floats:
        """The sum (n, C) of the values of each sample's regions, tree by tree."""
        return self.sums(self.compared(h))

    def compared(self, h: AnyFloats) -> NDArray[np.float32]:
        """The responses (n, F) of `axes`, in single precision: all that the trees read."""
        with np.errstate(over="ignore"):
            return h[:, self.axes].astype(np.float32, order="C")

    def sums(self, compared: NDArray[np.float32]) -> Floats:
        """The `evidence` of samples whose responses have been `compared`."""
        require_shapes(compared=(compared, (len(compared), len(self.axes))))
        total = np.zeros((len(compared), self.values.shape[1]))
        if compiled is None:
            for of_tree in self._regions(compared).T:
                total += self.values[of_tree]
        else:
            values = np.ascontiguousarray(self.values)
            compiled.add_values(compared, self.places, self.n_nodes, values, total)
        return total

    def _regions(self, compared: NDArray[np.float32]) -> NDArray[np.int32]:
        places, found = self.places, np.empty((len(compared), len(self.roots)), np.int32)
        if compiled is None:
            for rows in row_blocks(len(compared), len(self.roots), _ENTRIES_AT_ONCE):
                found[rows] = _regions(compared[rows], places, len(self.roots))
        else:
            compiled.regions(compared, places, self.n_nodes, found)
        return found

    @cached_property
    def places(self) -> NDArray[np.int32]:
        """All that a step needs, side by side (M + R, 4): axis, bits of the threshold, next, region.

        The roots have the first places. The children of node m are at places T + 2m and T + 2m + 1, its
        next. A region is its own next, and no response exceeds its threshold.
        """
        self._check_structure()  # Compiled code relies on it.
        below = np.concatenate([self.roots, self.children.ravel()])
        inner, none = np.flatnonzero(below >= 0), np.float32(np.inf).view(np.int32)
        places = np.column_stack([0 * below, 0 * below + none, np.arange(len(below)), -1 - below])
        node = below[inner]
        places[inner, 0] = np.searchsorted(self.axes, self.hyperplanes[node])
        places[inner, 1] = self.thresholds.view(np.int32)[node]
        places[inner, 2] = len(self.roots) + 2 * node
        return places.astype(np.int32)

    @property
    def n_nodes(self) -> NDArray[np.int32]:
        """The number (T,) of nodes of each tree."""
        return np.diff(self.roots, append=np.int32(len(self.hyperplanes)))

    @cached_property
    def boxes(self) -> tuple[Floats, Floats]:
        """Lower and upper limits (R, F) of the responses of each region; F as in `axes`."""
        low = np.full((len(self), len(self.axes)), -np.inf)
        high = np.full((len(self), len(self.axes)), np.inf)
        axes = np.searchsorted(self.axes, self.hyperplanes)
        limits = {int(root): (low[0] * 1.0, high[0] * 1.0) for root in self.roots}
        # Children come after their parents.
        for node in range(len(self.hyperplanes)):
            below, above = limits.pop(node)
            axis, threshold = axes[node], float(self.thresholds[node])
            for side, child in enumerate(self.children[node].tolist()):
                own = below.copy(), above.copy()
                tighter = max if side else min
                own[1 - side][axis] = tighter(own[1 - side][axis], threshold)
                if child >= 0:
                    limits[child] = own
                else:
                    low[-1 - child], high[-1 - child] = own
        return low, high

    @property
    def depth(self) -> int:
        """The largest number of nodes on the way to a region."""
        return sum(1 for _ in self._levels())

    def _levels(self) -> Iterator[NDArray[np.int32]]:
        """Yield the nodes that are as far from their roots as each other."""
        level = self.roots
        while len(level):
            yield level
            below = self.children[level].ravel()
            level = below[below >= 0]

    @cached_property
    def axes(self) -> Indices:
        """The hyperplanes that nodes compare, each once, in ascending order."""
        return np.unique(self.hyperplanes)

    @property
    def trees(self) -> Indices:
        """The tree (R,) of each region."""
        tree = np.empty(len(self), np.intp)
        leaf = self.children < 0
        tree[-1 - self.children[leaf]] = np.repeat(self.node_trees, leaf.sum(axis=1))
        return tree

    @property
    def node_trees(self) -> Indices:
        """The tree (M,) of each node."""
        return np.searchsorted(self.roots, np.arange(len(self.hyperplanes)), side="right") - 1

    @property
    def by_tree(self) -> tuple[Indices, Indices]:
        """The regions (R,) in the order of their trees, and the place (T,) where each tree starts."""
        tree = self.trees
        order = np.argsort(tree, kind="stable")
        return order, np.searchsorted(tree[order], np.arange(len(self.roots)))

    def leads(self, h: Floats, winner: Indices, rival: Indices) -> tuple[NDArray[np.int32], Floats]:
        """The regions (n, T) of each sample, and what each adds to the winner's lead over the rival."""
        regions = self.regions(h)
        return regions, self.values[regions, winner[:, None]] - self.values[regions, rival[:, None]]

    def distances(self, h: Floats, reach: Floats) -> Floats:
        """Lower bounds (n, R) of each region's distance if a step of length 1 moves h by ``reach``."""
        low, high = self.boxes
        # Responses slightly above an upper limit are equal to it in single precision.
        high = np.nextafter(high.astype(np.float32), np.float32(np.inf)).astype(np.float64)
        found = np.zeros((len(h), len(self)))
        for place, axis in enumerate(self.axes):
            limited = np.flatnonzero(np.isfinite(low[:, place]) | np.isfinite(high[:, place]))
            own, speed = h[:, [axis]], reach[:, [axis]]
            outside = np.maximum(low[limited, place] - own, own - high[limited, place])
            never = np.where(outside > 0, np.inf, 0.0)
            away = np.divide(outside, speed, out=never, where=np.broadcast_to(speed > 0, outside.shape))
            found[:, limited] = np.maximum(found[:, limited], away)
        return found


def _regions(
    compared: NDArray[np.float32], places: NDArray[np.int32], n_trees: int
) -> NDArray[np.int32]:
    """The region (n, T) of each sample in each tree, by NumPy."""
    axes, bits, following, region = places.T.copy()
    thresholds = bits.view(np.float32)
    # One entry for each sample and tree that has not reached its region.
    at = np.tile(np.arange(n_trees, dtype=np.int32), len(compared))
    entry, found = np.arange(len(at)), np.empty(len(at), np.int32)
    start = np.repeat(np.arange(len(compared)) * compared.shape[1], n_trees)
    while len(entry):
        second = compared.take(start + axes.take(at)) > thresholds.take(at)
        at = following.take(at) + second
        inner = region.take(at) < 0
        found[entry[~inner]] = region.take(at[~inner])
        at, entry, start = at[inner], entry[inner], start[inner]
    return found.reshape(len(compared), n_trees)
