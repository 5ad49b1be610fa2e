from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from config.service import Live, ServiceSettings, StreamSpec
from config.settings import Limits, Settings
from engines.errors import EngineFault
from engines.pictures import BgrImage
from engines.types import Face
from stream.live.assembly import Assembly
from stream.live.bounded_detector import BoundedDetector
from stream.live.clock import SystemClock
from stream.live.soak import PatternSource
from stream.live.turns import Turns
from stream.replacement import CoverEveryFace
from stream.service.url_guard import OpenGate
from tests.stream.live.rtsp_peer import eventually
from tests.stream.service.service_bench import engines

pytestmark = pytest.mark.unit
IMAGE = np.zeros((8, 8, 3), np.uint8)


class Hangs:
    """A detector that answers when it is let."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.calls = 0

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        self.calls += 1
        self.release.wait(60.0)
        return ()


def test_search_beyond_the_bound_is_refused_and_let_in_again() -> None:
    inner = Hangs()
    detector = BoundedDetector(inner, 2)
    searches = [
        threading.Thread(target=lambda: detector.detect(IMAGE, min_score=0.5)) for _ in range(2)
    ]
    for search in searches:
        search.start()
    assert eventually(lambda: inner.calls == 2)
    with pytest.raises(EngineFault, match="too many"):
        detector.detect(IMAGE, min_score=0.5)
    inner.release.set()
    for search in searches:
        search.join(10.0)
    assert detector.detect(IMAGE, min_score=0.5) == ()


def test_detector_that_hangs_for_long_leaves_few_threads_and_the_output_up() -> None:

    inner = Hangs()
    wanted = Settings(method="solid", limits=Limits(engine_deadline_s=0.1))
    settings = ServiceSettings(
        anonymize=wanted, live=Live(hang_s=0.05, hold_s=0.2, slate_fps=20, sheds_load=False)
    )
    assembly = Assembly(
        settings,
        replace(engines(), detector=inner),
        lambda chosen, name: CoverEveryFace(),
        OpenGate(),
        Turns(1),
        SystemClock(),
    )
    running = assembly.build(StreamSpec(name="cam", source="/dev/video0"))
    running.live.replace_source(lambda: PatternSource(64, 96, 25, 10_000))
    before = threading.active_count()
    running.live.start()
    assert eventually(lambda: running.live.counters.counts().get("engine_faults", 0) >= 8, 60.0)
    assert inner.calls <= 5
    assert threading.active_count() - before < 16
    assert (
        running.live.counters.counts()["slates"]
        + running.anonymizers.tally.frames(0, 0).covered_fully
    )
    inner.release.set()
    assert eventually(lambda: running.live.stop(2.0) == [])
