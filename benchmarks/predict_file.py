"""The speed of ``ffmlp predict`` on a large CSV file, compared with reading the file with pandas.

    python benchmarks/predict_file.py --rows 1000000 [--mixed]

The columns are 20 numbers; with --mixed an id that is kept, 16 numbers and 3 categories, and NA in 1 %
of the cells. Each line is a fresh process. "whole" is the time of the command, "work" is the time
without imports and loading the model. The fastest of several runs counts, because other programs can
only slow it down. The last lines are the times of commands that hardly work: their start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

N_COLUMNS = 20
N_TRAINED = 5000
N_STARTS = 20
READ = """
import sys, json
import pandas
from time import perf_counter
start = perf_counter()
pandas.read_csv(sys.argv[1])
print(json.dumps({"seconds": perf_counter() - start}))
"""
# In a separate process, because the peak memory of a child includes that of its parent.
WRITE = """
import sys
import numpy as np, pandas as pd
folder, n_rows, n_columns, n_trained, is_mixed = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
X = rng.normal(size=(n_rows, n_columns))
y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int) + (X[:, 3] > 1)
frame = pd.DataFrame(X.round(6), columns=[f"f{number}" for number in range(n_columns)])
if is_mixed:
    for column, n_categories in zip(("f17", "f18", "f19"), (3, 6, 30)):
        names = np.array([f"category {number}" for number in range(n_categories)])
        frame[column] = names[rng.integers(n_categories, size=n_rows)]
    frame = frame.mask(rng.random(frame.shape) < 0.01)
    frame["f16"] = [f"row {number}" for number in range(n_rows)]
    frame = frame.rename(columns={"f16": "id"})
frame.to_csv(f"{folder}/new.csv", index=False, na_rep="NA")
frame.head(10).to_csv(f"{folder}/ten.csv", index=False, na_rep="NA")
trained = frame.head(n_trained).assign(label=np.array(["no", "yes", "very"])[y[:n_trained]])
trained.to_csv(f"{folder}/train.csv", index=False, na_rep="NA")
"""
FFMLP = ["-m", "ffmlp.cli"]
ALONE = "pandas.read_csv alone"
MODELS = {
    "region, 2 blobs": ["--design", "region", "--n-components", "2"],
    "blob, 2 blobs": ["--design", "blob", "--n-components", "2"],
    "readout, 2 blobs": ["--design", "readout", "--n-components", "2", "--max-leaves", "0"],
    "readout, 50 neurons": ["--max-neurons", "50"],
    "readout": ["--max-leaves", "0"],
    "readout with trees (default)": [],
}


@dataclass(frozen=True)
class Run:
    """Seconds of work, of the whole process and of the CPU; peak memory in MB."""

    work: float
    whole: float
    cpu: float
    memory: float


def in_turn(commands: dict[str, list[str]], repeats: int) -> dict[str, Run]:
    """The fastest of several runs of each Python command, which prints JSON with its seconds.

    The commands take turns, so that other programs slow all of them down.
    """
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, arguments in commands.items():
            runs[name].append(measured(arguments))
    return {name: min(some, key=lambda run: run.whole) for name, some in runs.items()}


def measured(arguments: list[str]) -> Run:
    start = perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    work = json.loads(process.stdout.read())["seconds"]
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{arguments} failed")
    cpu = usage.ru_utime + usage.ru_stime
    return Run(work, perf_counter() - start, cpu, usage.ru_maxrss / 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--mixed", action="store_true", help="ids, numbers and categories, NA")
    what = f"of: {', '.join(MODELS)}"
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help=what)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        sizes = [str(int(size)) for size in (options.rows, N_COLUMNS, N_TRAINED, options.mixed)]
        subprocess.run([sys.executable, "-c", WRITE, name, *sizes], check=True)
        data, out = str(folder / "new.csv"), str(folder / "out.csv")
        commands, half_spaces = {ALONE: ["-c", READ, data]}, {ALONE: ""}
        for number, model in enumerate(options.models):
            path = str(folder / f"{number}.model")
            size = fitted(model, folder / "train.csv", path, options.mixed)
            for proba in ([], ["--proba"]):
                own = " ".join([model, *proba])
                commands[own] = [*FFMLP, "predict", path, data, "-o", out, "--force", "--json", *proba]
                half_spaces[own] = size
        runs = in_turn(commands, options.repeats)
        print(f"{options.rows} rows × {N_COLUMNS} columns, {os.cpu_count()} cores\n")
        print("| | half-spaces | whole, s | of pandas | work, s | of pandas | CPU, s | memory, MB |")
        print("|---|---|---|---|---|---|---|---|")
        for own, run in runs.items():
            print(line(own, half_spaces[own], run, runs[ALONE]))
        ten = ["predict", path, str(folder / "ten.csv"), "-o", out, "--force"]
        print(f"\n{N_STARTS} commands each:")
        print(f"- predict of ten rows, {options.models[-1]}: {start_up([*FFMLP, *ten])}")
        print(f"- --help: {start_up([*FFMLP, '--help'])}")


def fitted(model: str, trained: Path, path: str, is_mixed: bool) -> str:
    """Fit a model and save it; returns the number of its half-spaces."""
    fit = ["fit", str(trained), "--target", "label", "-o", path, "--json", *MODELS[model]]
    made = subprocess.run(
        [sys.executable, *FFMLP, *fit, *(["--id", "id"] if is_mixed else [])],
        check=True,
        capture_output=True,
        text=True,
    )
    return str(json.loads(made.stdout)["layers"][1])


def start_up(arguments: list[str]) -> str:
    """The times of a short command, in words."""
    seconds = []
    for _ in range(N_STARTS):
        start = perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        seconds.append(perf_counter() - start)
    return f"best {min(seconds):.2f} s, median {median(seconds):.2f} s"


def line(name: str, half_spaces: str, run: Run, alone: Run) -> str:
    cells = [
        name,
        half_spaces,
        f"{run.whole:.2f}",
        f"{run.whole / alone.whole:.1f}×",
        f"{run.work:.2f}",
        f"{run.work / alone.work:.1f}×",
        f"{run.cpu:.2f}",
        f"{run.memory:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
