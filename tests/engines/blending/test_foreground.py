"""What is in front of a swapped face stays there, to the edges of the picture and no farther."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending import face_layers
from engines.blending.compositor import DEFAULT_MARGIN, Composite, compose
from engines.blending.covering import covered_region
from engines.blending.foreground import foreground
from engines.blending.occlusion import Occlusion
from engines.blending.patches import Patch
from engines.face.alignment import inverse_of
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Box, Frame, Track
from tests.engines.detectors.noisy_scene import (
    HEIGHT,
    SIDE,
    WIDTH,
    patch_at,
    place_at,
    scene,
    track_at,
)

pytestmark = pytest.mark.unit

X, Y = 320, 180
Marks = NDArray[np.uint8]


def marks_in(x0: int, y0: int, x1: int, y1: int) -> Marks:
    marks = np.zeros((SIDE, SIDE), np.uint8)
    marks[y0:y1, x0:x1] = 1
    return marks


def patch_with(marks: Marks | None) -> Patch:
    seen = None if marks is None else Occlusion(marks.astype(np.float32), place_at(X, Y))
    return replace(patch_at(X, Y), occlusion=seen)


def composed(image: BgrImage, tracks: list[Track], patches: dict[int, Patch]) -> Composite:
    return compose(
        Frame(picture_from_bgr(image.copy()), 0, Fraction(1, 25), 0, "gate"), tracks, patches
    )


def inner_part(marks: Marks, by: int = 9) -> Marks:
    return np.asarray(cv2.erode(marks, np.ones((by, by), np.uint8)), np.uint8)


def in_frame(marks: Marks) -> NDArray[np.bool_]:
    back = inverse_of(place_at(X, Y)).astype(np.float64)
    return np.asarray(cv2.warpAffine(marks, back, (WIDTH, HEIGHT)) > 0, np.bool_)


def test_a_hand_is_drawn_again_in_its_own_colour() -> None:
    image, marks = scene(), marks_in(40, 70, 80, 120)
    image[in_frame(marks)] = (40, 90, 200)
    made = composed(image, [track_at(X, Y)], {1: patch_with(marks)})
    inner = in_frame(inner_part(marks))
    assert made.outcomes[0].result == "swapped"
    assert np.abs(made.picture.bgr()[inner].astype(int) - (40, 90, 200)).max() <= 3


def test_where_nothing_is_marked_nothing_changes() -> None:
    image, marks = scene(), marks_in(40, 90, 80, 120)
    plain = composed(image, [track_at(X, Y)], {1: patch_with(None)})
    made = composed(image, [track_at(X, Y)], {1: patch_with(marks)})
    near = in_frame(1 - inner_part(1 - marks, 9))
    assert (made.picture.bgr() == plain.picture.bgr())[~near].all()
    assert not (made.picture.bgr() == plain.picture.bgr()).all()


def test_a_hand_is_shown_as_sharp_as_it_was() -> None:
    image, marks = scene(), marks_in(40, 70, 80, 120)
    shown = composed(image, [track_at(X, Y)], {1: patch_with(marks)}).picture.bgr()
    inner = in_frame(inner_part(marks, 13))
    assert (shown[inner] == image[inner]).all()


def test_the_rim_of_a_mark_is_drawn_to_the_edge_of_the_thing() -> None:
    """Marks are coarse: of a face beside a hand nothing is to be seen."""
    image = np.full_like(scene(), 120)
    hand, rough = (in_frame(marks_in(40, 60, width, 120)) for width in (80, 83))
    image[hand] = (40, 90, 200)
    shown = composed(image, [track_at(X, Y)], {1: patch_with(marks_in(40, 60, 83, 120))})
    beside = rough & (cv2.dilate(hand.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0)
    plain = composed(image, [track_at(X, Y)], {1: patch_with(None)}).picture.bgr()
    away = np.abs(shown.picture.bgr().astype(int) - plain)[beside]
    assert away.mean() < 0.6 * np.abs(image.astype(int) - plain)[beside].mean()


def test_a_face_of_which_too_much_is_marked_stays_painted_over() -> None:
    """The planted fault: all of the face is taken for a hand."""
    image = scene()
    made = composed(image, [track_at(X, Y)], {1: patch_with(marks_in(0, 0, SIDE, SIDE))})
    plain = composed(image, [track_at(X, Y)], {1: patch_with(None)})
    assert made.outcomes[0].result == "swapped"
    assert (made.picture.bgr() == plain.picture.bgr()).all()


def test_no_other_face_is_drawn_again() -> None:
    image = scene()
    image[Y - 60 : Y + 90, X + 10 : X + 110] = (0, 0, 255)
    other = track_at(X + 60, Y, number=2)
    patch = patch_with(marks_in(0, 78, SIDE, SIDE))
    made = composed(image, [track_at(X, Y), other], {1: patch})
    assert [one.result for one in made.outcomes] == ["swapped", "covered"]
    covered = composed(image, [other], {})
    x0, y0, x1, y1 = (int(value) for value in other.face.box_px)
    inside = np.s_[y0 + 2 : y1 - 2, x0 + 2 : x1 - 2]
    assert (made.picture.bgr()[inside] == covered.picture.bgr()[inside]).all()


def test_what_is_in_front_of_a_face_opens_no_cover_beside_it() -> None:
    """The planted fault: the ear of a covered neighbour who looks away came back, blurred."""
    other = track_at(X + 110, Y, number=2)
    face = other.face
    landmarks = face.landmarks_px.copy()
    landmarks[2, 0] = face.box_px[2]
    other = replace(other, face=replace(face, landmarks_px=landmarks))
    window = covered_region(picture_from_bgr(scene()), other, DEFAULT_MARGIN)
    assert window is not None
    top, left, height, _ = window
    behind = np.s_[top : top + height, left : int(face.box_px[0])]
    made = []
    for seed in (1, 2):
        image = scene()
        noise = np.random.default_rng(seed).integers(0, 256, image[behind].shape, np.uint8)
        image[behind] = cv2.GaussianBlur(noise, (0, 0), 4) * 3 - 250
        patch = patch_with(marks_in(80, 50, 118, 100))
        composite = composed(image, [track_at(X, Y), other], {1: patch})
        assert [one.result for one in composite.outcomes] == ["swapped", "covered"]
        made.append(composite.picture.bgr()[behind].astype(int))
    assert np.abs(made[0] - made[1]).max() < 3


def test_a_covered_face_has_no_front() -> None:
    patch = replace(patch_with(marks_in(40, 70, 80, 120)), alpha=np.zeros((SIDE, SIDE), np.float32))
    made = composed(scene(), [track_at(X, Y)], {1: patch})
    assert made.outcomes[0].result == "covered"
    plain = composed(scene(), [track_at(X, Y)], {})
    assert (made.picture.bgr() == plain.picture.bgr()).all()


def test_a_front_that_cannot_be_drawn_costs_nothing_but_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(face_layers, "foreground", broken)
    made = composed(scene(), [track_at(X, Y)], {1: patch_with(marks_in(40, 70, 80, 120))})
    plain = composed(scene(), [track_at(X, Y)], {1: patch_with(None)})
    assert made.outcomes[0].result == "swapped"
    assert (made.picture.bgr() == plain.picture.bgr()).all()


def test_a_front_beyond_the_frame_is_none() -> None:
    far = Occlusion(marks_in(0, 0, SIDE, 40).astype(np.float32), place_at(-500, -500))
    patch = replace(patch_with(None), occlusion=far)
    others: list[Box] = []
    assert foreground(picture_from_bgr(scene()), patch, others) is None
