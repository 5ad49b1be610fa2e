"""A forehead runs on from the painted face to the hairline, in its colour, and no farther."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.crop_regions import filled
from engines.forehead import forehead_colour, forehead_weight
from engines.hair_cap import HairCap, hair_cap
from engines.painted_head import HEAD_TRAITS, Surrounded, Trait, head_of

pytestmark = pytest.mark.unit

SIDE, UNIT = 128, 73.0
SKIN = np.array([100, 115, 140], np.float32)

Float32 = NDArray[np.float32]


def around(moved_px: float = 0.0) -> Surrounded:
    turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    corners = np.stack([64 + moved_px + 24 * np.cos(turn), 74 + 32 * np.sin(turn)], axis=1)
    face = filled([corners.astype(np.float32)], SIDE)
    depth = cv2.distanceTransform(face, cv2.DIST_L2, 5)
    depth = depth - cv2.distanceTransform(1 - face, cv2.DIST_L2, 5)
    head = head_of(corners.astype(np.float32), SIDE)
    return Surrounded(head, corners.astype(np.float32), depth, np.zeros_like(depth), UNIT)


def cap_of(lie: Surrounded, low: float) -> HairCap:
    traits = np.full(HEAD_TRAITS, 0.5, np.float32)
    traits[Trait.HAIR_LOW] = low
    return hair_cap(lie.head, traits, SIDE, UNIT)


def painted(lie: Surrounded, left: float = 100, right: float = 100) -> Float32:
    picture = np.zeros((SIDE, SIDE, 3), np.float32)
    inside = lie.depth > 0
    picture[inside] = np.where(np.arange(SIDE) < 64, left, right)[np.nonzero(inside)[1], None]
    return picture


def test_forehead_is_bare_up_to_the_hairline() -> None:
    lie = around()
    bare = [forehead_weight(lie, cap_of(lie, low), low)[:, 60:69].mean(axis=1) for low in (0, 1)]
    tops = [int(np.flatnonzero(one > 0.5)[0]) for one in bare]
    assert lie.head.top - 20 < tops[0] < lie.head.top - 6
    assert tops[1] > lie.head.top - 3
    assert all(one[:20].max() == 0 for one in bare)


def test_temples_and_cheeks_are_no_forehead() -> None:
    lie = around()
    weight = forehead_weight(lie, cap_of(lie, 0.0), 0.0)
    assert weight[:, :39].max() == 0
    assert weight[:, 89:].max() == 0
    assert weight[64:].max() == 0


def test_forehead_has_the_painted_skins_colour_on_either_side() -> None:
    lie = around()
    skin = forehead_colour(painted(lie, 80, 120), lie, SKIN)
    assert skin[36, 52].mean() < 97
    assert skin[36, 76].mean() > 103
    assert 85 < skin[20].mean() < 101


def test_of_what_is_around_the_face_nothing_is_read() -> None:
    """The planted fault: a white wall."""
    lie = around()
    plain = painted(lie)
    wall = np.where(lie.depth[..., None] > 0, plain, 255).astype(np.float32)
    assert np.array_equal(forehead_colour(plain, lie, SKIN), forehead_colour(wall, lie, SKIN))


def test_a_face_whose_forehead_is_out_of_view_has_its_mean_colour() -> None:
    lie = around()
    hidden = Surrounded(lie.head, lie.corners, np.full_like(lie.depth, -5), lie.away, UNIT)
    skin = forehead_colour(painted(lie), hidden, SKIN)
    assert np.allclose(skin[60, 64], SKIN, rtol=1e-5)
