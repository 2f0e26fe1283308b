"""What an input may take and do: its memory, and nothing but reading."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Events of Python that foreign code would cause; a module that is imported is named by the event.
_FOREIGN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "ctypes.",
)
_forbidden: list[str] | None = None


@contextmanager
def limited_memory(megabytes: int) -> Iterator[None]:
    """Raise an AssertionError if the block takes more memory than this, at its peak (Linux only)."""
    _RESET.write_text("5")  # the peak begins with what is taken now
    before = _kilobytes("VmRSS")
    yield
    taken = (_kilobytes("VmHWM") - before) // 1024
    assert taken <= megabytes, f"{taken} MB of memory were taken, {megabytes} are allowed"


def _kilobytes(name: str) -> int:
    (line,) = (line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


@contextmanager
def without_foreign_code() -> Iterator[None]:
    """Raise an AssertionError if the block starts a program or imports a module."""
    global _forbidden
    _forbidden, events = [], None
    try:
        yield
    finally:
        events, _forbidden = _forbidden, None
    assert not events, f"foreign code: {events}"


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if _forbidden is None:
        return
    is_new = event == "import" and arguments[0] not in sys.modules
    if is_new or event.startswith(_FOREIGN):
        _forbidden.append(f"{event} {arguments[0]}")


sys.addaudithook(_on_event)
