"""Statistics of samples from which a design is made without the samples, and which add up.

The region and paper designs read the samples of given hyperplanes through the table of occupied regions
only. So tables of the same hyperplanes, made where samples lie, make the network of all samples.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats
from ffmlp.design.designs import Design
from ffmlp.design.problem import Plan, Samples
from ffmlp.design.progress import Progress
from ffmlp.design.region_design import occupied_regions, pruned, region_layers
from ffmlp.inputs.columns import Columns
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import Network
from ffmlp.network.regions import Regions

# What statistics must have in common to be added up.
_SHARED = {
    "plan": "plans",
    "labels": "classes",
    "hyperplanes": "hyperplanes",
    "blobs": "blobs",
    "columns": "columns, or what stands for categories and missing numbers,",
}


@dataclass(frozen=True, eq=False)
class Statistics:
    """What a region or paper design reads of its samples; that of other samples can be added.

    Attributes
    ----------
    plan : Plan
        The plan of the design.
    labels : ndarray of shape (C,)
        Class labels.
    columns : Columns
        The columns, and the inputs that they become.
    blobs, hyperplanes : Blobs, Hyperplanes
        Those before pruning.
    regions : Regions
        The regions between the hyperplanes that samples occupy, with the weight of each class.
    """

    plan: Plan
    labels: NDArray
    columns: Columns
    blobs: Blobs
    hyperplanes: Hyperplanes
    regions: Regions

    @classmethod
    def of(cls, design: Design, plan: Plan) -> Statistics:
        """The statistics of a region or paper design."""
        assert design.table is not None  # other designs depend on more
        network = design.network
        return cls(plan, network.labels, network.table, design.blobs, design.hyperplanes, design.table)

    def of_samples(self, samples: Samples) -> Statistics:
        """The statistics of other samples, for the same hyperplanes."""
        return replace(self, regions=occupied_regions(self.hyperplanes, samples))

    def __add__(self, other: Statistics) -> Statistics:
        for name, what in _SHARED.items():
            if not _equal(getattr(self, name), getattr(other, name)):
                how = _difference(name, getattr(self, name), getattr(other, name))
                raise ValueError(
                    f"the {what} differ: {how}. Only statistics of the same ones add up: fit the others "
                    "with fit(X, y, like=first), or all with the same given blobs."
                )
        return replace(self, regions=self.regions + other.regions)

    def check(self) -> None:
        """Raise a ValueError if the statistics cannot be those of samples."""
        counts, planes = self.regions.counts, self.hyperplanes
        if not (np.isfinite(planes.weights).all() and np.isfinite(planes.biases).all()):
            raise ValueError("a hyperplane of the statistics is not made of finite numbers")
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("counts of the statistics must be finite and not negative")

    def design(self, class_weight: Floats, progress: Progress) -> Design:
        """The design of all samples that were added up."""
        plan, planes = self.plan, self.hyperplanes
        with progress.step("boundaries"):
            path, regions = pruned(self.regions, class_weight, plan, progress)
        upper = region_layers(path, regions, plan, planes, progress)
        network = Network(
            upper.hyperplanes,
            upper.stages,
            self.labels,
            self.blobs.classes,
            self.columns.input_names(self.labels),
            self.columns,
        )
        return Design(self.blobs, upper.pruning_path, network, planes, self.regions)


def _difference(name: str, one: Any, two: Any) -> str:
    """How two parts of this name differ, in the first of their fields and entries that does."""
    if is_dataclass(one) and type(one) is type(two):
        names = [field.name for field in fields(one)]
        found = next(field for field in names if not _equal(getattr(one, field), getattr(two, field)))
        return _difference(f"{name}.{found}", getattr(one, found), getattr(two, found))
    if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
        number = next(number for number in range(len(one)) if not _equal(one[number], two[number]))
        return _difference(f"{name}[{number}]", one[number], two[number])
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        if one.shape != two.shape or one.dtype != two.dtype:
            kinds = (f"{array.dtype} of shape {array.shape}" for array in (one, two))
            return f"{name} is {' and '.join(kinds)}"
        place = np.unravel_index(int(np.argmax(one != two)), one.shape)
        where = ", ".join(map(str, place))
        return f"{name}[{where}] is {one[place].item()!r} and {two[place].item()!r}"
    return f"{name} is {one!r} and {two!r}"


def _equal(one: Any, two: Any) -> bool:
    """Whether two parts are equal to the last bit."""
    if type(one) is not type(two):
        return False
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        return all(_equal(getattr(one, name), getattr(two, name)) for name in names)
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(_equal, one, two))
    return bool(one == two)
