"""The readout design with regions: layer l_2 has the evidence of each class, and region neurons.

A region adds to the evidence of the classes where the readout alone errs. The evidence of a class is
close to its probability, so probabilities are a power of the evidence, divided by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices
from ffmlp.model.activations import softmax
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.readout_stages import ReadoutStages
from ffmlp.model.region_trees import RegionTrees

if TYPE_CHECKING:
    pass

# The slope of the logarithm below the floor, so that the order of the evidence is kept.
_SLOPE = 1e-9


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
    def n_regions(self) -> int:  # type: ignore[override]
        """The leaves of all trees."""
        return len(self.trees)

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
        return self.power * np.log(np.maximum(evidence, self.floor)) + _SLOPE * evidence

    def outputs(self, planes: Hyperplanes, X: AnyFloats) -> Floats:
        """The probabilities."""
        return softmax(self.confidences(planes, X))

    def classes(self, planes: Hyperplanes, X: AnyFloats) -> Indices:
        """The most probable class."""
        return self.outputs(planes, X).argmax(axis=1)
