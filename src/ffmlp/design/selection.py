"""Which plan is best for the data: cross-validated on the training samples, then told as a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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
        judged = [_judged(samples, plans, *parts, rng) for parts in splits(samples)]
        judged = [part for part in judged if part is not None]
        if not judged:  # all but a sample or two are of one class
            return Selection(tuple(plans), unknown, unknown, 0)
        losses, hits, importance = (
            np.concatenate(parts, axis=-1) for parts in zip(*judged, strict=True)
        )
        share = importance / importance.sum()
        selection = Selection(tuple(plans), losses @ share, hits @ share, _winner(losses, share))
        progress.say(f"{len(plans)} plans\n{selection}")
    return selection


def _winner(losses: NDArray[np.float64], share: NDArray[np.float64]) -> int:
    """The plan of least loss, or the first unless the best one beats it by a standard error."""
    best = int(np.argmin(np.round(losses @ share, 9)))
    gains = losses[0] - losses[best]
    gain = share @ gains
    error = np.sqrt(share**2 @ (gains - gain) ** 2)
    return best if gain > error else 0


def _judged(
    samples: Samples,
    plans: Sequence[Plan],
    planned: NDArray[np.intp],
    judged: NDArray[np.intp],
    rng: np.random.RandomState,
) -> tuple[NDArray, NDArray, NDArray] | None:
    """Log-loss and hit of each plan (P, n) on samples it was not made with, and what they weigh (n,)."""
    training, held = samples.select(planned), samples.select(judged)
    if len(np.unique(training.y)) < 2:
        return None
    losses, hits = np.empty((2, len(plans), len(held.y)))
    for index, plan in enumerate(plans):
        probability = _probabilities(training, plan, held.X, rng)
        own = probability[np.arange(len(held.y)), held.y]
        losses[index] = -np.log(np.maximum(own, _SMALLEST_PROBABILITY))
        hits[index] = probability.argmax(axis=1) == held.y
    return losses, hits, held.importance


def _probabilities(
    training: Samples, plan: Plan, X: NDArray, rng: np.random.RandomState
) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a fold has fewer samples than the user gave
        # A small readout does what the whole one does, which is made faster.
        design = design_network(training, replace(plan, max_neurons=None), rng, Progress())
    return design.network.probabilities(X)


def splits(samples: Samples) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Pairs of samples to make plans with and others to judge them by, as indices.

    Distinct samples are dealt out in the order of class and value, so that each part is like the
    whole. Equal samples stay together: none is judged by its twin, and a sample of weight 2 counts as
    two samples do.
    """
    order = np.lexsort((*samples.X.T[::-1], samples.y))
    rows, labels = samples.X[order], samples.y[order]
    new = np.ones(len(order), bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1) | (labels[1:] != labels[:-1])
    distinct = np.empty(len(order), np.intp)
    distinct[order] = np.cumsum(new) - 1
    n_distinct = int(np.count_nonzero(new))
    if n_distinct <= MAX_SAMPLES_OF_FOLDS:
        fold = distinct % N_FOLDS
        parts = [(fold != number, fold == number) for number in range(min(N_FOLDS, n_distinct))]
    else:
        planned = evenly(n_distinct, N_PLANNED)
        others = np.setdiff1d(np.arange(n_distinct), planned)
        judged = others[evenly(len(others), N_JUDGED)]
        parts = [(np.isin(distinct, planned), np.isin(distinct, judged))]
    return [(np.flatnonzero(planned), np.flatnonzero(judged)) for planned, judged in parts]
