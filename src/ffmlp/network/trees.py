"""Trees that correct a readout: their nodes are half-spaces, their leaves add to the evidence.

A node compares the response of one hyperplane with a threshold: it is a half-space parallel to that
hyperplane. A leaf is where all half-spaces on the way to it meet. It adds its values to the evidence of
the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Below, Floats, Indices, Shape, row_blocks
from ffmlp.network.stages import require_indices, require_shapes

try:
    from ffmlp.network import _trees as compiled
except ImportError:  # installed without a C compiler
    compiled = None  # type: ignore[assignment]

# Entries of the (sample, tree) table that NumPy computes at once: they stay in the cache.
_ENTRIES_AT_ONCE = 1 << 17
_MOST_OF_16_BITS = (1 << 16) - 1
_INT_MIN, _INT_MAX = np.iinfo(np.int32).min, np.iinfo(np.int32).max
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
class TreeBounds:
    """What T trees can add to the sums of C classes, in single precision.

    Line k of ``least`` and ``most`` bounds what all trees but the first k add to each class. All that is
    added to a class is at most ``largest`` in absolute value.
    """

    order: NDArray[np.int32]  # (T,) in which the trees are read
    values: NDArray[np.float32]  # (R, C) of the leaves
    least: NDArray[np.float32]  # (T + 1, C)
    most: NDArray[np.float32]
    largest: float


@dataclass(frozen=True, eq=False)
class Trees:
    """T trees of M nodes, with R leaves.

    A node compares the response to one of the ``hyperplanes`` (M,), in single precision, with one of the
    ``thresholds`` (M,): a sample that exceeds it goes to the second child. The ``children`` (M, 2) of a
    node come after it; -1 - r stands for leaf r. The ``roots`` (T,) ascend: a tree is all nodes up to
    the next root. A leaf adds its ``values`` (R, C) to the evidence of the classes.
    """

    hyperplanes: Annotated[NDArray[np.int32], Shape("m"), Below("L")]
    thresholds: Annotated[NDArray[np.float32], Shape("m")]
    children: Annotated[NDArray[np.int32], Shape("m", 2)]
    roots: Annotated[NDArray[np.int32], Shape("t"), Below("m")]
    values: Annotated[Floats, Shape("m+t", "C")]

    def __repr__(self) -> str:
        return f"Trees({len(self)} leaves in {len(self.roots)} trees)"

    def __len__(self) -> int:
        return len(self.values)

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are computed again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self, n_hyperplanes: int, n_classes: int) -> None:
        """Raise a ValueError unless the tables are trees with each leaf once."""
        self._check_arrays(n_classes)
        for name in ("thresholds", "values"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} of leaves must be finite")
        require_indices("hyperplanes", self.hyperplanes, n_hyperplanes)
        self._check_structure()
        if next(islice(self._levels(), _DEEPEST, None), None) is not None:
            raise ValueError(f"a tree has more than {_DEEPEST} nodes on the way to a leaf")

    def _check_arrays(self, n_classes: int) -> None:
        """The types and the shapes."""
        for name, kind in _TYPES.items():
            if getattr(self, name).dtype != kind:
                raise ValueError(f"{name} of leaves must be of type {np.dtype(kind)}")
        n_nodes, n_trees = self.hyperplanes.size, self.roots.size
        require_shapes(
            hyperplanes=(self.hyperplanes, (n_nodes,)),
            thresholds=(self.thresholds, (n_nodes,)),
            children=(self.children, (n_nodes, 2)),
            roots=(self.roots, (n_trees,)),
            values=(self.values, (n_nodes + n_trees, n_classes)),
        )

    def _check_structure(self) -> None:
        """Each tree is a run of nodes, children after their parents, and everything is reached once."""
        self._check_arrays(self.values.shape[-1] if self.values.ndim else 0)
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
            raise ValueError("children must be later nodes of the same tree or leaves, each once")

    def leaves(self, h: AnyFloats) -> NDArray[np.int32]:
        """The leaf (n, T) of each sample in each tree, from the responses h (n, L)."""
        return self._leaves(self.compared(h))

    def evidence(self, h: AnyFloats) -> Floats:
        """The sum (n, C) of the values of each sample's leaves, tree by tree."""
        return self.sums(self.compared(h))

    def compared(self, h: AnyFloats) -> NDArray[np.float32]:
        """The responses (n, F) of `axes`, in single precision: all that the trees read."""
        with np.errstate(over="ignore"):
            return h[:, self.axes].astype(np.float32, order="C")

    def sums(self, compared: NDArray[np.float32]) -> Floats:
        """The `evidence` of samples whose responses have been `compared`."""
        require_shapes(compared=(compared, (len(compared), len(self.axes))))
        total = np.zeros((len(compared), self.values.shape[1]))
        if compiled is None or self.forest is None:
            for of_tree in self._leaves(compared).T:
                total += self.values[of_tree]
        else:
            # Arrays that were sent may be unaligned.
            values = np.require(self.values, requirements=["C", "A"])
            compiled.add_values(*self.forest, compared, values, total)
        return total

    def _leaves(self, compared: NDArray[np.float32]) -> NDArray[np.int32]:
        found = np.empty((len(compared), len(self.roots)), np.int32)
        if compiled is None or self.forest is None:
            for rows in row_blocks(len(compared), len(self.roots), _ENTRIES_AT_ONCE):
                found[rows] = self._leaves_by_numpy(compared[rows])
        else:
            compiled.leaves(*self.forest, compared, found)
        return found

    def _leaves_by_numpy(self, compared: NDArray[np.float32]) -> NDArray[np.int32]:
        """The leaf (n, T) of each sample in each tree."""
        self._check_structure()  # Otherwise, there may be no end.
        # One entry for each sample and tree that has not reached its leaf.
        node = np.tile(self.roots, len(compared))
        entry, found = np.arange(len(node)), np.empty(len(node), np.int32)
        start = np.repeat(np.arange(len(compared)) * compared.shape[1], len(self.roots))
        axes, children = np.searchsorted(self.axes, self.hyperplanes), self.children.ravel()
        while len(entry):
            second = compared.take(start + axes.take(node)) > self.thresholds.take(node)
            below = children.take(2 * node + second)
            inner = below >= 0
            found[entry[~inner]] = -1 - below[~inner]
            node, entry, start = below[inner], entry[inner], start[inner]
        return found.reshape(len(compared), len(self.roots))

    @cached_property
    def forest(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]] | None:
        """What compiled code reads: places (P, 2), their leaves (P,) and the starts (T + 1,) of trees.

        The places of a tree are its root, an empty place, and the children of its nodes, in pairs. A
        place is the key of a threshold, an axis and the next pair, the last two in 16 bits each. A
        leaf leads to itself by a threshold that no sample exceeds, or every one if it is the second
        place of a pair. None if there are too many nodes or axes.
        """
        self._check_structure()  # Compiled code relies on it.
        n_nodes = np.diff(self.roots, append=len(self.hyperplanes))
        if n_nodes.max() >= _MOST_OF_16_BITS or len(self.axes) > _MOST_OF_16_BITS:
            return None
        starts = np.append(0, 2 * np.cumsum(n_nodes + 1))
        root, n_places = np.repeat(self.roots, np.diff(starts)), starts[-1]
        place = np.arange(n_places) - np.repeat(starts[:-1], np.diff(starts))
        below = np.insert(self.children, self.roots, 0, axis=0).ravel()
        below[starts[:-1]], below[starts[:-1] + 1] = self.roots, -1
        inner, node = below >= 0, np.maximum(below, 0)
        places = np.empty(n_places, [("threshold", "i4"), ("axis", "u2"), ("next", "u2")])
        itself = np.where(place % 2, _INT_MIN, _INT_MAX)
        places["threshold"] = np.where(inner, _keys(self.thresholds)[node], itself)
        places["axis"] = np.where(inner, np.searchsorted(self.axes, self.hyperplanes)[node], 0)
        places["next"] = np.where(inner, node - root + 1, place // 2)
        leaves = np.where(inner, -1, -1 - below).astype(np.int32)
        return places.view(np.int32).reshape(-1, 2), leaves, starts.astype(np.int32)

    @property
    def can_decide(self) -> bool:
        """Whether compiled code can `decide`."""
        return compiled is not None and self.forest is not None

    def decide(self, compared: NDArray[np.float32], sums: NDArray[np.float32], margin: float) -> Indices:
        """The class (n,) of the largest of ``sums`` (n, C) with the evidence added; -1 if in doubt.

        A class is decided when it leads by more than the margin, computed in single precision,
        whatever the trees add that have not been read. The trees that can add most are read first.
        ``sums`` are changed.
        """
        assert compiled is not None
        assert self.forest is not None
        require_shapes(compared=(compared, (len(compared), len(self.axes))))
        classes, bounds = np.empty(len(compared), np.int32), self.bounds
        # A margin is rounded up.
        margin = float(np.nextafter(np.float32(margin), np.float32(np.inf)))
        compiled.decide(
            *self.forest, compared, bounds.order, bounds.values, bounds.least, bounds.most, margin,
            sums, classes,
        )  # fmt: skip
        return classes.astype(np.intp)

    @cached_property
    def bounds(self) -> TreeBounds:
        """What the trees can add, those that can add most first."""
        leaves, starts = self.by_tree
        least, most = (part.reduceat(self.values[leaves], starts) for part in (np.minimum, np.maximum))
        order = np.argsort(-(most - least).max(axis=1), kind="stable")
        left = [
            np.pad(np.cumsum(part[order[::-1]], axis=0)[::-1], ((0, 1), (0, 0)))
            for part in (least, most)
        ]
        with np.errstate(over="ignore"):
            values, *left = (np.ascontiguousarray(part, np.float32) for part in (self.values, *left))
            largest = float(np.maximum(-least, most).max(axis=1).sum())
        return TreeBounds(order.astype(np.int32), values, left[0], left[1], largest)

    @cached_property
    def boxes(self) -> tuple[Floats, Floats]:
        """Lower and upper limits (R, F) of the responses of each leaf; F as in `axes`."""
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
        """The largest number of nodes on the way to a leaf."""
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
        """The tree (R,) of each leaf."""
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
        """The leaves (R,) in the order of their trees, and the place (T,) where each tree starts."""
        tree = self.trees
        order = np.argsort(tree, kind="stable")
        return order, np.searchsorted(tree[order], np.arange(len(self.roots)))

    def leads(self, h: Floats, winner: Indices, rival: Indices) -> tuple[NDArray[np.int32], Floats]:
        """The leaves (n, T) of each sample, and what each adds to the winner's lead over the rival."""
        leaves = self.leaves(h)
        return leaves, self.values[leaves, winner[:, None]] - self.values[leaves, rival[:, None]]

    def distances(self, h: Floats, reach: Floats) -> Floats:
        """Lower bounds (n, R) of each leaf's distance if a step of length 1 moves h by ``reach``."""
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


def _keys(numbers: NDArray[np.float32]) -> NDArray[np.int32]:
    """Integers in the order of the numbers, as compiled code compares them."""
    bits = numbers.view(np.int32)
    return np.where(bits < 0, -(bits & _INT_MAX), bits)
