"""Verdicts on the paper's orderings, and reasons for values of the paper outside our range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ffmlp import datasets
from ffmlp.arrays import Floats
from ffmlp.reproduction.experiments import Run
from ffmlp.reproduction.paper import Row
from ffmlp.words import counted

METHODS = {
    "ff": "FF-MLP",
    "bp_ff_50": "BP from FF-MLP (50)",
    "bp_random_50": "BP from random (50)",
    "bp_random_15": "BP from random (15)",
}
# The methods that the paper orders.
COMPARED = ("ff", "bp_ff_50", "bp_random_50")
# A value within this many samples of our range may come from another split.
_FEW_SAMPLES = 2


def values(runs: Sequence[Run], row: Row, method: str, name: str) -> Floats:
    """The values of a field for the runs of one method, without empty ones."""
    found = [getattr(run, name) for run in runs if (run.row, run.method) == (row.key, method)]
    return np.array([value for value in found if value is not None], np.float64)


def outside(ours: Floats, reported: float) -> bool:
    """Whether the paper's value is outside the range of ours; a single run has no range."""
    return len(ours) > 1 and not ours.min() <= reported <= ours.max()


@dataclass(frozen=True)
class Ordering:
    """The methods of best test accuracy, in the paper and in our runs.

    ``lead`` and ``spread`` are the mean and the standard deviation, over ``n_splits`` splits, of the
    lead of the paper's best method over the best of the others, in points.
    """

    papers_best: tuple[str, ...]
    our_best: str
    lead: float
    spread: float
    n_splits: int

    @property
    def verdict(self) -> str:
        """Undecided if the lead is within one standard deviation, or if there is a single split."""
        if self.n_splits < 2 or abs(self.lead) <= self.spread:
            return "undecided"
        return "confirmed" if self.lead > 0 else "contradicted"


def ordering(row: Row, runs: Sequence[Run]) -> Ordering | None:
    """The ordering of a row on the splits that all its methods share; None if there are none."""
    reported = {method: row.reported[method][1] for method in COMPARED if method in row.reported}
    tested: dict[str, dict[int, float]] = {method: {} for method in reported}
    for run in runs:
        if run.row == row.key and run.method in tested and run.test_accuracy is not None:
            tested[run.method][run.split] = 100 * run.test_accuracy
    splits = sorted(set.intersection(*(set(by_split) for by_split in tested.values())))
    if not splits:
        return None
    ours = {method: np.array([by_split[s] for s in splits]) for method, by_split in tested.items()}
    papers_best = tuple(m for m in reported if reported[m] == max(reported.values()))

    def best(methods: Sequence[str]) -> str:
        return max(methods, key=lambda method: ours[method].mean())

    others = [method for method in reported if method not in papers_best]
    leads = ours[best(papers_best)] - ours[best(others)]
    return Ordering(papers_best, best(list(ours)), float(leads.mean()), float(leads.std()), len(splits))


def below_the_paper(rows: Sequence[Row], runs: Sequence[Run]) -> list[Row]:
    """Rows with a mean test accuracy of FF-MLP below the paper's by more than a standard deviation."""
    tested = {row.key: 100 * values(runs, row, "ff", "test_accuracy") for row in rows}
    return [
        row for row in rows if tested[row.key].mean() < row.reported["ff"][1] - tested[row.key].std()
    ]


def accuracy_notes(row: Row, runs: Sequence[Run]) -> list[str]:
    """A note, with a plausible reason, on each accuracy of the paper outside our range."""
    notes = []
    n_samples = datasets.N_SAMPLES[row.dataset]
    n_test = int(np.ceil(datasets.TEST_SHARE * n_samples))
    sizes = {"train": n_samples - n_test, "test": n_test}
    for method, pair in row.reported.items():
        for (part, size), reported in zip(sizes.items(), pair, strict=True):
            ours = 100 * values(runs, row, method, f"{part}_accuracy")
            if not outside(ours, reported):
                continue
            above = reported > ours.max()
            gap = reported - ours.max() if above else ours.min() - reported
            n_missing = max(1, round(gap * size / 100))
            samples = f"{n_missing} of {size} samples"
            reason = _reason(row, method, part, above, n_missing, ours)
            notes.append(
                f"{row.title}, {METHODS[method]}, {part}: the paper's {reported:.2f} is {gap:.2f} "
                f"points ({samples}) {'above' if above else 'below'} our range, {ours.min():.2f} to "
                f"{ours.max():.2f} over {len(ours)} splits. {reason}"
            )
    return notes


def _reason(row: Row, method: str, part: str, above: bool, n_missing: int, ours: Floats) -> str:
    """The most plausible difference between the paper's run and ours."""
    if n_missing <= _FEW_SAMPLES:
        return "So few samples can be an effect of the split: the paper has only one."
    synthetic = row.dataset in datasets.SYNTHETIC
    if method.startswith("bp_random"):
        pace = "faster" if above else "slower"
        return (
            "The paper does not report batch size and feature scaling: its training seems to progress "
            f"{pace} than ours. Our random initialisations differ by up to {np.ptp(ours):.1f} points."
        )
    if method == "bp_ff_50":
        return (
            "Weights of size P make the accuracy jump from epoch to epoch, so the last epoch is partly "
            "chance." + (" The paper does not report the noise of the set." if synthetic else "")
        )
    if synthetic:
        easier = "easier" if above else "harder"
        return f"The paper does not report the noise of the set: its set seems {easier} than ours."
    fit = "more closely" if above and part == "train" else "differently"
    return (
        "The paper fits LDA to samples from the mixtures, we use the mixtures themselves, and the "
        f"initialisation differs: its design may fit the training set {fit}."
    )


def time_notes(
    rows: Sequence[Row], runs: Sequence[Run], columns: dict[str, tuple[str, str, str]]
) -> list[str]:
    """A note on each column with times of the paper outside our range.

    ``columns`` has the method and field of our runs, and the paper's name, of each column.
    """
    notes = []
    for title, (method, field, name) in columns.items():
        ratios = []
        n_untimed = 0
        for row in rows:
            ours, reported = values(runs, row, method, field), row.reported_seconds[name]
            if outside(ours, reported):
                n_untimed += reported == 0
                ratios += [reported / ours.mean()] if reported > 0 else []
        if ratios:
            notes.append(f"{title}: {_range(ratios, len(rows))} {_TIME_REASONS[name]}")
        if n_untimed:
            notes.append(
                f"{title}: the paper reports 0 for {counted(n_untimed, 'row')} with known blobs; our "
                "time is that of their means and covariances."
            )
    return notes


def _range(ratios: list[float], n_rows: int) -> str:
    low, high = (
        f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}" for ratio in (min(ratios), max(ratios))
    )
    share = f"outside our range on {len(ratios)} of {n_rows} rows"
    return f"the paper's time is {share} ({low} to {high} times ours)."


_TRAINING = "The paper used a GPU, which is slow for small batches; we use a CPU."
_TIME_REASONS = {
    "gmm": "Another machine and another implementation of expectation maximisation.",
    "boundaries": "Another machine, and we count errors in the region table, not over the samples.",
    "regions": "Another machine, and pruning has already made the region table.",
    "classes": "Another machine, and the classes are the majorities in the region table.",
    "total": "The sum of the steps.",
    "bp_random_15": _TRAINING,
    "bp_random_50": _TRAINING,
}
