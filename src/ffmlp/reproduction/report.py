"""Tables of the paper's numbers next to ours."""

from __future__ import annotations

from collections import Counter

from ffmlp.arrays import Floats
from ffmlp.reports.pages import Table
from ffmlp.reproduction.experiments import PEERS, Run
from ffmlp.reproduction.paper import ROWS, Row
from ffmlp.reproduction.robust_accuracy import MAX_SAMPLES, RADII
from ffmlp.reproduction.verdicts import (
    METHODS,
    accuracy_notes,
    below_the_paper,
    ordering,
    outside,
    time_notes,
    values,
)

TITLE = "FF-MLP: the paper's experiments, repeated"
MARK = "†"

TABLE_I = "Table I: accuracy on two-dimensional sets"
ORDERINGS = "The paper's orderings, row by row"
SIZES = "Sizes of the networks"
ROBUSTNESS = "Is FF-MLP vulnerable to adversarial attacks?"

_NOISE = (
    " The paper does not report the noise of these sets, so it is our choice. For circle-and-ring and "
    "2-new-moons it was adjusted on the splits shown here: agreement on these two sets is not "
    "independent evidence."
)


def _rows_of(runs: list[Run]) -> list[Row]:
    present = {run.row for run in runs}
    return [row for row in ROWS if row.key in present]


def introduction(runs: list[Run]) -> list[str]:
    """What the report is, and its main results, in a few paragraphs."""
    rows = _rows_of(runs)
    verdicts = Counter(made.verdict for row in rows if (made := ordering(row, runs)) is not None)
    below = [row.title for row in below_the_paper(rows, runs)]
    return [
        "FF-MLP designs a multilayer perceptron in one feedforward pass, without backpropagation. This "
        "report repeats the experiments of the paper that proposed it, on several random splits instead "
        f"of one, and shows the paper's numbers next to ours. {MARK} marks numbers of the paper outside "
        "the range of our splits; a note below the table gives a plausible reason.",
        f"Of the paper's orderings in test accuracy, {verdicts['confirmed']} are confirmed, "
        f"{verdicts['contradicted']} contradicted and {verdicts['undecided']} undecided.",
        "Rows with a mean test accuracy of FF-MLP below the paper's by more than one of our standard "
        f"deviations: {', '.join(below) or 'none'} (of {len(rows)}). The noise of two synthetic sets, "
        "circle-and-ring and 2-new-moons, was chosen with this criterion.",
    ]


def tables(runs: list[Run], missing: dict[str, str]) -> list[Table]:
    """All tables, for the rows that were run."""
    rows = _rows_of(runs)
    two_dimensional = [row for row in rows if "bp_ff_50" in row.reported]
    real = [row for row in rows if "bp_ff_50" not in row.reported]
    absent = [[key, reason] for key, reason in missing.items()]
    made = [
        _accuracies(TABLE_I, two_dimensional, runs, _NOISE),
        _accuracies("Table II: accuracy on real sets", real, runs),
        _orderings(rows, runs),
        _sizes(rows, runs),
        _times(rows, runs),
        _peers(rows, runs),
        _optimal(rows, runs),
        _heteroscedastic(rows, runs),
        _sweep(rows, runs),
        _robustness(rows, runs),
        Table("Missing rows", "Rows that could not be run.", ["row", "reason"], absent),
    ]
    return [table for table in made if table.lines]


def _mean(ours: Floats, digits: int = 2) -> str:
    """Mean ± standard deviation, which a single run does not have."""
    if not len(ours):
        return "–"
    spread = f" ± {ours.std():.{digits}f}" if len(ours) > 1 else ""
    return f"{ours.mean():.{digits}f}{spread}"


def _compared(ours: Floats, reported: float, digits: int = 2) -> str:
    """Our mean / the paper's value, marked if it is outside our range."""
    mark = MARK if outside(ours, reported) else ""
    return f"{_mean(ours, digits)} / {reported:.{digits}f}{mark}"


def _accuracies(title: str, rows: list[Row], runs: list[Run], remark: str = "") -> Table:
    parts = ("train", "test")
    methods = rows[0].reported if rows else ()
    lines = []
    for row in rows:
        line = [row.title]
        for method, pair in row.reported.items():
            for part, reported in zip(parts, pair, strict=True):
                ours = 100 * values(runs, row, method, f"{part}_accuracy")
                line.append(_compared(ours, reported))
        lines.append(line)
    text = (
        "Accuracy in %: ours, mean ± standard deviation over splits / the paper's, on one split. "
        f"{MARK}: the paper's value is outside the range of our splits.{remark}"
    )
    header = ["set", *(f"{METHODS[method]}, {part}" for method in methods for part in parts)]
    notes = [note for row in rows for note in accuracy_notes(row, runs)]
    return Table(title, text, header, lines, notes)


def _orderings(rows: list[Row], runs: list[Run]) -> Table:
    lines = []
    for row in rows:
        if made := ordering(row, runs):
            best = " and ".join(METHODS[method] for method in made.papers_best)
            lead = f"{made.lead:+z.2f}" + (f" ± {made.spread:.2f}" if made.n_splits > 1 else "")
            ours = [METHODS[made.our_best], lead, str(made.n_splits), made.verdict]
            lines.append([row.title, best, *ours])
    header = ["set", "paper's best", "our best", "lead of the paper's best", "splits", "verdict"]
    text = (
        "Which method has the best test accuracy? The lead is the difference in points between the "
        "paper's best method and the best other one, mean ± standard deviation over our splits. The "
        "verdict is undecided if the lead is within one standard deviation, or on a single split."
    )
    return Table(ORDERINGS, text, header, lines)


def _sizes(rows: list[Row], runs: list[Run]) -> Table:
    lines = []
    for row in rows:
        reported = row.reported_sizes or ("–", "–")
        sizes = [values(runs, row, "ff", name) for name in ("d_in", "d_1", "d_2", "d_out")]
        means = [f"{size.mean():.1f}".removesuffix(".0") for size in sizes]
        lines.append([row.title, *means, *map(str, reported)])
    header = ["set", "D_in", "D_1", "D_2", "D_out", "paper's D_1", "paper's D_2"]
    return Table(SIZES, "Neurons in each layer, mean over splits.", header, lines)


def _times(rows: list[Row], runs: list[Run]) -> Table:
    columns = {step: ("ff", step, step) for step in ("gmm", "boundaries", "regions", "classes")}
    columns["total"] = "ff", "seconds", "total"
    for n_epochs in (15, 50):
        columns[f"BP ({n_epochs})"] = f"bp_random_{n_epochs}", "seconds", f"bp_random_{n_epochs}"
    lines = []
    for row in rows:
        line = [row.title]
        for method, field, name in columns.values():
            ours, reported = values(runs, row, method, field), row.reported_seconds[name]
            line.append(_compared(ours, reported, digits=4))
        reached = values(runs, row, "bp_random_50", "reached")
        trained = len(values(runs, row, "bp_random_50", "seconds"))
        often = f"{len(reached)} of {trained}"
        line.append(f"{reached.mean():.3f} ({often})" if len(reached) else f"never ({often})")
        lines.append(line)
    header = ["set", *columns, "BP reaches FF-MLP's test accuracy"]
    text = (
        "Seconds: ours, mean ± standard deviation over splits / the paper's, on another machine. Last "
        "column: mean training time until BP reaches it, and in how many runs it does."
    )
    return Table("Table III: time", text, header, lines, time_notes(rows, runs, columns))


def _peers(rows: list[Row], runs: list[Run]) -> Table:
    methods = ["ff", *PEERS]
    lines = [
        [row.title, *(f"{100 * values(runs, row, m, 'test_accuracy').mean():.2f}" for m in methods)]
        for row in rows
    ]
    text = (
        "Mean test accuracy in % on the same splits. The other classifiers have the default parameters "
        "of scikit-learn, except for 200 trees (forest) and at most 300 epochs (mlp)."
    )
    return Table("Other classifiers", text, ["set", *methods], lines)


def _optimal(rows: list[Row], runs: list[Run]) -> Table:
    lines = []
    for row in rows:
        first = {run.method: run for run in runs if run.row == row.key and run.split == 0}
        if run := first.get("ff_optimal"):
            kept = [str((size or 0) // 2) for size in (first["ff"].d_1, run.d_1)]
            found = [str(run.proved_minimum), _optimality(row, run), f"{run.seconds:.2f}"]
            lines.append([row.title, *kept, *found])
    header = ["set", "greedy keeps", "fewest found", "lower bound", "optimality", "seconds"]
    text = (
        "Number of hyperplanes on the first split, with the threshold of the row. The gap is the number "
        "found minus the lower bound, where the minimum was not proved in time. No deletion is allowed "
        "if the error rate of all hyperplanes is not below the threshold."
    )
    return Table("Is greedy pruning optimal?", text, header, lines)


def _optimality(row: Row, run: Run) -> str:
    gap = (run.d_1 or 0) // 2 - (run.proved_minimum or 0)
    if gap:
        return f"not proved, gap {gap}"
    allowed = 1 - (run.train_accuracy or 0) < (row.error_threshold or 0)
    return "proved" if allowed else "no deletion allowed"


def _heteroscedastic(rows: list[Row], runs: list[Run]) -> Table:
    lines = []
    for row in rows:
        lda = 100 * values(runs, row, "ff", "test_accuracy")
        ours = 100 * values(runs, row, "ff_heteroscedastic", "test_accuracy")
        difference = ours - lda
        change = f"{difference.mean():+z.2f} ± {difference.std():.2f}"
        lines.append([row.title, f"{lda.mean():.2f}", f"{ours.mean():.2f}", change])
    header = ["set", "LDA", "heteroscedastic", "difference"]
    text = "Mean test accuracy in %; mean ± standard deviation over splits of the difference."
    return Table("Does heteroscedastic LDA help?", text, header, lines)


def _sweep(rows: list[Row], runs: list[Run]) -> Table:
    lines = []
    for row in rows:
        swept = [run for run in runs if run.row == row.key and run.method.startswith("sweep")]
        for ff, bp in zip(swept[::2], swept[1::2], strict=True):
            before, after = (100 * (run.test_accuracy or 0) for run in (ff, bp))
            accuracies = f"{before:.2f}", f"{after:.2f}", f"{after - before:+z.2f}"
            lines.append([row.title, ff.setting, str(ff.d_1), str(ff.d_2), *accuracies])
    header = ["set", "setting", "D_1", "D_2", "FF-MLP", "after BP (50)", "change"]
    text = (
        "Test accuracy in % on the first split: the designed network, and after 50 epochs of BP from it."
    )
    return Table("Does backpropagation help larger networks?", text, header, lines)


def _robustness(rows: list[Row], runs: list[Run]) -> Table:
    methods = ("robust_ff", "robust_ff_attacked", "robust_bp_ff", "robust_bp_random")
    lines, best = [], Counter[float]()
    for row in rows:
        for radius in RADII:
            at_radius = [run for run in runs if run.setting == f"radius={radius:g}"]
            accuracies = [100 * values(at_radius, row, method, "test_accuracy") for method in methods]
            if not all(map(len, accuracies)):
                continue
            means = [ours.mean() for ours in accuracies]
            best[radius] += means[0] >= max(means[2:])
            lines.append([row.title, f"{radius:g}", *map(_mean, accuracies)])
    won = ", ".join(f"{best[radius]} at radius {radius:g}" for radius in RADII if radius in best)
    n_rows = len({line[0] for line in lines})
    text = (
        "The paper's second open question. Robust accuracy is the share of test samples (at most "
        f"{MAX_SAMPLES}) that are right at every point within a Euclidean radius, in standard "
        "deviations of the features; in %, mean ± standard deviation over splits. For FF-MLP it is "
        "exact, also in regions without training samples. For networks from backpropagation it is the "
        "accuracy under PGD and random search, an upper bound; FF-MLP under the same attacks shows how "
        f"loose the bound is. Number of rows, of {n_rows}, on which the exact value of FF-MLP is at "
        f"least both upper bounds: {won}."
    )
    names = ("FF-MLP, exact", "FF-MLP, attacked", "BP from FF-MLP, attacked", "BP, attacked")
    return Table(ROBUSTNESS, text, ["set", "radius", *names], lines)
