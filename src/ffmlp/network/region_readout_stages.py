"""The readout design with regions: layer l_2 has the evidence of each class, and region neurons.

A region adds to the evidence of the classes where the readout alone errs. The evidence of a class is
close to its probability, so probabilities are a power of the evidence, divided by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, row_blocks
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.readout_stages import ReadoutStages
from ffmlp.network.region_classes import region_readout_classes
from ffmlp.network.stages import OnnxGraph
from ffmlp.network.trees import RegionTrees
from ffmlp.words import counted, itemised

if TYPE_CHECKING:
    from ffmlp.network.network import Network

# The slope of the logarithm below the floor, so that the order of the evidence is kept.
SLOPE = 1e-9
# A smaller lead may be lost to rounding, as evidence below the floor has a slope of 1e-9 only.
_LEAST_LEAD = 1e-4
# Halvings of the interval that contains a safe distance.
_BISECTIONS = 30
# Trees that are read for many rows, one after the other, stay in the cache.
_ROWS_AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False)
class RegionReadoutStages(ReadoutStages):
    """One l_2 neuron per class, its evidence, and one per region, which adds to the evidence.

    Attributes
    ----------
    trees : RegionTrees
        The regions.
    power, floor : float
        The probability of a class is proportional to ``max(evidence, floor) ** power``.
    """

    trees: RegionTrees = field(kw_only=True)  # type: ignore[misc]  # other readouts have none
    power: float = field(kw_only=True)
    floor: float = field(kw_only=True)

    neurons = "evidence and regions"
    each_neuron = "the evidence of each class, and for each region where it errs"
    in_units = ""

    @property
    def neuron_classes(self) -> Indices:
        """The classes, and the class that each region supports most."""
        return np.concatenate([np.arange(len(self.bias)), self.trees.values.argmax(axis=1)])

    def whole_evidence(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The evidence (n, C) of readout and regions."""
        out = np.empty((len(X), len(self.bias)))
        for rows in row_blocks(len(X), 1, _ROWS_AT_ONCE):
            out[rows] = self._whole_evidence(planes, X[rows])
        return out

    def _whole_evidence(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
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
        return self._logarithms(self.whole_evidence(planes, X))

    def _logarithms(self, evidence: Floats) -> Floats:
        return self.power * np.log(np.maximum(evidence, self.floor)) + SLOPE * evidence

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
        return region_readout_classes(self, planes, X)

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """The regions must be trees of these hyperplanes, and the link to probabilities must ascend."""
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
        """Add the evidence of readout and regions, and the link."""
        evidence = graph.apply(
            "Add", self.evidence_to_onnx(graph, planes, z, h), self._regions(graph, h)
        )
        logs = graph.apply("Log", graph.apply("Max", evidence, np.array(self.floor)))
        powers = graph.apply("Mul", logs, np.array(self.power))
        powers = graph.apply("Add", powers, graph.apply("Mul", evidence, np.array(SLOPE)))
        share = graph.apply("Softmax", powers, axis=1)
        return graph.apply("ArgMax", share, axis=1, keepdims=0), share

    def _regions(self, graph: OnnxGraph, h: str) -> str:
        """The evidence of regions. The trees give numbers of regions: their sums are in float32 only."""
        trees, axes = self.trees, self.trees.axes
        n_nodes, n_regions = len(trees.hyperplanes), len(trees)
        compared = graph.cast(graph.apply("Gather", h, axes, axis=1), np.float32)
        # Regions follow the nodes.
        tree = np.concatenate([trees.node_trees, trees.trees])
        order = np.argsort(tree, kind="stable")
        below = np.where(trees.children < 0, n_nodes - 1 - trees.children, trees.children)
        none = np.zeros(n_regions, int)
        regions = graph.apply(
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
            target_nodeids=list(range(n_nodes, n_nodes + n_regions)),
            target_ids=trees.trees.tolist(),
            target_weights=[float(region) for region in range(n_regions)],
        )
        values = graph.apply("Gather", trees.values, graph.cast(regions, np.int64), axis=0)
        return graph.apply("ReduceSum", values, np.array([1]), keepdims=0)

    def meaning(self, neuron: int, network: Network) -> str:
        """The class of the evidence, or the class that a region supports most and its half-spaces."""
        region = neuron - len(self.bias)
        if region < 0:
            return super().meaning(neuron, network)
        label = network.labels[self.trees.values[region].argmax()]
        return f"region of class {label}: {self._box(region, network)}"

    def _box(self, region: int, network: Network) -> str:
        """The half-spaces whose intersection is a region."""
        axes, (low, high) = self.trees.axes, self.trees.boxes
        limited = np.flatnonzero(np.isfinite(low[region]) | np.isfinite(high[region]))
        return network.box(axes[limited], low[region, limited], high[region, limited])

    def description(self, network: Network, spreads: Floats, max_items: int) -> list[str]:
        """The strongest evidence, and the regions that add most."""
        values, n_trees = self.trees.values, len(self.trees.roots)
        strongest = np.abs(values).argmax(axis=1)

        def line(region: int) -> str:
            value, label = values[region, strongest[region]], network.labels[strongest[region]]
            return f"{value:+.3f} {label}: {self._box(region, network)}"

        order = np.argsort(-np.abs(values).max(axis=1), kind="stable")
        return [
            *super().description(network, spreads, max_items),
            "",
            f"{counted(len(self.trees), 'region')} in {counted(n_trees, 'tree')} add to the evidence. A "
            "sample is in one region of each tree. The largest additions:",
            *itemised(len(self.trees), max_items, line, order),
        ]

    def safe_distance(self, h: Floats, winner: Indices, reach: Floats, steepness: Floats) -> Floats:
        """Within it, the winner leads even in the worst region of each tree that is near enough.

        Within distance r, a region can be reached only if no response violates its limits by more than
        ``r·reach_l``. The lead over class c is at least the bound of the readout alone plus, tree by
        tree, the smallest difference of the two classes' values over these regions.
        """
        outer = super().safe_distance(h, winner, reach, steepness)  # as if no region had limits
        order, starts = self.trees.by_tree
        scores, bends = super().scores(h), 2.0 * self.even.T  # (n, C), (C, L)
        safe = np.zeros(len(h))
        for label in np.unique(winner):
            others = np.delete(np.arange(len(self.bias)), label)
            ahead = (self.trees.values[:, [label]] - self.trees.values[:, others])[order]
            mine = np.flatnonzero(winner == label)
            for some in row_blocks(len(mine), ahead.size):
                rows = mine[some]
                bound = _LeadBound(
                    distances=np.abs(h[rows]),
                    reach=reach[rows],
                    leads=scores[rows][:, [label]] - scores[rows][:, others],
                    steepness=steepness[rows][:, others],
                    bends=np.maximum(0.0, bends[others] - bends[label]),
                    away=self.trees.distances(h[rows], reach[rows])[:, order],
                    ahead=ahead,
                    starts=starts,
                )
                safe[rows] = bound.safe_distance(outer[rows])
        return safe


@dataclass(frozen=True, eq=False)
class _LeadBound:
    """A lower bound of the lead of one class over K others, which falls with the distance.

    ``leads`` and ``steepness`` (n, K) are those of the readout, which bends by at most ``bends`` (K, L)
    beyond each hyperplane. Regions at distances ``away`` (n, R) add ``ahead`` (R, K) to the lead. They
    are in the order of their trees, which begin at ``starts`` (T,).
    """

    distances: Floats
    reach: Floats
    leads: Floats
    steepness: Floats
    bends: Floats
    away: Floats
    ahead: Floats
    starts: Indices

    def safe(self, r: Floats) -> Flags:
        """Whether the class leads clearly within distances r (n,)."""
        beyond = np.maximum(0.0, r[:, None] * self.reach - self.distances)
        smooth = self.leads - r[:, None] * self.steepness - beyond @ self.bends.T
        near = np.where((self.away <= r[:, None])[:, :, None], self.ahead, np.inf)
        worst = np.minimum.reduceat(near, self.starts, axis=1).sum(axis=1)
        return (smooth + worst > _LEAST_LEAD).all(axis=1)

    def safe_distance(self, outer: Floats) -> Floats:
        """The largest safe distance (n,) up to ``outer``, by bisection."""
        # Beyond all regions, only the readout can change the lead.
        farthest = np.where(np.isfinite(self.away), self.away, 0.0).max(axis=1)
        low, high = np.zeros(len(outer)), np.where(np.isfinite(outer), outer, farthest)
        everywhere = ~np.isfinite(outer) & self.safe(high)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            safe = self.safe(middle)
            low, high = np.where(safe, middle, low), np.where(safe, high, middle)
        return np.where(everywhere, np.inf, low)
