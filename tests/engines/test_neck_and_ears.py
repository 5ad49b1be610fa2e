"""Neck and ears lie where a head has them, and take nothing of the subject."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.neck_and_ears import cheeks_of, draw_ears, draw_neck
from engines.painted_head import MIDDLING, Surrounded, Trait, head_of

pytestmark = pytest.mark.unit

SIDE, UNIT = 128, 78.0
WALL = 220.0
CHEEKS = np.full((2, 3), 120, np.float32)
NO_HAIR = np.zeros((SIDE, SIDE), np.float32)

Float32 = NDArray[np.float32]


def around(moved_px: float = 0.0, patch_px: float = 40.0) -> Surrounded:
    """An upright face in the middle, or beside it as that of a turned one, under a round patch."""
    turn = np.linspace(0, 2 * np.pi, 36, endpoint=False)
    corners = np.stack([64 + moved_px + 24 * np.cos(turn), 64 + 32 * np.sin(turn)], axis=1)
    return surrounded(np.asarray(corners, np.float32), patch_px)


def surrounded(corners: Float32, patch_px: float = 40.0) -> Surrounded:
    face = np.zeros((SIDE, SIDE), np.uint8)
    near = np.clip(np.round(corners), -2048, 2048).astype(np.int32)
    cv2.fillConvexPoly(face, near, 1)
    depth = cv2.distanceTransform(face, cv2.DIST_L2, 5)
    depth = depth - cv2.distanceTransform(1 - face, cv2.DIST_L2, 5)
    rows, columns = np.mgrid[:SIDE, :SIDE] + 0.5
    away = np.maximum(np.hypot(rows - 64, columns - 64) - patch_px, 0)
    head = head_of(corners, SIDE)
    return Surrounded(head, corners, depth.astype(np.float32), away.astype(np.float32), UNIT)


def necked(lie: Surrounded, traits: Float32 = MIDDLING, cheeks: Float32 = CHEEKS) -> Float32:
    picture = np.full((SIDE, SIDE, 3), WALL, np.float32)
    draw_neck(picture, np.ones((SIDE, SIDE), np.float32), lie, cheeks, traits)
    return picture


def eared(lie: Surrounded, traits: Float32 = MIDDLING, hair: Float32 = NO_HAIR) -> Float32:
    """The picture with ears, and the wall where the face will lie over them."""
    picture = np.full((SIDE, SIDE, 3), WALL, np.float32)
    draw_ears(picture, lie, CHEEKS, traits, hair)
    picture[lie.depth > -2] = WALL
    return picture


def width(picture: Float32, row: int) -> int:
    return int((picture[row, :, 1] < WALL - 20).sum())


def middle(picture: Float32, row: int) -> float:
    return float(np.flatnonzero(picture[row, :, 1] < WALL - 20).mean())


def test_a_neck_is_under_the_chin_and_narrower_than_the_face() -> None:
    picture = necked(around())
    assert 30 < width(picture, 98) < 42
    assert abs(middle(picture, 98) - 63.5) < 1
    assert (picture[:70] == WALL).all()


def test_no_strands_are_left_on_a_neck() -> None:
    lie, locks = around(), np.ones((SIDE, SIDE), np.float32)
    draw_neck(np.full((SIDE, SIDE, 3), WALL, np.float32), locks, lie, CHEEKS, MIDDLING)
    assert locks[100, 64] < 0.05
    assert (locks[:70] == 1).all()


def test_a_neck_is_darkest_under_the_jaw() -> None:
    column = necked(around())[97:104, 64, 1]
    assert (np.diff(column) > 0).all()
    assert 0.6 * 120 <= column[0] < 0.75 * 120


def test_a_neck_gives_way_to_what_is_seen_below_the_patch() -> None:
    picture = necked(around())
    assert picture[102, 64, 1] < 0.95 * 120
    assert (picture[116:] == WALL).all()


def test_a_neck_lies_behind_a_turned_face() -> None:
    assert middle(necked(around(8)), 98) - middle(necked(around()), 98) > 8 + 5


def test_light_from_one_side_is_on_the_neck_as_well() -> None:
    lit = np.array([[60, 60, 60], [120, 120, 120]], np.float32)
    row = necked(around(), cheeks=lit)[98, :, 1]
    assert row[52] < 0.85 * row[76]


def test_both_ears_of_a_face_that_looks_ahead_are_seen() -> None:
    picture = eared(around())
    left, right = picture[:, :40, 1] < 180, picture[:, 88:, 1] < 180
    assert min(left.sum(), right.sum()) > 15
    assert (picture[:44] == WALL).all()
    assert (picture[84:] == WALL).all()


def test_of_a_turned_head_only_the_near_ear_is_seen_and_larger() -> None:
    ahead, turned = eared(around())[..., 1] < 180, eared(around(6))[..., 1] < 180
    assert turned[:, 88:].sum() > 2 * ahead[:, 88:].sum()
    assert not turned[:, :46].any()


def test_no_ear_is_drawn_on_hair() -> None:
    assert (eared(around(), hair=np.ones_like(NO_HAIR)) == WALL).all()
    half = eared(around(), hair=np.full_like(NO_HAIR, 0.45))
    assert np.abs(half - WALL).max() < np.abs(eared(around()) - WALL).max()


@pytest.mark.parametrize("trait", [Trait.NECK_WIDE, Trait.NECK_BRIGHTNESS, Trait.EARS_TALL])
def test_a_trait_makes_another_head(trait: Trait) -> None:
    drawn = []
    for value in (0.0, 1.0):
        traits = MIDDLING.copy()
        traits[trait] = value
        drawn.append(np.minimum(necked(around(), traits), eared(around(), traits)))
    assert (np.abs(drawn[0] - drawn[1]).max(axis=-1) > 15).sum() > 10


@pytest.mark.parametrize("at", [(-400, 0), (400, 0), (0, -400), (0, 400), (1e6, -1e6), (60, 60)])
@pytest.mark.parametrize("size", [0.0, 1.0, 50.0])
def test_faces_beyond_the_crop_or_of_no_size_harm_nothing(
    at: tuple[float, float], size: float
) -> None:
    corners = np.asarray(around().corners - 64, np.float32) * np.float32(size)
    corners = corners + np.array(at, np.float32)
    lie = surrounded(np.asarray(corners, np.float32))
    assert np.isfinite(necked(lie)).all()
    assert np.isfinite(eared(lie)).all()


def test_cheeks_are_read_left_and_right_of_the_nose() -> None:
    pixels = np.full((64, 64, 3), 200, np.float32)
    pixels[:, :32] = 50
    outline = np.array([[0.2, 0.1], [0.8, 0.1], [0.8, 0.9], [0.2, 0.9]], np.float32)
    assert cheeks_of(pixels, outline)[:, 0].tolist() == [50, 200]
    assert np.isfinite(cheeks_of(pixels, outline * 0 - 9)).all()
