"""Tables on the designed networks: sizes, times, pruning, heteroscedastic LDA, robust accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb

import numpy as np

from ffmlp.report.layout import Table
from ffmlp.reproduction.accuracy_tables import duel, milliseconds, with_spread
from ffmlp.reproduction.experiments import MAX_SAMPLES, RADII, Run
from ffmlp.reproduction.reported import Row
from ffmlp.reproduction.verdicts import Comparison, by_split, values

SIZES = "Sizes of the networks"
TIMES = "Table III: time"
OPTIMAL = "Is greedy pruning optimal?"
HETEROSCEDASTIC = "Does heteroscedastic LDA help?"
ROBUSTNESS = "Is FF-MLP vulnerable to adversarial attacks?"


def tables(rows: Sequence[Row], runs: list[Run]) -> list[Table]:
    """The tables of this module."""
    made = (_sizes, _times, _optimal, _heteroscedastic, _robustness)
    return [table(rows, runs) for table in made]


def _sizes(rows: Sequence[Row], runs: list[Run]) -> Table:
    lines = []
    for row in rows:
        n_blobs, n_features = (int(values(runs, row, "ff", n).max()) for n in ("n_blobs", "d_in"))
        found = [int(values(runs, row, method, "d_1").max()) for method in ("literal", "ff")]
        largest = max(*found, *(row.reported_sizes or ())[:1])
        bounds = {"d_1": n_blobs * (n_blobs - 1)}
        bounds["d_2"] = sum(comb(largest // 2, i) for i in range(n_features + 1))
        line = [row.title, str(n_blobs)]
        for place, name in enumerate(("d_1", "d_2")):
            for method in ("literal", "ff"):
                line.append(f"{values(runs, row, method, name).mean():.1f}".removesuffix(".0"))
            line += [str(row.reported_sizes[place]) if row.reported_sizes else "–", f"{bounds[name]:,}"]
        lines.append(line)
    header = ["set", "G"]
    for name in ("D_1", "D_2"):
        header += [f"{name}, literal", f"{name}, ours", f"{name}, paper", f"{name}, at most"]
    text = (
        "Neurons in l_1 and l_2, mean over splits. The bounds are the paper's: G blobs have G(G − "
        "1)/2 pairs and as many hyperplanes, each of two neurons, so D_1 ≤ G(G − 1); L hyperplanes "
        "divide the space of N features into at most Σ C(L, i) regions, i = 0 to N, so D_2 is at most "
        "that. L is the largest number that pruning keeps on any split, or the paper's."
    )
    return Table(SIZES, text, header, lines)


def _times(rows: Sequence[Row], runs: list[Run]) -> Table:
    columns = {"blobs (GMM)": ("ff", "gmm", "gmm"), "hyperplanes": ("ff", "boundaries", "boundaries")}
    columns |= {step: ("ff", step, step) for step in ("regions", "classes")}
    columns |= {"total": ("ff", "seconds", "total"), "literal, total": ("literal", "seconds", "total")}
    for n_epochs in (15, 50):
        columns[f"BP ({n_epochs})"] = f"bp_random_{n_epochs}", "seconds", f"bp_random_{n_epochs}"
    lines = []
    for row in rows:
        line = [row.title]
        for method, field, name in columns.values():
            ours = values(runs, row, method, field)
            line.append(f"{milliseconds(ours.mean())} / {milliseconds(row.reported_seconds[name])}")
        reached = values(runs, row, "bp_random_50", "reached")
        n_trained = len(values(runs, row, "bp_random_50", "seconds"))
        when = f", epoch {np.median(reached):.0f}" if len(reached) else ""
        lines.append([*line, f"{len(reached)} of {n_trained}{when}"])
    text = (
        "Milliseconds: our mean / the paper's, on another machine (with a GPU for BP, which small "
        "batches do not keep busy). Blobs that are known only need their means and covariances. Last "
        "column: how many runs of BP (50) reach the test accuracy of our FF-MLP, and at which epoch "
        "(median)."
    )
    return Table(TIMES, text, ["set", *columns, "BP reaches FF-MLP"], lines)


def _optimal(rows: Sequence[Row], runs: list[Run]) -> Table:
    lines = []
    for row in rows:
        first = {run.method: run for run in runs if run.row == row.key and run.split == 0}
        if run := first.get("ff_optimal"):
            kept = [str((size or 0) // 2) for size in (first["ff"].d_1, run.d_1)]
            found = [str(run.proved_minimum), _optimality(row, run), f"{run.seconds:.2f}"]
            lines.append([row.title, *kept, *found])
    header = ["set", "greedy keeps", "fewest found", "lower bound", "optimality", "seconds"]
    text = (
        "Number of hyperplanes on the first split, with the threshold of the row. The gap is the "
        "number found minus the lower bound, where the minimum was not proved in time. No deletion is "
        "allowed if the error rate of all hyperplanes is not below the threshold."
    )
    return Table(OPTIMAL, text, header, lines)


def _optimality(row: Row, run: Run) -> str:
    gap = (run.d_1 or 0) // 2 - (run.proved_minimum or 0)
    if gap:
        return f"not proved, gap {gap}"
    allowed = 1 - (run.train_accuracy or 0) < (row.error_threshold or 0)
    return "proved" if allowed else "no deletion allowed"


def _heteroscedastic(rows: Sequence[Row], runs: list[Run]) -> Table:
    lines, signs = [], Counter[int]()
    for row in rows:
        lda, ours = (by_split(runs, row, m, "test_accuracy") for m in ("ff", "ff_heteroscedastic"))
        means = (f"{100 * np.mean(list(each.values())):.2f}" for each in (lda, ours))
        made = Comparison.of(ours, lda, row)
        signs[made.sign] += 1
        lines.append([row.title, *means, *duel(made)])
    header = ["set", "LDA", "heteroscedastic", "difference", "wins", "p"]
    text = (
        "Mean test accuracy in % of our FF-MLP with the linear rule of least error between two blobs "
        f"instead of LDA. It is significantly better on {signs[1]} rows and significantly worse on "
        f"{signs[-1]}, of {len(rows)}."
    )
    return Table(HETEROSCEDASTIC, text, header, lines)


def _robustness(rows: Sequence[Row], runs: list[Run]) -> Table:
    methods = tuple(f"robust_{name}" for name in ("ff", "ff_attacked", "ff_bare", "bp_ff", "bp_random"))
    lines, best = [], Counter[float]()
    for row in rows:
        for radius in RADII:
            at_radius = [run for run in runs if run.setting == f"radius={radius:g}"]
            accuracies = [100 * values(at_radius, row, method, "test_accuracy") for method in methods]
            if not all(map(len, accuracies)):
                continue
            means = [ours.mean() for ours in accuracies]
            best[radius] += means[0] >= max(means[3:])
            lines.append([row.title, f"{radius:g}", *map(with_spread, accuracies)])
    won = ", ".join(f"{best[radius]} at radius {radius:g}" for radius in RADII if radius in best)
    n_rows = len({line[0] for line in lines})
    text = (
        f"Robust accuracy is the share of test samples (at most {MAX_SAMPLES}) that are right at every "
        "point within a Euclidean radius, in standard deviations of the features; in %, mean ± "
        "standard deviation over splits. For FF-MLP it is exact, also in regions without training "
        "samples. For networks from backpropagation it is the accuracy under PGD and random search, "
        "an upper bound; FF-MLP under the same attacks shows how loose the bound is. BP from FF-MLP "
        f"starts from its bare network, without the nearest-region rule. Number of rows, of {n_rows}, "
        "on which the exact value of FF-MLP is at least that of both networks from backpropagation: "
        f"{won}."
    )
    names = (
        "FF-MLP, exact", "FF-MLP, attacked", "bare network of FF-MLP, attacked",
        "BP from FF-MLP, attacked", "BP from random, attacked",
    )  # fmt: skip
    return Table(ROBUSTNESS, text, ["set", "radius", *names], lines, folded=True)
