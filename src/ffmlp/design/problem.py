"""What a design is given, samples and a plan, and what it gives: the layers above the hyperplanes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.design.pruning import PruningPath
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

    def max_half_spaces(self, n_classes: int) -> float:
        """How many neurons l_1 of the readout design may have, beside two for each class."""
        return np.inf if self.max_neurons is None else self.max_neurons - 2 * n_classes


@dataclass(frozen=True, eq=False)
class UpperLayers:
    """The hyperplanes that a design keeps, and the stages above them."""

    hyperplanes: Hyperplanes
    pruning_path: PruningPath
    stages: Stages
