"""The size of the house: modules, lines, and the modules that the main ways of the data cross.

Prints one table. Run it with another tree to compare two versions::

    python benchmarks/modules.py
    PYTHONPATH=old/src python benchmarks/modules.py --root old
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = 9


def lines(folder: Path, *endings: str) -> tuple[int, int]:
    """The number of files with these endings and of their lines."""
    files = [path for ending in endings for path in folder.rglob(f"*{ending}")]
    return len(files), sum(len(path.read_text("utf-8").splitlines()) for path in files)


def crossed(task: Callable[[], object]) -> tuple[int, int]:
    """The modules of ffmlp that run in a task, and the pairs of them in which one calls another."""
    modules: set[str] = set()
    pairs: set[tuple[str, str]] = set()

    def on_event(frame: Any, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("ffmlp"):
            return
        modules.add(name)
        caller = frame.f_back
        while caller is not None and not caller.f_globals.get("__name__", "").startswith("ffmlp"):
            caller = caller.f_back
        if caller is not None and caller.f_globals["__name__"] != name:
            pairs.add((caller.f_globals["__name__"], name))

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        task()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len(modules), len(pairs)


def ways(folder: Path) -> dict[str, tuple[int, int]]:
    """What `crossed` counts in the four main tasks, imports left out."""
    import ffmlp
    from ffmlp.cli import main as command

    X, y = make_classification(400, 6, n_informative=4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(g=np.where(X[:, 0] > 0, "p", "q"))
    data, model = str(folder / "data.csv"), str(folder / "data.model")
    frame.assign(y=y).to_csv(data, index=False)
    clf = ffmlp.FFMLPClassifier(random_state=0)
    small = ffmlp.FFMLPClassifier(max_neurons=30, random_state=0).fit(X, y)
    predict = ["predict", model, data, "--quiet", "--force", "-o", str(folder / "out.csv")]
    tasks: dict[str, Callable[[], object]] = {
        "clf.fit": lambda: clf.fit(frame, y),
        "clf.predict": lambda: clf.predict(frame),
        "clf.explain with a change": lambda: str(small.explain(X[:1], counterfactual=True)),
        "ffmlp predict": lambda: command(predict),
    }
    command(["fit", data, "--target", "y", "-o", model, "--quiet"])
    for task in tasks.values():  # the first time, modules are imported
        task()
    return {name: crossed(task) for name, task in tasks.items()}


def import_seconds() -> float:
    """The median time of a process that imports ffmlp, above one that imports nothing."""

    def seconds(program: str) -> float:
        start = perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return perf_counter() - start

    times = [seconds("import ffmlp; ffmlp.FFMLPClassifier") - seconds("pass") for _ in range(IMPORTS)]
    return median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="folder with src and tests")
    root = parser.parse_args().root
    for name, folder, endings in (
        ("Python", "src", (".py",)),
        ("C", "src", (".c", ".h")),
        ("JavaScript", "src", (".js",)),
        ("tests, Python", "tests", (".py",)),
        ("tests, JavaScript", "tests", (".mjs", ".js")),
    ):
        n_files, n_lines = lines(root / folder, *endings)
        print(f"{name:28} {n_files:4} files {n_lines:6} lines")
    with tempfile.TemporaryDirectory() as temporary:
        for name, (n_modules, n_pairs) in ways(Path(temporary)).items():
            print(f"{name:28} {n_modules:4} modules {n_pairs:4} boundaries")
    print(f"{'import ffmlp':28} {import_seconds():.2f} s")


if __name__ == "__main__":
    main()
