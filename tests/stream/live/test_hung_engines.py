"""An engine that hangs costs covers, few threads, and no stream its output."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.soak import PatternSource
from config.service import Live, ServiceSettings, StreamSpec
from config.settings import Settings
from engines.backends.backend import Session
from engines.pictures import BgrImage
from engines.types import Face
from stream.live.assembly import Assembly
from stream.live.clock import SystemClock
from stream.live.running_stream import RunningStream
from stream.pipeline.replacement import CoverEveryFace
from stream.scheduling.backend import ScheduledSession
from stream.scheduling.scheduler import Scheduler, Terms
from stream.service.url_guard import OpenGate
from tests.stream.live.rtsp_peer import eventually
from tests.stream.scheduling.networks import Doubles, rows_of
from tests.stream.service.service_bench import engines

pytestmark = pytest.mark.unit


class Asks:
    """A detector that sees nobody, of a network that is given what may make it hang."""

    def __init__(self, network: Session) -> None:
        self.network = network
        self.given = rows_of(-1)

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        self.network.run(self.given)
        return ()


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler(Terms(longest_s=0.1, patience_s=0.1))
    yield made
    made.close()


def begun(scheduler: Scheduler, detector: Asks, name: str) -> RunningStream:
    settings = ServiceSettings(
        anonymize=Settings(method="solid"), live=Live(hold_s=0.2, slate_fps=20, sheds_load=False)
    )
    shared = replace(engines(), detector=detector, scheduler=scheduler)
    assembly = Assembly(
        settings, shared, lambda chosen, stream: CoverEveryFace(), OpenGate(), SystemClock()
    )
    running = assembly.build(StreamSpec(name=name, source="/dev/video0"))
    running.live.replace_source(lambda: PatternSource(64, 96, 25, 10_000))
    running.live.start()
    return running


def covered(running: RunningStream) -> int:
    return running.anonymizers.tally.frames(0, 0).covered_fully


def test_detector_that_hangs_for_long_leaves_few_threads_and_the_output_up(
    scheduler: Scheduler,
) -> None:
    network = Doubles()
    detector, before = Asks(ScheduledSession(network, scheduler)), threading.active_count()
    running = begun(scheduler, detector, "cam")
    try:
        assert eventually(lambda: covered(running) >= 50, 60.0)
        assert len(network.sizes) == scheduler.hung == 2
        assert threading.active_count() - before < 16
        assert running.live.counters.counts()["frames_out"] >= 30
        detector.given = rows_of(1)
        network.release.set()
        assert eventually(lambda: scheduler.hung == 0)
        so_far = running.live.counters.counts()["frames_out"] - covered(running)
        assert eventually(
            lambda: running.live.counters.counts()["frames_out"] - covered(running) > so_far + 20
        ), "it never recovered"
    finally:
        network.release.set()
        assert running.live.stop() == []


def test_stream_whose_own_network_hangs_leaves_the_others_as_they_are(
    scheduler: Scheduler,
) -> None:
    hung, sound = Doubles(), Doubles()
    bad = begun(scheduler, Asks(ScheduledSession(hung, scheduler)), "bad")
    well = Asks(ScheduledSession(sound, scheduler))
    well.given = {"x": np.ones((1, 3), np.float32)}
    good = begun(scheduler, well, "good")
    try:
        assert eventually(lambda: covered(bad) >= 30, 60.0)
        before = covered(good)
        so_far = good.live.counters.counts()["frames_out"]
        assert eventually(lambda: good.live.counters.counts()["frames_out"] >= so_far + 50)
        assert covered(good) == before
        assert good.live.status().output == "live"
    finally:
        hung.release.set()
        assert bad.live.stop() == []
        assert good.live.stop() == []
