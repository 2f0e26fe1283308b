"""The readout design: the evidence of each class is a weighted sum of l_1, which trees may correct."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, Shape, in_whole_tiles, row_blocks
from ffmlp.network.hyperplanes import Hyperplanes, softmax
from ffmlp.network.quick_classes import quick_classes
from ffmlp.network.stages import LARGEST, Bends, OnnxGraph, Stages, require_finite, require_shapes
from ffmlp.network.trees import Trees  # at run time, for those who check types
from ffmlp.words import counted, itemised

if TYPE_CHECKING:
    from ffmlp.network.network import Network


# Few enough for the intermediate results of a softmax to stay in the cache.
_ROWS_PER_SOFTMAX = 1 << 13
# Half-spaces that are listed as evidence for a class.
_MAX_LISTED = 5


@dataclass(frozen=True, eq=False)
class ReadoutStages(Stages):
    """One l_2 neuron per class: its evidence, read out of l_1 by least squares.

    The evidence is ``|h| @ even + h @ odd + bias``: weights even + odd from the neurons of h and
    even - odd from the neurons of -h. If the stages are ``one_sided``, l_1 has neurons of h only, and
    even and odd are equal. The temperature is the weight of stage 3, from evidence to its class.
    """

    even: Annotated[Floats, Shape("L", "C")]
    odd: Annotated[Floats, Shape("L", "C")]
    bias: Annotated[Floats, Shape("C")]
    temperature: float
    one_sided: bool = False

    design = "readout"
    neurons = "evidence"
    each_neuron = "the evidence of each class, by least squares"
    activations = ("relu", "identity", "softmax")
    trees: ClassVar[Trees | None] = None
    in_units = ", in log-odds"

    @property
    def neuron_classes(self) -> Indices:
        """One neuron per class."""
        return np.arange(len(self.bias))

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """The readout; the temperature on the diagonal."""
        above, below = self.even + self.odd, self.even - self.odd
        readout = above if self.one_sided else np.vstack([above, below])
        return readout.T, self.temperature * np.eye(len(self.bias))

    @property
    def biases(self) -> tuple[Floats, Floats]:
        """The bias of the readout; zero."""
        return self.bias, np.zeros(len(self.bias))

    @property
    def relu_layers(self) -> tuple[tuple[Floats, Floats], ...] | None:
        """The readout, times the temperature; None with trees beside it."""
        if self.trees is not None:
            return None
        return ((self.temperature * self.weights[0], self.temperature * self.bias),)

    def meaning(self, neuron: int, network: Network) -> str:
        """The class."""
        return f"evidence for class {network.labels[neuron]}"

    def description(self, network: Network, spreads: Floats, max_items: int) -> list[str]:
        """The strongest evidence for each class, per standard deviation of a response."""
        readout = self.weights[0]
        weights = self.temperature * readout * np.resize(spreads, readout.shape[1])
        lines = [f"Strongest evidence{self.in_units} per standard deviation beyond the hyperplane:"]
        for label, row in zip(network.labels, weights, strict=True):
            order = np.argsort(-np.abs(row), kind="stable")[: min(max_items, _MAX_LISTED)]
            strongest = ", ".join(f"{row[k]:+.2f} {network.half_space(int(k))}" for k in order)
            lines.append(f"  {label}: {strongest}")
        return lines

    def outputs(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The softmax of the confidences."""
        out = self.confidences(planes, X)
        for rows in row_blocks(len(out), 1, _ROWS_PER_SOFTMAX):
            out[rows] = softmax(out[rows])
        return out

    def evidence(
        self,
        planes: Hyperplanes,
        X: AnyFloats,
        dtype: type[np.floating] = np.float64,
        see: Callable[[slice, NDArray], None] | None = None,
    ) -> NDArray:
        """The pre-activations (n, C) of l_out, computed in the given type.

        L bends ``|h|`` replace 2L opposite neurons, which halves the work. ``see`` is called with each
        block of rows and their responses.
        """
        if self.one_sided:
            linear, even = np.zeros(0, np.intp), 2.0 * self.temperature * self.even
        else:
            linear, even = np.flatnonzero(self.odd.any(axis=1)), self.temperature * self.even
        odd, bias = self.temperature * self.odd[linear], self.temperature * self.bias
        # Padded to the number of columns of h.
        even = in_whole_tiles(even.T).T
        even, odd, bias = (in_whole_tiles(part.astype(dtype)) for part in (even, odd, bias[None]))
        bounded = planes.reach(X).max(initial=0.0) <= LARGEST
        out = np.empty((len(X), len(self.bias)), dtype)
        for rows, h in planes.tiles(X, dtype):
            n = rows.stop - rows.start
            if see is not None:
                see(rows, h[:n, : len(planes)])
            lines = h[:, linear]
            bends = np.maximum(h, 0.0, out=h) if self.one_sided else np.abs(h, out=h)
            if not bounded:
                np.nan_to_num(lines, copy=False, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
                np.clip(lines, -LARGEST, LARGEST, out=lines)
                np.fmin(bends, LARGEST, out=bends)
            with np.errstate(over="ignore", invalid="ignore"):
                evidence = lines @ odd
                evidence += bends @ even
                evidence += bias
            out[rows] = evidence[:n, : len(self.bias)]
        return out

    def confidences(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The evidence; its softmax is the probabilities."""
        return self.evidence(planes, X)

    def scores(self, h: Floats) -> Floats:
        """The evidence at responses h, times the temperature."""
        return self.temperature * (np.abs(h) @ self.even + h @ self.odd + self.bias)

    def slopes(self, h: Floats) -> Floats:
        """The slopes, constant within a region."""
        above, below = self.even + self.odd, self.even - self.odd
        return np.where(h[:, None] > 0, self.temperature * above.T, -self.temperature * below.T)

    def mean_slopes(self, start: Floats, stop: Floats, winner: Indices, rival: Indices) -> Floats:
        """In closed form: the mean sign of a response is the change of ``|h|`` per change of h."""
        even, odd = ((part[:, winner] - part[:, rival]).T for part in (self.even, self.odd))
        crossed = start * stop < 0
        sign = np.where(start + stop < 0, -1.0, 1.0)
        np.divide(np.abs(stop) - np.abs(start), stop - start, out=sign, where=crossed)
        return self.temperature * (even * sign + odd)

    def safe_distance(self, h: Floats, winner: Indices, reach: Floats, steepness: Floats) -> Floats:
        """Within it, the winner leads even if every bend on the way lowers its lead.

        The lead f of the winner over class c is linear within a region. Beyond hyperplane l it bends by
        ``k_l·max(0, −s_l h_l)``, where k_l is the sum of the two neurons' weights. Within distance r, no
        response moves by more than ``r·reach_l``. The lead is therefore at least
        ``f − r·steepness − Σ max(0, −k_l)·max(0, r·reach_l − |h_l|)``; the distance is the root of this.
        """
        bends = 2.0 * self.temperature * self.even.T  # (C, L)
        safe = np.full(len(h), np.inf)
        scores = self.scores(h)
        for rows in row_blocks(len(h), 4 * h.shape[1]):
            distance, speed = np.abs(h[rows]), reach[rows]
            crossed = np.divide(distance, speed, out=np.full_like(distance, np.inf), where=speed > 0)
            order = np.argsort(crossed, axis=1)
            crossed, distance, speed = (
                np.take_along_axis(table, order, axis=1) for table in (crossed, distance, speed)
            )
            for label in range(len(self.bias)):
                lead = scores[rows][np.arange(len(distance)), winner[rows]] - scores[rows, label]
                down = np.maximum(0.0, bends[label] - bends[winner[rows]])
                down = np.take_along_axis(down, order, axis=1)
                root = _root(lead, steepness[rows, label], down * speed, down * distance, crossed)
                safe[rows] = np.where(winner[rows] == label, safe[rows], np.minimum(safe[rows], root))
        return safe

    def bends(self, winner: int, rival: int) -> Bends | None:
        """The lead, as ``even·|h| + odd·h = 2·even·max(0, h) + (odd − even)·h``; None with trees."""
        if self.trees is not None:
            return None
        even, odd, bias = (
            self.temperature * (part[..., winner] - part[..., rival])
            for part in (self.even, self.odd, self.bias)
        )
        return Bends(odd - even, float(bias), 2.0 * even)

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """There must be a finite weight for each hyperplane and class."""
        shape = len(planes), n_classes
        require_shapes(even=(self.even, shape), odd=(self.odd, shape), bias=(self.bias, (n_classes,)))
        require_finite(even=self.even, odd=self.odd, bias=self.bias)
        if not 0.0 < self.temperature < np.inf or self.one_sided != planes.one_sided:
            raise ValueError("the temperature must be positive, and the sides must be the hyperplanes'")
        if not np.isfinite(self._most_evidence):
            raise ValueError("the evidence of far samples is not finite")

    @property
    def _most_evidence(self) -> float:
        """A bound of the absolute evidence for each class; infinite if it may overflow."""
        with np.errstate(over="ignore"):
            weights = 2.0 * (np.abs(self.even) + np.abs(self.odd)).sum(axis=0)
            return float((self.temperature * (LARGEST * weights + np.abs(self.bias))).max())

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """Add evidence and softmax."""
        l_2, w_3, b_3 = self.evidence_to_onnx(graph, planes, z, h), self.weights[1], self.biases[1]
        share = graph.apply("Softmax", graph.apply("Gemm", l_2, w_3, b_3, transB=1), axis=1)
        return graph.apply("ArgMax", share, axis=1, keepdims=0), share

    def evidence_to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> str:
        """Add l_2; for opposite neurons from ``|h|`` and z, in half the work."""
        if self.one_sided:
            return graph.apply("Gemm", graph.apply("Relu", h), self.weights[0], self.bias, transB=1)
        bias = self.bias + planes.biases @ self.odd
        linear = graph.apply("Gemm", z, planes.weights.T @ self.odd, bias)
        bends = graph.apply("MatMul", graph.apply("Abs", h), self.even)
        return graph.apply("Add", bends, linear)


def _root(lead: Floats, slope: Floats, added: Floats, held: Floats, crossed: Floats) -> Floats:
    """The root r of ``lead − r·slope − Σ_{crossed_l < r} (r·added_l − held_l)``, row by row.

    ``crossed`` ascends. The function is concave and decreasing, so the first piece to reach zero has it.
    """
    zero = np.zeros((len(lead), 1))
    slopes = slope[:, None] + np.hstack([zero, np.cumsum(added, axis=1)])
    heights = np.maximum(lead, 0.0)[:, None] + np.hstack([zero, np.cumsum(held, axis=1)])
    roots = np.divide(heights, slopes, out=np.full_like(slopes, np.inf), where=slopes > 0)
    ends = np.hstack([crossed, np.full((len(lead), 1), np.inf)])
    piece = np.argmax(roots <= ends, axis=1)
    return roots[np.arange(len(lead)), piece]


# The slope of the logarithm below the floor, so that the order of the evidence is kept.
SLOPE = 1e-9
# A smaller lead may be lost to rounding, as evidence below the floor has a slope of 1e-9 only.
_LEAST_LEAD = 1e-4
# Halvings of the interval that contains a safe distance.
_BISECTIONS = 30
# Trees that are read for many rows, one after the other, stay in the cache.
_ROWS_AT_ONCE = 1 << 12
# The class of fewer rows is not worth two attempts.
_FEWEST_QUICK_ROWS = 2048


@dataclass(frozen=True, eq=False)
class CorrectedReadoutStages(ReadoutStages):
    """One l_2 neuron per class, its evidence, and one per leaf of the trees, which add to it.

    The probability of a class is proportional to ``max(evidence, floor) ** power``.
    """

    trees: Trees = field(kw_only=True)  # type: ignore[misc]  # other readouts have none
    power: float = field(kw_only=True)
    floor: float = field(kw_only=True)

    neurons = "evidence and leaves"
    each_neuron = "the evidence of each class, and for each leaf of the trees that correct it"
    in_units = ""

    @property
    def neuron_classes(self) -> Indices:
        """The classes, and the class that each leaf supports most."""
        return np.concatenate([np.arange(len(self.bias)), self.trees.values.argmax(axis=1)])

    def whole_evidence(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The evidence (n, C) of readout and leaves."""
        compared = np.empty((len(X), len(self.trees.axes)), np.float32)

        def see(rows: slice, h: Floats) -> None:
            compared[rows] = self.trees.compared(h)

        smooth = self.evidence(planes, X, see=see)
        return smooth + self.trees.sums(compared)

    def scores(self, h: Floats) -> Floats:
        """The evidence at responses h."""
        return super().scores(h) + self.trees.evidence(h)

    def confidences(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """Logarithms of the probabilities, up to a constant."""
        out = np.empty((len(X), len(self.bias)))
        for rows in row_blocks(len(X), 1, _ROWS_AT_ONCE):
            evidence = self.whole_evidence(planes, X[rows])
            out[rows] = self.power * np.log(np.maximum(evidence, self.floor)) + SLOPE * evidence
        return out

    def distinct_lead(self, size: float) -> float:
        """A lead of evidence up to ``size`` that rounding of the outputs does not lose.

        Confidences ascend with the evidence by at least `SLOPE`. In double precision, they are wrong by
        a few units in the last place, and the softmax needs as many to keep outputs apart.
        """
        logarithm = max(abs(np.log(self.floor)), abs(np.log(max(size, self.floor))))
        largest = self.power * logarithm + SLOPE * size + 1.0
        return float(16.0 * np.finfo(np.float64).eps / SLOPE * largest)

    def classes(self, planes: Hyperplanes, X: AnyFloats) -> Indices:
        """The most probable class, by part of the work where that is enough to know it."""
        if len(X) < _FEWEST_QUICK_ROWS:
            return super().classes(planes, X)
        classes = quick_classes(self, planes, X)
        in_doubt = np.flatnonzero(classes < 0)
        if len(in_doubt):
            classes[in_doubt] = super().classes(planes, X[in_doubt])
        return classes

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """The trees must be of these hyperplanes, and the link to probabilities must ascend."""
        super().check(planes, n_classes)
        self.trees.check(len(planes), n_classes)
        if not (self.temperature == 1.0 and 0.0 < self.power < np.inf and 0.0 < self.floor < np.inf):
            raise ValueError("power and floor must be positive, and the temperature 1")
        with np.errstate(over="ignore"):
            size = max(self._most_evidence + self.trees.bounds.largest, self.floor)
            logarithm = max(abs(np.log(self.floor)), abs(np.log(size)))
            if not np.isfinite(self.power * logarithm + SLOPE * size):
                raise ValueError("the evidence of far samples is not finite")

    def to_onnx(self, graph: OnnxGraph, planes: Hyperplanes, z: str, h: str) -> tuple[str, str]:
        """Add the evidence of readout and leaves, and the link."""
        evidence = graph.apply("Add", self.evidence_to_onnx(graph, planes, z, h), self._leaves(graph, h))
        logs = graph.apply("Log", graph.apply("Max", evidence, np.array(self.floor)))
        powers = graph.apply("Mul", logs, np.array(self.power))
        powers = graph.apply("Add", powers, graph.apply("Mul", evidence, np.array(SLOPE)))
        share = graph.apply("Softmax", powers, axis=1)
        return graph.apply("ArgMax", share, axis=1, keepdims=0), share

    def _leaves(self, graph: OnnxGraph, h: str) -> str:
        """The evidence of leaves. The trees give numbers of leaves: their sums are in float32 only."""
        trees, axes = self.trees, self.trees.axes
        n_nodes, n_leaves = len(trees.hyperplanes), len(trees)
        compared = graph.cast(graph.apply("Gather", h, axes, axis=1), np.float32)
        # Leaves follow the nodes.
        tree = np.concatenate([trees.node_trees, trees.trees])
        order = np.argsort(tree, kind="stable")
        below = np.where(trees.children < 0, n_nodes - 1 - trees.children, trees.children)
        none = np.zeros(n_leaves, int)
        leaves = graph.apply(
            "TreeEnsembleRegressor",
            compared,
            n_targets=len(trees.roots),
            nodes_treeids=tree[order].tolist(),
            nodes_nodeids=order.tolist(),
            nodes_featureids=np.append(np.searchsorted(axes, trees.hyperplanes), none)[order].tolist(),
            nodes_values=np.append(trees.thresholds, none)[order].tolist(),
            nodes_modes=np.array(["BRANCH_LEQ", "LEAF"])[(order >= n_nodes).astype(int)].tolist(),
            nodes_truenodeids=np.append(below[:, 0], none)[order].tolist(),
            nodes_falsenodeids=np.append(below[:, 1], none)[order].tolist(),
            target_treeids=trees.trees.tolist(),
            target_nodeids=list(range(n_nodes, n_nodes + n_leaves)),
            target_ids=trees.trees.tolist(),
            target_weights=[float(leaf) for leaf in range(n_leaves)],
        )
        values = graph.apply("Gather", trees.values, graph.cast(leaves, np.int64), axis=0)
        return graph.apply("ReduceSum", values, np.array([1]), keepdims=0)

    def meaning(self, neuron: int, network: Network) -> str:
        """The class of the evidence, or the class that a leaf supports most and its half-spaces."""
        leaf = neuron - len(self.bias)
        if leaf < 0:
            return super().meaning(neuron, network)
        label = network.labels[self.trees.values[leaf].argmax()]
        return f"leaf of class {label}: {self._box(leaf, network)}"

    def _box(self, leaf: int, network: Network) -> str:
        """The half-spaces that meet in a leaf."""
        axes, (low, high) = self.trees.axes, self.trees.boxes
        limited = np.flatnonzero(np.isfinite(low[leaf]) | np.isfinite(high[leaf]))
        return network.box(axes[limited], low[leaf, limited], high[leaf, limited])

    def description(self, network: Network, spreads: Floats, max_items: int) -> list[str]:
        """The strongest evidence, and the leaves that add most."""
        values, n_trees = self.trees.values, len(self.trees.roots)
        strongest = np.abs(values).argmax(axis=1)

        def line(leaf: int) -> str:
            value, label = values[leaf, strongest[leaf]], network.labels[strongest[leaf]]
            return f"{value:+.3f} {label}: {self._box(leaf, network)}"

        order = np.argsort(-np.abs(values).max(axis=1), kind="stable")
        return [
            *super().description(network, spreads, max_items),
            "",
            f"{len(self.trees)} leaves in {counted(n_trees, 'tree')} correct the readout. A "
            "sample is in one leaf of each tree. The largest additions:",
            *itemised(len(self.trees), max_items, line, order),
        ]

    def safe_distance(self, h: Floats, winner: Indices, reach: Floats, steepness: Floats) -> Floats:
        """Within it, the winner leads even in the worst leaf of each tree that is near enough.

        Within distance r, a leaf can be reached only if no response violates its limits by more than
        ``r·reach_l``. The lead over class c is at least the bound of the readout alone plus, tree by
        tree, the smallest difference of the two classes' values over these leaves.
        """
        outer = super().safe_distance(h, winner, reach, steepness)  # as if no leaf had limits
        order, starts = self.trees.by_tree
        scores, bends = super().scores(h), 2.0 * self.even.T  # (n, C), (C, L)
        safe = np.zeros(len(h))
        for label in np.unique(winner):
            others = np.delete(np.arange(len(self.bias)), label)
            ahead = (self.trees.values[:, [label]] - self.trees.values[:, others])[order]
            mine = np.flatnonzero(winner == label)
            for some in row_blocks(len(mine), ahead.size):
                rows = mine[some]
                safe[rows] = _safe_within(
                    outer[rows],
                    distances=np.abs(h[rows]),
                    reach=reach[rows],
                    leads=scores[rows][:, [label]] - scores[rows][:, others],
                    steepness=steepness[rows][:, others],
                    bends=np.maximum(0.0, bends[others] - bends[label]),
                    away=self.trees.distances(h[rows], reach[rows])[:, order],
                    ahead=ahead,
                    starts=starts,
                )
        return safe


def _safe_within(
    outer: Floats,
    distances: Floats,
    reach: Floats,
    leads: Floats,
    steepness: Floats,
    bends: Floats,
    away: Floats,
    ahead: Floats,
    starts: Indices,
) -> Floats:
    """The largest distance (n,) up to ``outer`` within which a class leads K others, by bisection.

    The readout alone has ``leads`` and ``steepness`` (n, K), and bends by at most ``bends`` (K, L)
    beyond each hyperplane. Leaves at distances ``away`` (n, R) add ``ahead`` (R, K) to the lead. They
    are in the order of their trees, which begin at ``starts`` (T,).
    """

    def is_safe(r: Floats) -> Flags:
        beyond = np.maximum(0.0, r[:, None] * reach - distances)
        smooth = leads - r[:, None] * steepness - beyond @ bends.T
        near = np.where((away <= r[:, None])[:, :, None], ahead, np.inf)
        worst = np.minimum.reduceat(near, starts, axis=1).sum(axis=1)
        return (smooth + worst > _LEAST_LEAD).all(axis=1)

    # Beyond all leaves, only the readout can change the lead.
    farthest = np.where(np.isfinite(away), away, 0.0).max(axis=1)
    low, high = np.zeros(len(outer)), np.where(np.isfinite(outer), outer, farthest)
    everywhere = ~np.isfinite(outer) & is_safe(high)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        safe = is_safe(middle)
        low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return np.where(everywhere, np.inf, low)
