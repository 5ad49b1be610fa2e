"""What a portrait shows of its lamp, hair and ears is no part of a donor."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.donors.textures import evened, fresh, rosy, tempered, unlit
from engines.stylegan.drawing import LUMA
from engines.stylegan.pack import bundled_pack, read_pack
from engines.stylegan.topology import EYE_LEFT_SLICE, LIPS_OUTER_SLICE
from engines.stylegan.warp import load_texture_frame

pytestmark = pytest.mark.unit

Float32 = npt.NDArray[np.float32]


SIDE = 128


def with_spot(*places: tuple[int, int], level: float = -0.6, radius: int = 8) -> Float32:
    """A plain texture with dark spots, softened."""
    texture = np.zeros((SIDE, SIDE, 3), np.float32)
    for place in places:
        cv2.circle(texture, place, radius, (level,) * 3, -1)
    return np.asarray(cv2.GaussianBlur(texture, (0, 0), 3), np.float32)


def even(texture: Float32) -> Float32:
    frame = load_texture_frame(read_pack(bundled_pack()).path("shape.npz"))
    return evened(texture, frame.points)


def test_what_is_dark_on_one_cheek_alone_is_taken_for_shade() -> None:
    """The planted fault: a portrait's shadow would be a blotch on another head."""
    assert even(with_spot((36, 74)))[74, 36].min() > -0.2


def test_what_is_dark_on_both_sides_stays_near_the_features() -> None:
    beard = with_spot((52, 108), (SIDE - 53, 108))
    assert even(beard)[108, [52, SIDE - 53]].max() < 0.5 * beard[108, 52].max()


def test_features_stay_although_they_are_fine_and_on_one_side() -> None:
    mole = np.zeros((SIDE, SIDE, 3), np.float32)
    mole[70:72, 50:52] = -0.8
    assert even(mole)[70:72, 50:52].max() < -0.5


def test_ears_and_hair_at_the_outline_are_left_out() -> None:
    ears = with_spot((4, 64), (SIDE - 5, 64))
    ears[40:90:4, [3, 6, SIDE - 7, SIDE - 4]] = 0.9
    made = even(ears)
    assert np.abs(made[:, :5]).max() < 0.25
    assert np.abs(made[:, -5:]).max() < 0.25


def test_chins_beside_red_lips_are_not_green() -> None:
    """The planted fault: red lips were taken for a red lamp, and the skin around them mended."""
    points = load_texture_frame(read_pack(bundled_pack()).path("shape.npz")).points
    skin = np.full((SIDE, SIDE, 3), 0.2, np.float32)
    lips = np.rint(cv2.convexHull(points[LIPS_OUTER_SLICE, :2]) * SIDE).astype(np.int32)
    cv2.fillConvexPoly(skin, lips, (0.6, -0.6, -0.5))
    made = unlit(skin, points)
    middle, chin = lips[:, 0].mean(axis=0).astype(int), int(lips[:, 0, 1].max()) + 6
    assert np.abs(made[chin, middle[0]]).max() < 0.05
    assert made[middle[1], middle[0], 0] > 0.3 > -0.3 > made[middle[1], middle[0], 1]


@pytest.mark.parametrize(("level", "left"), [(0.9, 0.5), (0.1, 1.0)])
def test_skin_is_modelled_no_harder_than_most_peoples(level: float, left: float) -> None:
    """The planted fault: the gloss and shade of a lamp look painted in another light."""
    points = load_texture_frame(read_pack(bundled_pack()).path("shape.npz")).points
    dark, bright = ((place, 70) for place in (40, 88))
    hard = with_spot(dark, level=-level, radius=22) + with_spot(bright, level=level, radius=22)
    made = tempered(hard, points)
    cheek = np.s_[70, [40, 88]]
    assert np.abs(made[cheek]).max() <= left * np.abs(hard[cheek]).max() + 1e-6


def test_eyes_are_as_dark_as_they_were_where_skin_is_tempered() -> None:
    points = load_texture_frame(read_pack(bundled_pack()).path("shape.npz")).points
    eye = (points[EYE_LEFT_SLICE, :2].mean(axis=0) * SIDE).astype(int)
    hard = with_spot((40, 80), level=-0.9, radius=22) + with_spot((88, 80), level=0.9, radius=22)
    hard[eye[1], eye[0]] = -0.8
    assert tempered(hard, points)[eye[1], eye[0]].max() < -0.7


def test_lilac_lips_become_rosy_and_red_ones_stay() -> None:
    points = load_texture_frame(read_pack(bundled_pack()).path("shape.npz")).points
    lips = points[LIPS_OUTER_SLICE, :2].mean(axis=0)
    column, row = (lips * SIDE).astype(int)
    for colour, wanted in (((0.0, -0.1, 0.15), 0.0), ((0.2, -0.2, -0.1), -0.1)):
        texture = np.zeros((SIDE, SIDE, 3), np.float32)
        texture[:] = colour
        made = rosy(texture, points)
        assert made[row, column, 2] == pytest.approx(wanted, abs=0.03)
        assert np.array_equal(made[:, :, :2], texture[:, :, :2])
        assert np.allclose(made[10:40], texture[10:40], atol=1e-6)


def test_green_chins_become_as_red_as_cheeks_and_stay_as_bright() -> None:
    points = load_texture_frame(read_pack(bundled_pack()).path("shape.npz")).points
    texture = np.zeros((SIDE, SIDE, 3), np.float32)
    texture[110:] += (-0.1, 0.05, 0.0)
    made = fresh(texture, points)
    chin = made[116, SIDE // 2]
    assert chin[0] - chin[1] > -0.03
    assert chin @ LUMA[::-1] == pytest.approx(texture[116, SIDE // 2] @ LUMA[::-1], abs=1e-3)
    assert np.abs(made[:90] - texture[:90]).max() < 0.01
