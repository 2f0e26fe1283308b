"""The readout design with regions: layer l_2 has the evidence of each class, and region neurons.

A region adds to the evidence of the classes where the readout alone errs. The evidence of a class is
close to its probability, so probabilities are a power of the evidence, divided by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.model.activations import softmax
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.readout_stages import ReadoutStages
from ffmlp.model.region_trees import RegionTrees
from ffmlp.model.stages import OnnxGraph

# The slope of the logarithm below the floor, so that the order of the evidence is kept.
SLOPE = 1e-9


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

    trees: RegionTrees = field(kw_only=True)
    power: float = field(kw_only=True)
    floor: float = field(kw_only=True)

    neurons = "evidence and regions"
    each_neuron = "the evidence of each class, and for each region where it errs"

    @property
    def neuron_classes(self) -> Indices:
        """The classes, and the class that each region supports most."""
        return np.concatenate([np.arange(len(self.bias)), self.trees.values.argmax(axis=1)])

    def whole_evidence(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The evidence (n, C) of readout and regions."""
        out = np.empty((len(X), len(self.bias)))
        for rows, h in planes.blocks(X):
            out[rows] = self.scores(h)
        return out

    def scores(self, h: Floats) -> Floats:
        """The evidence at responses h."""
        return super().scores(h) + self.trees.evidence(h)

    def confidences(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """Logarithms of the probabilities, up to a constant."""
        evidence = self.whole_evidence(planes, X)
        return self.power * np.log(np.maximum(evidence, self.floor)) + SLOPE * evidence

    def outputs(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The probabilities."""
        return softmax(self.confidences(planes, X))

    def classes(self, planes: Hyperplanes, X: AnyFloats) -> Indices:
        """The most probable class."""
        return self.outputs(planes, X).argmax(axis=1)

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """Regions must fit the hyperplanes, and the link must be a positive power."""
        super().check(planes, n_classes)
        self.trees.check(len(planes), n_classes)
        if not (0.0 < self.power < np.inf and 0.0 < self.floor < np.inf) or self.one_sided:
            raise ValueError(f"power {self.power} and floor {self.floor} must be positive numbers")

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
