"""Weights of samples as frequencies, whose sums have no rounding error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffmlp.arrays import Floats

# Squares of sums of weights times other numbers are floats.
_LARGEST_TOTAL = 1e100


@dataclass(frozen=True)
class WeightSums:
    """What decides how weights are scaled; that of blocks of samples adds up."""

    total: float
    largest: float
    n_positive: int

    @classmethod
    def of(cls, weight: Floats) -> WeightSums:
        """The sums of non-negative weights."""
        with np.errstate(over="ignore"):
            total = float(weight.sum())
        return cls(total, float(weight.max(initial=0.0)), int(np.count_nonzero(weight)))

    def __add__(self, other: WeightSums) -> WeightSums:
        largest = max(self.largest, other.largest)
        return WeightSums(self.total + other.total, largest, self.n_positive + other.n_positive)

    def check(self) -> None:
        """Raise a ValueError if the weights cannot be frequencies."""
        if not self.n_positive:
            raise ValueError("sample_weight is zero for all samples. Give some a positive weight.")
        if self.total > _LARGEST_TOTAL:
            raise ValueError(
                f"The sum of sample_weight is {self.total:.3g}, above {_LARGEST_TOTAL:g}. Scale the "
                "weights down."
            )

    def check_adds_up(self) -> None:
        """Raise a ValueError if the weights would be scaled: sites would scale theirs differently."""
        if self.total < self.n_positive:
            raise ValueError(
                f"sample_weight has a mean of {self.total / self.n_positive:.3g}. Statistics that are "
                "merged need frequencies with a mean of at least 1: multiply the weights of all sites "
                "by the same number."
            )

    def scaled(self, weight: Floats) -> Floats:
        """Weights with exact sums, at least one on average.

        Weights are frequencies. Weights with a mean below one cannot be; they are scaled to a mean of
        one, because blobs would otherwise seem to have too few samples.
        """
        if self.total >= self.n_positive:
            return with_exact_sums(weight, self.total)
        weight = weight / self.largest
        weight *= self.n_positive / (self.total / self.largest)
        return with_exact_sums(weight, float(self.n_positive))


def with_exact_sums(weight: Floats, total: float) -> Floats:
    """Weights, rounded to multiples of a 2⁻⁵⁰th of their total, so that every partial sum is exact.

    Pruning compares such sums.
    """
    quantum = np.ldexp(1.0, int(np.frexp(total)[1]) - 50)
    return np.round(weight / quantum) * quantum
