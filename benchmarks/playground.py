"""How long the playground takes to design and to redraw, in headless Chromium.

Times are measured in the page by ``performance.now()``, and as the processor time of the page's thread,
which does not depend on what else the machine does: the whole design of each of the paper's sets and
of a CSV file of 10 000 rows and 20 columns, from its text to the network, and everything that follows
when a hyperplane of 3000 samples moves: pruning, regions, accuracy and all pictures.

    .venv/bin/python benchmarks/playground.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from ffmlp.datasets import SYNTHETIC
from ffmlp.web.joining import playground_page

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import chromium, set_width

DESIGNS = ("region", "paper", "blob")
_DESIGN = """
const [set, design] = arguments;
playground.bench.settings.design = design;
const start = performance.now();
playground.bench.loadSet(set);
return performance.now() - start;
"""
_TABLE = """
const [text, design] = arguments;
playground.bench.settings.design = design;
const start = performance.now();
playground.bench.loadCsv(text, "table.csv");
return performance.now() - start;
"""
_SHOW = """
const [set, design, stage] = arguments;
playground.bench.settings.design = design;
playground.bench.loadSet(set);
playground.page.stage = stage;
playground.page.isQuick = true;
"""
_MOVE = """
const { bench, redraw } = playground;
const biases = bench.planes.biases.map((bias, l) => bias + (l === 0 ? 0.02 : 0));
const start = performance.now();
bench.setPlanes({ ...bench.planes, biases }, true);
redraw();
return performance.now() - start;
"""


def large_table(n_rows: int = 10_000, n_columns: int = 20) -> str:
    """Two classes that differ in every third column, as CSV."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = rng.normal(size=(n_rows, n_columns)) + 0.8 * y[:, None] * (np.arange(n_columns) % 3 == 0)
    frame = pd.DataFrame(X.round(5), columns=[f"c{i}" for i in range(n_columns)])
    return str(frame.assign(label=np.array(["no", "yes"])[y]).to_csv(index=False))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="runs of which the median is printed (9)")
    repeats = parser.parse_args().repeats
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(playground_page(), encoding="utf-8")
        print(f"page: {page.stat().st_size / 1e3:.0f} kB")
        with chromium(Path(folder) / "profile") as browser:
            set_width(browser, 1400)
            browser.get(page.as_uri())
            measure(browser, repeats)


def measure(browser: Any, repeats: int) -> None:
    """Print the times of designs and redraws."""
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    text = large_table()
    for design in DESIGNS:
        for name in SYNTHETIC:
            print(f"{design:<7} {name:<16} designed: {timed(browser, repeats, _DESIGN, name, design)}")
        print(f"{design:<7} CSV, 10000 x 20  designed: {timed(browser, repeats, _TABLE, text, design)}")
    for design in DESIGNS:
        for stage in ("hyperplanes", "pruning", "regions", "classes"):
            browser.execute_script(_SHOW, "nine_blobs", design, stage)
            print(f"{design:<7} {stage:<16} redrawn:  {timed(browser, repeats, _MOVE)}")


def timed(browser: Any, repeats: int, script: str, *given: Any) -> str:
    """The median of the times that a script returns, and of its processor times."""
    wall, processor = [], []
    for _ in range(repeats):
        before = thread_seconds(browser)
        wall.append(browser.execute_script(script, *given))
        processor.append(1e3 * (thread_seconds(browser) - before))
    return f"{np.median(wall):7.1f} ms, processor {np.median(processor):7.1f} ms"


def thread_seconds(browser: Any) -> float:
    """The processor time of the page's thread so far."""
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(part["value"] for part in metrics if part["name"] == "ThreadTime"))


if __name__ == "__main__":
    main()
