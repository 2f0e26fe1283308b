"""Recompute every number of the reproduction that the docs quote.

    python benchmarks/reproduction_docs.py           # write the numbers of docs/paper/reproduction.csv
    python benchmarks/reproduction_docs.py --check   # only say which pages differ, with exit code 1

`docs/paper/reproduction.csv` is the `runs.csv` of a full run of `ffmlp reproduce`. The pages quote it
between the comments ``<!-- reproduction: NAME -->`` and ``<!-- end -->`` and nowhere else.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from ffmlp.report.layout import Table, to_markdown
from ffmlp.report.records import read_records
from ffmlp.reproduction import findings as reproduced
from ffmlp.reproduction.accuracy_tables import with_spread
from ffmlp.reproduction.experiments import Run
from ffmlp.reproduction.reported import ROWS, ROWS_BY_KEY
from ffmlp.reproduction.verdicts import Comparison, by_split, values, verdict_counts
from ffmlp.words import counted

ROOT = Path(__file__).parents[1]
PAGES = (
    *("docs/design.md", "docs/guide/paper.md"),
    *("docs/paper/index.md", "docs/paper/accuracy.md", "docs/paper/answers.md"),
)
# The first table of the page on claims and questions; those before it are on the page on accuracy.
_FIRST_ANSWER = "Section V, claim by claim"
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


def _tables_of_pages(runs: list[Run]) -> tuple[list[Table], list[Table]]:
    tables = reproduced.tables(runs, {})
    first = [table.title for table in tables].index(_FIRST_ANSWER)
    return tables[:first], tables[first:]


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
    parser.add_argument("--check", action="store_true", help="write nothing, list the pages that differ")
    check = parser.parse_args().check
    runs = read_records(ROOT / "docs" / "paper" / "reproduction.csv", Run)
    different = 0
    for name in PAGES:
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = written(before, runs)
        if before != after:
            different += 1
            print(f"{name}: {'differs from' if check else 'now quotes'} docs/paper/reproduction.csv")
            if not check:
                path.write_text(after, encoding="utf-8")
    return int(check and different > 0)


if __name__ == "__main__":
    sys.exit(main())
