"""How signals end a command: once, and in any case."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

TERMINATED = 143
# Until an exception that was lost is raised again: long enough to leave what has lost it.
_SECONDS = 0.01


@contextmanager
def ended_by_one_signal() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM raise an exception, so that a command closes its files and stops its processes.

    Meanwhile, further signals are ignored: they would end that, too. Python prints and forgets an
    exception in a destructor; such a signal comes again. Gives the list of the signals that came.
    """
    if threading.current_thread() is not threading.main_thread():  # only that receives signals
        yield []
        return
    wanted = {signal.SIGINT: signal.getsignal(signal.SIGINT), signal.SIGTERM: _exit}
    # An interrupt that is ignored, as in a script that starts commands in the background, stays so.
    handlers = {number: handler for number, handler in wanted.items() if callable(handler)}
    usual_hook, came = sys.unraisablehook, list[int]()

    def end(number: int, frame: FrameType | None) -> None:
        came.append(number)
        for each in handlers:
            signal.signal(each, signal.SIG_IGN)
        handlers[signal.Signals(number)](number, frame)

    def on_lost(lost: sys.UnraisableHookArgs) -> None:
        if not came or not isinstance(lost.exc_value, (KeyboardInterrupt, SystemExit)):
            usual_hook(lost)
            return
        for each in handlers:
            signal.signal(each, end)
        threading.Timer(_SECONDS, _send, came[-1:]).start()

    before = {number: signal.signal(number, end) for number in handlers}
    sys.unraisablehook = on_lost
    try:
        yield came
    finally:
        sys.unraisablehook = usual_hook
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_before_errors(came: list[int]) -> Iterator[None]:
    """An error after a signal is that signal: libraries raise their own where they clean up after it."""
    try:
        yield
    except Exception as error:
        if not came:
            raise
        raise (KeyboardInterrupt if came[-1] == signal.SIGINT else SystemExit(TERMINATED)) from error


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(TERMINATED)


def _send(number: int) -> None:
    """Send a signal to the main thread, whatever it waits for."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        signal.raise_signal(number)
    else:
        signal.pthread_kill(main, number)
