"""``ffmlp benchmark``: FF-MLP compared with other classifiers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ffmlp.cli.console import add_format, check_numbers, dialect, put
from ffmlp.extras import require
from ffmlp.words import counted, one_line, with_escapes

HELP = "compare FF-MLP with other classifiers on built-in data sets or your own"
EXAMPLE = "ffmlp benchmark --data iris.csv --target species"
INTERRUPTED = "run the same command again to continue"

DEFAULT_ROWS = ("3000",)
LARGE_ROWS = ("3000", "30000", "all")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    folder: dict[str, Any] = {"type": Path, "metavar": "FOLDER"}
    sets = parser.add_mutually_exclusive_group()
    what = "a data file, a pattern in quotes for the files of one table, or a folder of data sets"
    sets.add_argument("--data", type=Path, metavar="PATH", help=what)
    sets.add_argument("--large", action="store_true", help="large sets: diamonds and flights")
    parser.add_argument("--target", metavar="COLUMN", help="column to predict (the last one)")
    what = "columns of --data to leave out"
    parser.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help=what)
    what = "columns of --data that are categories even if they hold numbers"
    parser.add_argument("--categorical", nargs="+", default=[], metavar="COLUMN", help=what)
    parser.add_argument("--models", nargs="+", metavar="NAME", help="models to compare (all)")
    parser.add_argument("--splits", default=5, help="random splits of each data set (5)", **number)
    what = f"training rows at most, or all ({DEFAULT_ROWS[0]}; with --large {' '.join(LARGE_ROWS)})"
    parser.add_argument("--train-rows", nargs="+", type=_train_rows, metavar="N", help=what)
    parser.add_argument("--jobs", default=1, help="runs in parallel (1)", **number)
    parser.add_argument("--out", default=Path("benchmark"), help="output folder (benchmark)", **folder)
    parser.add_argument("--seed", default=0, help="random seed (0)", **number)
    add_format(parser)


def _train_rows(text: str) -> str:
    """A positive integer, as it is usually written, or ``all``."""
    if text == "all":
        return text
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be all or an integer of at least 1, got {text!r}")
    return str(number)


def run(options: argparse.Namespace) -> None:
    """Run and report."""
    check_numbers(options, 1, "splits", "jobs")
    check_numbers(options, 0, "seed", bits=31)
    require("ffmlp benchmark", "tqdm", extra="benchmark")
    from tqdm import tqdm

    from ffmlp.benchmark import leaderboard
    from ffmlp.benchmark.peers import select_models
    from ffmlp.benchmark.runs import Settings, benchmark
    from ffmlp.benchmark.sets import Roles, built_in, from_files, large

    roles = Roles(options.target, tuple(options.categorical), tuple(options.ignore))
    if options.data is None and roles != Roles():
        raise ValueError("--target, --categorical and --ignore name columns of --data. Give it, too.")
    models, missing = select_models(options.models)
    if options.data is not None:
        sets = from_files(options.data, roles, dialect(options))
    else:
        sets, missing_sets = large() if options.large else built_in(options.seed)
        missing |= missing_sets
    sizes = dict.fromkeys(options.train_rows or (LARGE_ROWS if options.large else DEFAULT_ROWS))
    settings = Settings.of(sets, options.seed, options.splits)
    total = len(sets) * len(sizes) * options.splits * len(models)
    with tqdm(total=total, unit="run", disable=None) as bar:
        runs = benchmark(
            sets, models, settings, options.out, list(sizes), options.jobs, lambda run: bar.update()
        )
    results = leaderboard.all_results(runs, settings)
    leaderboard.write_pages(results, runs, settings, missing, options.out)
    for table in (with_escapes(leaderboard.summary(one)) for one in results if one.models):
        put(f"{table.title}\n{leaderboard.to_text(table)}\n")
    for what, reason in missing.items():
        print(one_line(f"{what} not run: {reason}"), file=sys.stderr)
    page = options.out / "report.html"
    put(one_line(f"{counted(len(runs), 'run')}: {page}, report.md and runs.csv"))
