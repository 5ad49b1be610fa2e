from __future__ import annotations

import threading

import pytest

from stream.live.turns import Turns
from tests.stream.live.rtsp_peer import eventually

pytestmark = pytest.mark.unit


def test_least_served_stream_goes_first() -> None:
    times = iter([0.0, 10.0, 10.0, 11.0, *[12.0] * 20])
    turns = Turns(1, now=lambda: next(times))
    with turns.turn("busy"):
        pass
    with turns.turn("quiet"):
        pass
    order: list[str] = []
    entered, release = threading.Event(), threading.Event()

    def hold() -> None:
        with turns.turn("holder"):
            entered.set()
            release.wait(10.0)

    def ask(name: str) -> None:
        with turns.turn(name):
            order.append(name)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10.0)
    waiting = [threading.Thread(target=ask, args=(name,)) for name in ("busy", "quiet")]
    for thread in waiting:
        thread.start()
    assert eventually(lambda: len(turns._waiting) == 2)
    release.set()
    for thread in [holder, *waiting]:
        thread.join(10.0)
    assert order == ["quiet", "busy"]


def test_lent_permit_lets_another_stream_work_beside_a_hung_one() -> None:
    turns = Turns(1)
    release, done = threading.Event(), threading.Event()

    def hang() -> None:
        with turns.turn("hung"):
            release.wait(10.0)

    def work() -> None:
        with turns.turn("other"):
            done.set()

    hung = threading.Thread(target=hang)
    hung.start()
    assert eventually(lambda: turns._free == 0)
    turns.lend()
    worker = threading.Thread(target=work)
    worker.start()
    worker.join(10.0)
    assert done.is_set()
    release.set()
    hung.join(10.0)
    turns.reclaim()
    assert turns._free == 1


def test_no_permits_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Turns(0)
