"""Whatever an engine does, no face leaves as it came, and no frame is lost."""

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
from engines.types import Face, Frame, Track
from stream.files.report import ClusterCounts
from stream.finding.finding import FaceFinder
from stream.pipeline.anonymizer import Anonymizer
from stream.pipeline.replacement import CoverEveryFace, FaceReplacer, Replacement
from stream.pipeline.stage_clock import StageClock
from stream.swap.track_embedding import FacesAhead
from tracker.schedule import DetectionSchedule, ScheduleSettings
from tracker.settings import TrackerSettings
from tracker.tracker import Tracker

pytestmark = pytest.mark.unit

HEIGHT, WIDTH = 96, 128
BOX = (40.0, 30.0, 70.0, 66.0)
Image = NDArray[np.uint8]


def face(score: float = 0.9, shift: float = 0.0) -> Face:
    x0, y0, x1, y1 = BOX
    landmarks = np.array([[48, 42], [62, 42], [55, 50], [50, 58], [60, 58]], np.float32)
    landmarks[:, 0] += shift
    return Face(np.array([x0 + shift, y0, x1 + shift, y1], np.float32), landmarks, score)


class ScriptedDetector:
    """Answers call by call from a list of functions; the last one repeats."""

    def __init__(self, *answers: Callable[[], tuple[Face, ...]]) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()

    def detect(self, image: Image, *, min_score: float = 0.0) -> tuple[Face, ...]:
        with self._lock:
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer()


def frames(count: int, damaged: Sequence[int] = (), step: int = 1) -> Iterator[Frame]:
    scene = np.random.default_rng(5).integers(60, 200, (HEIGHT, WIDTH)).astype(np.uint8)
    for index in range(count):
        luma = np.roll(scene, step * index, axis=1)
        chroma = tuple(np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8) for _ in range(2))
        picture = Picture((luma, *chroma), "yuv420")
        yield Frame(picture, index, Fraction(1, 25), index, "test", index in damaged)


def anonymizer(
    detector: ScriptedDetector,
    replacer: FaceReplacer | None = None,
    deadline_s: float = 5.0,
    closer: ScriptedDetector | None = None,
) -> Anonymizer:
    clock = StageClock()
    plan = DetectionPlan(long_side_px=WIDTH)
    finder = FaceFinder(
        detector,
        lambda height, width: {"near": plan, "coarse": plan, "full": plan},
        min_score=0.2,
        workers=1,
        deadline_s=deadline_s,
        give_up_after=5,
        clock=clock,
        closer=closer,
    )
    return Anonymizer(
        finder,
        DetectionSchedule(ScheduleSettings(max_skipped=0)),
        Tracker(TrackerSettings(lookahead_frames=4)),
        replacer or CoverEveryFace(),
        cover_named("solid"),
        1.3,
        clock,
    )


def run(subject: Anonymizer, source: Iterator[Frame]) -> list[Composite]:
    composites: list[Composite] = []
    try:
        for frame in source:
            composites += subject.push(frame)
        return composites + list(subject.flush())
    finally:
        subject.close()


def central_change(composite: Composite, original: Frame) -> float:
    """Mean absolute luma difference on the central half of the face's box."""
    x0, y0, x1, y1 = BOX
    rows = slice(int(y0 + (y1 - y0) / 4), int(y1 - (y1 - y0) / 4))
    columns = slice(int(x0 + (x1 - x0) / 4), int(x1 - (x1 - x0) / 4))
    before = original.picture.planes[0][rows, columns].astype(int)
    after = composite.picture.planes[0][rows, columns].astype(int)
    return float(np.abs(before - after).mean())


def seen() -> tuple[Face, ...]:
    return (face(),)


def nothing() -> tuple[Face, ...]:
    return ()


def raising() -> tuple[Face, ...]:
    raise RuntimeError("planted")


def broken() -> tuple[Face, ...]:
    found = face()
    return (Face(np.full(4, np.nan, np.float32), found.landmarks_px, found.score),)


def assert_every_face_hidden(composites: Sequence[Composite]) -> None:
    assert [composite.index for composite in composites] == list(range(len(composites)))
    for composite, original in zip(composites, frames(len(composites)), strict=True):
        assert composite.is_fully_covered or central_change(composite, original) > 20


def test_face_seen_in_every_frame_is_covered_in_every_frame() -> None:
    composites = run(anonymizer(ScriptedDetector(seen)), frames(12))
    assert_every_face_hidden(composites)
    assert not any(composite.is_fully_covered for composite in composites)


def test_pixels_away_from_faces_are_untouched() -> None:
    composites = run(anonymizer(ScriptedDetector(seen)), frames(6))
    for composite, original in zip(composites, frames(6), strict=True):
        np.testing.assert_array_equal(
            composite.picture.planes[0][:, 100:], original.picture.planes[0][:, 100:]
        )


def test_late_first_detection_covers_earlier_frames() -> None:
    composites = run(anonymizer(ScriptedDetector(nothing, nothing, seen)), frames(10))
    assert_every_face_hidden(composites)


def test_missed_detections_leave_no_hole() -> None:
    composites = run(
        anonymizer(ScriptedDetector(seen, seen, nothing, nothing, seen, nothing, seen)), frames(12)
    )
    assert_every_face_hidden(composites)


def test_detector_that_raises_covers_the_whole_frame() -> None:
    subject = anonymizer(ScriptedDetector(seen, seen, raising, seen))
    composites = run(subject, frames(8))
    assert_every_face_hidden(composites)
    assert [c.index for c in composites if c.is_fully_covered] == [2]
    assert subject.tally.frames().covered_fully_by_cause == {"detector_fault": 1}


def test_detector_that_returns_nan_covers_the_whole_frame() -> None:
    composites = run(anonymizer(ScriptedDetector(seen, broken, seen)), frames(6))
    assert_every_face_hidden(composites)
    assert composites[1].is_fully_covered


def test_detector_that_keeps_failing_ends_the_run() -> None:
    with pytest.raises(EngineFault, match="doctor"):
        run(anonymizer(ScriptedDetector(seen, raising)), frames(20))


def test_detector_that_hangs_ends_the_run() -> None:
    release = threading.Event()

    def hanging() -> tuple[Face, ...]:
        release.wait(30)
        return ()

    try:
        with pytest.raises(EngineFault, match="hung"):
            run(anonymizer(ScriptedDetector(seen, hanging), deadline_s=0.05), frames(6))
    finally:
        release.set()


def test_damaged_frame_is_covered_in_full() -> None:
    subject = anonymizer(ScriptedDetector(seen))
    composites = run(subject, frames(8, damaged=[3]))
    assert composites[3].is_fully_covered
    assert subject.tally.frames().damaged == 1


class RaisingReplacer:
    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        raise RuntimeError("planted")

    def counts(self) -> ClusterCounts:
        return ClusterCounts()


def test_replacer_that_raises_leaves_covers() -> None:
    subject = anonymizer(ScriptedDetector(seen), RaisingReplacer())
    composites = run(subject, frames(6))
    assert_every_face_hidden(composites)
    assert subject.tally.faces().covered_by_cause == {"engine_fault": 6}


class LookingAhead(CoverEveryFace):
    """Notes how many frames ahead show each track, frame by frame."""

    def __init__(self) -> None:
        super().__init__()
        self.counts_ahead: list[int] = []

    def foresee(self, ahead: FacesAhead) -> None:
        self._ahead = ahead

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        for track in tracks:
            ahead = self._ahead(track.id)
            assert all(later.index > frame.index for later, _ in ahead)
            self.counts_ahead.append(len(ahead))
        return super().replace(frame, tracks)


def test_replacer_sees_a_track_in_the_frames_that_have_not_left() -> None:
    replacer = LookingAhead()
    run(anonymizer(ScriptedDetector(seen), replacer), frames(12))
    assert replacer.counts_ahead[0] >= 2
    assert replacer.counts_ahead[-4:] == [3, 2, 1, 0], "the end is told by what lies before it"


def test_planted_passthrough_is_found_by_the_check() -> None:
    composites = run(anonymizer(ScriptedDetector(nothing)), frames(4))
    with pytest.raises(AssertionError):
        assert_every_face_hidden(composites)


class AheadOfItself:
    """Begins on frames, notes what happens when, and paints nothing."""

    def __init__(self, ahead: int = 1, failing: Sequence[int] = ()) -> None:
        self.ahead = ahead
        self.events: list[tuple[str, int]] = []
        self.failing = failing
        self.is_closed = False

    def begin(self, frame: Frame, tracks: Sequence[Track]) -> Callable[[], Replacement]:
        self.events.append(("begun", frame.index))
        if frame.index in self.failing:
            raise EngineFault("planted")

        def ended() -> Replacement:
            self.events.append(("ended", frame.index))
            return Replacement(causes={track.id: "method" for track in tracks})

        return ended

    def replace(self, frame: Frame, tracks: Sequence[Track]) -> Replacement:
        return self.begin(frame, tracks)()

    def counts(self) -> ClusterCounts:
        return ClusterCounts()

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_next_frames_are_begun_while_the_one_before_is_composed(ahead: int) -> None:
    replacer = AheadOfItself(ahead)
    composites = run(anonymizer(ScriptedDetector(seen), replacer), frames(9))
    assert_every_face_hidden(composites)
    assert len(composites) == 9
    when = {event: place for place, event in enumerate(replacer.events)}
    assert len(when) == len(replacer.events) == 18
    for index in range(9 - ahead):
        assert (
            when["begun", index + ahead - 1] < when["ended", index] < when["begun", index + ahead]
        )
    assert replacer.is_closed


class Held(CoverEveryFace):
    """Begins nothing ahead, and holds something."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_replacer_that_begins_nothing_ahead_is_closed_too() -> None:
    replacer = Held()
    run(anonymizer(ScriptedDetector(seen), replacer), frames(3))
    assert replacer.is_closed


def test_frame_that_cannot_be_begun_is_covered_and_the_others_go_on() -> None:
    subject = anonymizer(ScriptedDetector(seen), AheadOfItself(2, failing=[3]))
    composites = run(subject, frames(8, damaged=[5]))
    assert_every_face_hidden(composites)
    assert len(composites) == 8
    assert [one.index for one in composites if one.is_fully_covered] == [5]
    assert subject.tally.faces().covered_by_cause["engine_fault"] == 1


def test_what_others_work_on_no_more_is_completed_at_once() -> None:
    replacer = AheadOfItself()
    subject, plain = (anonymizer(ScriptedDetector(seen), one) for one in (replacer, None))
    made, at_once = list[int](), list[int]()
    for frame, same in zip(frames(14), frames(14), strict=True):
        replacer.ahead = 2 if frame.index < 8 else 0
        made += [one.index for one in subject.push(frame)]
        at_once += [one.index for one in plain.push(same)]
        assert made == at_once[: len(at_once) - replacer.ahead]
    for one in (subject, plain):
        one.flush()
        one.close()


@pytest.mark.parametrize(
    ("closer", "covered"),
    [(None, 10), (ScriptedDetector(raising), 10), (ScriptedDetector(nothing), 2)],
    ids=["none", "raising", "finds nobody"],
)
def test_what_is_covered_beside_detections_is_looked_at_closely(
    closer: ScriptedDetector | None, covered: int
) -> None:
    """A face in two frames is covered a little longer, but not where it is certainly gone."""
    detector = ScriptedDetector(nothing, nothing, nothing, seen, seen, nothing)
    made = run(anonymizer(detector, closer=closer), frames(20))
    is_covered = [bool(one.outcomes) for one in made]
    assert is_covered[3:5] == [True, True]
    assert sum(is_covered) == covered


@pytest.mark.parametrize(
    ("score", "closer", "bare"),
    [
        (0.35, ScriptedDetector(nothing), [4]),
        (0.35, ScriptedDetector(raising), []),
        (0.35, None, []),
        (0.9, ScriptedDetector(nothing), []),
    ],
    ids=["finds nobody", "raising", "none", "clearly found before"],
)
def test_between_weak_finds_a_place_that_shows_neither_is_looked_at_closely(
    score: float, closer: ScriptedDetector | None, bare: list[int]
) -> None:
    """The picture moves on, so that the place shows something else a few frames later."""

    def weak() -> tuple[Face, ...]:
        return (face(score),)

    detector = ScriptedDetector(weak, weak, weak, nothing, nothing, nothing, weak)
    made = run(anonymizer(detector, closer=closer), frames(12, step=9))
    assert [one.index for one in made if not one.outcomes] == bare
