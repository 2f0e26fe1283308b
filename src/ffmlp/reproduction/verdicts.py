"""What the runs say about the paper's claims: orderings kept or not, values out of our range and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ffmlp import datasets
from ffmlp.reproduction.experiments import Run
from ffmlp.reproduction.paper import Row

Floats = NDArray[np.float64]

METHODS = {
    "ff": "FF-MLP",
    "bp_ff_50": "BP from FF-MLP (50)",
    "bp_random_50": "BP from random (50)",
    "bp_random_15": "BP from random (15)",
}
# The paper's orderings are between these.
COMPARED = ("ff", "bp_ff_50", "bp_random_50")
# A value this few samples from our range may well be another split's.
_FEW_SAMPLES = 2


def values(runs: Sequence[Run], row: Row, method: str, name: str) -> Floats:
    """A field of the runs of one method, split by split, where it is not empty."""
    found = [getattr(run, name) for run in runs if (run.row, run.method) == (row.key, method)]
    return np.array([value for value in found if value is not None], np.float64)


def outside(ours: Floats, reported: float) -> bool:
    """Whether the paper's value is outside the range of ours; one run is no range."""
    return len(ours) > 1 and not ours.min() <= reported <= ours.max()


@dataclass(frozen=True)
class Ordering:
    """Who is best in test accuracy, by the paper and by us.

    ``lead`` and ``spread`` are the mean and the standard deviation, over ``n_splits`` splits, of how far
    the paper's best method is ahead of the best of the others, in points.
    """

    papers_best: tuple[str, ...]
    our_best: str
    lead: float
    spread: float
    n_splits: int

    @property
    def verdict(self) -> str:
        """Undecided within the spread, and on a single split."""
        if self.n_splits < 2 or abs(self.lead) <= self.spread:
            return "undecided"
        return "confirmed" if self.lead > 0 else "contradicted"


def ordering(row: Row, runs: Sequence[Run]) -> Ordering | None:
    """The row's ordering on the splits that all compared methods share, if there are any."""
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
    """Rows on which FF-MLP's mean test accuracy is below the paper's by more than our deviation."""
    tested = {row.key: 100 * values(runs, row, "ff", "test_accuracy") for row in rows}
    return [
        row for row in rows if tested[row.key].mean() < row.reported["ff"][1] - tested[row.key].std()
    ]


def accuracy_notes(row: Row, runs: Sequence[Run]) -> list[str]:
    """A sentence, with a plausible reason, for each accuracy of the paper out of our range."""
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
                f"points ({samples}) {'above' if above else 'below'} our {ours.min():.2f} to "
                f"{ours.max():.2f}, from {len(ours)} splits. {reason}"
            )
    return notes


def _reason(row: Row, method: str, part: str, above: bool, n_missing: int, ours: Floats) -> str:
    """The most plausible of the things in which the paper's run differs from ours."""
    if n_missing <= _FEW_SAMPLES:
        return "So few samples may well be the split: the paper has one."
    drawn = row.dataset in datasets.DRAWN
    if method.startswith("bp_random"):
        pace = "further" if above else "less far"
        return (
            "The paper does not give batch size and scaling of features: its steps seem to lead "
            f"{pace} in as many epochs; and our own random starts lie {np.ptp(ours):.1f} points apart."
        )
    if method == "bp_ff_50":
        return (
            "Weights of size P make accuracy jump from epoch to epoch, so that the last epoch is a draw"
            + (", and the paper does not give the set's noise." if drawn else ".")
        )
    if drawn:
        easier = "easier" if above else "harder"
        return f"The paper does not give the set's noise: its set seems {easier} than ours."
    fit = "closer" if above and part == "train" else "differently"
    return (
        "The paper fits LDA to samples drawn from the mixtures where we use the mixtures themselves, "
        f"and starts them differently: its design of one split may fit {fit}."
    )


def time_notes(
    rows: Sequence[Row], runs: Sequence[Run], columns: dict[str, tuple[str, str, str]]
) -> list[str]:
    """A sentence for each column of times in which the paper's are out of our range.

    ``columns`` are the method and field of our runs and the paper's name of each column.
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
                f"{title}: the paper counts no time on {n_untimed} rows whose blobs are known; ours "
                "goes into their means and covariances."
            )
    return notes


def _range(ratios: list[float], n_rows: int) -> str:
    low, high = (
        f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}" for ratio in (min(ratios), max(ratios))
    )
    share = f"out of our range on {len(ratios)} of {n_rows} rows"
    return f"the paper's time is {share}, {low} to {high} times ours."


_TRAINING = "Theirs was measured on a GPU, which such small batches do not keep busy, ours on a CPU."
_TIME_REASONS = {
    "gmm": "Another machine and another implementation of expectation maximisation.",
    "boundaries": "Another machine; and we price deletions on the table of regions, not on the samples.",
    "regions": "Another machine; and pruning has made the table of regions already.",
    "classes": "Another machine; and the classes are the majorities in that table.",
    "total": "The sum of the steps before.",
    "bp_random_15": _TRAINING,
    "bp_random_50": _TRAINING,
}
