"""A closer look takes covers from where nobody is, and from nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.detectors.detector import Detector
from engines.detectors.multiscale import DetectionPlan
from engines.errors import EngineFault
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Box, Face, Frame, Track, TrackState
from stream.finding.finding import FaceFinder
from stream.finding.unseen_places import UnseenPlaces
from stream.pipeline.stage_clock import StageClock
from tracker.evidence import is_face

pytestmark = pytest.mark.unit

CLEAR = 0.2
SIZE = (720, 1280)


def face(x: float = 40, score: float = 0.9, width: float = 30) -> Face:
    return Face(np.array([x, 30, x + width, 66], np.float32), np.ones((5, 2), np.float32), score)


def track(number: int, state: TrackState, x: float = 40, *, is_confirmed: bool = True) -> Track:
    return Track(number, face(x), state, 9, is_confirmed)


def after(
    tracks: Sequence[Track],
    found: Sequence[Sequence[Face]] | None,
    places: UnseenPlaces | None = None,
    time_s: float = 0.0,
) -> tuple[Track, ...]:
    def look(boxes: Sequence[Box]) -> list[tuple[Face, ...]] | None:
        assert found is None or len(found) == len(boxes)
        return None if found is None else [tuple(one) for one in found]

    return (places or UnseenPlaces(CLEAR)).settled(tracks, look, time_s, SIZE)


@pytest.mark.parametrize("state", [TrackState.EXTENDED, TrackState.DOUBTFUL])
def test_no_cover_lies_where_a_closer_look_finds_nobody(state: TrackState) -> None:
    assert after([track(1, state)], [()]) == ()


@pytest.mark.parametrize("state", [TrackState.EXTENDED, TrackState.DOUBTFUL])
def test_the_cover_stays_where_no_closer_look_can_be_taken(state: TrackState) -> None:
    tracks = (track(1, state),)
    assert after(tracks, None) == tracks


@pytest.mark.parametrize(("state", "last"), [(TrackState.EXTENDED, 5), (TrackState.DOUBTFUL, 11)])
def test_the_cover_stays_for_a_while_where_a_closer_look_is_in_doubt(
    state: TrackState, last: int
) -> None:
    """The planted faults: a cover lingered on the hair behind which a face had gone long ago; one
    that was found in every frame, and may have been another, lost its cover."""
    gone, places = track(1, state), UnseenPlaces(CLEAR)
    shown = [
        bool(after([gone], [(face(score=0.1),)], places, time_s=index / 25)) for index in range(12)
    ]
    assert shown == [index <= last for index in range(12)]


def gone_from(
    x: float, width: float = 120, height: float = 120, state: TrackState = TrackState.EXTENDED
) -> Track:
    """Somebody who is not found any more, near by default."""
    box = np.array([x, 400, x + width, 400 + height], np.float32)
    return Track(1, Face(box, np.ones((5, 2), np.float32), 0.9), state, 9, False)


@pytest.mark.parametrize("x", [1150.0, 1200.0, 1290.0, 1700.0, -400.0])
def test_a_large_face_that_leaves_the_picture_is_covered_up_to_the_rim(x: float) -> None:
    """The planted fault: a profile that no detector finds, half outside, in focus and bare."""
    (kept,) = after([gone_from(x)], [()])
    inside = np.clip(kept.face.box_px[[0, 2]], 0, SIZE[1])
    assert inside[1] - inside[0] >= 30
    assert {0, SIZE[1]} & {*inside.tolist()} or x == 1150.0


@pytest.mark.parametrize("gone", [gone_from(600), gone_from(1270, 40, 50)], ids=["inside", "small"])
def test_elsewhere_and_of_small_faces_no_cover_stays(gone: Track) -> None:
    assert after([gone], [()]) == ()


@pytest.mark.parametrize(("side_px", "is_kept"), [(40, False), (50, True)])
def test_a_face_at_the_rim_is_as_large_as_it_was_found(side_px: float, is_kept: bool) -> None:
    """The planted fault: in the street places of small faces grew until they counted as large ones,
    and stayed covered."""
    places = UnseenPlaces(CLEAR)
    after([gone_from(1228, side_px, 60, TrackState.DETECTED)], [], places)
    assert bool(after([gone_from(1240, 60, 70)], [()], places, time_s=0.1)) == is_kept


def test_who_comes_is_covered_however_hardly_he_is_seen() -> None:
    """The planted fault: a face half behind another was bare until it was found."""
    coming, places = Track(1, face(), TrackState.EXTENDED, -9), UnseenPlaces(CLEAR)
    for index in range(9):
        assert after([coming], [(face(score=0.1),)], places, time_s=index / 25)


@pytest.mark.parametrize(
    ("age", "is_confirmed", "is_kept"), [(-1, True, True), (9, True, False), (-1, False, False)]
)
def test_who_comes_is_covered_when_he_is_found_with_what_hides_him(
    age: int, is_confirmed: bool, is_kept: bool
) -> None:
    """The planted fault: half behind somebody, a face was found in a box of four times its size,
    and was bare in the frame before its first detection."""
    box = np.array([20, 0, 110, 95], np.float32)
    around = Face(box, np.ones((5, 2), np.float32), 0.1)
    coming = Track(1, face(), TrackState.EXTENDED, age, is_confirmed)
    assert after([coming], [(around,)]) == ((coming,) if is_kept else ())


@pytest.mark.parametrize(
    ("x", "is_confirmed", "state"),
    [(42, True, "filled"), (58, True, "extended"), (42, False, "extended")],
    ids=["there", "beside", "never clear"],
)
def test_what_is_hardly_seen_where_a_clear_face_comes_is_that_face(
    x: float, is_confirmed: bool, state: str
) -> None:
    """It gets a surrogate if it can be read, and its cover stays as wide."""
    one = track(1, TrackState.EXTENDED, is_confirmed=is_confirmed)
    (found,) = after([one], [(face(x, score=0.16),)])
    assert found.state.value == state
    assert found.face.box_px[0] <= 40
    assert found.face.box_px[2] >= 70


@pytest.mark.parametrize(("score", "is_kept"), [(0.1, False), (0.16, True), (0.3, True)])
def test_what_was_never_clearly_found_is_extended_only_where_a_face_is_likely(
    score: float, is_kept: bool
) -> None:
    weak = track(1, TrackState.EXTENDED, is_confirmed=False)
    assert bool(after([weak], [(face(score=score),)])) == is_kept
    assert after([weak], None) == (weak,)


def test_a_face_that_is_found_after_all_goes_on_as_such() -> None:
    here = face(42, score=0.4)
    (one,) = after([track(1, TrackState.EXTENDED)], [(here,)])
    assert (one.state, one.face) == (TrackState.FILLED, here)


def test_a_doubtful_face_stays_doubtful_however_clearly_it_is_found() -> None:
    (one,) = after([track(1, TrackState.DOUBTFUL)], [(face(),)])
    assert one.state is TrackState.DOUBTFUL


def test_a_face_found_beside_the_place_gets_the_cover_and_no_surrogate() -> None:
    """The planted fault: a cover lay where nobody was, and whoever had been found was bare."""
    beside = face(66)
    (one,) = after([track(1, TrackState.EXTENDED)], [(beside,)])
    assert one.state is TrackState.EXTENDED
    assert one.face.box_px.tolist() == beside.box_px.tolist()


@pytest.mark.parametrize("score", [0.1, 0.4])
def test_no_cover_lies_where_a_face_is_hardly_seen_beside_the_place(score: float) -> None:
    assert after([track(1, TrackState.EXTENDED)], [(face(66, score=score),)]) == ()


def test_a_head_found_half_surely_beside_the_place_again_and_again_is_covered() -> None:
    """The planted fault: a profile in focus turned away in front of somebody who was looked for;
    it was found in every look, never beyond doubt, and was bare."""
    gone, places = track(1, TrackState.EXTENDED), UnseenPlaces(CLEAR)
    beside = face(66, score=0.37)
    shown = [after([gone], [(beside,)], places, time_s=index / 25) for index in range(4)]
    assert [bool(one) for one in shown] == [False, False, True, True]
    assert shown[-1][0].face.box_px.tolist() == beside.box_px.tolist()
    assert shown[-1][0].state is TrackState.EXTENDED


def test_finds_under_another_cover_are_evidence_for_when_it_ends() -> None:
    gone, own = track(1, TrackState.EXTENDED), track(2, TrackState.EXTENDED, 66)
    places, beside = UnseenPlaces(CLEAR), face(66, score=0.37)
    for index in range(3):
        after([gone, own], [(beside,), (beside,)], places, time_s=index / 25)
    (one,) = after([gone], [(beside,)], places, time_s=0.12)
    assert one.face.box_px.tolist() == beside.box_px.tolist()


def test_a_place_that_grew_shrinks_to_what_may_be_faces_in_it() -> None:
    grown = replace(track(1, TrackState.EXTENDED), face=face(0, width=120))
    (one,) = after([grown], [(face(50), face(70, score=0.1))])
    assert one.state is TrackState.EXTENDED
    assert one.face.box_px.tolist() == [50, 30, 100, 66]


def test_a_second_face_that_nobody_covers_is_covered_too() -> None:
    """The planted fault: the cover went to one of two faces."""
    (one,) = after([track(1, TrackState.EXTENDED)], [(face(42), face(76))])
    assert one.state is TrackState.EXTENDED
    assert one.face.box_px.tolist() == [42, 30, 106, 66]


def test_a_face_beside_the_place_needs_no_second_cover() -> None:
    gone, other = track(1, TrackState.EXTENDED), track(2, TrackState.EXTENDED, 72)
    assert [one.id for one in after([gone, other], [(face(72),), (face(72),)])] == [2]


def test_the_cover_of_who_has_left_does_not_flicker() -> None:
    """The planted fault: a half-sure find in one frame of many brought a smear back."""
    gone, places = track(1, TrackState.EXTENDED), UnseenPlaces(CLEAR)
    scores = [0.1, 0.0, 0.1, 0.1, 0.4, 0.1]
    found = [[(face(score=score),)] if score else [()] for score in scores]
    shown = [bool(after([gone], one, places)) for one in found]
    assert shown == [True, False, False, False, True, True]


def test_who_comes_is_covered_as_soon_as_something_is_there() -> None:
    coming, places = Track(1, face(), TrackState.EXTENDED, -3), UnseenPlaces(CLEAR)
    shown = [bool(after([coming], one, places)) for one in ([()], [(face(score=0.1),)])]
    assert shown == [False, True]


def test_another_tracks_face_is_not_taken_for_the_one_that_is_looked_for() -> None:
    """The planted fault: who went behind somebody was found in him, and worn by him too."""
    gone, here = track(1, TrackState.EXTENDED, 50), track(2, TrackState.DETECTED, 42)
    assert after([gone, here], [(face(42),)]) == (here,)
    beside = face(58, score=0.5)
    first, second = after([gone, here], [(face(42), beside)])
    assert (first.face, second) == (beside, here)


@given(st.lists(st.tuples(st.floats(0, 160), st.floats(0.08, 1.0)), max_size=4), st.data())
def test_no_face_that_a_look_found_beyond_doubt_is_bare(
    found: list[tuple[float, float]], data: st.DataObject
) -> None:
    faces = sorted((face(x, score) for x, score in found), key=lambda one: -one.score)
    places = data.draw(st.lists(st.floats(0, 160), min_size=1, max_size=3))
    tracks = [track(number, TrackState.EXTENDED, x) for number, x in enumerate(places)]
    covers = [one.face.box_px for one in after(tracks, [faces] * len(tracks))]
    for one in faces:
        if is_face(one):
            x0, _, x1, _ = one.box_px
            assert any(min(x1, box[2]) - max(x0, box[0]) >= 0.6 * (x1 - x0) for box in covers)


def test_faces_that_were_found_are_not_looked_at() -> None:
    tracks = (track(1, TrackState.DETECTED), track(2, TrackState.FILLED))
    assert after(tracks, []) == tracks


DOUBTED = track(1, TrackState.FILLED, is_confirmed=False)


def between(found: Sequence[Face] | None, others: Sequence[Track] = ()) -> tuple[Track, ...]:
    """What is left of the tracks where a place between two finds is doubted."""

    def look(boxes: Sequence[Box]) -> list[tuple[Face, ...]] | None:
        assert len(boxes) == 1
        return None if found is None else [tuple(found)]

    return UnseenPlaces(CLEAR).settled((DOUBTED, *others), look, 0.0, SIZE, frozenset({1}))


def test_a_doubted_place_keeps_its_cover_wherever_anything_is_found() -> None:
    """The planted fault: a blurred face that looked otherwise for a moment was bare."""
    for score in (0.08, 0.16, 0.9):
        assert between([face(score=score)]) == (DOUBTED,)
    assert between(None) == (DOUBTED,)
    assert between([]) == ()


def test_a_clear_face_beside_a_doubted_place_gets_its_cover() -> None:
    beside = face(66)
    (one,) = between([beside])
    assert one.face.box_px.tolist() == beside.box_px.tolist()


def test_another_tracks_face_keeps_no_doubted_cover() -> None:
    other = track(2, TrackState.DETECTED, 42)
    assert between([face(42)], [other]) == (other,)


def test_a_doubted_place_that_was_empty_says_nothing_of_what_comes_after() -> None:
    places, gone = UnseenPlaces(CLEAR), track(1, TrackState.EXTENDED)
    assert places.settled((DOUBTED,), lambda boxes: [()], 0.0, SIZE, frozenset({1})) == ()
    assert after([gone], [(face(score=0.1),)], places, time_s=0.04)


class Raising:
    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        raise EngineFault("planted: the network returned NaN")


class Hanging:
    def __init__(self) -> None:
        self.calls, self.end = 0, threading.Event()

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        self.calls += 1
        self.end.wait(5)
        return ()


def finder_with(closer: Detector | None) -> FaceFinder:
    plan = DetectionPlan(long_side_px=128)
    return FaceFinder(
        Raising(),
        lambda height, width: {"near": plan, "coarse": plan, "full": plan},
        min_score=CLEAR,
        workers=1,
        deadline_s=0.1,
        give_up_after=5,
        clock=StageClock(),
        closer=closer,
    )


def frame() -> Frame:
    return Frame(picture_from_bgr(np.full((96, 128, 3), 90, np.uint8)), 0, Fraction(1, 25), 0)


@pytest.mark.parametrize("closer", [None, Raising()], ids=["none", "raising"])
def test_looks_that_cannot_be_taken_say_nothing(closer: Detector | None) -> None:
    finder = finder_with(closer)
    assert finder.look_closer(frame(), [face().box_px]) is None
    finder.close()


def test_a_look_that_hangs_is_the_last_one() -> None:
    hanging = Hanging()
    finder = finder_with(hanging)
    assert [finder.look_closer(frame(), [face().box_px]) for _ in range(3)] == [None] * 3
    assert hanging.calls == 1
    hanging.end.set()
    finder.close()
