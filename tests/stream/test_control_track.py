"""Control over time: calm at rest, no lag on the way, no flipping between swap and cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.alignment import EYES, moved
from engines.face_look import PAINTED_EYES, Look, crop_with_eyes, eyes_of, look_from_points
from engines.occlusion import Occlusion
from engines.pictures import Picture
from engines.stylegan.topology import OVAL_SLICE
from engines.swapper import LANDMARK_SIZE
from stream.control_track import ControlTrack, Steady
from tests.engines.moving_pictures import shift, shown, textured
from tests.engines.stylegan.faces import drawn_face, drawn_look

pytestmark = pytest.mark.unit

SIZE = 128
LIMIT = 0.03
LIGHT = np.zeros((2, 4, 4, 3), np.float32)


def followed(
    looks: list[Look], ahead: int = 0, pictures: list[Picture] | None = None
) -> list[Steady | None]:
    """What a track says of each frame when `ahead` frames more are known."""
    track = ControlTrack(LIMIT)
    told = []
    for place, one in enumerate(looks):
        for later in looks[place : place + ahead + 1]:
            if not track.knows(later.index):
                track.add(later, pictures[later.index] if pictures else None)
        told.append(track.steady(one.index, one.time_s))
    return told


def test_contrast_that_flickers_is_held_and_a_lasting_change_followed() -> None:
    seen = [0.3, 0.2] * 60 + [0.15] * 150
    looks = [replace(drawn_look(index), contrast=one) for index, one in enumerate(seen)]
    told = [one.contrast for one in followed(looks) if one is not None]
    assert np.ptp(told[60:120]) < 0.02
    assert told[-1] == pytest.approx(0.15, abs=0.01)


def places(told: list[Steady | None]) -> NDArray[np.float32]:
    return np.stack([one.motion[:2] for one in told if one is not None])


@pytest.mark.parametrize("ahead", [0, 4])
def test_noise_of_a_still_face_is_smoothed(ahead: int) -> None:
    looks = [drawn_look(index, noise=0.006) for index in range(90)]
    raw = np.diff([one.motion[:2] for one in looks], axis=0).std()
    assert np.diff(places(followed(looks, ahead))[20:-5], axis=0).std() < 0.6 * raw


@pytest.mark.parametrize(("ahead", "most_px"), [(0, 4.0), (4, 0.05)])
def test_fast_head_is_not_trailed(ahead: int, most_px: float) -> None:
    """A head that crosses a third of its eye distance in each frame."""
    looks = [drawn_look(index, x=100 + 13.0 * index) for index in range(60)]
    told = places(followed(looks, ahead))
    assert np.abs(told[:, 0] - [one.motion[0] for one in looks])[:55].max() < most_px


@pytest.mark.parametrize("ahead", [0, 4])
def test_in_a_shaking_camera_the_face_moves_as_its_pixels_do(ahead: int) -> None:
    """Smoothing by time alone takes the shaking for noise, or the noise for shaking."""
    shaken = np.random.default_rng(1).uniform(-6, 6, 40).cumsum() * 0.5
    truth = 100 + shaken - shaken.mean()
    looks = [drawn_look(index, x=x, y=90, noise=0.02) for index, x in enumerate(truth)]
    image = textured()
    pictures = [shown(image, shift(x - 100, 0)) for x in truth]
    kept = slice(5, 34)
    errors = {
        name: np.std((places(followed(looks, ahead, seen))[:, 0] - truth)[kept])
        for name, seen in (("with", pictures), ("without", None))
    }
    assert errors["with"] < 0.7 * errors["without"]


def test_crop_makes_room_at_once_for_a_chin_that_falls_and_takes_it_back_slowly() -> None:
    """The planted fault: a crop that widened slowly left the chin of a yawn bare for seconds."""

    def look(index: int) -> Look:
        shape = drawn_look(index).shape.copy()
        shape[OVAL_SLICE, 1] = np.linspace(-0.8, 2.1 if 30 <= index < 60 else 1.6, 36)
        return replace(drawn_look(index), shape=shape)

    told = [one for one in followed([look(index) for index in range(70)]) if one is not None]
    chins = [one.points[OVAL_SLICE, 1].max() for one in told]
    assert max(chins) < 0.97
    apart = [np.hypot(*np.diff(eyes_of(one.points), axis=0)[0]) for one in told]
    assert apart[45] < 0.97 * apart[20]
    assert apart[62] < 0.99 * apart[20]


def test_quick_blink_is_not_smoothed_away() -> None:
    looks = [drawn_look(index) for index in range(20)]
    closed = looks[10].shape.copy()
    closed[60:76, 1] += 0.15
    looks[10] = replace(looks[10], shape=closed)
    told = followed(looks, 4)[10]
    still = followed([drawn_look(index) for index in range(20)], 4)[10]
    assert told is not None
    assert still is not None
    away = (told.points - still.points)[:, 1]
    moved_by = away[60:76].mean() - away[OVAL_SLICE].mean()
    assert moved_by > 0.8 * 0.15 * (PAINTED_EYES[1, 0] - PAINTED_EYES[0, 0])


def test_crop_puts_the_eyes_in_their_place() -> None:
    one = followed([drawn_look(0)])[0]
    assert one is not None
    eyes = np.array([[80, 80], [120, 80]], np.float32)
    assert np.allclose(moved(one.crop_from_frame(SIZE), eyes), PAINTED_EYES * SIZE, atol=1e-3)
    assert np.allclose(eyes_of(one.points), PAINTED_EYES, atol=1e-5)


def test_points_come_back_to_where_they_were_read() -> None:
    angle, scale = 0.3, 0.7
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) * scale
    crop_from_frame = np.hstack([turn, [[12.0], [-7.0]]]).astype(np.float32)
    points = drawn_face()
    seen = look_from_points(3, 0.1, points, crop_from_frame, SIZE, LIGHT, 0.01)
    track = ControlTrack(LIMIT)
    track.add(seen)
    one = track.steady(3, 0.1)
    assert one is not None
    old = np.linalg.inv(np.vstack([crop_from_frame, [0, 0, 1]]))
    new = np.linalg.inv(np.vstack([one.crop_from_frame(SIZE), [0, 0, 1]]))
    before = points[:, :2] * SIZE @ old[:2, :2].T + old[:2, 2]
    after = one.points[:, :2] * SIZE @ new[:2, :2].T + new[:2, 2]
    assert np.allclose(before, after, atol=1e-2)


def test_face_that_cannot_be_followed_is_covered_and_stays_covered_for_a_while() -> None:
    doubts = [0.01] * 10 + [0.1] + [0.01] * 30
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)])
    shown = [one is not None for one in told]
    assert shown[:10] == [True] * 10
    assert not any(shown[10:25])
    assert all(shown[27:])


def test_doubt_that_comes_and_goes_does_not_flip_the_cover() -> None:
    doubts = [0.01] * 5 + [0.1, 0.01, 0.01] * 20 + [0.01] * 30
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)])
    shown = np.array([one is not None for one in told])
    assert np.abs(np.diff(shown.astype(int))).sum() == 2


def test_short_gap_is_bridged_where_later_frames_are_known() -> None:
    doubts = [0.01] * 10 + [0.1, 0.1] + [0.01] * 10
    looks = [drawn_look(index, x=100 + index, doubt=doubt) for index, doubt in enumerate(doubts)]
    told = followed(looks, 4)
    assert all(one is not None for one in told)
    assert np.allclose(places(told)[:, 0], [100 + index for index in range(22)], atol=0.5)


def test_long_gap_is_not_bridged() -> None:
    doubts = [0.01] * 20 + [0.1] * 12 + [0.01] * 20
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 15)
    assert [one is not None for one in told] == [True] * 20 + [False] * 12 + [True] * 20


def test_in_a_gap_the_face_goes_where_its_pixels_go() -> None:
    """It nods between two frames in which it was read: a straight line would miss the nod."""
    nods = [80.0] * 10 + [83.0, 86.0, 86.0, 83.0] + [80.0] * 10
    looks = [
        drawn_look(index, x=100, y=y, doubt=0.1 if y > 80 else 0.01) for index, y in enumerate(nods)
    ]
    image = textured()
    told = followed(looks, 15, [shown(image, shift(0, y - 80)) for y in nods])
    assert np.abs(places(told)[:, 1] - nods).max() < 1.0


def test_a_face_behind_something_is_covered_in_every_frame() -> None:
    """The planted fault: a gap was bridged while a passer-by was in front, and painted over him."""
    looks = [drawn_look(index) for index in range(40)]
    for index in (20, 21):
        looks[index] = replace(looks[index], doubt=np.inf, is_hidden=True)
    shown = [one is not None for one in followed(looks, 15)]
    assert shown == [index not in (20, 21) for index in range(40)]


def test_face_that_is_read_well_in_turns_is_not_covered_all_the_time() -> None:
    """The planted fault: every doubtful frame began half a second of cover anew."""
    doubts = [1.1 * LIMIT, 0.8 * LIMIT, 0.8 * LIMIT] * 20
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 15)
    assert all(one is not None for one in told[1:])


def test_face_that_is_read_now_and_then_stays_covered() -> None:
    doubts = [2 * LIMIT, 2 * LIMIT, 2 * LIMIT, 0.8 * LIMIT] * 15
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 15)
    assert not any(one is not None for one in told)


def test_a_swapped_face_is_kept_at_a_doubt_that_lifts_no_cover() -> None:
    doubts = [0.1] * 10 + [1.1 * LIMIT] * 60
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)])
    assert not any(one is not None for one in told)
    doubts = [0.01] * 10 + [1.1 * LIMIT] * 60
    assert all(followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)]))


def test_cover_ends_at_once_where_the_frames_ahead_are_followed() -> None:
    doubts = [0.1] * 10 + [0.01] * 30
    looks = [drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)]
    shown = [one is not None for one in followed(looks, 15)]
    assert shown == [False] * 10 + [True] * 15 + shown[25:]


def test_face_that_will_be_lost_at_once_is_not_swapped_before() -> None:
    """The planted fault: a newcomer was swapped in three frames, and covered from the fourth."""
    doubts = [0.01] * 3 + [0.1] * 30
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 15)
    assert not any(one is not None for one in told)


def test_what_lies_ahead_lifts_no_cover_of_a_face_that_could_not_be_painted() -> None:
    track, shown = ControlTrack(LIMIT), []
    for index in range(40):
        for later in range(index, index + 16):
            if not track.knows(later):
                track.add(drawn_look(later))
        shown.append(track.steady(index, index / 30) is not None)
        if index == 10:
            track.hide()
    assert shown == [True] * 11 + [False] * 14 + [True] * 15


def test_broken_timestamps_keep_memory_bounded() -> None:
    track = ControlTrack(LIMIT)
    for index in range(500):
        track.add(replace(drawn_look(index), time_s=0.0))
        assert track.steady(index, 0.0) is not None
    assert len(track._looks) <= 64


def under_a_hand(index: int, column: int) -> Look:
    """A still face with something in front of a part of its crop."""
    look = drawn_look(index)
    sure = np.zeros((LANDMARK_SIZE, LANDMARK_SIZE), np.float32)
    sure[60:, column : column + 40] = 1
    place = crop_with_eyes(look.motion, EYES, LANDMARK_SIZE)
    return replace(look, occlusion=Occlusion(sure, place))


def test_a_mark_that_flashes_up_in_one_frame_is_noise() -> None:
    looks = [under_a_hand(index, 40) if index == 10 else drawn_look(index) for index in range(20)]
    told = followed(looks, 4, [shown(textured(), shift(0, 0)) for _ in looks])
    assert all(
        one is None or one.occlusion is None or not one.occlusion.marks.any() for one in told
    )


def test_what_stays_in_front_is_told_where_most_frames_have_it() -> None:
    looks = [under_a_hand(index, 40 + 4 * (index % 2)) for index in range(20)]
    told = followed(looks, 4, [shown(textured(), shift(0, 0)) for _ in looks])[10]
    assert told is not None
    assert told.occlusion is not None
    assert told.occlusion.marks[70:120, 45:79].all()
    assert not told.occlusion.marks[:, :39].any()


def test_without_pixels_to_follow_nothing_is_in_front() -> None:
    told = followed([under_a_hand(index, 40) for index in range(20)], 4)[10]
    assert told is not None
    assert told.occlusion is None
