"""The command line: ``ffmlp reproduce`` and ``ffmlp benchmark``."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from ffmlp.paper import ROWS, ROWS_BY_KEY

WRONG_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 2 for anything wrong with what was asked, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (ValueError, OSError, ImportError) as error:
        print(f"ffmlp: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("ffmlp: interrupted; the same command goes on where it stopped.", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("ffmlp", description="MLPs that are designed, not trained.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    reproduce = commands.add_parser(
        "reproduce",
        help="run the paper's experiments again and set its numbers beside ours",
        description="Run the paper's experiments again; an interrupted run goes on where it stopped.",
    )
    reproduce.add_argument("--out", type=Path, default=Path("reproduction"), help="folder to write to")
    reproduce.add_argument("--rows", nargs="+", metavar="ROW", help="some rows only, such as iris xor")
    reproduce.add_argument("--splits", type=int, help="random splits of each set (20; 5 for training)")
    reproduce.add_argument("--quick", action="store_true", help="three splits, one for training")
    reproduce.add_argument("--seed", type=int, default=0)
    reproduce.add_argument("--pima", metavar="CSV", help="the Pima set as a file")
    reproduce.set_defaults(run=_reproduce)
    benchmark = commands.add_parser(
        "benchmark",
        help="compare FF-MLP with other classifiers on built-in sets or your own",
        description="Compare classifiers on repeated splits; interrupted, it goes on where it stopped.",
    )
    benchmark.add_argument(
        "--data", type=Path, metavar="FOLDER", help="CSV files: a header, numbers, the label last"
    )
    benchmark.add_argument("--models", nargs="+", metavar="NAME", help="some models only")
    benchmark.add_argument("--splits", type=int, default=5, help="random splits of each set (5)")
    benchmark.add_argument("--max-rows", type=int, default=3000, help="training rows at most (3000)")
    benchmark.add_argument("--jobs", type=int, default=1, help="runs at the same time (1)")
    benchmark.add_argument("--out", type=Path, default=Path("benchmark"), help="folder to write to")
    benchmark.add_argument("--seed", type=int, default=0)
    benchmark.set_defaults(run=_benchmark)
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    unknown = [key for key in options.rows or () if key not in ROWS_BY_KEY]
    if unknown:
        raise ValueError(f"unknown row {unknown[0]!r}. Known: {', '.join(ROWS_BY_KEY)}.")
    if options.splits is not None and options.splits < 1:
        raise ValueError(f"--splits must be at least 1, got {options.splits}.")
    for extra in ("torch", "tqdm", "matplotlib"):  # told before anything is written
        if find_spec(extra) is None:
            raise ImportError(f"reproduce needs {extra}: pip install 'ffmlp[reproduce]'")
    import torch  # noqa: F401  (so that the limit of threads is its limit, too)
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    from ffmlp import gallery, pages, report
    from ffmlp.experiments import Settings, n_runs, reproduce
    from ffmlp.records import write_whole

    settings = Settings(options.seed, pima_path=options.pima)
    if options.quick:
        settings = Settings.quick(options.seed, options.pima)
    if options.splits is not None:
        trained = min(options.splits, settings.n_trained_splits)
        settings = replace(settings, n_splits=options.splits, n_trained_splits=trained)
    rows = [row for row in ROWS if options.rows is None or row.key in options.rows]
    done = {path.stem for path in (options.out / "runs").glob("*.csv")}
    total = sum(n_runs(row, settings) for row in rows if row.key not in done)
    total += gallery.n_undrawn(rows, options.out / "figures")
    # Problems this small gain nothing from more threads, and suffer when other programs run.
    with tqdm(total=total, unit="step") as bar, threadpool_limits(1), warnings.catch_warnings():
        # That a peer stops at its limit of iterations is part of what is compared.
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
        f"{len(runs)} runs and {len(pictures)} figures: {options.out / 'report.html'}, report.md and "
        "runs.csv"
    )
    return 0


def _benchmark(options: argparse.Namespace) -> int:
    for name in ("splits", "max_rows", "jobs"):
        if getattr(options, name) < 1:
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} must be at least 1, got {getattr(options, name)}.")
    if not 0 <= options.seed < 2**31:
        raise ValueError(f"--seed must be at least 0 and below 2^31, got {options.seed}.")
    if find_spec("tqdm") is None:
        raise ImportError("benchmark needs tqdm: pip install 'ffmlp[benchmark]'")
    from tqdm import tqdm

    from ffmlp import benchmark_report as report
    from ffmlp.benchmark import Settings, benchmark
    from ffmlp.benchmark_sets import built_in, from_folder
    from ffmlp.peers import chosen

    models, missing = chosen(options.models)
    if options.data is None:
        sets, missing_sets = built_in(options.seed)
        missing |= missing_sets
    else:
        sets = from_folder(options.data)
    settings = Settings.of(sets, options.seed, options.splits, options.max_rows)
    with tqdm(total=len(sets) * options.splits * len(models), unit="run") as bar:
        runs = benchmark(sets, models, settings, options.out, options.jobs, lambda run: bar.update())
    results = report.Results.of(runs, settings)
    made = report.write_pages(results, settings, missing, options.out)
    print(report.to_text(made[0]))
    for what, reason in missing.items():
        print(f"{what} not run: {reason}", file=sys.stderr)
    print(f"{len(runs)} runs: {options.out / 'report.html'}, report.md and runs.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
