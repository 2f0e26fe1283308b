"""Which plan is best for the data: cross-validated on the training samples, then told as a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import without_rounding
from ffmlp.design.designs import design_network
from ffmlp.design.problem import Plan, Samples
from ffmlp.design.progress import Progress
from ffmlp.design.subsets import evenly
from ffmlp.markup import html_table

N_FOLDS = 3
# With more distinct samples than this, plans are made with some and judged by others, once: what is
# judged by many samples is known well enough, and no plan is carried out with many.
MAX_SAMPLES_OF_FOLDS = 600
N_PLANNED, N_JUDGED = 300, 1000
# A sample is dealt out in no more parts: its weight may be any number.
_MOST_DEALT = 1e9
# Probabilities below this count as this: one sample must not decide.
_SMALLEST_PROBABILITY = 1e-6


@dataclass(frozen=True, eq=False)
class Selection:
    """The plans that were tried, how well they did, and which of them won. Prints as a table.

    Attributes
    ----------
    plans : tuple of Plan
        What was tried.
    log_losses : ndarray of shape (n_plans,)
        Log-loss of each plan on samples it was not made with; NaN where nothing had to be chosen.
    accuracies : ndarray of shape (n_plans,)
        Accuracy of each plan on these samples.
    best : int
        The plan that won: the first, unless that of least log-loss beats it by a standard error.
    """

    plans: tuple[Plan, ...]
    log_losses: NDArray[np.float64]
    accuracies: NDArray[np.float64]
    best: int

    @property
    def plan(self) -> Plan:
        """The plan that won."""
        return self.plans[self.best]

    @property
    def table(self) -> list[list[str]]:
        """A header, and a row for each plan; an arrow marks the one that won."""
        rows = [
            [
                "",
                "design",
                "gaussianise",
                "discriminant",
                "components",
                "threshold",
                "log-loss",
                "accuracy",
            ]
        ]
        for number, plan in enumerate(self.plans):
            rows.append(
                [
                    "→" if number == self.best else "",
                    plan.design,
                    "yes" if plan.gaussianise else "no",
                    plan.discriminant,
                    _components(plan.n_components),
                    "none" if plan.error_threshold is None else f"{plan.error_threshold:g}",
                    f"{self.log_losses[number]:.3f}",
                    f"{self.accuracies[number]:.3f}",
                ]
            )
        return rows

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in self.table
        )

    def _repr_html_(self) -> str:
        header, *rows = self.table
        return html_table(header, rows)


def _components(n_components: tuple[int, ...] | None) -> str:
    if n_components is None:
        return "many small"
    distinct = sorted(set(n_components))
    return str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]} to {distinct[-1]}"


def select(
    samples: Samples, plans: Sequence[Plan], rng: np.random.RandomState, progress: Progress
) -> Selection:
    """The first plan, unless the one of least cross-validated log-loss is clearly better."""
    unknown = np.full(len(plans), np.nan)
    if len(plans) == 1:
        return Selection(tuple(plans), unknown, unknown, 0)
    with progress.step("selection"):
        judged = [_judged(plans, *parts, rng) for parts in splits(samples.merged())]
        judged = [part for part in judged if part is not None]
        if not judged:  # all but a sample or two are of one class
            return Selection(tuple(plans), unknown, unknown, 0)
        losses, hits, weight, importance = (
            np.concatenate(parts, axis=-1) for parts in zip(*judged, strict=True)
        )
        share = importance / importance.sum()
        best = _winner(losses, weight, share)
        selection = Selection(tuple(plans), losses @ share, hits @ share, best)
        progress.say(f"{len(plans)} plans\n{selection}")
    return selection


def _winner(losses: NDArray[np.float64], weight: NDArray[np.float64], share: NDArray[np.float64]) -> int:
    """The plan of least loss, or the first unless the best one beats it by a standard error.

    ``share`` (n,) is the part of each sample in the mean. ``weight`` (n,) says how many samples of equal
    gain it stands for.
    """
    best = int(np.argmax(without_rounding((losses[0] - losses) @ share)))
    gains = losses[0] - losses[best]
    gain = share @ gains
    error = np.sqrt(share**2 / weight @ (gains - gain) ** 2)
    return best if gain > error else 0


def _judged(
    plans: Sequence[Plan], training: Samples, held: Samples, rng: np.random.RandomState
) -> tuple[NDArray, NDArray, NDArray, NDArray] | None:
    """Log-loss and hit of each plan (P, n) on samples held out; their weight and importance (n,)."""
    if len(np.unique(training.y)) < 2:
        return None
    losses, hits = np.empty((2, len(plans), len(held.y)))
    for index, plan in enumerate(plans):
        probability = _probabilities(training, plan, held.X, rng)
        own = probability[np.arange(len(held.y)), held.y]
        losses[index] = -np.log(np.maximum(own, _SMALLEST_PROBABILITY))
        hits[index] = probability.argmax(axis=1) == held.y
    return losses, hits, held.weight, held.importance


def _probabilities(
    training: Samples, plan: Plan, X: NDArray, rng: np.random.RandomState
) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a fold has fewer samples than the user gave
        # A small readout does what the whole one does, which is made faster.
        design = design_network(training, replace(plan, max_neurons=None), rng, Progress())
    return design.network.probabilities(X)


def splits(merged: Samples) -> list[tuple[Samples, Samples]]:
    """Pairs of samples to make plans with and others to judge them by.

    Distinct samples are dealt out in the order of class and value, so that each part is like the whole.
    Equal ones stay together, so that none is judged by its twin. Only those that are frequent enough to
    be in every fold are dealt out one by one; with many distinct samples, only if most are frequent.
    A sample of weight 2 counts as two samples do.
    """
    weight = merged.weight
    frequent, few = weight >= N_FOLDS, len(weight) <= MAX_SAMPLES_OF_FOLDS
    one_by_one = frequent & (few or weight[frequent].sum() > weight.sum() / 2)
    dealt = np.where(one_by_one, np.minimum(weight, _MOST_DEALT), 1).astype(np.int64)
    # All weights are multiples of this unit, and stay so: their sums are exact.
    unit = 8 * np.spacing(weight.sum())
    each = np.round(weight / dealt / unit) * unit
    if few:
        last = np.cumsum(dealt)
        held = [
            (last + fold) // N_FOLDS - (last - dealt + fold) // N_FOLDS
            for fold in reversed(range(N_FOLDS))
        ]
        parts = [(dealt - judged, judged) for judged in held if judged.any()]
    else:
        planned = _some_of(dealt, N_PLANNED)
        parts = [(planned, _some_of(dealt - planned, N_JUDGED))]
    return [
        (merged.reweighted(planned * each), merged.reweighted(judged * each))
        for planned, judged in parts
    ]


def _some_of(numbers: NDArray[np.int64], at_most: int) -> NDArray[np.intp]:
    """How many of each number of equal samples (n,) are among at most so many, evenly spaced."""
    last = np.cumsum(numbers)
    taken = np.searchsorted(last, evenly(int(last[-1]), at_most), side="right")
    return np.bincount(taken, minlength=len(numbers))
