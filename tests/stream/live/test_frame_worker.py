from __future__ import annotations

import pytest

from engines.blending.compositor import Composite, compose_unknown
from engines.types import Frame
from stream.live.counters import Counters
from stream.live.frame_worker import Arrival, FrameAnonymizer, FrameWorker
from stream.pipeline.mailbox import Mailbox
from tests.stream.live.fakes import TICKS, FakeClock, LookAhead, frame_at

pytestmark = pytest.mark.unit


class Bench:
    """A worker with everything around it."""

    def __init__(self, *anonymizers: FrameAnonymizer) -> None:
        self.clock = FakeClock()
        self.counters = Counters()
        self.inbox = Mailbox[Arrival](4, on_full="drop_oldest")
        self.out: list[Composite] = []
        self.latencies: list[float] = []
        self.faults: list[BaseException] = []
        self.can_cover = True
        self._spare = list(anonymizers)
        self.worker = FrameWorker(
            self.inbox.receiver,
            self.make,
            self.put,
            self.clock,
            self.counters,
            cover=self.cover,
            on_fault=self.faults.append,
        )

    def make(self) -> FrameAnonymizer:
        if not self._spare:
            raise RuntimeError("no engine")
        return self._spare.pop(0)

    def cover(self, frame: Frame, cause: str) -> Composite:
        if not self.can_cover:
            raise MemoryError
        return compose_unknown(frame, cause)

    def put(self, composite: Composite, latency_s: float) -> None:
        self.out.append(composite)
        self.latencies.append(latency_s)

    def arrive(self, number: int, height: int = 8) -> None:
        frame = frame_at(0.0, number, height)
        placed = type(frame)(frame.picture, number * 6000, TICKS, number, "cam")
        self.worker.handle(Arrival(placed, self.clock.now()))
        self.clock.seconds += 6000 / 90_000

    def luma(self) -> list[int]:
        return [int(item.picture.planes[0].max()) for item in self.out]


def test_frames_leave_in_order_after_the_look_ahead() -> None:
    bench = Bench(LookAhead(3))
    for number in range(10):
        bench.arrive(number)
    assert [item.pts for item in bench.out] == [n * 6000 for n in range(7)]
    assert bench.latencies[-1] == pytest.approx(3 * 6000 / 90_000)


def test_engine_exception_covers_the_frame_and_takes_a_fresh_anonymizer() -> None:
    broken, fresh = LookAhead(2, fail_at=4), LookAhead(2)
    bench = Bench(broken, fresh)
    for number in range(10):
        bench.arrive(number)
    covered = [item for item in bench.out if item.is_fully_covered]
    assert [item.pts for item in covered] == [4 * 6000]
    assert int(covered[0].picture.planes[0].max()) < 100
    assert broken.is_closed
    assert fresh.indices == [0, 1, 2, 3, 4]
    assert bench.counters.counts()["engine_faults"] == 1


def test_no_engine_to_be_had_covers_every_frame() -> None:
    bench = Bench()
    for number in range(5):
        bench.arrive(number)
    assert len(bench.out) == 5
    assert all(item.is_fully_covered for item in bench.out)
    assert max(bench.luma()) < 100


def test_change_of_size_empties_the_look_ahead_first() -> None:
    first, second = LookAhead(2), LookAhead(2)
    bench = Bench(first, second)
    for number in range(4):
        bench.arrive(number)
    for number in range(4, 8):
        bench.arrive(number, height=16)
    assert [item.pts for item in bench.out] == [n * 6000 for n in range(6)]
    assert first.is_closed
    assert second.indices == [0, 1, 2, 3]
    assert bench.counters.counts()["shape_changes"] == 1


def test_abandoned_worker_lets_nothing_out() -> None:
    bench = Bench(LookAhead(0))
    bench.worker.abandon()
    bench.arrive(0)
    assert not bench.out


def test_closed_inbox_flushes_what_waits() -> None:
    bench = Bench(LookAhead(2))
    bench.arrive(0)
    bench.inbox.close()
    bench.worker.run()
    assert len(bench.out) == 1


def test_frame_that_cannot_even_be_covered_does_not_leave_and_the_worker_goes_on() -> None:
    bench = Bench(LookAhead(0, fail_at=0), LookAhead(0))
    bench.can_cover = False
    bench.arrive(0)
    bench.arrive(1)
    assert [item.pts for item in bench.out] == [6000]
    assert [type(fault) for fault in bench.faults] == [RuntimeError, MemoryError]
    assert bench.counters.counts()["engine_faults"] == 2
