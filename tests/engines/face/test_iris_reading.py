"""Where eyes look is read off a crop, and a texture's irises are moved there."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.face.iris_reading import gaze_of_crop
from engines.stylegan.drawing import filled_outline
from engines.stylegan.gaze import IRIS, looking_at, offsets_of_pupils, with_pupils_at
from engines.stylegan.lids import EYES, drawn_together
from engines.stylegan.pack import bundled_pack
from engines.stylegan.shape import load_shape_model, points_at_rest
from tests.engines.stylegan.faces import turned

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SIDE = 256
OPEN = np.zeros(2, np.float32)


@pytest.fixture(scope="module")
def face() -> Float32:
    """Landmarks of the mean face, float32[POINTS, 3]."""
    points = points_at_rest(load_shape_model(bundled_pack() / "shape.npz"))
    return np.asarray(points[0], np.float32)


def eyes_looking(face: Float32, way: tuple[float, float]) -> NDArray[np.uint8]:
    """A crop with nothing on it but eyes: white, dark irises cut by the lids."""
    crop = np.full((SIDE, SIDE, 3), 150, np.uint8)
    pupils = with_pupils_at(face[None], np.array([[way] * 2], np.float32))[0, -2:, :2] * SIDE
    for lids, pupil in zip(EYES, pupils, strict=True):
        outline = face[lids, :2] * SIDE
        inside = filled_outline(outline, (SIDE, SIDE))
        eye = np.full_like(crop, 230)
        radius = round(float(IRIS * np.linalg.norm(outline[8] - outline[0])))
        cv2.circle(eye, np.rint(pupil).astype(int).tolist(), radius, (60, 50, 40), -1)
        crop[inside > 127] = eye[inside > 127]
    return np.asarray(cv2.GaussianBlur(crop, (0, 0), 1.0), np.uint8)


@pytest.mark.parametrize("sideways", [-0.25, -0.1, 0.0, 0.1, 0.25])
def test_gaze_is_read_where_irises_are(face: Float32, sideways: float) -> None:
    crop = eyes_looking(face, (sideways, -0.03))
    assert gaze_of_crop(crop, face)[0] == pytest.approx(sideways, abs=0.08)


def test_shut_and_blank_eyes_are_read_as_usual_ones(face: Float32) -> None:
    shut = drawn_together(face[None], np.zeros((1, 2), np.float32))[0]
    crop = eyes_looking(face, (0.2, 0.0))
    blank = np.full_like(crop, 99)
    for seen, points in ((crop, shut), (blank, face), (crop, face + np.float32(9))):
        assert np.abs(gaze_of_crop(seen, points)).max() < 0.3


def test_pupils_are_told_as_they_were_placed(face: Float32) -> None:
    points = np.stack([face, turned(face, 30.0)])
    wanted = np.array([[[0.2, -0.05]] * 2, [[-0.1, 0.02]] * 2], np.float32)
    made = with_pupils_at(points, wanted)
    assert np.allclose(offsets_of_pupils(made), wanted, atol=1e-5)
    assert np.array_equal(made[:, :-2], points[:, :-2])


@pytest.mark.parametrize("sideways", [-0.2, 0.0, 0.2])
def test_irises_of_a_texture_are_moved_where_wanted(face: Float32, sideways: float) -> None:
    texture = eyes_looking(face, (0.08, -0.04))
    step = ((np.arange(SIDE) + 0.5) / SIDE).astype(np.float32)
    uv = np.stack(np.meshgrid(step, step), axis=-1)
    own = gaze_of_crop(texture, face)
    moved = looking_at(uv, face[:, :2], own, np.array([[sideways, -0.04]] * 2, np.float32), OPEN)
    x, y = cv2.split(moved * np.float32(SIDE) - np.float32(0.5))
    seen = np.asarray(cv2.remap(texture, x, y, cv2.INTER_LINEAR), np.uint8)
    assert gaze_of_crop(seen, face)[0] == pytest.approx(sideways, abs=0.08)


def test_nothing_moves_beside_the_eyes_nor_where_they_look_already(face: Float32) -> None:
    step = ((np.arange(SIDE) + 0.5) / SIDE).astype(np.float32)
    uv = np.stack(np.meshgrid(step, step), axis=-1)
    own = np.array([0.05, -0.05], np.float32)
    assert np.allclose(looking_at(uv, face[:, :2], own, np.stack([own] * 2), OPEN), uv, atol=2e-3)
    far = looking_at(uv, face[:, :2], own, np.full((2, 2), -0.2, np.float32), OPEN)
    is_moved = np.abs(far - uv).max(axis=-1) > 1e-6
    rows, columns = np.nonzero(is_moved)
    outlines = np.concatenate([face[lids, :2] for lids in EYES]) * SIDE
    assert is_moved.any()
    assert columns.min() > outlines[:, 0].min() - 8
    assert columns.max() < outlines[:, 0].max() + 8
    assert rows.min() > outlines[:, 1].min() - 8
    assert rows.max() < outlines[:, 1].max() + 8


def test_shut_eyes_show_nothing_that_lies_near_the_lids(face: Float32) -> None:
    step = ((np.arange(SIDE) + 0.5) / SIDE).astype(np.float32)
    uv = np.stack(np.meshgrid(step, step), axis=-1)
    own = np.array([0.0, -0.05], np.float32)
    shut = looking_at(uv, face[:, :2], own, np.stack([own] * 2), np.ones(2, np.float32))
    for lids in EYES:
        column = round(float(face[lids, 0].mean()) * SIDE)
        top, bottom = (np.rint(end * SIDE) for end in (face[lids, 1].min(), face[lids, 1].max()))
        width = float(np.ptp(face[lids, 0])) * SIDE
        above, below = (shut[int(row), column, 1] * SIDE for row in (top - 1, bottom + 1))
        assert top - above > 0.04 * width
        assert below - bottom > 0.04 * width
