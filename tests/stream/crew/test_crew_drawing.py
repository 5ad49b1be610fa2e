"""Faces drawn by other processes look as if drawn by one; whatever those do, none is left bare."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.compositor import Composite, compose
from engines.blending.covers import cover_named
from engines.blending.patches import Placed
from engines.pictures import BgrImage, Picture
from engines.types import Embedding, Face, Frame, Surrogate, Track, TrackState
from stream.crew.crew import FaceCrew
from stream.crew.crew_drawing import CrewDrawing, CrewFace
from stream.crew.member import Member
from stream.crew.messages import DrawnFace, SentLayer
from stream.crew.shared_blocks import MappedBlock, can_share
from stream.files.demo_clip import portrait
from stream.pipeline.engine_set import EngineSet, SwapEngines
from stream.pipeline.replacement import Replacement
from stream.swap.face_drawing import FaceDrawer
from stream.swap.swapping import SwapEveryFace
from tests.stream.crew.swap_engines import swap_engines
from tests.stream.swap.test_swapping import Lender

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(not can_share(), reason="needs memory without a name"),
]


SIDE = 360
"""Of one person's half of the picture, px."""


class SameEmbedder:
    """Takes all faces for one person's, so that no track shows another from some frame on."""

    def embed(self, crops: NDArray[np.uint8]) -> NDArray[np.float32]:
        return np.tile(np.eye(1, 8, dtype=np.float32), (len(crops), 1))


class DonorLender(Lender):
    """Lends each track the donor of its number."""

    def __init__(self, swap: SwapEngines) -> None:
        super().__init__()
        self._latents = swap.donors.latents

    def lend(self, frame: Frame, track: Track, embedding: Embedding) -> Surrogate | str:
        return Surrogate("c", self._latents[track.id], 5)


@pytest.fixture(scope="module")
def engines() -> Iterator[EngineSet]:
    with swap_engines(2, is_recorded=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def swap(engines: EngineSet) -> SwapEngines:
    assert engines.swap is not None
    return engines.swap


@pytest.fixture
def crew(swap: SwapEngines) -> FaceCrew:
    assert swap.crew is not None
    swap.crew._deaths = swap.crew._untold = 0  # each test may lose as many as a run
    members_of(swap.crew)
    swap.crew.told()
    return swap.crew


@pytest.fixture(scope="module")
def face(engines: EngineSet) -> Face:
    return engines.detector.detect(person(), min_score=0.5)[0]


def person() -> BgrImage:
    return np.ascontiguousarray(portrait()[:SIDE, 60 : 60 + SIDE])


def frames(count: int) -> list[Frame]:
    """Two people who move a little from side to side."""
    made = []
    for index in range(count):
        move = np.array([[1, 0, 2 * np.sin(index / 2)], [0, 1, 0]], np.float32)
        cell = cv2.warpAffine(person(), move, (SIDE, SIDE), borderMode=cv2.BORDER_REPLICATE)
        yuv = cv2.cvtColor(np.hstack([cell, cell]), cv2.COLOR_BGR2YUV_I420)
        planes = (
            yuv[:SIDE].copy(),
            yuv[SIDE : SIDE + SIDE // 4].reshape(SIDE // 2, SIDE).copy(),
            yuv[SIDE + SIDE // 4 :].reshape(SIDE // 2, SIDE).copy(),
        )
        picture = Picture(tuple(np.asarray(one, np.uint8) for one in planes), "yuv420", 8, "bt601")
        made.append(Frame(picture, index, Fraction(1, 25), index))
    return made


def tracks(face: Face, count: int = 2) -> list[Track]:
    shifts = [np.array([SIDE * place, 0], np.float32) for place in range(count)]
    return [
        Track(
            number,
            Face(face.box_px + np.tile(shift, 2), face.landmarks_px + shift, face.score),
            TrackState.DETECTED,
            9,
        )
        for number, shift in enumerate(shifts, 1)
    ]


def subject_of(swap: SwapEngines, crew: FaceCrew | None) -> SwapEveryFace:
    def elsewhere(drawer: FaceDrawer) -> CrewDrawing:
        assert crew is not None
        return CrewDrawing(crew, drawer)

    chosen = None if crew is None else elsewhere
    return SwapEveryFace(swap.painter, SameEmbedder(), DonorLender(swap), elsewhere=chosen)


def composed(subject: SwapEveryFace, frame: Frame, seen: list[Track]) -> Composite:
    return laid(subject.replace(frame, seen), frame, seen)


def laid(made: Replacement, frame: Frame, seen: list[Track]) -> Composite:
    own = replace(frame, picture=frame.picture.copy())
    return compose(own, seen, made.patches, cover_named("solid"), made.causes)


def blocks_in_use(crew: FaceCrew) -> frozenset[int]:
    free = {block.number for some in crew.blocks._free.values() for block in some}
    return crew.blocks.numbers - free


def drawing_of(subject: SwapEveryFace) -> CrewDrawing:
    drawing = subject._drawing
    assert isinstance(drawing, CrewDrawing)
    return drawing


def member_of(subject: SwapEveryFace, track: int) -> Member:
    """Who draws a track that is not drawn here."""
    member = drawing_of(subject)._wearers[track].face
    assert member is not None
    return member


def stop(member: Member) -> None:
    """Hangs a process: it does nothing any more, and lives."""
    os.kill(member._process.pid, signal.SIGSTOP)
    end = time.monotonic() + 10
    while _state(member._process.pid) != "T":
        assert time.monotonic() < end
        time.sleep(0.001)


def comes_true(condition: Callable[[], bool]) -> bool:
    """Whether something holds within a while; processes end when they are let."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def bare_share(made: Composite, original: Frame, face: Face, place: int) -> float:
    """Share of a face's centre that looks as it came."""
    x0, y0, x1, y1 = face.box_px.astype(int)
    rows = slice(y0 + (y1 - y0) // 4, y1 - (y1 - y0) // 4)
    columns = slice(x0 + (x1 - x0) // 4 + SIDE * place, x1 - (x1 - x0) // 4 + SIDE * place)
    before, after = (
        one.picture.planes[0][rows, columns].astype(np.int64) for one in (original, made)
    )
    return float((before == after).mean())


def assert_alike(one: Composite, other: Composite) -> None:
    """Whether nobody can tell two pictures apart."""
    for plane, same in zip(one.picture.planes, other.picture.planes, strict=True):
        away = np.abs(plane.astype(int) - same.astype(int))
        assert away.max() <= 12
        assert away.mean() < 0.02


def assert_hidden(made: Composite, original: Frame, face: Face) -> None:
    for place in range(2):
        assert bare_share(made, original, face, place) < 0.35


def members_of(crew: FaceCrew) -> list[Member]:
    """Both, once one that takes the place of a dead one is ready."""
    end = time.monotonic() + 30
    while len(members := crew.members()) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(members) == 2
    return members


def results(made: Composite) -> list[str]:
    return [one.result for one in made.outcomes]


def test_faces_look_as_drawn_by_one_process(swap: SwapEngines, crew: FaceCrew, face: Face) -> None:
    alone, shared = subject_of(swap, None), subject_of(swap, crew)
    for frame in frames(8):
        one, other = (composed(subject, frame, tracks(face)) for subject in (alone, shared))
        assert results(one) == results(other) == ["swapped", "swapped"]
        assert_alike(one, other)
    assert shared.ahead
    assert not alone.ahead
    shared.close()


def test_one_face_is_drawn_here_and_handed_over_when_another_comes(
    swap: SwapEngines, crew: FaceCrew, face: Face
) -> None:
    alone, subject = subject_of(swap, None), subject_of(swap, crew)
    for index, frame in enumerate(frames(10)):
        seen = tracks(face, 1 if index < 5 else 2)
        one, other = (composed(drawing, frame, seen) for drawing in (alone, subject))
        assert bool(subject.ahead) == (index >= 5)
        left = [made.picture.planes[0][:, :SIDE].astype(int) for made in (one, other)]
        assert np.abs(left[0] - left[1]).max() <= 2  # what was remembered came along
    subject.close()


def test_member_that_dies_costs_a_cover_and_no_more(
    swap: SwapEngines, crew: FaceCrew, face: Face
) -> None:
    """The planted fault: it dies when it was asked for a face."""
    subject, seen = subject_of(swap, crew), tracks(face)
    waiting = iter(frames(12))
    for _ in range(3):
        assert results(composed(subject, next(waiting), seen)) == ["swapped", "swapped"]
    dying, frame = member_of(subject, 1), next(waiting)
    assert dying is not member_of(subject, 2)
    stop(dying)
    ended = subject.begin(frame, seen)
    dying.kill()
    made = laid(ended(), frame, seen)
    assert_hidden(made, frame, face)
    assert results(made) == ["covered", "swapped"]
    assert [one.cause for one in made.outcomes] == ["engine_fault", ""]
    rest = [composed(subject, frame, seen) for frame in waiting]
    assert [results(made) for made in rest] == [["swapped", "swapped"]] * len(rest)
    assert len(crew.told()) == 1
    subject.close()


def test_faults_of_a_member_cost_covers_and_what_it_must_know_is_told_again(
    swap: SwapEngines, crew: FaceCrew, face: Face
) -> None:
    """The planted fault: a member has lost what it was told of a face."""
    subject, seen, told = subject_of(swap, crew), tracks(face), list[list[str]]()
    for index, frame in enumerate(frames(8)):
        if index == 3:
            crew.forget(drawing_of(subject)._stream)
        made = composed(subject, frame, seen)
        assert_hidden(made, frame, face)
        told.append(["full"] if made.is_fully_covered else results(made))
    assert told[2] == told[4] == ["swapped", "swapped"]
    assert told[3] == ["covered", "covered"]
    subject.close()


def test_members_that_hang_are_ended_in_time(
    swap: SwapEngines, crew: FaceCrew, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: they read nothing, though a memory is handed over that fills a socket."""
    hung = members_of(crew)
    subject, waiting = subject_of(swap, crew), iter(frames(16))
    for frame in itertools.islice(waiting, 6):
        composed(subject, frame, tracks(face, 1))
    memory = drawing_of(subject)._own._memories[1]
    assert len(pickle.dumps(memory)) > 1 << 20
    for member in hung:
        stop(member)
    monkeypatch.setattr(crew, "deadline_s", 1.0)
    frame, made = next(waiting), list[Composite]()
    work = threading.Thread(
        target=lambda: made.append(composed(subject, frame, tracks(face))), daemon=True
    )
    start = time.monotonic()
    work.start()
    work.join(20)
    assert made, "the frame did not come out"
    assert time.monotonic() - start < 10
    assert results(made[0]) == ["covered", "covered"]
    assert_hidden(made[0], frame, face)
    assert comes_true(lambda: all(member.is_dead for member in hung))
    monkeypatch.undo()
    members_of(crew)
    rest = [composed(subject, frame, tracks(face)) for frame in waiting]
    assert results(rest[-1]) == ["swapped", "swapped"]
    subject.close()


def test_frame_that_is_never_completed_holds_nothing_once_its_stream_ends(
    swap: SwapEngines, crew: FaceCrew, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: its members hang, too."""
    members = members_of(crew)
    subject, waiting = subject_of(swap, crew), iter(frames(4))
    before = blocks_in_use(crew)
    for _ in range(2):
        composed(subject, next(waiting), tracks(face))
    monkeypatch.setattr(crew, "deadline_s", 1.0)
    for member in members:
        stop(member)
    subject.begin(next(waiting), tracks(face))
    assert blocks_in_use(crew) != before
    subject.close()
    assert blocks_in_use(crew) == before
    assert comes_true(lambda: [member.work for member in members] == [0, 0])


def test_layer_with_a_hole_over_the_face_is_refused(face: Face) -> None:
    """The planted fault: what comes back does not hide what it should."""
    original = frames(1)[0]
    seen = tracks(face, 1)
    pixels, alpha = np.full((SIDE, SIDE, 3), 90, np.float32), np.ones((SIDE, SIDE), np.float32)
    x, y = face.landmarks_px[2].astype(int)
    told = []
    for is_whole in (True, False):
        alpha[y - 4 : y + 4, x - 4 : x + 4] = is_whole
        block = MappedBlock(1, -1, np.zeros(1 << 22, np.uint8))
        placed = Placed(0, 0, pixels, alpha)
        sent, _ = SentLayer.of(placed, original.picture, block.content, 0)
        drawn = DrawnFace(1, sent)
        one = CrewFace(drawn, block)
        told.append(one.face(original.picture, seen[0].face))
    assert not isinstance(told[0], str)
    assert told[1] == "layer does not hide the face"


def test_answer_of_another_frame_never_takes_a_faces_place(
    swap: SwapEngines, crew: FaceCrew, face: Face
) -> None:
    """A face that was asked for elsewhere is not laid over one that has moved away from there."""
    subject = subject_of(swap, crew)
    for frame in frames(3):
        patches = subject.replace(frame, tracks(face)).patches
    moved = [replace(one, face=_aside(one.face, 90)) for one in tracks(face)]
    made = compose(frames(1)[0], moved, patches, cover_named("solid"))
    assert results(made) == ["covered", "covered"]
    subject.close()


def _aside(face: Face, away: float) -> Face:
    points = face.landmarks_px + np.array([away, 0], np.float32)
    return Face(face.box_px + np.array([away, 0, away, 0], np.float32), points, face.score)


def test_blocks_do_not_grow_with_the_stream(swap: SwapEngines, crew: FaceCrew, face: Face) -> None:
    subject, known = subject_of(swap, crew), list[int]()
    for frame in frames(24):
        composed(subject, frame, tracks(face))
        known.append(len(crew.blocks.numbers))
    assert known[-1] == known[8]
    subject.close()


def test_without_members_everything_is_drawn_here(
    swap: SwapEngines, crew: FaceCrew, face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "members", list)
    subject = subject_of(swap, crew)
    made = composed(subject, frames(1)[0], tracks(face))
    assert results(made) == ["swapped", "swapped"]
    assert not subject.ahead
    subject.close()


def test_processes_end_with_the_one_that_started_them() -> None:
    script = (
        "import sys, time\n"
        "from stream.crew.member import Member\n"
        "from stream.crew.messages import Hello\n"
        "from stream.crew.shared_blocks import SharedBlocks\n"
        "one = Member(Hello('auto', 'cpu', 'fp32'), SharedBlocks())\n"
        "print(one._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert _lives(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 20
    while _lives(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(child)


def _lives(process: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    return _state(process) not in "ZX"


def _state(process: int) -> str:
    """What it does, in the kernel's letters."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"
