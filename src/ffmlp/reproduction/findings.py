"""The report: its findings in five sentences, and all tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ffmlp.report.layout import Table
from ffmlp.reproduction import report_tables
from ffmlp.reproduction.experiments import Run
from ffmlp.reproduction.report_tables import LARGE, milliseconds, swept_by_size
from ffmlp.reproduction.reported import ROWS, Row
from ffmlp.reproduction.verdicts import values, verdict_counts
from ffmlp.words import counted

TITLE = "FF-MLP: the paper's experiments, repeated"
NAMES = "Methods and names"
_NAMES = {
    "literal FF-MLP": (
        "The paper's method and nothing else: mixtures by expectation maximisation (GMM), LDA on "
        "samples drawn from them, greedy pruning, and the answer of the bare network. "
        '`FFMLPClassifier(2, design="paper", error_threshold=0.05)`.'
    ),
    "our FF-MLP": (
        "The region design, with three deviations: a sample in a region without training samples "
        "belongs to the region that it violates least (the nearest-region rule), LDA is computed from "
        "the mixtures in closed form, and covariances of few samples are shrunk. "
        '`FFMLPClassifier(2, design="region", error_threshold=0.05)`.'
    ),
    "bare network": (
        "The layers as they are: the class is the largest output, and the first class where no neuron "
        "of l_2 responds."
    ),
    "BP": (
        "Backpropagation: stochastic gradient descent on the cross-entropy with learning rate 0.01, "
        "no momentum, batches of 32, from a designed network or from random weights. The number in "
        "brackets counts the epochs. Epoch 0 is the bare network before training."
    ),
    "D_1, D_2": (
        "The number of neurons in layer l_1, two for each hyperplane, and in layer l_2, one for each "
        "region with training samples."
    ),
    "G, L, N": "The number of Gaussian blobs, of hyperplanes and of features.",
    "splits": (
        "The paper has one split of each set, we have several: 60 % for training, 40 % for testing. "
        "Numbers are mean ± standard deviation. Synthetic sets are drawn anew for each split."
    ),
    "significant": (
        "By a paired t-test at 5 % over the splits. The splits of a real set share samples; the test "
        "is corrected for that (Nadeau and Bengio, 2003)."
    ),
}


def rows_of(runs: Sequence[Run]) -> list[Row]:
    """The rows that have runs, in the paper's order."""
    present = {run.row for run in runs}
    return [row for row in ROWS if row.key in present]


def findings(runs: list[Run]) -> list[str]:
    """The findings in five sentences."""
    rows = rows_of(runs)
    n_splits = 1 + max(run.split for run in runs)
    chain = report_tables.DEVIATION_CHAIN
    means = [report_tables.mean_over_rows(rows, runs, method) for method in chain]
    steps = [f"{after - before:+z.1f}" for before, after in pairwise(means)]
    paper = np.mean([row.reported["ff"][1] for row in rows])
    verdicts = verdict_counts(rows, runs, "literal")
    n_claims = sum(verdicts.values()) - verdicts["tie in the paper"]
    stuck = 100 * np.mean([report_tables.stuck_share(row, runs) for row in rows])
    duels = [report_tables.against_random(row, runs) for row in rows]
    n_better, n_worse = (sum(duel.sign == sign for duel in duels) for sign in (1, -1))
    ratios = [
        values(runs, row, "bp_random_50", "seconds").mean() / values(runs, row, "ff", "seconds").mean()
        for row in rows
    ]
    return [
        f"1. The paper's method to the letter has a mean test accuracy of {means[0]:.1f} % over "
        f"{counted(len(rows), 'row')} and {counted(n_splits, 'split')} (the paper: {paper:.1f} %); "
        f"ours has {means[-1]:.1f} %: the nearest-region rule gives {steps[0]} points, LDA in closed "
        f"form {steps[1]}, shrunk covariances {steps[2]}.",
        f"2. With the literal method, {verdicts['confirmed']} of {counted(n_claims, 'ordering')} that "
        f"the paper claims are confirmed, {verdicts['contradicted']} contradicted and "
        f"{verdicts['undecided']} undecided; on {counted(verdicts['tie in the paper'], 'row')} the "
        "paper's numbers are within one sample.",
        f"3. Backpropagation from random weights of the same size is stuck in {stuck:.0f} % of its "
        f"runs; our FF-MLP is significantly better on {n_better} of {counted(len(rows), 'row')} and "
        f"significantly worse on {n_worse}.",
        _on_larger_networks(rows, runs),
        f"5. Designing a network takes {_range(rows, runs, 'ff')} ms, training it for 50 epochs "
        f"{_range(rows, runs, 'bp_random_50')} ms: {_ratio(min(ratios))} to {_ratio(max(ratios))} "
        "times as long.",
    ]


def _on_larger_networks(rows: Sequence[Row], runs: list[Run]) -> str:
    """The finding on backpropagation from designed networks, compared with their start."""
    _, large = swept_by_size(rows, runs)
    if not large:
        return "4. None of the designed networks of these rows is large."
    changes = np.array([network.change for network in large])
    silent = np.mean([network.before - network.predicted for network in large])
    return (
        f"4. Backpropagation from designed networks with more than {LARGE} neurons in "
        f"l_1 changes their test accuracy by {np.median(changes):+z.1f} points in the median of "
        f"{counted(len(large), 'network')}, compared with their start ({np.sum(changes > 0)} gain, "
        f"{np.sum(changes < 0)} lose); reading them as bare networks costs {-silent:.1f} points before "
        "any training."
    )


def _range(rows: Sequence[Row], runs: list[Run], method: str) -> str:
    seconds = [values(runs, row, method, "seconds").mean() for row in rows]
    return " to ".join(milliseconds(second) for second in (min(seconds), max(seconds)))


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def tables(runs: list[Run], missing: dict[str, str]) -> list[Table]:
    """All tables, for the rows that were run."""
    rows = rows_of(runs)
    absent = [[key, reason] for key, reason in missing.items()]
    missing_rows = Table("Missing rows", "Rows that could not be run.", ["row", "reason"], absent)
    made = [*report_tables.tables(rows, runs), missing_rows]
    names = Table(NAMES, "", ["name", "meaning"], [list(pair) for pair in _NAMES.items()])
    return [names, *(table for table in made if table.lines)]
