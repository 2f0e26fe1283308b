"""One target in one process: inputs are made, checked, and kept if their outcome is new.

The input that is being checked is always in a file, so that it is known even if the process dies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import traceback
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

CORPUS, FAILURES = (Path(__file__).parent / name for name in ("corpus", "failures"))
# Longer inputs are checked, but not changed any further.
_LONGEST_PARENT = 200_000


@dataclass
class State:
    """What has been done so far."""

    cases: int = 0
    cpu_seconds: float = 0.0
    inputs: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)

    def write(self, folder: Path, n_inputs: int) -> None:
        """Write it to a file that the supervisor reads."""
        self.cpu_seconds, self.inputs = time.process_time(), n_inputs
        (folder / "new").write_text(json.dumps(asdict(self)))
        (folder / "new").replace(folder / "state")


def kept_inputs(name: str) -> list[bytes]:
    """The inputs of a target that once failed."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*.input"))]


def keep_failure(name: str, data: bytes, problem: str) -> Path:
    """Write an input and what is wrong with it; return the place of the input."""
    folder = FAILURES / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.input"
    path.write_bytes(data)
    path.with_suffix(".txt").write_text(problem)
    return path


def attack(name: str, seed: list[int], seconds: float, folder: Path) -> None:
    """Check inputs until the time is over."""
    target, end = import_module(f"fuzz.{name}"), time.monotonic() + seconds
    rng, state, parents, known = np.random.default_rng(seed), State(), list[bytes](), set[str]()
    beginnings = [*target.seeds(), *kept_inputs(name)]
    written = 0.0
    while time.monotonic() < end:
        is_first = state.cases < len(beginnings)
        data = beginnings[state.cases] if is_first else target.changed(rng, parents)
        (folder / "now").write_bytes(data)
        state.cases += 1
        outcome = _outcome(target, name, data, state)
        if is_first or (outcome not in known and len(data) < _LONGEST_PARENT):
            parents.append(data)
        known.add(outcome)
        if time.monotonic() - written > 1.0:
            state.write(folder, len(parents))
            written = time.monotonic()
    state.write(folder, len(parents))


def _outcome(target: Any, name: str, data: bytes, state: State) -> str:
    """Check an input, and count what comes of it: what is before a colon."""
    try:
        outcome, counts = target.check(data), state.outcomes
    except Exception as error:
        place, counts = traceback.extract_tb(error.__traceback__)[-1], state.failures
        outcome = f"{type(error).__name__} in {Path(place.filename).name} {place.lineno}"
        if outcome not in counts:
            keep_failure(name, data, "".join(traceback.format_exception(error)))
    kind = outcome.partition(":")[0]
    counts[kind] = counts.get(kind, 0) + 1
    return outcome


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--seed", type=int, nargs="+", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    attack(options.name, options.seed, options.seconds, options.folder)
