"""Control over time: calm at rest, no lag on the way, no flipping between swap and cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.occlusion import Occlusion
from engines.face.alignment import moved
from engines.face.face_look import (
    PAINTED_EYES,
    Look,
    eyes_of,
    look_from_points,
    painted_points,
    painting_place,
)
from engines.face.swapper import LANDMARK_SIZE
from engines.pictures import Picture
from engines.stylegan.lids import BOTH_EYES, gap_of
from engines.stylegan.mouth import INSIDE
from engines.stylegan.shape import SHOWN
from engines.stylegan.topology import LIPS_INNER_SLICE, MESH_POINTS, OVAL_SLICE
from stream.swap.control_smoothing import Steady
from stream.swap.control_track import ControlTrack
from tests.engines.face.moving_pictures import shift, shown, textured
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


def test_eyes_read_as_half_shut_all_the_time_are_open_and_their_blinks_are_seen() -> None:
    """The planted fault: narrow eyes with pale irises, painted shut in a whole clip."""
    seen = [0.5, 0.45, 0.55, 0.5] * 6
    seen[12:14] = 0.1, 0.1
    both = [np.full(2, one, np.float32) for one in seen]
    looks = [replace(drawn_look(n), openness=one) for n, one in enumerate(both)]
    told = [one.points for one in followed(looks) if one is not None]
    gaps = np.array([gap_of(one[BOTH_EYES]).mean() for one in told])
    own = float(gap_of(drawn_look(0).shape[BOTH_EYES]).mean())
    assert gaps[2:11].min() > 0.75 * own
    assert gaps[12:14].max() < 0.4 * own


@pytest.mark.parametrize("ahead", [0, 4])
def test_what_open_lips_show_follows_within_two_frames_and_through_a_gap(ahead: int) -> None:
    shut, bare = np.zeros(INSIDE, np.float32), np.ones(INSIDE, np.float32)
    looks = [replace(drawn_look(index), inside=shut if index < 20 else bare) for index in range(40)]
    looks[30] = replace(looks[30], doubt=10 * LIMIT, inside=None)
    told = [None if one is None else one.inside for one in followed(looks, ahead)]
    kept = [float(one.mean()) for one in told if one is not None]
    assert kept[19] == 0
    assert kept[22] > 0.75
    assert min(kept[25:]) > 0.9
    assert len(kept) == (40 if ahead else 30)


@pytest.mark.parametrize("ahead", [0, 4])
def test_usual_expression_is_the_mean_of_all_looks_and_ends_with_a_cover(ahead: int) -> None:
    seen = [1.0, 3.0] * 15
    looks = [
        replace(drawn_look(index), expression=np.full(SHOWN, one, np.float32))
        for index, one in enumerate(seen)
    ]
    told = followed(looks, ahead)
    assert all(one is not None and one.usual is not None for one in told)
    found = [float(one.usual[0]) for one in told if one is not None and one.usual is not None]
    assert found == pytest.approx([np.mean(seen[: place + ahead + 1]) for place in range(30)])
    lost = [replace(look, doubt=np.inf) for look in (drawn_look(index) for index in range(30, 60))]
    late = [
        replace(drawn_look(index), expression=np.full(SHOWN, 9, np.float32))
        for index in range(60, 90)
    ]
    last = followed([*looks, *lost, *late])[-1]
    assert last is not None
    assert last.usual is not None
    assert last.usual[0] == pytest.approx(9.0)


def lips_apart(gap: float) -> NDArray[np.float32]:
    """What a look shows of a face whose lips are read so far apart."""
    points = np.zeros((MESH_POINTS, 3), np.float32)
    points[LIPS_INNER_SLICE.start : LIPS_INNER_SLICE.start + 10, 1] = gap
    return np.concatenate([points.ravel(), np.zeros(SHOWN - points.size, np.float32)])


def test_how_far_shut_lips_are_read_apart_is_what_a_tenth_of_the_looks_are_below() -> None:
    """The planted fault: a mean, which speaking opens, or the least of all, which noise sets."""
    gaps = np.random.default_rng(4).uniform(0.06, 0.26, 400)
    gaps[25::50] = -0.1
    looks = [
        replace(drawn_look(index), expression=lips_apart(gap)) for index, gap in enumerate(gaps)
    ]
    told = [one.usual for one in followed(looks) if one is not None and one.usual is not None]
    assert all(one[-1] == 0 for one in told[:10])
    late = np.array([one[-1] for one in told[200:]])
    assert 0.05 < late.min() < late.max() < 0.12


def test_light_counts_for_three_frames_and_is_asked_for_again() -> None:
    track = ControlTrack(LIMIT)
    lit = []
    for index in range(7):
        lit.append(not track.is_lit(index))
        light = np.full((2, 4, 4, 3), index / 10, np.float32)
        track.add(replace(drawn_look(index), light=light))
    assert lit == [index % 3 == 0 for index in range(7)]
    steady = track.steady(0, 0.0)
    assert steady is not None
    assert float(steady.light.max()) == 0.0


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
    doubts = [0.01] * 10 + [0.1] + [0.01] * 40
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)])
    shown = [one is not None for one in told]
    assert shown[:10] == [True] * 10
    assert not any(shown[10:31])
    assert all(shown[33:])


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
    doubts = [0.01] * 20 + [0.1] * 12 + [0.01] * 30
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 24)
    assert [one is not None for one in told] == [True] * 20 + [False] * 12 + [True] * 30


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
    looks = [drawn_look(index) for index in range(60)]
    for index in (20, 21):
        looks[index] = replace(looks[index], doubt=np.inf, is_hidden=True)
    shown = [one is not None for one in followed(looks, 24)]
    assert shown == [index not in (20, 21) for index in range(60)]


def test_what_one_frame_alone_shows_in_front_is_noise() -> None:
    looks = [drawn_look(index) for index in range(40)]
    looks[20] = replace(looks[20], doubt=np.inf, is_hidden=True)
    assert all(one is not None for one in followed(looks, 15))


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


@pytest.mark.parametrize(("unread", "is_lifted"), [(10, True), (60, False)])
def test_who_was_swapped_lately_is_so_again_at_a_doubt_that_lifts_no_other_cover(
    unread: int, is_lifted: bool
) -> None:
    """The planted fault: somebody was in front for a moment, and the cover stayed for a second."""
    doubts = [0.01] * 20 + [0.1] * unread + [1.1 * LIMIT] * 60
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 24)
    shown = [one is not None for one in told]
    assert shown[: 20 + unread] == [True] * 20 + [False] * unread
    assert all(shown[20 + unread :]) == any(shown[20 + unread :]) == is_lifted


def test_cover_ends_at_once_where_the_frames_ahead_are_followed() -> None:
    doubts = [0.1] * 10 + [0.01] * 30
    looks = [drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)]
    shown = [one is not None for one in followed(looks, 24)]
    assert shown == [False] * 10 + [True] * 15 + shown[25:]


def test_face_that_will_be_lost_at_once_is_not_swapped_before() -> None:
    """The planted fault: a newcomer was swapped in three frames, and covered from the fourth."""
    doubts = [0.01] * 3 + [0.1] * 30
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 15)
    assert not any(one is not None for one in told)


def test_a_face_that_is_read_for_a_moment_between_covers_stays_covered() -> None:
    """The planted fault: half-sure frames before it counted as followed, and one lifted it."""
    doubts = [0.1] * 10 + [1.2 * LIMIT] * 20 + [0.01] * 2 + [0.1] * 30
    looks = [drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)]
    for ahead in (0, 10, 24):
        assert not any(one is not None for one in followed(looks, ahead))


def test_a_face_that_will_soon_be_behind_something_is_not_swapped_before() -> None:
    """The planted fault: who passes in front was bridged, and the cover came, went and came."""
    looks = [drawn_look(index, doubt=0.1 if index < 10 else 0.01) for index in range(60)]
    for index in (18, 19, 20):
        looks[index] = replace(looks[index], doubt=np.inf, is_hidden=True)
    shown = [one is not None for one in followed(looks, 24)]
    assert shown == [index > 20 for index in range(60)]


def test_a_run_begins_with_the_half_sure_frame_before_those_that_are_read_well() -> None:
    """The planted fault: a face was covered in the frame after a cut, and swapped from the next."""
    doubts = [1.1 * LIMIT] + [0.01] * 40
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 15)
    assert all(one is not None for one in told)


def moving(unread: range, slide: float = 0.0) -> tuple[list[Look], list[Picture]]:
    """A face that moves on, not read in some frames, in which the picture slides besides."""
    image = textured()
    places = [2.0 * index + (slide if index in unread else 0.0) for index in range(30)]
    looks = [
        drawn_look(index, x=100 + 2.0 * index, y=90, doubt=np.inf if index in unread else 0.01)
        for index in range(30)
    ]
    return looks, [shown(image, shift(x, 0)) for x in places]


@pytest.mark.parametrize("unread", [range(2), range(28, 30)], ids=["first", "last"])
def test_a_face_not_read_at_the_end_of_its_track_is_carried_along_with_its_pixels(
    unread: range,
) -> None:
    """The planted fault: a cover flashed up in the first frame after a cut."""
    looks, pictures = moving(unread)
    told = followed(looks, 24, pictures)
    assert all(one is not None for one in told)
    assert places(told)[:, 0] == pytest.approx([100 + 2 * index for index in range(30)], abs=1.5)


@pytest.mark.parametrize("fault", ["no pixels", "others", "elsewhere", "hidden", "long"])
def test_a_face_is_not_carried_where_anything_speaks_against_it(fault: str) -> None:
    """The planted faults: a surrogate on who had come before the face, or where it was not."""
    unread = range(5) if fault == "long" else range(2)
    looks, pictures = moving(unread, slide=60.0 if fault == "elsewhere" else 0.0)
    if fault == "others":
        noise = np.random.default_rng(5).integers(0, 255, pictures[0].planes[0].shape, np.uint8)
        pictures[:2] = [replace(one, planes=(noise, *one.planes[1:])) for one in pictures[:2]]
    if fault == "hidden":
        looks[:2] = [replace(one, is_hidden=True) for one in looks[:2]]
    told = followed(looks, 24, None if fault == "no pixels" else pictures)
    assert not any(one is not None for one in told[: len(unread)])
    assert all(one is not None for one in told[len(unread) :])


def test_newcomer_is_swapped_where_it_is_followed_as_long_as_a_gap_may_be() -> None:
    """A hand that comes before it half a second later does not cover it from the start."""
    doubts = [0.01] * 12 + [0.1] * 4 + [0.01] * 20
    told = followed([drawn_look(index, doubt=doubt) for index, doubt in enumerate(doubts)], 13)
    assert all(one is not None for one in told[:12])


@pytest.mark.parametrize(
    ("refused", "covered"),
    [([10], range(10, 11)), ([10, 14], range(14, 35))],
    ids=["once", "twice"],
)
def test_what_lies_ahead_lifts_no_cover_of_a_face_that_could_not_be_painted_twice(
    refused: list[int], covered: range
) -> None:
    track, shown = ControlTrack(LIMIT), []
    for index in range(60):
        for later in range(index, index + 25):
            if not track.knows(later):
                track.add(drawn_look(later))
        shown.append(track.steady(index, index / 30) is not None and index not in refused)
        if index in refused:
            track.hide()
    assert [index for index in range(60) if not shown[index]] == sorted({*refused, *covered})


def test_gap_is_not_bridged_where_its_ends_lead_to_different_places() -> None:
    """The planted fault: a face was painted on the shoulder that passed before it."""
    image = textured()
    slides = [0.0] * 11 + [6.0 * step for step in range(1, 6)] + [0.0] * 25
    looks = [drawn_look(index, doubt=0.1 if x else 0.01) for index, x in enumerate(slides)]
    told = followed(looks, 24, [shown(image, shift(x, 0)) for x in slides])
    assert [one is not None for one in told] == [x == 0 for x in slides]


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
    place = painting_place(look.motion, painted_points(look.shape), LANDMARK_SIZE)
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
