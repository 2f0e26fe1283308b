"""Selection of a plan on held-out training samples; its results as a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ffmlp.arrays import Floats, Indices, without_rounding
from ffmlp.design.designs import Design, design_network
from ffmlp.design.problem import Plan, Samples
from ffmlp.design.progress import Progress
from ffmlp.inputs.subsets import evenly
from ffmlp.markup import html_table

N_FOLDS = 3
# With more distinct samples than this, plans are fitted to some and judged by others, once: many samples
# give a precise judgement, and few take little time to fit.
MAX_SAMPLES_OF_FOLDS = 600
N_PLANNED, N_JUDGED = 300, 1000
# The largest number of parts of one sample, because a weight may be any number.
_MOST_DEALT = 1e9
# Probabilities are clipped to this, so that one sample does not decide.
_SMALLEST_PROBABILITY = 1e-6
_HEAD = ["", "design", "gaussianise", "discriminant", "components", "threshold", "log-loss", "accuracy"]


@dataclass(frozen=True, eq=False)
class Selection:
    """The plans that were compared, their results, and the chosen one. Prints as a table.

    Attributes
    ----------
    plans : tuple of Plan
        The plans that were compared.
    log_losses : ndarray of shape (n_plans,)
        Log-loss of each plan on held-out samples; NaN if there was only one plan.
    accuracies : ndarray of shape (n_plans,)
        Accuracy of each plan on the same samples.
    best : int
        The chosen plan: the first, unless that of least log-loss beats it by a standard error.
    """

    plans: tuple[Plan, ...]
    log_losses: Floats
    accuracies: Floats
    best: int

    @property
    def plan(self) -> Plan:
        """The chosen plan."""
        return self.plans[self.best]

    @property
    def table(self) -> list[list[str]]:
        """A header, and a row for each plan; an arrow marks the chosen one."""
        rows = [
            [
                "→" if number == self.best else "",
                plan.design,
                "yes" if plan.gaussianise else "no",
                plan.discriminant,
                _components(plan.n_components),
                "none" if plan.error_threshold is None else f"{plan.error_threshold:g}",
                _shown(self.log_losses[number]),
                _shown(self.accuracies[number]),
            ]
            for number, plan in enumerate(self.plans)
        ]
        return [_HEAD, *rows]

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in self.table
        )

    def _repr_html_(self) -> str:
        header, *rows = self.table
        return html_table(header, rows)


def _shown(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _components(n_components: tuple[int, ...] | None) -> str:
    if n_components is None:
        return "many small"
    distinct = sorted(set(n_components))
    return str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]} to {distinct[-1]}"


def selected_design(
    samples: Samples, plans: Sequence[Plan], rng: np.random.RandomState, progress: Progress
) -> tuple[Selection, Design]:
    """The best of the plans, and its network."""
    if len(plans) > 1 or plans[0].design == "readout":
        samples = samples.merged()
    selection = select(samples, plans, rng, progress)
    return selection, design_network(samples, selection.plan, rng, progress)


def select(
    samples: Samples, plans: Sequence[Plan], rng: np.random.RandomState, progress: Progress
) -> Selection:
    """The first plan, unless the one of least log-loss on held-out merged samples is clearly better."""
    unknown = np.full(len(plans), np.nan)
    if len(plans) == 1:
        return Selection(tuple(plans), unknown, unknown, 0)
    with progress.step("selection"):
        judged = [_judged(plans, *parts, rng) for parts in splits(samples)]
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


def _winner(losses: Floats, weight: Floats, share: Floats) -> int:
    """The plan of least loss if it beats the first one by a standard error, otherwise the first.

    ``share`` (n,) is the share of each sample in the mean loss. ``weight`` (n,) is its frequency: it
    stands for that many samples of equal gain, whose mean has a smaller standard error than one sample.
    """
    best = int(np.argmax(without_rounding((losses[0] - losses) @ share)))
    gains = losses[0] - losses[best]
    gain = share @ gains
    error = np.sqrt(share**2 / weight @ (gains - gain) ** 2)
    return best if gain > error else 0


def _judged(
    plans: Sequence[Plan], training: Samples, held: Samples, rng: np.random.RandomState
) -> tuple[NDArray, NDArray, NDArray, NDArray] | None:
    """Log-loss and hit (P, n) of each plan on held-out samples; their weight and importance (n,)."""
    if len(np.unique(training.y)) < 2:
        return None
    losses, hits = np.empty((2, len(plans), len(held.y)))
    for index, plan in enumerate(plans):
        # The whole readout stands for the small one, which approximates it and takes longer to fit, and
        # for the one with regions. Greedy pruning stands for optimal pruning: its time limit is for one
        # search.
        plan = replace(plan, max_neurons=None, max_regions=0, pruning="greedy")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a fold has fewer samples than the user gave
            design = design_network(training, plan, rng, Progress())
        probability = design.network.probabilities(held.X)
        own = probability[np.arange(len(held.y)), held.y]
        losses[index] = -np.log(np.maximum(own, _SMALLEST_PROBABILITY))
        hits[index] = probability.argmax(axis=1) == held.y
    return losses, hits, held.weight, held.importance


def splits(merged: Samples) -> list[tuple[Samples, Samples]]:
    """Pairs of training samples and held-out samples.

    Distinct samples are dealt out in the order of class and value, so that each part is representative.
    Equal samples stay on the same side of a split. Only a sample that is frequent enough to be in every
    fold is divided; with many distinct samples, only if frequent ones make up most of the weight. A
    sample of weight 2 thus counts as two samples.
    """
    weight = merged.weight
    frequent, few = weight >= N_FOLDS, len(weight) <= MAX_SAMPLES_OF_FOLDS
    divided = frequent & (few or weight[frequent].sum() > weight.sum() / 2)
    dealt = np.where(divided, np.minimum(weight, _MOST_DEALT), 1).astype(np.int64)
    # A multiple of the common unit of all weights, so that sums stay exact.
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


def _some_of(numbers: NDArray[np.int64], at_most: int) -> Indices:
    """How many of the ``numbers`` (n,) of equal samples are taken, if ``at_most`` are taken evenly."""
    last = np.cumsum(numbers)
    taken = np.searchsorted(last, evenly(int(last[-1]), at_most), side="right")
    return np.bincount(taken, minlength=len(numbers))
