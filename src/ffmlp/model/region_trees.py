"""Regions where the evidence errs: leaves of trees whose nodes are half-spaces.

A node compares the response of one hyperplane with a threshold: it is a half-space parallel to that
hyperplane. A leaf is the region in which all half-spaces on the way to it meet. It adds its values to
the evidence of the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats, Indices, row_blocks
from ffmlp.model.stages import require_indices, require_shapes

# Entries of the (sample, tree) table of one block of rows.
_ENTRIES_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Regions that samples reach if the response of one hyperplane changes, one entry for each.

    Sample ``rows[k]`` moves from its region ``own[k]`` to ``regions[k]`` of the same tree if hyperplane
    ``axes[k]`` responds within the limits of that region.
    """

    rows: Indices
    axes: Indices
    regions: Indices
    own: Indices


@dataclass(frozen=True, eq=False)
class RegionTrees:
    """T trees of M nodes, with R regions as leaves.

    Attributes
    ----------
    hyperplanes : ndarray of int, shape (M,)
        The hyperplane whose response a node compares.
    thresholds : ndarray of float32, shape (M,)
        A sample goes to the second child if its response, in single precision, exceeds this.
    children : ndarray of int, shape (M, 2)
        The nodes below each node; -1 - r stands for region r.
    roots : ndarray of int, shape (T,)
        The first node of each tree.
    values : ndarray of shape (R, C)
        What each region adds to the evidence of each class.
    """

    hyperplanes: Indices
    thresholds: NDArray[np.float32]
    children: NDArray[np.int32]
    roots: NDArray[np.int32]
    values: Floats

    def __repr__(self) -> str:
        return f"RegionTrees({len(self)} regions in {len(self.roots)} trees)"

    def __len__(self) -> int:
        return len(self.values)

    def regions(self, h: Floats) -> NDArray[np.int32]:
        """The region (n, T) of each sample in each tree, from the responses h (n, L)."""
        found = np.empty((len(h), len(self.roots)), np.int32)
        for rows in row_blocks(len(h), len(self.roots), _ENTRIES_AT_ONCE):
            found[rows] = self._regions(h[rows].astype(np.float32))
        return found

    def _regions(self, h: NDArray[np.float32]) -> NDArray[np.int32]:
        # One entry for each sample and tree that has not reached its leaf.
        node = np.tile(self.roots, len(h))
        place = np.arange(len(node))
        row = np.repeat(np.arange(len(h)), len(self.roots))
        while len(place):
            at = node[place]
            second = h[row, self.hyperplanes[at]] > self.thresholds[at]
            below = self.children[at, second.view(np.int8)]
            node[place] = below
            inner = below >= 0
            place, row = place[inner], row[inner]
        return (-1 - node).reshape(len(h), -1)

    def evidence(self, h: Floats) -> Floats:
        """The sum (n, C) of the values of each sample's regions, tree by tree."""
        total = np.zeros((len(h), self.values.shape[1]))
        for of_tree in self.regions(h).T:
            total += self.values[of_tree]
        return total

    @cached_property
    def boxes(self) -> tuple[Floats, Floats]:
        """Lower and upper limits (R, F) of the responses of each region; F as in `axes`."""
        axis_of = np.full(int(self.hyperplanes.max()) + 1, -1)
        axis_of[self.axes] = np.arange(len(self.axes))
        low = np.full((len(self), len(self.axes)), -np.inf)
        high = np.full((len(self), len(self.axes)), np.inf)
        limits = {int(root): (low[0] * 1.0, high[0] * 1.0) for root in self.roots}
        # Children come after their parents.
        for node in range(len(self.hyperplanes)):
            below, above = limits.pop(node)
            axis, threshold = axis_of[self.hyperplanes[node]], float(self.thresholds[node])
            for side, child in enumerate(self.children[node].tolist()):
                own = below.copy(), above.copy()
                own[1 - side][axis] = threshold
                if child >= 0:
                    limits[child] = own
                else:
                    low[-1 - child], high[-1 - child] = own
        return low, high

    def __getstate__(self) -> dict[str, NDArray]:
        """Model files hold the fields only."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def depth(self) -> int:
        """The largest number of nodes on the way to a region."""
        level, deepest = self.roots, 0
        while len(level):
            below = self.children[level].ravel()
            level, deepest = below[below >= 0], deepest + 1
        return deepest

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

    def check(self, n_hyperplanes: int, n_classes: int) -> None:
        """Raise a ValueError unless nodes and regions are whole trees that compare given hyperplanes."""
        n_nodes, n_regions = len(self.hyperplanes), len(self)
        require_shapes(
            hyperplanes=(self.hyperplanes, (n_nodes,)), thresholds=(self.thresholds, (n_nodes,))
        )
        require_shapes(children=(self.children, (n_nodes, 2)), roots=(self.roots, (len(self.roots),)))
        require_shapes(values=(self.values, (n_regions, n_classes)))
        require_indices("hyperplanes of nodes", self.hyperplanes, n_hyperplanes)
        require_indices("roots", self.roots, n_nodes)
        require_indices("children", self.children + n_regions, n_nodes + n_regions)
        for part, kind in ((self.thresholds, np.float32), (self.values, np.float64)):
            if part.dtype != kind or not np.isfinite(part).all():
                raise ValueError("thresholds and values of regions must be finite numbers")
        inner = self.children >= 0
        parent, child = np.nonzero(inner)[0], self.children[inner]
        if not (child > parent).all():
            raise ValueError("a child must come after its node")
        reached = np.sort(np.concatenate([self.roots, self.children.ravel()]))
        if not np.array_equal(reached, np.arange(-n_regions, n_nodes)):
            raise ValueError("each node and each region must be in one place of one tree")
        trees = self.node_trees
        if not (np.diff(self.roots) > 0).all() or not (trees[child] == trees[parent]).all():
            raise ValueError("the nodes of a tree must follow its root")

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

    def neighbours(self, h: Floats) -> Neighbours:
        """The regions that samples with responses h (n, L) reach if one response changes."""
        responses, own = h.astype(np.float32), self.regions(h)
        row, tree = (part.ravel() for part in np.indices(own.shape))
        node: Indices = self.roots[tree].astype(np.intp)
        free = np.full(own.size, -1)  # no response has changed at the roots
        found = []
        while len(node):
            axis = self.hyperplanes[node]
            side = (responses[row, axis] > self.thresholds[node]).astype(np.intp)
            turns = np.flatnonzero((free < 0) | (free == axis))
            below = np.concatenate([self.children[node, side], self.children[node, 1 - side][turns]])
            free = np.concatenate([free, axis[turns]])
            row, tree = (np.concatenate([part, part[turns]]) for part in (row, tree))
            arrived, inner = (below < 0) & (free >= 0), below >= 0
            found.append(
                (row[arrived], free[arrived], -1 - below[arrived], own[row[arrived], tree[arrived]])
            )
            row, tree, node, free = (part[inner] for part in (row, tree, below, free))
        return Neighbours(*map(np.concatenate, zip(*found, strict=True)))
