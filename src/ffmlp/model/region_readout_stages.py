"""The readout design with regions: layer l_2 has the evidence of each class, and region neurons.

A region adds to the evidence of the classes where the readout alone errs. The evidence of a class is
close to its probability, so probabilities are a power of the evidence, divided by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import AnyFloats, Flags, Floats, Indices, row_blocks
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.readout_stages import ReadoutStages
from ffmlp.model.region_trees import RegionTrees
from ffmlp.words import counted, itemised

if TYPE_CHECKING:
    from ffmlp.model.network import Network

# The slope of the logarithm below the floor, so that the order of the evidence is kept.
_SLOPE = 1e-9
# A smaller lead may be lost to rounding, as evidence below the floor has a slope of 1e-9 only.
_LEAST_LEAD = 1e-4
# Halvings of the interval that contains a safe distance.
_BISECTIONS = 30


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
        return self.evidence(planes, X, beside=self.trees.evidence)

    def scores(self, h: Floats) -> Floats:
        """The evidence at responses h."""
        return super().scores(h) + self.trees.evidence(h)

    def confidences(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """Logarithms of the probabilities, up to a constant."""
        return self._logarithms(self.whole_evidence(planes, X))

    def _logarithms(self, evidence: Floats) -> Floats:
        return self.power * np.log(np.maximum(evidence, self.floor)) + _SLOPE * evidence

    def classes(self, planes: Hyperplanes, X: AnyFloats) -> Indices:
        """The most probable class."""
        return self.outputs(planes, X).argmax(axis=1)

    def check(self, planes: Hyperplanes, n_classes: int) -> None:
        """The regions must be trees of these hyperplanes, and the link to probabilities must ascend."""
        super().check(planes, n_classes)
        self.trees.check(len(planes), n_classes)
        if not (self.temperature == 1.0 and 0.0 < self.power < np.inf and 0.0 < self.floor < np.inf):
            raise ValueError("power and floor must be positive, and the temperature 1")

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
        return " and ".join(
            network.between(int(axes[axis]), float(low[region, axis]), float(high[region, axis]))
            for axis in limited
        )

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

    def contributions(self, h: Floats, winner: Indices, rival: Indices) -> tuple[Floats, Floats]:
        """The weighted responses of each hyperplane's neurons; bias and regions are the rest."""
        summands, rest = super().contributions(h, winner, rival)
        return summands, rest + self.trees.leads(h, winner, rival)[1].sum(axis=1)

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
