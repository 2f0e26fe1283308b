"""The input of a design, samples and a plan, its result, and the times of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import AnyFloats, Floats, Indices, Shape
from ffmlp.design.pruning import PruningPath
from ffmlp.inputs.columns import Columns
from ffmlp.inputs.rows import S, lexicographic
from ffmlp.network.blobs import Blobs
from ffmlp.network.hyperplanes import Hyperplanes
from ffmlp.network.network import AnyStages
from ffmlp.network.region import Regions


class Progress:
    """The seconds of each step so far; prints messages if ``verbose``."""

    def __init__(self, verbose: int = 0) -> None:
        self.verbose = verbose
        self.seconds: dict[str, float] = {}
        self._current = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step; if it has several parts, their times add up."""
        self._current = name
        start = perf_counter()
        yield
        seconds = perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.say(f"done in {seconds:.3f} s")

    def say(self, message: str) -> None:
        """Print a line about the current step."""
        if self.verbose:
            print(f"[FFMLPClassifier] {self._current}: {message}")


# Samples of a class that are kept when samples are thinned.
_FEWEST_OF_A_CLASS = 100


@dataclass(frozen=True, eq=False)
class Samples:
    """Validated training samples.

    ``X`` (n, N) are the inputs that the ``columns`` become. ``weight`` (n,) is the frequency of each
    sample, ``class_weight`` (C,) the weight of a sample of each class, and ``members`` (n,) the blob of
    each sample, if known. ``given`` are the blobs themselves, if they do not follow from the samples.
    The samples stand for the ``population`` that they are drawn from, if any: a function that sums a
    statistic over blocks of it.
    """

    X: AnyFloats
    y: Indices
    weight: Floats
    labels: NDArray
    class_weight: Floats
    columns: Columns
    members: Indices | None = None
    given: Blobs | None = None
    population: Callable[[Callable[[Samples], Any]], Any] | None = None

    def total(self, statistic: Callable[[Samples], S]) -> S:
        """The sum of a `Statistic` over all samples: over these, or their population."""
        return statistic(self) if self.population is None else self.population(statistic)

    @property
    def have_blobs(self) -> bool:
        """Whether it is known which blobs there are."""
        return self.members is not None or self.given is not None

    @property
    def importance(self) -> Floats:
        """The weight (n,) of each sample in errors and losses."""
        return self.weight * self.class_weight[self.y]

    def select(self, rows: NDArray) -> Samples:
        """Some of the samples, with the labels of all. They stand for no others."""
        members = None if self.members is None else self.members[rows]
        part = replace(self, X=self.X[rows], y=self.y[rows], weight=self.weight[rows], members=members)
        return replace(part, population=None)

    def reweighted(self, weight: Floats) -> Samples:
        """The samples with new weights, without samples of weight 0."""
        return replace(self, weight=weight).select(weight > 0)

    def merged(self) -> Samples:
        """Each distinct sample once, with the weight of all equal ones, sorted by class and value.

        The result does not depend on the order of the samples or on repetition, to the last bit.
        """
        group = self.y if self.members is None else self.members
        order, first = lexicographic(self.y, group, *self.X.T)
        distinct = self.select(order[first])
        weight = np.add.reduceat(self.weight[order], first)
        X = np.ascontiguousarray(distinct.X)
        return replace(distinct, X=X, weight=weight, population=self.population)

    def thinned(self, at_most: int) -> Samples:
        """About ``at_most`` samples, evenly spaced, with the weight of all, and some of every class."""
        if len(self.y) <= at_most:
            return self
        mass = np.bincount(self.y, self.weight, len(self.labels))
        each = np.minimum(mass.sum() / at_most, mass / _FEWEST_OF_A_CLASS)[self.y]
        taken = np.diff(np.round(np.cumsum(self.weight / each)), prepend=0.0)
        return self.reweighted(taken * each)


@dataclass(frozen=True)
class Plan:
    """All choices that are made before a network is designed.

    ``n_components`` is the number of blobs of each class, or None for many small blobs, each separated
    from its neighbours only. ``discriminant`` may also be "drawn_lda": LDA of samples that are drawn
    from the mixtures. ``shrink`` says whether covariances of few samples are shrunk, ``all_pairs``
    whether blobs of the same class are separated, too. ``max_leaves`` limits the trees that correct a
    readout.
    """

    design: str
    gaussianise: bool
    discriminant: str
    n_components: Annotated[tuple[int, ...], Shape("C")] | None
    error_threshold: float | None
    pruning: str = "greedy"
    time_limit: float = 60.0
    penalty: float = 1000.0
    max_neurons: int | None = None
    shrink: bool = True
    all_pairs: bool = False
    max_leaves: float = 0


@dataclass(frozen=True, eq=False)
class UpperLayers:
    """The hyperplanes that a design keeps, and the stages above them.

    ``left_out`` (n, C) is the evidence of a readout for each sample, fitted without it, if trees are to
    correct it. ``table`` are the regions between all hyperplanes, if the layers depend on them alone.
    """

    hyperplanes: Hyperplanes
    pruning_path: PruningPath
    stages: AnyStages
    left_out: Floats | None = None
    table: Regions | None = None
