"""Surroundings alone identify nobody, and a face that shows through is still identified."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import cv2
import numpy as np
import pytest

from engines.blending.covering import cover_faces
from engines.blending.covers import DEFAULT_MARGIN, cover_named
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Track, TrackState
from evaluation import exposure as exposure_module
from evaluation.clip_controls import run_clip_controls
from evaluation.clips import FramePair
from evaluation.exposure import Exposure, measure_exposure
from evaluation.surroundings import MOST_STRANGERS, StrangerFaces
from tests.evaluation.fakes import PixelJudge, ScriptedFinder, face_at, painted_face

pytestmark = pytest.mark.unit

FACES = tuple(face_at(x, y, 48) for y in (50, 190) for x in (50, 190, 330))
FINDER = ScriptedFinder(FACES)
JUDGE = PixelJudge(threshold=0.3, share=1.8)
"""Looks at what is around a face as much as at the face."""
TONE = (110, 130, 160)
FRAMES = 40
CHANCE = 0.03
"""Most that one in a hundred comes to among 240."""

Change = Callable[[BgrImage], BgrImage]


def person(seed: int, size: int) -> BgrImage:
    """A face of everybody's tone: features alone tell who it is."""
    face = painted_face(seed, size).astype(np.float32)
    return np.asarray(np.clip(face - face.mean(axis=(0, 1)) + TONE, 0, 255), np.uint8)


def scene(number: int) -> BgrImage:
    """A frame with people and surroundings that no other frame has."""
    image = np.hstack([painted_face(1000 + 2 * number + half, 290) for half in (0, 1)])[:, :430]
    for place, face in enumerate(FACES):
        x0, y0, x1, y1 = face.box_px.astype(int)
        image[y0:y1, x0:x1] = person(10 * number + place, x1 - x0)
    return np.ascontiguousarray(image)


def covered(image: BgrImage) -> BgrImage:
    """The frame with muted covers over its own faces."""
    shown = image.copy()
    tracks = [Track(place, face, TrackState.DETECTED, 0) for place, face in enumerate(FACES, 1)]
    cover_faces(picture_from_bgr(shown), tracks, cover_named("muted"), DEFAULT_MARGIN)
    return shown


def unchanged(image: BgrImage) -> BgrImage:
    return image


def faint(image: BgrImage) -> BgrImage:
    """Covers through which faces show at 30 % contrast."""
    return np.asarray(cv2.addWeighted(covered(image), 0.7, image, 0.3, 0), np.uint8)


def blurred(image: BgrImage) -> BgrImage:
    """Faces blurred a little."""
    shown = image.copy()
    for face in FACES:
        x0, y0, x1, y1 = face.box_px.astype(int)
        shown[y0:y1, x0:x1] = cv2.GaussianBlur(image[y0:y1, x0:x1], (0, 0), 2.0)
    return shown


def pairs(change: Change, frames: int = FRAMES) -> Iterator[FramePair]:
    for number in range(frames):
        image = scene(number)
        yield FramePair(number, image, change(image), number / 25)


def attacked(change: Change) -> Exposure:
    return measure_exposure(pairs(change), FINDER, [JUDGE])


def test_covers_made_of_the_face_match_by_their_surroundings_alone() -> None:
    found = attacked(covered)
    assert found.identified_with_surroundings(JUDGE.name).rate > 0.9
    assert found.identified(JUDGE.name).rate <= CHANCE


@pytest.mark.parametrize("change", [unchanged, faint, blurred])
def test_a_face_that_shows_is_identified_in_the_same_surroundings(change: Change) -> None:
    found = attacked(change)
    assert found.identified(JUDGE.name).rate > 0.97
    assert found.identified_with_surroundings(JUDGE.name).rate > 0.97


def test_one_face_left_bare_among_covers_is_the_one_identified() -> None:
    def with_hole(image: BgrImage) -> BgrImage:
        shown = covered(image)
        x0, y0, x1, y1 = FACES[2].box_px.astype(int)
        shown[y0:y1, x0:x1] = image[y0:y1, x0:x1]
        return shown

    found = attacked(with_hole)
    events = np.array(found.beyond_floor(JUDGE.name)).reshape(FRAMES, len(FACES))
    assert events[:, 2].mean() > 0.97
    assert np.delete(events, 2, axis=1).mean() <= CHANCE


def test_without_strangers_the_surroundings_count() -> None:
    alone = ScriptedFinder(FACES[:1])
    found = measure_exposure(pairs(covered), alone, [JUDGE])
    assert all(seen.surroundings == {JUDGE.name: ()} for seen in found.sightings)
    both = found.identified(JUDGE.name), found.identified_with_surroundings(JUDGE.name)
    assert both[0] == both[1]


def test_a_floor_that_hides_leaks_breaks_the_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = list(pairs(unchanged, 12))
    assert run_clip_controls(frames, FINDER, [JUDGE], every=1).hold([JUDGE])

    def as_alike_as_the_face(*_: object) -> list[tuple[float, ...]]:
        return [(1.0, 1.0)] * len(FACES)

    monkeypatch.setattr(exposure_module, "compare_surroundings", as_alike_as_the_face)
    assert not run_clip_controls(frames, FINDER, [JUDGE], every=1).hold([JUDGE])


def flat(levels: tuple[int, ...]) -> BgrImage:
    """A bright frame whose faces have one level each."""
    image = np.full((290, 430, 3), 200, np.uint8)
    for face, level in zip(FACES, levels, strict=False):
        x0, y0, x1, y1 = face.box_px.astype(int)
        image[y0:y1, x0:x1] = level
    return image


def test_the_control_keeps_the_surroundings_and_nothing_of_the_face() -> None:
    image = scene(3)
    kept = image.copy()
    made = StrangerFaces().exchange(image, FACES, range(1, 7))
    assert np.array_equal(image, kept)
    assert [one.places for one in made] == [tuple(range(6))] * MOST_STRANGERS
    for one in made:
        assert np.array_equal(one.image[:20], image[:20])
        middle = np.s_[62:86, 62:86]
        assert one.image[middle].std(axis=(0, 1)).max() < 0.3 * image[middle].std(axis=(0, 1)).max()


def test_a_stranger_is_as_bright_as_the_face_and_has_his_own_colour() -> None:
    image = flat((60, 120))
    red = image.copy()
    red[50:98, 190:238] = (0, 0, 180)
    for shown, is_red in ((image, False), (red, True)):
        made = StrangerFaces().exchange(shown, FACES[:2], (1, 2))
        blue, _, tone = made[0].image[74, 74].astype(int)
        assert (tone - blue > 50) == is_red
        assert made[0].image[74, 74].mean() == pytest.approx(80, abs=15)


def test_strangers_of_the_frame_come_before_those_of_earlier_frames() -> None:
    faces = StrangerFaces()
    assert faces.exchange(flat((90,)), FACES[:1], (1,)) == []
    first = faces.exchange(flat((90, 60, 60)), FACES[:3], (2, 3, 4))
    assert [one.places for one in first] == [(0, 1, 2)] * 3
    later = faces.exchange(flat((90,)), FACES[:1], (4,))
    assert [one.places for one in later] == [(0,)] * 3


def test_a_face_outside_the_picture_stands_for_nobody() -> None:
    outside = face_at(600, 20, 48)
    made = StrangerFaces().exchange(flat((90,)), (FACES[0], outside), (1, 2))
    assert [one.places for one in made] == [()]
