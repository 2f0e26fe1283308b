"""``ffmlp benchmark``: FF-MLP compared with other classifiers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ffmlp.cli.console import check_numbers
from ffmlp.extras import require
from ffmlp.words import counted

HELP = "compare FF-MLP with other classifiers on built-in data sets or your own"
EXAMPLE = "ffmlp benchmark --data folder-of-csv-files"
INTERRUPTED = "run the same command again to continue"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    folder: dict[str, Any] = {"type": Path, "metavar": "FOLDER"}
    parser.add_argument("--data", help="CSV files: a header, numbers, the label last", **folder)
    parser.add_argument("--models", nargs="+", metavar="NAME", help="models to compare (all)")
    parser.add_argument("--splits", default=5, help="random splits of each data set (5)", **number)
    parser.add_argument("--max-rows", default=3000, help="training rows at most (3000)", **number)
    parser.add_argument("--jobs", default=1, help="runs in parallel (1)", **number)
    parser.add_argument("--out", default=Path("benchmark"), help="output folder (benchmark)", **folder)
    parser.add_argument("--seed", default=0, help="random seed (0)", **number)


def run(options: argparse.Namespace) -> None:
    """Run and report."""
    check_numbers(options, 1, "splits", "max_rows", "jobs")
    check_numbers(options, 0, "seed", bits=31)
    require("ffmlp benchmark", "tqdm", extra="benchmark")
    from tqdm import tqdm

    from ffmlp.benchmark import report
    from ffmlp.benchmark.peers import select_models
    from ffmlp.benchmark.runs import Settings, benchmark
    from ffmlp.benchmark.sets import built_in, from_folder

    models, missing = select_models(options.models)
    if options.data is None:
        sets, missing_sets = built_in(options.seed)
        missing |= missing_sets
    else:
        sets = from_folder(options.data)
    settings = Settings.of(sets, options.seed, options.splits, options.max_rows)
    with tqdm(total=len(sets) * options.splits * len(models), unit="run", disable=None) as bar:
        runs = benchmark(sets, models, settings, options.out, options.jobs, lambda run: bar.update())
    results = report.Results.of(runs, settings)
    made = report.write_pages(results, settings, missing, options.out)
    print(report.to_text(made[0]))
    for what, reason in missing.items():
        print(f"{what} not run: {reason}", file=sys.stderr)
    print(f"{counted(len(runs), 'run')}: {options.out / 'report.html'}, report.md and runs.csv")
