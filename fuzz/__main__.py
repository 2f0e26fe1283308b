"""Run the attacks: ``python -m fuzz --minutes 60`` runs all of them at the same time.

Prints a line for each target. Inputs that fail go to ``fuzz/failures``; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz import sanitized
from fuzz.worker import FAILURES, keep_failure

TARGETS = ("model_files", "table_files", "estimator", "compiled")
# Seconds of work, and of time, after which an input does not come to an end. Others may use the machine.
_MOST_CPU_SECONDS, _MOST_SECONDS = 120.0, 900.0
_SECONDS_BETWEEN_LOOKS = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Attack:
    """The processes that attack one target, one after the other: a new one begins where one has died."""

    name: str
    seed: int
    end: float
    folder: Path
    states: list[dict[str, Any]] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Start a process for the time that is left."""
        run = self.folder / str(len(self.states))
        run.mkdir(parents=True)
        options = ["--seed", str(self.seed), str(len(self.states)), "--folder", str(run)]
        left = ["--seconds", str(max(0.0, self.end - time.monotonic()))]
        self.run, self.log = run, (run / "log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", self.name, *options, *left],
            stdout=self.log,
            stderr=subprocess.STDOUT,
            env=sanitized.environment() if self.name == "compiled" else None,
        )
        self.input, self.cpu_before, self.since = 0.0, 0.0, time.monotonic()

    def look(self) -> bool:
        """Whether the attack goes on. A process that died or does not come to an end is a failure."""
        code = self.process.poll()
        if code is None and self._takes_too_long():
            self.process.kill()
            self.process.wait()
            self._record(
                f"took more than {_MOST_CPU_SECONDS:g} s of work or {_MOST_SECONDS:g} s of time"
            )
        elif code is None:
            return True
        elif code != 0:
            self._record(f"ended with code {code}")
        else:
            self.states.append(self._state())
            return False
        if time.monotonic() > self.end:
            return False
        self.start()
        return True

    def _takes_too_long(self) -> bool:
        now = self.run / "now"
        cpu, changed = _cpu_seconds(self.process.pid), now.stat().st_mtime if now.exists() else 0.0
        if changed != self.input:
            self.input, self.cpu_before, self.since = changed, cpu, time.monotonic()
        return cpu - self.cpu_before > _MOST_CPU_SECONDS or time.monotonic() - self.since > _MOST_SECONDS

    def _record(self, problem: str) -> None:
        self.log.close()
        self.states.append(self._state())
        log, now = (self.run / "log").read_text(errors="replace")[-20_000:], self.run / "now"
        keep_failure(
            self.name, now.read_bytes() if now.exists() else b"", f"The process {problem}.\n{log}"
        )
        self.deaths.append(problem)

    def _state(self) -> dict[str, Any]:
        path = self.run / "state"
        return json.loads(path.read_text()) if path.exists() else {}

    def summary(self) -> tuple[int, int, float, int, dict[str, int]]:
        """Cases, failures, seconds of work, inputs kept for further changes, and outcomes."""
        cases, cpu = (
            sum(state.get(name, 0) for state in self.states) for name in ("cases", "cpu_seconds")
        )
        failures = sum(sum(state.get("failures", {}).values()) for state in self.states) + len(
            self.deaths
        )
        outcomes: dict[str, int] = {}
        for state in self.states:
            for kind, number in state.get("outcomes", {}).items():
                outcomes[kind] = outcomes.get(kind, 0) + number
        return (
            cases,
            failures,
            cpu,
            max((state.get("inputs", 0) for state in self.states), default=0),
            outcomes,
        )


def _cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICKS


def main() -> int:
    """Attack the targets at the same time, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Attack the package.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (all)")
    parser.add_argument(
        "--minutes", type=float, default=0.5, help="how long each target is attacked (0.5)"
    )
    parser.add_argument("--seed", type=int, default=0, help="inputs are drawn from it (0)")
    options = parser.parse_args()
    names = options.targets or TARGETS
    if unknown := [name for name in names if name not in TARGETS]:
        parser.error(f"unknown target {unknown[0]}")
    if "compiled" in names:
        sanitized.build()
    with TemporaryDirectory(prefix="ffmlp-fuzz-") as folder:
        end = time.monotonic() + 60.0 * options.minutes
        attacks = [Attack(name, options.seed, end, Path(folder) / name) for name in names]
        for attack in attacks:
            attack.start()
        left = attacks
        while left:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            left = [attack for attack in left if attack.look()]
    print(f"{'target':<12} {'cases':>9} {'failures':>9} {'CPU min':>8} {'corpus':>7}  outcomes")
    for attack in attacks:
        cases, failures, cpu, inputs, outcomes = attack.summary()
        shares = ", ".join(
            f"{number} {kind}" for kind, number in sorted(outcomes.items(), key=lambda pair: -pair[1])
        )
        print(f"{attack.name:<12} {cases:>9} {failures:>9} {cpu / 60.0:>8.1f} {inputs:>7}  {shares}")
    n_failures = sum(attack.summary()[1] for attack in attacks)
    if n_failures:
        print(f"{n_failures} failures: see {FAILURES}")
    return int(n_failures > 0)


if __name__ == "__main__":
    sys.exit(main())
