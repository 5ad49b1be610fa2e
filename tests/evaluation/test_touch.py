"""What counts as touched without need, as a false track, and as swapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.types import Face
from evaluation.consensus import Consensus, bridged, consensus, steadied
from evaluation.settled_faces import boxes_at, read_settled_faces
from evaluation.touch import Touch, TouchMeter

pytestmark = pytest.mark.unit

HEIGHT, WIDTH = 200, 300
FPS = 25


def face(x: float, y: float = 60, size: float = 60, score: float = 0.9) -> Face:
    box = np.array([x, y, x + size, y + size], np.float32)
    return Face(box, np.zeros((5, 2), np.float32), score)


HERE, THERE = face(40), face(200)
TRUE = Consensus((HERE,), ())


def grey() -> NDArray[np.uint8]:
    """A frame with the noise of a camera."""
    noise = np.random.default_rng(2).normal(100, 2, (HEIGHT, WIDTH, 3))
    return np.asarray(noise, np.uint8)


def painted(*places: Face) -> NDArray[np.uint8]:
    image = grey()
    for place in places:
        x0, y0, x1, y1 = (int(value) for value in place.box_px)
        image[y0:y1, x0:x1] = 200
    return image


def measured(
    anonymized: NDArray[np.uint8],
    true: Consensus = TRUE,
    again: tuple[Face, ...] = (),
    frames: int = FPS,
) -> Touch:
    meter = TouchMeter()
    for index in range(frames):
        meter.add(grey(), anonymized, true, again, index / FPS)
    return meter.touch


def test_a_cover_on_a_face_is_needed() -> None:
    touch = measured(painted(HERE))
    assert touch.needless == touch.false_tracks == touch.bare == 0
    assert touch.fates == {"swapped": 0, "covered": FPS, "bare": 0}


def test_a_cover_on_no_face_is_counted() -> None:
    """The planted fault: a cover where nobody is."""
    touch = measured(painted(HERE, THERE))
    assert touch.needless_share == pytest.approx(60**2 / (HEIGHT * WIDTH), rel=0.1)
    assert touch.false_tracks == 1
    assert touch.false_tracks_a_minute == pytest.approx(60, rel=0.1)


def test_a_cover_that_comes_back_later_on_no_face_is_another_track() -> None:
    meter = TouchMeter()
    for index in range(60):
        shown = painted(THERE) if index < 5 or index > 40 else grey()
        meter.add(grey(), shown, Consensus((), ()), (), index / FPS)
    assert meter.touch.false_tracks == 2


def test_a_cover_that_stays_is_one_track_however_rarely_it_is_looked_at() -> None:
    """The planted fault: looks 0.6 s apart made a track of each."""
    meter = TouchMeter()
    for look in range(6):
        meter.add(grey(), painted(THERE), Consensus((), ()), (), 0.6 * look)
    assert meter.touch.false_tracks == 1


@pytest.mark.parametrize(
    ("there_s", "kind"),
    [
        ((), "nothing"),
        ((0.0, 0.4), "before or after"),
        ((1.0, 1.4), "before or after"),
        ((2.5, 3.0), "nothing"),
    ],
)
def test_false_tracks_are_told_by_the_face_that_was_or_will_be_there(
    there_s: tuple[float, ...], kind: str
) -> None:
    """The planted fault: a cover on nothing passed for one that a face had left."""
    meter = TouchMeter()
    for look in range(35):
        is_there = there_s and there_s[0] <= look / 10 <= there_s[1]
        is_covered = 0.5 <= look / 10 <= 0.9
        true = Consensus((THERE,) if is_there else (), ())
        meter.add(grey(), painted(THERE) if is_covered else grey(), true, (), look / 10)
    assert meter.touch.false_kinds == {kind: 1}


def test_a_second_cover_beside_a_face_is_told_as_such() -> None:
    assert measured(painted(HERE, face(110, size=20))).false_kinds == {"beside": 1}


def test_specks_beside_a_face_are_needless_and_no_tracks() -> None:
    """The planted fault: a cover on dark hair counted as five tracks, one for each shining curl."""
    large, speck, far = face(60, 40, 100), face(40, 60, 15), face(250, 20, 15)
    touch = measured(painted(large, speck, far), Consensus((large,), ()))
    assert touch.needless > 0
    assert touch.false_tracks == 1


def test_a_cover_much_larger_than_its_face_is_needless_beyond_it() -> None:
    touch = measured(painted(face(10, 20, 140)))
    assert touch.needless > 0
    assert touch.false_tracks == 0


def test_a_face_that_the_pictures_edge_cuts_is_not_to_be_swapped_but_not_bare_either() -> None:
    """The planted fault: half a face at the edge counted as one that was not swapped."""
    marks = np.array([[280, 80], [310, 80], [301, 90], [282, 105], [308, 105]], np.float32)
    cut = Face(np.array([260, 60, 320, 120], np.float32), marks, 0.9)
    covered = measured(painted(cut), Consensus((cut,), ()))
    assert sum(covered.fates.values()) == covered.bare == 0
    left = measured(grey(), Consensus((cut,), ()))
    assert left.bare == left.faces == FPS


def test_a_face_left_as_it_was_is_bare() -> None:
    touch = measured(grey(), again=(HERE,))
    assert touch.bare == FPS
    assert touch.fates["bare"] == FPS
    assert touch.swapped_share == 0


def test_a_changed_face_that_is_found_again_was_swapped() -> None:
    swapped = painted(HERE)
    swapped[75:90, 55:85] = 60
    assert measured(swapped, again=(HERE,)).swapped_share == 1


def test_a_plain_cover_that_a_detector_takes_for_a_face_was_not_swapped() -> None:
    touch = measured(painted(HERE), again=(HERE,))
    assert touch.fates == {"swapped": 0, "covered": FPS, "bare": 0}


def test_what_is_disputed_counts_neither_way() -> None:
    touch = measured(painted(HERE, THERE), Consensus((HERE,), (THERE,)))
    assert touch.needless == touch.false_tracks == touch.bare == 0
    assert touch.disputed == FPS
    assert touch.faces == FPS


def test_what_one_detector_finds_alone_is_disputed_if_it_is_clear() -> None:
    found = consensus((HERE, face(200, score=0.4)), (face(42), face(130, score=0.7)))
    assert [one.box_px[0] for one in found.faces] == [40]
    assert [one.box_px[0] for one in found.disputed] == [130]


def test_a_face_that_both_found_just_before_settles_a_disputed_find() -> None:
    alone = Consensus((), (face(44),))
    frames = [TRUE, *[Consensus((), ())] * 2, alone, *[Consensus((), ())] * 6, alone]
    settled = steadied(frames)
    assert [len(one.faces) for one in settled] == [1, 0, 0, 1, *[0] * 7]
    assert len(settled[-1].disputed) == 1


def test_a_cover_on_a_face_settled_by_eye_is_needed_while_it_is_there(tmp_path: Path) -> None:
    settled = tmp_path / "settled.toml"
    settled.write_text(
        'face = [{ clip = "a.mp4", frames = [0, 10], boxes = [[200, 60, 260, 120], '
        "[210, 60, 270, 120]] }]"
    )
    faces = read_settled_faces(settled)
    for frame, clip, is_known in ((5, "a.mp4", True), (11, "a.mp4", False), (5, "b.mp4", False)):
        true = Consensus((HERE,), (), tuple(boxes_at(faces, clip, frame)))
        touch = measured(painted(HERE, face(205)), true)
        assert (touch.needless == touch.false_tracks == 0) == is_known
        assert touch.disputed == 0


def test_a_settled_face_with_more_frames_than_boxes_is_refused(tmp_path: Path) -> None:
    settled = tmp_path / "settled.toml"
    settled.write_text('face = [{ clip = "a.mp4", frames = [0, 10], boxes = [[0, 0, 9, 9]] }]')
    with pytest.raises(ValueError, match="one box for each frame"):
        read_settled_faces(settled)


def test_settled_faces_of_the_shared_clips_are_read() -> None:
    assert read_settled_faces(Path(__file__).parents[2] / "docs" / "settled_faces.toml")


def test_a_cover_in_pieces_is_one_track() -> None:
    """The planted fault: a cover on a dark coat counted once for each of its lighter ends."""
    upper, lower = face(200, 40, 20), face(200, 66, 20)
    assert measured(painted(HERE, upper, lower)).false_tracks == 1
    assert measured(painted(HERE, upper, face(200, 140, 20))).false_tracks == 2


def test_between_two_sights_of_a_face_nothing_counts() -> None:
    """The planted fault: labels flickered on a blurred face, and its one cover was three tracks."""
    seen, unseen = Consensus((), (THERE,)), Consensus((), ())
    looks = bridged([seen, unseen, unseen, seen, unseen])
    meter = TouchMeter()
    for index, look in enumerate(looks):
        meter.add(grey(), painted(THERE) if index < 4 else grey(), look, (), 0.2 * index)
    assert meter.touch.needless == meter.touch.false_tracks == meter.touch.faces == 0


@pytest.mark.parametrize("sights", [(0, 6), (0,), (3,)], ids=["long ago", "before", "after"])
def test_before_and_after_its_sights_a_face_is_not_there(sights: tuple[int, ...]) -> None:
    looks = [Consensus((THERE,) if at in sights else (), ()) for at in range(7)]
    assert not any(one.between for one in bridged(looks))


def test_a_face_seen_elsewhere_later_is_another() -> None:
    looks = [Consensus((HERE,), ()), Consensus((), ()), Consensus((THERE,), ())]
    assert not any(one.between for one in bridged(looks))


def test_a_face_that_moves_on_is_between_on_its_way() -> None:
    looks = [Consensus((face(40),), ()), Consensus((), ()), Consensus((face(60),), ())]
    ((between,),) = [one.between for one in bridged(looks) if one.between]
    assert between.tolist() == [50, 60, 110, 120]
