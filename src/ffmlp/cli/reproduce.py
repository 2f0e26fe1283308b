"""``ffmlp reproduce``: the paper's experiments, repeated."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from ffmlp.cli.console import check_numbers
from ffmlp.extras import require
from ffmlp.reproduction.paper import ROWS, ROWS_BY_KEY
from ffmlp.words import counted

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
    parser.add_argument("--splits", help="random splits of each data set (20; 5 for training)", **number)
    parser.add_argument("--quick", action="store_true", help="3 splits, 1 for training")
    parser.add_argument("--seed", default=0, help="random seed (0)", **number)
    parser.add_argument("--pima", metavar="CSV", help="file with the Pima data set")


def run(options: argparse.Namespace) -> None:
    """Run, draw and report."""
    unknown = [key for key in options.rows or () if key not in ROWS_BY_KEY]
    if unknown:
        raise ValueError(f"unknown row {unknown[0]!r}. Known: {', '.join(ROWS_BY_KEY)}.")
    check_numbers(options, 1, "splits")
    require("ffmlp reproduce", "torch", "tqdm", "matplotlib", extra="reproduce")
    import torch  # noqa: F401  (so that the limit of threads applies to it, too)
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    from ffmlp.reports import pages
    from ffmlp.reproduction import gallery, report
    from ffmlp.reproduction.experiments import Settings, n_runs, reproduce
    from ffmlp.storage.whole_files import write_whole

    make = Settings.quick if options.quick else Settings
    settings = make(options.seed, pima_path=options.pima)
    if options.splits is not None:
        trained = min(options.splits, settings.n_trained_splits)
        settings = replace(settings, n_splits=options.splits, n_trained_splits=trained)
    rows = [row for row in ROWS if options.rows is None or row.key in options.rows]
    done = {path.stem for path in (options.out / "runs").glob("*.csv")}
    total = sum(n_runs(row, settings) for row in rows if row.key not in done)
    total += gallery.n_undrawn(rows, options.out / "figures")
    # Problems this small gain nothing from more threads, and slow down when other programs run.
    bar = tqdm(total=total, unit="step", disable=None)  # drawn on a terminal only
    with bar, threadpool_limits(1), warnings.catch_warnings():
        # A peer that stops at its iteration limit is part of the comparison.
        warnings.simplefilter("ignore", ConvergenceWarning)
        runs, missing = reproduce(rows, settings, options.out, lambda run: bar.update())
        shown = [row for row in rows if row.key not in missing]
        folder = options.out / "figures"
        pictures = gallery.draw(shown, settings, folder, lambda picture: bar.update())
    content = report.TITLE, report.introduction(runs), report.tables(runs, missing), pictures
    write_whole(options.out / "report.md", pages.to_markdown(*content).encode())
    write_whole(options.out / "report.html", pages.to_html(*content).encode())
    for key, reason in missing.items():
        print(f"{key} is missing: {reason}", file=sys.stderr)
    print(
        f"{counted(len(runs), 'run')} and {counted(len(pictures), 'figure')}: "
        f"{options.out / 'report.html'}, report.md and runs.csv"
    )
