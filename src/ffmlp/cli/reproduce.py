"""``ffmlp reproduce``: the paper's experiments, repeated."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ffmlp.cli.console import check_numbers, put
from ffmlp.extras import require
from ffmlp.reproduction.reported import ROWS, ROWS_BY_KEY
from ffmlp.words import counted, one_line

HELP = "repeat the paper's experiments and compare the results"
EXAMPLE = "ffmlp reproduce --quick"
INTERRUPTED = "run the same command again to continue"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    folder: dict[str, Any] = {"type": Path, "default": Path("reproduction"), "metavar": "FOLDER"}
    parser.add_argument("--out", help="output folder (reproduction)", **folder)
    rows = "rows to repeat, such as iris xor (all)"
    parser.add_argument("--rows", nargs="+", metavar="ROW", help=rows)
    parser.add_argument("--splits", help="random splits of each data set (20)", **number)
    quick = "6 splits and fewer random starts, in less than three minutes on two cores"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--jobs", help="splits that run at once (one for each core)", **number)
    parser.add_argument("--seed", default=0, help="random seed (0)", **number)
    parser.add_argument("--pima", metavar="CSV", help="file with the Pima data set")


def run(options: argparse.Namespace) -> None:
    """Run, draw and report."""
    unknown = [key for key in options.rows or () if key not in ROWS_BY_KEY]
    if unknown:
        raise ValueError(f"unknown row {unknown[0]!r}. Known: {', '.join(ROWS_BY_KEY)}.")
    check_numbers(options, 1, "splits", "jobs")
    check_numbers(options, 0, "seed", bits=31)
    require("ffmlp reproduce", "tqdm", "matplotlib", "daqp", extra="reproduce")
    from joblib import Parallel, cpu_count, delayed
    from tqdm import tqdm

    from ffmlp.report import layout
    from ffmlp.reproduction import experiments, figures, findings
    from ffmlp.storage.whole_files import write_whole

    make = experiments.Settings.quick if options.quick else experiments.Settings
    settings = make(options.seed, pima_path=options.pima)
    if options.splits is not None:
        settings = replace(settings, n_splits=options.splits)
    chosen = [row for row in ROWS if options.rows is None or row.key in options.rows]
    rows, missing = experiments.available(chosen, settings)
    for key, reason in missing.items():
        print(one_line(f"{key} is left out: {reason}"), file=sys.stderr)
    if not rows:
        raise ValueError("no data set of these rows is available.")
    folder = options.out / "figures"
    tasks = experiments.open_parts(rows, settings, options.out)
    tasks += figures.open_figures(rows, settings, folder)
    with tqdm(total=len(tasks), unit="part", disable=None) as bar:  # drawn on a terminal only
        parallel = Parallel(options.jobs or cpu_count(), return_as="generator_unordered")
        for _ in parallel(delayed(task)() for task in tasks):
            bar.update()
    runs = experiments.collected(rows, settings, options.out)
    pictures = figures.pictures(rows, runs, folder)
    content = findings.TITLE, findings.findings(runs), findings.tables(runs, missing), pictures
    write_whole(options.out / "report.md", layout.to_markdown(*content).encode())
    write_whole(options.out / "report.html", layout.to_html(*content).encode())
    made = f"{counted(len(runs), 'run')} and {counted(len(pictures), 'figure')}"
    put(one_line(f"{made}: {options.out / 'report.html'}, report.md and runs.csv"))
