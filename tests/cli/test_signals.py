import signal
import sys
import threading

import pytest

from ffmlp.cli.signals import ended_by_one_signal, signals_before_errors


@pytest.fixture
def interrupts():
    """Ctrl-C raises KeyboardInterrupt, also if the tests run in the background, where it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_a_second_signal_does_not_disturb_the_end(number, kind):
    ended = []

    def command():
        with ended_by_one_signal():
            try:
                signal.raise_signal(number)
            finally:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGTERM)
                ended.append(True)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook
    with pytest.raises(kind):
        command()
    assert ended == [True]
    after = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), sys.unraisablehook
    assert after == before


def test_a_signal_in_a_destructor_is_not_lost(capfd):
    class Thing:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    def command():
        with ended_by_one_signal():
            Thing()
            threading.Event().wait(60)

    with pytest.raises(SystemExit) as caught:
        command()
    assert caught.value.code == 143
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_an_error_of_a_library_that_cleans_up_after_a_signal_is_that_signal(number, kind):
    def command():
        with ended_by_one_signal() as came, signals_before_errors(came):
            try:
                signal.raise_signal(number)
            finally:
                raise AttributeError("what was to be cleaned up is not there")

    with pytest.raises(kind):
        command()
    with pytest.raises(AttributeError), signals_before_errors([]):
        raise AttributeError("without a signal")


def test_an_ignored_interrupt_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ended_by_one_signal():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_commands_may_run_in_other_threads():
    done = []

    def command():
        with ended_by_one_signal():
            done.append(True)

    thread = threading.Thread(target=command)
    thread.start()
    thread.join()
    assert done == [True]
