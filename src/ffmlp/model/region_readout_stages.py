"""The readout design with regions: layer l_2 has the evidence of each class, and region neurons.

A region adds to the evidence of the classes where the readout alone errs. The evidence of a class is
close to its probability, so probabilities are a power of the evidence, divided by their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ffmlp.arrays import AnyFloats, Floats, Indices, row_blocks
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.readout_stages import ReadoutStages
from ffmlp.model.region_trees import RegionTrees

# The slope of the logarithm below the floor, so that the order of the evidence is kept.
_SLOPE = 1e-9
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
