"""An interruption waits until the lines it would break are done."""

from __future__ import annotations

import signal
import threading

import pytest

from stream.files.interruption import held_back

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_is_raised_after_the_body(number: signal.Signals) -> None:
    done = []

    def interrupted() -> None:
        with held_back():
            signal.raise_signal(number)
            done.append("whole body")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["whole body"]


def test_ignored_hangup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with held_back():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with held_back():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone() -> None:
    handlers = []

    def work() -> None:
        with held_back():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
