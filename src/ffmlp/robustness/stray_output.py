"""Standard output without a message that HiGHS prints and that none of its options switches off."""

from __future__ import annotations

import ctypes
import os
import tempfile
from threading import Lock
from typing import IO

# HiGHS 1.12 prints this whenever it repairs a solution.
_STRAY = b"HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();\n"


class _Filter:
    """A context in which all that the process writes to standard output is kept, then written.

    Only the stray message is left out. Threads share the context: the last one that leaves it writes.
    """

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._stdout = -1
        self._file: IO[bytes] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            # Elsewhere, the library that holds the output of HiGHS cannot be asked to write it.
            if self._users == 1 and os.name == "posix":
                self._divert()

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._file is not None:
                self._restore(self._file)

    def _divert(self) -> None:
        try:
            self._stdout = os.dup(1)
        except OSError:  # the process has no standard output
            return
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _restore)
        os.dup2(self._file.fileno(), 1)

    def _restore(self, file: IO[bytes]) -> None:
        ctypes.CDLL(None).fflush(None)  # what the C library still holds
        os.dup2(self._stdout, 1)
        os.close(self._stdout)
        self._file = None
        with file:
            file.seek(0)
            left = memoryview(file.read().replace(_STRAY, b""))
        while left:
            left = left[os.write(1, left) :]


without_stray_output = _Filter()
