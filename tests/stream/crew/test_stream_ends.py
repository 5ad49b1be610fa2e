"""Live streams break off again and again: what members and memory held for each is let go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from functools import partial

import pytest

from engines.blending.covers import cover_named
from engines.detectors.multiscale import DetectionPlan
from engines.face.swapper import Swapper
from engines.pictures import BgrImage
from engines.types import Face
from stream.crew.crew import FaceCrew
from stream.crew.crew_drawing import CrewDrawing
from stream.crew.messages import Answer, DrawFaces, ForgetStream, Hello
from stream.crew.shared_blocks import MappedBlock, SharedBlocks, can_share
from stream.crew.worker import CrewWorker
from stream.finding.finding import FaceFinder
from stream.live.overload import Overload, SheddingReplacer
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.engine_set import EngineSet
from stream.pipeline.stage_clock import StageClock
from stream.swap.swapping import SwapEveryFace
from tests.stream.crew.swap_engines import swap_engines
from tests.stream.crew.test_crew_drawing import (
    SIDE,
    DonorLender,
    SameEmbedder,
    frames,
    person,
    tracks,
)
from tracker.schedule import DetectionSchedule, ScheduleSettings
from tracker.settings import TrackerSettings
from tracker.tracker import Tracker

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(not can_share(), reason="needs memory without a name"),
]


class Beside:
    """A member in this process, so that what it keeps can be looked at."""

    is_ready = True
    is_dead = False

    def __init__(self, painter: Swapper, hello: Hello, blocks: SharedBlocks) -> None:
        self.work = 0
        self.worker = CrewWorker(painter)

    def wait_until_ready(self, seconds: float) -> None:
        """It is."""

    def ask(self, request: DrawFaces, blocks: Iterable[MappedBlock]) -> Future[Answer]:
        for block in blocks:
            self.worker.add_block(block)
        answer: Future[Answer] = Future()
        answer.set_result(self.worker.answer(request))
        return answer

    def forget(self, stream: int) -> None:
        self.worker.forget(ForgetStream(stream))

    def kill(self) -> None:
        """There is nothing to end."""


class Sees:
    """Finds the same faces in every picture."""

    def __init__(self, faces: tuple[Face, ...]) -> None:
        self._faces = faces

    def detect(self, image: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        return self._faces


@pytest.fixture(scope="module")
def engines() -> Iterator[EngineSet]:
    with swap_engines(1, is_recorded=False) as opened:
        yield opened


def anonymizer(engines: EngineSet, crew: FaceCrew) -> Anonymizer:
    """As of a live stream, with two people in view."""
    assert engines.swap is not None
    face = engines.detector.detect(person(), min_score=0.5)[0]
    plan, clock = DetectionPlan(long_side_px=2 * SIDE), StageClock()
    finder = FaceFinder(
        Sees(tuple(one.face for one in tracks(face))),
        lambda height, width: {"near": plan, "coarse": plan, "full": plan},
        min_score=0.2,
        workers=1,
        deadline_s=20.0,
        give_up_after=5,
        clock=clock,
    )
    replacer = SwapEveryFace(
        engines.swap.painter,
        SameEmbedder(),
        DonorLender(engines.swap),
        elsewhere=partial(CrewDrawing, crew),
    )
    return Anonymizer(
        finder,
        DetectionSchedule(ScheduleSettings(max_skipped=0)),
        Tracker(TrackerSettings(lookahead_frames=2)),
        SheddingReplacer(replacer, Overload()),
        cover_named("solid"),
        1.3,
        clock,
    )


@pytest.mark.parametrize("breaks_off", [False, True])
def test_runs_one_after_the_other_leave_nothing_behind(
    engines: EngineSet, breaks_off: bool
) -> None:
    """The planted fault: a run ends while a frame is under way."""
    assert engines.swap is not None
    crew = FaceCrew(
        Hello("auto", "cpu", "fp32"),
        2,
        20.0,
        is_patient=False,
        make=partial(Beside, engines.swap.painter),  # type: ignore[arg-type]
    )
    for _ in range(3):
        subject, made = anonymizer(engines, crew), 0
        for frame in frames(7):
            made += sum(not one.is_fully_covered for one in subject.push(frame))
        assert subject.tally.faces().swapped
        members = crew.members()
        assert any(one.worker._streams for one in members)  # type: ignore[attr-defined]
        if not breaks_off:
            made += sum(not one.is_fully_covered for one in subject.flush())
        assert (made < 7) is breaks_off
        subject.close()
        assert not any(one.work for one in members)
        assert not any(one.worker._streams for one in members)  # type: ignore[attr-defined]
        free = {block.number for some in crew.blocks._free.values() for block in some}
        assert free == crew.blocks.numbers != set()
    crew.close()
