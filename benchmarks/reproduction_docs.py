"""Recompute every number of the reproduction that the docs quote.

    python benchmarks/reproduction_docs.py           # write the numbers of docs/paper/reproduction.csv
    python benchmarks/reproduction_docs.py --check   # only say what differs, with exit code 1

`docs/paper/reproduction.csv` is the `runs.csv` of a full run of `ffmlp reproduce`. The pages quote it
between the comments ``<!-- reproduction: NAME -->`` and ``<!-- end -->`` and nowhere else. The two long
tables of the report are files to download (`TABLES`); the pages show figures of them (extra ``plots``).
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffmlp.report.layout import Table, to_markdown
from ffmlp.report.records import read_records
from ffmlp.reproduction import findings as reproduced
from ffmlp.reproduction.experiments import Run
from ffmlp.reproduction.report_tables import with_spread
from ffmlp.reproduction.reported import ROWS, ROWS_BY_KEY, Row
from ffmlp.reproduction.verdicts import Comparison, by_split, values, verdict_counts
from ffmlp.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PAGES = (
    *("docs/design.md", "docs/guide/paper.md"),
    *("docs/paper/index.md", "docs/paper/accuracy.md", "docs/paper/answers.md"),
)
# The first table of the page on claims and questions; those before it are on the page on accuracy.
_FIRST_ANSWER = "Section V, claim by claim"
# The two tables that are figures on the page and files to download, and what stands in their place.
_FIGURE = "```{{figure}} ../images/{name}.png\n:alt: {alternative}\n\n{caption}\n```"
_FIGURES = {
    "Does backpropagation help larger networks?": _FIGURE.format(
        name="larger_networks",
        alternative="Change of the test accuracy by backpropagation against the number of neurons in "
        "l_1. Most small networks lie near zero, many large ones far below it.",
        caption="Each point is a network. {download}`larger_networks.csv <larger_networks.csv>` has "
        "their sizes and accuracies.",
    ),
    "Is FF-MLP vulnerable to adversarial attacks?": _FIGURE.format(
        name="robust_accuracy",
        alternative="Robust accuracy against the radius, one panel for each of 12 sets, for our FF-MLP, "
        "its bare network and networks from backpropagation. All curves fall as the radius grows.",
        caption="{download}`robust_accuracy.csv <robust_accuracy.csv>` has all numbers, with their "
        "standard deviations.",
    ),
}
# More neurons in l_1 make a network large, as in the table of the report.
_LARGE = 16
_ROBUST = {
    "robust_ff": "FF-MLP, exact",
    "robust_ff_attacked": "FF-MLP, attacked",
    "robust_ff_bare": "bare network of FF-MLP, attacked",
    "robust_bp_ff": "BP from FF-MLP, attacked",
    "robust_bp_random": "BP from random, attacked",
}
_BLOCK = re.compile(r"^( *)<!-- reproduction: (.+?) -->\n.*?<!-- end -->$", re.DOTALL | re.MULTILINE)
_WIDTH = 120


def _accuracy(runs: list[Run], key: str, method: str) -> str:
    return with_spread(100 * values(runs, ROWS_BY_KEY[key], method, "test_accuracy"), 1)


def summary(runs: list[Run]) -> str:
    """The paragraph that opens the pages on the paper."""
    verdicts = verdict_counts(ROWS, runs, "literal")
    shown = []
    for key in ("four_moons", "iris"):
        row = ROWS_BY_KEY[key]
        literal, ours = (_accuracy(runs, key, method) for method in ("literal", "ff"))
        shown.append(f"{literal} % and {ours} % on {row.title} (paper: {row.reported['ff'][1]} %)")
    n_splits = 1 + max(run.split for run in runs)
    return (
        "`ffmlp reproduce` repeats the paper's Tables I to III and its figures on several random "
        f"splits, with the paper's method to the letter and with our region design. Over {n_splits} "
        f"splits, their test accuracies are {shown[0]} and {shown[1]}. With the literal method, "
        f"{verdicts['confirmed']} of the paper's orderings of methods are confirmed by paired tests, "
        f"{verdicts['contradicted']} contradicted and {verdicts['undecided']} undecided; on "
        f"{counted(verdicts['tie in the paper'], 'row')} its own numbers are within one sample."
    )


def shrinkage(runs: list[Run]) -> str:
    """The gain by shrunk covariances, in the page on the design."""
    texts, n_significant = [], 0
    for key in ("wine", "breast_cancer", "pima", "iris"):
        row = ROWS_BY_KEY[key]
        before, after = (
            by_split(runs, row, method, "test_accuracy") for method in ("literal_closed_form", "ff")
        )
        n_significant += Comparison.of(after, before, row).sign != 0
        means = (f"{100 * sum(each.values()) / len(each):.1f}" for each in (before, after))
        texts.append("from {} to {} % on {}".format(*means, row.title))
    many = n_significant or "none"
    return (
        f"Shrinkage changes the mean test accuracy {', '.join(texts[:-1])} and {texts[-1]}. Of these "
        f"differences, {many} {'is' if n_significant < 2 else 'are'} significant."
    )


def pruned_moons(runs: list[Run]) -> str:
    """The proved minimum on 4-new-moons, in the page on the design."""
    first = {run.method: run for run in runs if run.row == "four_moons" and run.split == 0}
    greedy, fewest = ((first[method].d_1 or 0) // 2 for method in ("ff", "ff_optimal"))
    proved = first["ff_optimal"].proved_minimum
    outcome = f"{fewest} are enough, and at least {proved} are needed"
    if greedy == fewest == proved:
        outcome = "which is proved to be the fewest"
    return f"On 4-new-moons (the first split), greedy pruning keeps {greedy} lines, {outcome}."


def literal_mode(runs: list[Run]) -> str:
    """What the literal mode costs, in the page on the designs."""
    texts = []
    for key in ("iris", "wine", "breast_cancer", "pima"):
        row = ROWS_BY_KEY[key]
        literal, ours = (_accuracy(runs, key, method) for method in ("literal", "ff"))
        texts.append(f"{literal} % against {ours} % on {row.title}")
    silent = 100 * values(runs, ROWS_BY_KEY["pima"], "literal", "silent").mean()
    return (
        f"Its test accuracy is {', '.join(texts[:-1])} and {texts[-1]}, where no neuron of l_2 "
        f"responds to {silent:.0f} % of the test samples."
    )


def findings(runs: list[Run]) -> str:
    """The findings that open the report."""
    return "\n\n".join(reproduced.findings(runs))


def accuracy(runs: list[Run]) -> str:
    """The tables of the report on accuracy."""
    return _without_title(_tables_of_pages(runs)[0])


def answers(runs: list[Run]) -> str:
    """The tables of the report on claims and questions."""
    return _without_title(_tables_of_pages(runs)[1])


def robust_accuracy(runs: list[Run]) -> str:
    """The robust accuracy of each method on each set within each radius, as a CSV file."""
    lines = []
    for row in reproduced.rows_of(runs):
        for method, name in _ROBUST.items():
            for radius, accuracies in _robust_accuracies(runs, row, method).items():
                spread = accuracies.std()
                lines.append([row.title, name, radius, f"{accuracies.mean():.2f}", f"{spread:.2f}"])
    return _csv(["set", "network", "radius", "robust accuracy, %", "standard deviation"], lines)


def _robust_accuracies(runs: list[Run], row: Row, method: str) -> dict[str, np.ndarray]:
    """Robust accuracies in % on the splits, by radius."""
    settings = dict.fromkeys(run.setting for run in runs if run.method == method)
    return {
        setting.removeprefix("radius="): 100
        * values([run for run in runs if run.setting == setting], row, method, "test_accuracy")
        for setting in settings
    }


def larger_networks(runs: list[Run]) -> str:
    """The sizes and accuracies of the networks that backpropagation trains further, as a CSV file."""
    lines = [
        [title, setting, *sizes, *(f"{accuracy:.2f}" for accuracy in accuracies)]
        for title, setting, sizes, accuracies in _larger_networks(runs)
    ]
    names = ["predict", "epoch 0", "epoch 50"]
    return _csv(["set", "settings", "l_1", "l_2", *(f"{name}, %" for name in names)], lines)


def _larger_networks(runs: list[Run]) -> list[tuple[str, str, tuple[int, int], tuple[float, ...]]]:
    """Set, settings, neurons in l_1 and l_2, and test accuracies in % of each network of the sweep.

    Settings, and rows of one set, can give the same network; it is listed once.
    """
    trained = {(run.row, run.split, run.setting): run for run in runs if run.method == "sweep_bp_ff"}
    networks = {}
    for ff in (run for run in runs if run.method == "sweep_ff"):
        bp, row = trained[ff.row, ff.split, ff.setting], ROWS_BY_KEY[ff.row]
        shares = ff.test_accuracy, bp.start_test_accuracy, bp.test_accuracy
        accuracies = tuple(100 * (share or 0.0) for share in shares)
        sizes = ff.d_1 or 0, ff.d_2 or 0
        key = row.dataset, ff.split, sizes, ff.train_accuracy, accuracies[:2]
        networks.setdefault(key, (row.title, f"split {ff.split}, {ff.setting}", sizes, accuracies))
    return list(networks.values())


def _csv(header: list[str], lines: list[list]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *lines])
    return text.getvalue()


def draw(runs: list[Run]) -> None:
    """Draw the figures that stand in place of the two tables."""
    from matplotlib.figure import Figure

    rows = reproduced.rows_of(runs)
    # Letters of 13 pixels where a phone shows a figure of 6 inches with 390 pixels.
    sizes = {"fontsize": 15}
    figure = Figure((6.0, 4.5), layout="constrained")
    ax = figure.subplots()
    for _, _, (d_1, _), (_, before, after) in _larger_networks(runs):
        colour = "#e69f00" if d_1 > _LARGE else "#0072b2"
        ax.scatter(d_1, after - before, s=22, c=colour, lw=0)
    ax.axhline(0, color="#808080", lw=1)
    ax.axvline(_LARGE + 0.5, color="#808080", lw=1, ls=":")
    ax.set_xscale("log", base=2)
    ax.set_xticks([2, 8, 32, 128], ["2", "8", "32", "128"], **sizes)
    ax.tick_params(labelsize=15)
    ax.set_xlabel("neurons in l_1", **sizes)
    ax.set_ylabel("change by BP, points", **sizes)
    _write(figure, "larger_networks")

    figure = Figure((6.0, 14.0), layout="constrained")
    axes = figure.subplots(-(-len(rows) // 2), 2, sharex=True)
    styles = dict(zip(_ROBUST, ("#0072b2 -", "", "#009e73 :", "#e69f00 --", "#cc79a7 -."), strict=True))
    for row, ax in zip(rows, np.ravel(axes), strict=False):
        for method, style in styles.items():
            accuracies = _robust_accuracies(runs, row, method)
            if not style or not accuracies:
                continue
            colour, line = style.split()
            means = [accuracy.mean() for accuracy in accuracies.values()]
            label = _ROBUST[method]
            ax.plot([float(r) for r in accuracies], means, color=colour, ls=line, lw=2.4, label=label)
        ax.set_title(row.title, fontsize=14)
        ax.set_ylim(20, 102)
        ax.tick_params(labelsize=13)
    figure.supxlabel("radius, standard deviations", **sizes)
    figure.supylabel("robust accuracy, %", **sizes)
    lines, labels = np.ravel(axes)[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper center", fontsize=14)
    _write(figure, "robust_accuracy")


def _write(figure: Figure, name: str) -> None:
    """A PNG of 256 colours, which has a third of the bytes."""
    from PIL import Image

    content = BytesIO()
    figure.savefig(content, dpi=120)
    picture = Image.open(content).convert("RGB").quantize(dither=Image.Dither.NONE)
    picture.save(IMAGES / f"{name}.png", optimize=True)


def _with_figure(table: Table) -> Table:
    """A long table as a figure and a file to download; its summary stays."""
    shown = _FIGURES.get(table.title)
    if shown is None:
        return table
    lines = [] if table.folded else table.lines
    return replace(table, text=f"{table.text}\n\n{shown}", lines=lines, details=())


def _tables_of_pages(runs: list[Run]) -> tuple[list[Table], list[Table]]:
    tables = reproduced.tables(runs, {})
    first = [table.title for table in tables].index(_FIRST_ANSWER)
    return tables[:first], [_with_figure(table) for table in tables[first:]]


def _without_title(tables: list[Table]) -> str:
    return to_markdown("", [], tables, []).partition("\n")[2].strip()


QUOTES: dict[str, Callable[[list[Run]], str]] = {
    "summary": summary,
    "shrinkage": shrinkage,
    "pruning": pruned_moons,
    "literal mode": literal_mode,
    "findings": findings,
    "accuracy": accuracy,
    "answers": answers,
}


TABLES: dict[str, Callable[[list[Run]], str]] = {
    "docs/paper/robust_accuracy.csv": robust_accuracy,
    "docs/paper/larger_networks.csv": larger_networks,
}


def written(page: str, runs: list[Run]) -> str:
    """A page with the numbers of these runs."""

    def block(match: re.Match[str]) -> str:
        indent, name = match.groups()
        text = QUOTES[name](runs)
        if "\n" not in text:
            width = _WIDTH - len(indent)
            text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
        whole = f"<!-- reproduction: {name} -->\n{text}\n<!-- end -->"
        return textwrap.indent(whole, indent)

    return _BLOCK.sub(block, page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, list what differs")
    check = parser.parse_args().check
    runs = read_records(ROOT / "docs" / "paper" / "reproduction.csv", Run)
    different = 0
    contents = {name: written((ROOT / name).read_text(encoding="utf-8"), runs) for name in PAGES}
    contents |= {name: table(runs) for name, table in TABLES.items()}
    for name, after in contents.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if before != after:
            different += 1
            print(f"{name}: {'differs from' if check else 'now quotes'} docs/paper/reproduction.csv")
            if not check:
                path.write_text(after, encoding="utf-8")
    if not check:
        draw(runs)
    return int(check and different > 0)


if __name__ == "__main__":
    sys.exit(main())
