"""Verdicts on the paper's claims: paired tests over the splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from scipy.special import stdtr

from ffmlp import datasets
from ffmlp.arrays import Floats
from ffmlp.reproduction.experiments import Run
from ffmlp.reproduction.reported import Row

# A difference is significant below this probability of a larger one by chance, on both sides.
LEVEL = 0.05
# "Little effect" is a change of less than this many points.
LITTLE = 1.0

METHODS = {
    "literal": "literal FF-MLP",
    "ff": "our FF-MLP",
    "bp_literal_50": "BP from literal FF-MLP (50)",
    "bp_ff_50": "BP from our FF-MLP (50)",
    "bp_random_50": "BP from random (50)",
    "bp_random_15": "BP from random (15)",
}


def values(runs: Sequence[Run], row: Row, method: str, name: str) -> Floats:
    """The values of a field for the runs of one method, without empty ones."""
    fields = (getattr(run, name) for run in runs if (run.row, run.method) == (row.key, method))
    return np.array([value for value in fields if value is not None], np.float64)


def by_split(runs: Sequence[Run], row: Row, method: str, name: str) -> dict[int, float]:
    """The mean of a field over the starts of each split."""
    of_starts: dict[int, list[float]] = {}
    for run in runs:
        value = getattr(run, name)
        if (run.row, run.method) == (row.key, method) and value is not None:
            of_starts.setdefault(run.split, []).append(value)
    return {split: float(np.mean(each)) for split, each in of_starts.items()}


def n_test(row: Row) -> int:
    """The number of test samples of a row."""
    return int(np.ceil(datasets.TEST_SHARE * datasets.N_SAMPLES[row.dataset]))


def outside(ours: Floats, reported: float) -> bool:
    """Whether the paper's value is outside the range of ours; a single run has no range."""
    return len(ours) > 1 and not ours.min() <= reported <= ours.max()


@dataclass(frozen=True)
class Comparison:
    """The differences of two methods in points, split by split: mean, spread, p-value and wins."""

    mean: float
    spread: float
    p_value: float
    n_wins: int
    n_splits: int

    @classmethod
    def of(cls, first: dict[int, float], second: dict[int, float], row: Row) -> Comparison:
        """Compare shares of two methods on the splits that both have."""
        splits = sorted(first.keys() & second.keys())
        difference = 100 * np.array([first[split] - second[split] for split in splits])
        n_wins = int(np.count_nonzero(difference > 0))
        mean, spread = (float(difference.mean()), float(difference.std())) if splits else (0.0, 0.0)
        return cls(mean, spread, paired_p_value(difference, row), n_wins, len(splits))

    @property
    def sign(self) -> int:
        """1 or -1 if the difference is significant, 0 if it is not."""
        return int(np.sign(self.mean)) if self.p_value < LEVEL else 0


def paired_p_value(difference: Floats, row: Row) -> float:
    """The p-value of a paired t-test on differences, one per split.

    Splits of a real set share samples, so their differences are not independent. The variance of their
    mean then has the additional term n_test / n_train (Nadeau and Bengio, 2003). Synthetic sets are
    drawn anew for each split.
    """
    n = len(difference)
    if n < 2 or not difference.any():
        return 1.0
    share = 0.0 if row.dataset in datasets.SYNTHETIC else datasets.TEST_SHARE
    error = difference.std(ddof=1) * np.sqrt(1 / n + share / (1 - share))
    if error == 0:  # the same difference on every split
        return 0.0
    return float(2 * stdtr(n - 1, -abs(difference.mean()) / error))


@dataclass(frozen=True)
class Ordering:
    """The methods of best test accuracy in the paper, and how far they lead in our runs.

    ``lead`` compares the weakest of the paper's best methods with the strongest of the others, by their
    means. Methods that the paper has within one sample of its best are tied with it.
    """

    papers_best: tuple[str, ...]
    our_best: str
    lead: Comparison
    verdict: str


def ordering(row: Row, runs: Sequence[Run], design: str) -> Ordering | None:
    """The ordering of a row with FF-MLP in the "literal" or in our version ("ff").

    A claim is confirmed if each of the paper's best methods is significantly better than each other one,
    and contradicted if any of the others is significantly better than one of them.
    """
    ours = {"ff": design, "bp_ff_50": f"bp_{design}_50", "bp_random_50": "bp_random_50"}
    reported = {ours[name]: pair[1] for name, pair in row.reported.items() if name in ours}
    tested = {method: by_split(runs, row, method, "test_accuracy") for method in reported}
    if not all(tested.values()):
        return None
    means = {method: np.mean(list(each.values())) for method, each in tested.items()}
    one_sample = 100 / n_test(row) + 1e-9
    papers_best = tuple(m for m in reported if reported[m] >= max(reported.values()) - one_sample)
    others = [method for method in reported if method not in papers_best]
    if not others:
        strongest, weakest = (choose(means, key=means.__getitem__) for choose in (max, min))
        lead = Comparison.of(tested[strongest], tested[weakest], row)
        return Ordering(papers_best, strongest, lead, "tie in the paper")
    pairs = {
        (best, other): Comparison.of(tested[best], tested[other], row)
        for best, other in product(papers_best, others)
    }
    signs = [pair.sign for pair in pairs.values()]
    closest = min(papers_best, key=means.__getitem__), max(others, key=means.__getitem__)
    verdict = "confirmed" if min(signs) > 0 else "contradicted" if min(signs) < 0 else "undecided"
    return Ordering(papers_best, max(means, key=means.__getitem__), pairs[closest], verdict)


def verdict_counts(rows: Sequence[Row], runs: Sequence[Run], design: str) -> Counter[str]:
    """How many orderings have each verdict."""
    made = (ordering(row, runs, design) for row in rows)
    return Counter(each.verdict for each in made if each)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper's Sec. V-A on backpropagation from the designed network."""

    row: str
    text: str
    judge: Callable[[Effect], str]


@dataclass(frozen=True)
class Effect:
    """The changes of the bare network by backpropagation, and the median number of drops in a run."""

    train: Comparison
    test: Comparison
    batch_drops: float
    train_drops: float
    test_drops: float


def effect(row: Row, runs: Sequence[Run], method: str = "bp_literal_50") -> Effect:
    """The effect of backpropagation on the network that it starts from."""
    train, test = (
        Comparison.of(
            by_split(runs, row, method, f"{part}_accuracy"),
            by_split(runs, row, method, f"start_{part}_accuracy"),
            row,
        )
        for part in ("train", "test")
    )
    drops = (values(runs, row, method, f"{part}_drops") for part in ("batch", "train", "test"))
    return Effect(train, test, *(float(np.median(each)) for each in drops))


def _little(made: Effect) -> str:
    small = all(abs(change.mean) < LITTLE for change in (made.train, made.test))
    return "confirmed" if small and made.test_drops == 0 else "contradicted"


def _only_test_drops(made: Effect) -> str:
    if made.test_drops == 0:
        return "contradicted"
    if made.batch_drops == 0 and made.train_drops > 0:
        return (
            "confirmed if training accuracy is averaged over batches; at the end of epochs it drops, too"
        )
    return "confirmed" if made.train_drops == 0 else "contradicted"


def _both(sign: int, made: Effect) -> str:
    signs = {made.train.sign, made.test.sign}
    return "confirmed" if signs == {sign} else "contradicted" if -sign in signs else "undecided"


CLAIMS = (
    Claim("three_blobs", "1. BP has very little effect.", _little),
    Claim(
        "nine_blobs_0.3", "2. Training accuracy stays, test accuracy drops at times.", _only_test_drops
    ),
    Claim("four_moons", "3. BP lowers training and test accuracy.", partial(_both, -1)),
    Claim("nine_blobs_0.1", "3. BP lowers training and test accuracy.", partial(_both, -1)),
    Claim("circle_and_ring_16", "4. BP raises training and test accuracy.", partial(_both, 1)),
)


def stuck_below(row: Row, runs: Sequence[Run]) -> float:
    """The training accuracy below which a run from random weights is stuck.

    It is half-way between the share of the largest class and the best run of the row.
    """
    trained = [
        values(runs, row, f"bp_{start}_50", "train_accuracy") for start in ("random", "paper_sizes")
    ]
    majority = values(runs, row, "majority", "train_accuracy")
    return float(majority.mean() + np.concatenate(trained).max()) / 2
