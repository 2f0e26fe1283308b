"""What a design is given, samples and a plan, and what it gives: the layers above the hyperplanes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.design.pruning import PruningPath
from ffmlp.design.subsets import changes
from ffmlp.model.hyperplanes import Hyperplanes
from ffmlp.model.stages import Stages


@dataclass(frozen=True, eq=False)
class Samples:
    """Validated training samples.

    ``weight`` (n,) says how often a sample counts, ``class_weight`` (C,) how much a sample of a class
    matters; ``members`` (n,) is the blob of each sample where that is known.
    """

    X: NDArray[np.floating]
    y: NDArray[np.intp]
    weight: Floats
    labels: NDArray
    class_weight: Floats
    feature_names: tuple[str, ...]
    members: NDArray[np.intp] | None = None

    @property
    def importance(self) -> Floats:
        """What the mistakes on each sample cost (n,)."""
        return self.weight * self.class_weight[self.y]

    def select(self, rows: NDArray) -> Samples:
        """Some of the samples; the classes stay as they are."""
        members = None if self.members is None else self.members[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], weight=self.weight[rows], members=members)

    def reweighted(self, weight: Floats) -> Samples:
        """The samples whose new weight is not 0."""
        return replace(self, weight=weight).select(weight > 0)

    def merged(self) -> Samples:
        """Each distinct sample once, with the weight of all equal ones, in the order of class and value.

        However the samples were given, this gives the same to the last bit.
        """
        group = self.y if self.members is None else self.members
        order = np.lexsort((*self.X.T[::-1], group, self.y))
        first = np.flatnonzero(changes(order, group, *self.X.T))
        distinct = self.select(order[first])
        weight = np.add.reduceat(self.weight[order], first)
        return replace(distinct, X=np.ascontiguousarray(distinct.X), weight=weight)


@dataclass(frozen=True)
class Plan:
    """Everything that is chosen before a network is designed.

    ``n_components`` is the number of blobs of each class, None for many small blobs, each separated
    from its neighbours only.
    """

    design: str
    gaussianise: bool
    discriminant: str
    n_components: tuple[int, ...] | None
    error_threshold: float | None
    pruning: str = "greedy"
    time_limit: float = 60.0
    penalty: float = 1000.0
    max_neurons: int | None = None

    @property
    def chooses_greedily(self) -> bool:
        """Whether hyperplanes of a readout are taken one by one: rounding may decide what is taken."""
        return self.max_neurons is not None or (
            self.design == "readout" and self.error_threshold is not None
        )

    def max_half_spaces(self, n_classes: int) -> float:
        """How many neurons l_1 of the readout design may have, beside two for each class."""
        return np.inf if self.max_neurons is None else self.max_neurons - 2 * n_classes


@dataclass(frozen=True, eq=False)
class UpperLayers:
    """The hyperplanes that a design keeps, and the stages above them."""

    hyperplanes: Hyperplanes
    pruning_path: PruningPath
    stages: Stages
