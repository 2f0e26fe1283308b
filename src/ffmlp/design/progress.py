"""Times of the steps of a fit, and messages about its progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Progress:
    """The seconds of each step so far; prints messages if ``verbose``."""

    def __init__(self, verbose: int = 0) -> None:
        self.verbose = verbose
        self.seconds: dict[str, float] = {}
        self._current = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step; if it has several parts, their times add up."""
        self._current = name
        start = perf_counter()
        yield
        seconds = perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.say(f"done in {seconds:.3f} s")

    def say(self, message: str) -> None:
        """Print a line about the current step."""
        if self.verbose:
            print(f"[FFMLPClassifier] {self._current}: {message}")

    def deletion(self, n_left: int, error_rate: float) -> None:
        """Report the deletion of a hyperplane."""
        self.say(f"{n_left} hyperplanes left, training error {100 * error_rate:.2f} %")
