"""``ffmlp benchmark``: FF-MLP beside other classifiers."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

HELP = "compare FF-MLP with other classifiers on built-in sets or your own"
EXAMPLE = "ffmlp benchmark --data folder-of-csv-files"
INTERRUPTED = "the same command goes on where it stopped"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="CSV files: a header, numbers, the label last"
    )
    parser.add_argument("--models", nargs="+", metavar="NAME", help="some models only")
    parser.add_argument("--splits", type=int, default=5, help="random splits of each set (5)")
    parser.add_argument("--max-rows", type=int, default=3000, help="training rows at most (3000)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time (1)")
    parser.add_argument("--out", type=Path, default=Path("benchmark"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> int:
    """Run and report."""
    for name in ("splits", "max_rows", "jobs"):
        if getattr(options, name) < 1:
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} must be at least 1, got {getattr(options, name)}.")
    if not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed must be at least 0 and below 2^31, got {options.seed}.")
    if find_spec("tqdm") is None:
        raise ImportError("benchmark needs tqdm: pip install 'ffmlp[benchmark]'")
    from tqdm import tqdm

    from ffmlp.benchmark import report as report
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
    print(f"{len(runs)} runs: {options.out / 'report.html'}, report.md and runs.csv")
    return 0
