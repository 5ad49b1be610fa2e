"""Looking ahead by key frames leaves no frame out and no change unseen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.compositor import Composite
from engines.blending.covers import cover_named
from engines.detectors.multiscale import DetectionPlan
from engines.errors import EngineFault
from engines.pictures import Picture
from engines.types import Face, Frame
from stream.finding.finding import FaceFinder
from stream.finding.frame_search import FrameSearch, Searched, SearchInTurn
from stream.finding.span_search import SpanSearch, frames_held
from stream.media.writing.segment_files import JsonValue
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.replacement import CoverEveryFace
from stream.pipeline.stage_clock import StageClock
from tracker.schedule import DetectionSchedule
from tracker.settings import TrackerSettings
from tracker.spans import KeySchedule
from tracker.tracker import Tracker

pytestmark = pytest.mark.unit

HEIGHT, WIDTH = 96, 640
Found = Callable[[int], tuple[Face, ...]]
MARK_COLUMNS = 16


def face(x: float = 40.0, score: float = 0.9) -> Face:
    landmarks = np.array([[8, 12], [22, 12], [15, 20], [10, 28], [20, 28]], np.float32)
    landmarks += np.array([x, 30], np.float32)
    return Face(np.array([x, 30, x + 30, 66], np.float32), landmarks, score)


def frames(count: int, damaged: Sequence[int] = (), rate: int = 30) -> Iterator[Frame]:
    """Frames whose lower right corner says their number."""
    scene = np.random.default_rng(5).integers(60, 200, (HEIGHT, WIDTH)).astype(np.uint8)
    for index in range(count):
        luma = scene.copy()
        luma[-8:, -MARK_COLUMNS:] = 16 + index
        chroma = tuple(np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8) for _ in range(2))
        picture = Picture((luma, *chroma), "yuv420")
        yield Frame(picture, index, Fraction(1, rate), index, "test", index in damaged)


class NumberReader:
    """A detector that reads the frame's number and answers by it; notes what it was shown."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._lock = threading.Lock()
        self.seen: list[int] = []

    def detect(self, image: NDArray[np.uint8], *, min_score: float = 0.0) -> tuple[Face, ...]:
        number = round(float(image[-6:-2, -MARK_COLUMNS + 4 : -4].mean()) * 219 / 255)
        with self._lock:
            self.seen.append(number)
        return tuple(one for one in self._found(number) if one.score >= min_score)


class Notes:
    """Keeps findings as a resumable output does; recalls those below `known`."""

    def __init__(self, known: dict[int, JsonValue] | None = None) -> None:
        self.known = known or {}
        self.kept: dict[int, JsonValue] = {}

    def record(self, index: int, value: JsonValue) -> None:
        self.kept[index] = value

    def recalled(self, index: int) -> JsonValue:
        return self.known.get(index)


def finder_of(found: Found, notes: Notes | None = None, workers: int = 2) -> FaceFinder:
    plan = DetectionPlan(WIDTH)
    return FaceFinder(
        NumberReader(found),
        lambda height, width: {"near": plan, "coarse": plan, "full": plan},
        min_score=0.2,
        workers=workers,
        deadline_s=5.0,
        give_up_after=5,
        clock=StageClock(),
        memory=notes,
    )


def searched(
    found: Found, count: int, damaged: Sequence[int] = (), notes: Notes | None = None
) -> tuple[list[int], list[int]]:
    """Frames that came out, and those that were searched."""
    search = SpanSearch(finder_of(found, notes), KeySchedule())
    came: list[Searched] = []
    try:
        for frame in frames(count, damaged):
            came += search.push(frame, np.full((36, 64), 90, np.uint8))
        came += search.flush()
    finally:
        search.close()
    looked = [one.frame.index for one in came if one.findings.faces is not None]
    return [one.frame.index for one in came], looked


def anonymized(found: Found, count: int, damaged: Sequence[int] = ()) -> list[Composite]:
    subject = Anonymizer(
        finder_of(found),
        KeySchedule(),
        Tracker(TrackerSettings(lookahead_frames=20)),
        CoverEveryFace(),
        cover_named("solid"),
        1.3,
        StageClock(),
    )
    composites: list[Composite] = []
    try:
        for frame in frames(count, damaged):
            composites += subject.push(frame)
        return composites + list(subject.flush())
    finally:
        subject.close()


def is_hidden(composite: Composite, x: float) -> bool:
    original = next(frames(1)).picture.planes[0]
    rows, columns = slice(40, 56), slice(round(x) + 8, round(x) + 22)
    changed = composite.picture.planes[0][rows, columns].astype(int) != original[rows, columns]
    return bool(changed.mean() > 0.9)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9, 41])
def test_every_frame_comes_out_once_and_in_order(count: int) -> None:
    came, looked = searched(lambda _: (face(),), count)
    assert came == list(range(count))
    assert looked[0] == 0
    assert looked[-1] == count - 1


def test_steady_faces_are_searched_every_fourth_frame() -> None:
    _, looked = searched(lambda _: (face(),), 41)
    assert looked == list(range(0, 41, 4))


def test_newcomer_is_looked_for_in_every_frame_of_its_span() -> None:
    _, looked = searched(lambda number: (face(),) if number >= 10 else (), 21)
    assert set(range(8, 13)) <= set(looked)


def test_fast_face_is_searched_in_every_frame() -> None:
    _, looked = searched(lambda number: (face(20.0 + 6 * number),), 41)
    assert looked == list(range(41))


def test_flicker_is_looked_at_once_more() -> None:
    _, looked = searched(lambda number: (face(score=0.35),) if number % 8 == 0 else (), 17)
    assert looked == list(range(0, 17, 2))


def test_frames_held_are_bounded() -> None:
    search = SpanSearch(finder_of(lambda _: (face(),)), KeySchedule())
    waiting = 0
    try:
        for frame in frames(120):
            waiting += 1 - len(list(search.push(frame, np.full((36, 64), 90, np.uint8))))
            assert waiting <= frames_held(2, 4)
        assert waiting == len(list(search.flush()))
    finally:
        search.close()


def test_resumed_run_takes_the_decisions_of_the_first() -> None:
    def found(number: int) -> tuple[Face, ...]:
        return (face(20.0 + (6 * number if 20 < number < 40 else 0)),) if number > 9 else ()

    notes = Notes()
    _, looked = searched(found, 60, notes=notes)
    known = {index: value for index, value in notes.kept.items() if index < 30}
    assert searched(found, 60, notes=Notes(known))[1] == looked


def test_moving_face_is_hidden_in_frames_that_were_not_searched() -> None:
    composites = anonymized(lambda number: (face(40.0 + 2 * number),), 60)
    hidden = [is_hidden(one, 40.0 + 2 * one.index) for one in composites]
    assert all(hidden)
    assert not any(one.is_fully_covered for one in composites)


def test_key_that_raises_covers_its_frame_and_its_neighbours_are_searched() -> None:
    def found(number: int) -> tuple[Face, ...]:
        if number == 8:
            raise RuntimeError("planted")
        return (face(),)

    composites = anonymized(found, 30)
    assert [one.index for one in composites if one.is_fully_covered] == [8]
    assert all(one.is_fully_covered or is_hidden(one, 40.0) for one in composites)
    assert set(range(5, 12)) - {8} <= set(searched(found, 30)[1])


def test_damaged_frame_ends_a_span_and_is_covered() -> None:
    composites = anonymized(lambda _: (face(),), 30, damaged=[6])
    assert [one.index for one in composites if one.is_fully_covered] == [6]
    _, looked = searched(lambda _: (face(),), 30, damaged=[6])
    assert {4, 5} <= set(looked)
    assert {7, 8} & set(looked)


def test_detector_that_keeps_failing_ends_the_run() -> None:
    def found(number: int) -> tuple[Face, ...]:
        if number > 8:
            raise RuntimeError("planted")
        return (face(),)

    with pytest.raises(EngineFault, match="doctor"):
        anonymized(found, 60)


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9, 41])
def test_last_frame_is_searched_thoroughly(count: int) -> None:
    search = SpanSearch(finder_of(lambda _: (face(),)), KeySchedule())
    came: list[Searched] = []
    try:
        for frame in frames(count):
            came += search.push(frame, np.full((36, 64), 90, np.uint8))
        came += search.flush()
    finally:
        search.close()
    assert came[-1].frame.index == count - 1
    assert came[-1].findings.faces is not None
    assert came[-1].findings.least_px == 0.0


def test_last_frame_is_searched_thoroughly_from_frame_to_frame_too() -> None:
    search = SearchInTurn(finder_of(lambda _: (face(),)), DetectionSchedule(), lambda: ())
    came: list[Searched] = []
    try:
        for frame in frames(8):
            came += search.push(frame, np.full((36, 64), 90, np.uint8))
        came += search.flush()
    finally:
        search.close()
    thorough = [one.findings.least_px == 0.0 for one in came if one.findings.faces is not None]
    assert thorough == [True, *[False] * (len(thorough) - 2), True]
    assert came[-1].findings.faces is not None


def lamp_frames() -> Iterator[Frame]:
    """Narrow tones; from the fifth frame on a lamp lights part of the picture."""
    scene = np.random.default_rng(5).integers(100, 120, (HEIGHT, WIDTH)).astype(np.uint8)
    for index in range(12):
        luma = scene.copy()
        if index >= 4:
            luma[:, -80:] = 235
        chroma = tuple(np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8) for _ in range(2))
        yield Frame(Picture((luma, *chroma), "yuv420"), index, Fraction(1, 30), index, "test")


class ViewCounter:
    """A detector that finds nobody and counts the pictures that it is shown in wide tones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.stretched = 0

    def detect(self, image: NDArray[np.uint8], *, min_score: float = 0.0) -> tuple[Face, ...]:
        with self._lock:
            self.stretched += float(image[:, :300].std()) > 60
        return ()


@pytest.mark.parametrize("kind", ["in turn", "by spans"])
def test_frames_are_searched_in_the_tones_of_those_before(kind: str) -> None:
    finder, detector = finder_of(lambda _: (), workers=1), ViewCounter()
    finder._detector = detector
    search: FrameSearch = SpanSearch(finder, KeySchedule())
    if kind == "in turn":
        search = SearchInTurn(finder, DetectionSchedule(), lambda: ())
    came: list[Searched] = []
    for frame in lamp_frames():
        came += search.push(frame, np.full((36, 64), 90, np.uint8))
    came += search.flush()
    search.close()
    looked = sum(one.findings.faces is not None for one in came)
    assert looked >= 4
    assert detector.stretched >= looked, "a frame with the lamp is shown as those before it"
