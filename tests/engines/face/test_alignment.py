from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scenes import coded_picture
from engines.errors import EngineFault
from engines.face.alignment import (
    arcface_from_landmarks,
    crop_from_picture,
    identity_mask,
    inverse_of,
    kveil_from_landmarks,
    luma_from_picture,
    moved,
    similarity_from_points,
    sized_region,
)
from engines.pictures import Picture, picture_from_bgr

pytestmark = pytest.mark.unit

UPRIGHT = np.array([[40, 50], [60, 50], [50, 60], [42, 70], [58, 70]], np.float32)


def turned(angle: float, scale: float, shift: tuple[float, float]) -> np.ndarray:
    cosine, sine = scale * np.cos(angle), scale * np.sin(angle)
    return np.array([[cosine, -sine, shift[0]], [sine, cosine, shift[1]]], np.float32)


@given(
    st.floats(-3.1, 3.1),
    st.floats(0.05, 20),
    st.tuples(st.floats(-500, 500), st.floats(-500, 500)),
)
@settings(max_examples=60)
def test_similarity_is_recovered_from_its_points(
    angle: float, scale: float, shift: tuple[float, float]
) -> None:
    truth = turned(angle, scale, shift)
    found = similarity_from_points(UPRIGHT, moved(truth, UPRIGHT))
    np.testing.assert_allclose(found, truth, rtol=1e-3, atol=2e-2)
    there = moved(found, UPRIGHT)
    np.testing.assert_allclose(moved(inverse_of(found), there), UPRIGHT, atol=0.05)


def test_mirrored_points_are_never_reflected() -> None:
    mirrored = UPRIGHT * np.array([-1, 1], np.float32)
    found = similarity_from_points(UPRIGHT, mirrored)
    assert np.linalg.det(found[:, :2].astype(float)) > 0


def test_kveil_crop_puts_the_eyes_in_their_place() -> None:
    landmarks = moved(turned(0.5, 2.0, (30, -10)), UPRIGHT)
    eyes = moved(kveil_from_landmarks(landmarks, 256), landmarks[:2])
    np.testing.assert_allclose(eyes, np.array([[0.3, 0.37], [0.7, 0.37]]) * 256, atol=1e-2)


def test_arcface_crop_scales_with_its_side() -> None:
    small = moved(arcface_from_landmarks(UPRIGHT), UPRIGHT)
    large = moved(arcface_from_landmarks(UPRIGHT, 224), UPRIGHT)
    np.testing.assert_allclose(large, small * 2, atol=1e-3)
    assert small.min() > 25
    assert small.max() < 100


@pytest.mark.parametrize(
    "landmarks",
    [np.full((5, 2), np.nan), np.full((5, 2), 7.0), np.full((5, 2), np.inf)],
    ids=["nan", "coincident", "infinite"],
)
def test_senseless_landmarks_are_a_fault(landmarks: np.ndarray) -> None:
    for align in (kveil_from_landmarks, arcface_from_landmarks):
        with pytest.raises(EngineFault):
            align(landmarks.astype(np.float32), 112)


def ramp_picture(height: int, width: int) -> Picture:
    """Luma grows with x, the first chroma plane with y."""
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    image = np.stack([x, y, x + y], -1).clip(0, 255).astype(np.uint8)
    return picture_from_bgr(image)


def test_crop_without_turn_is_the_window_itself() -> None:
    picture = ramp_picture(100, 120)
    shift = np.array([[1, 0, -20], [0, 1, -30]], np.float32)
    crop = crop_from_picture(picture, shift, 40)
    assert (crop == picture.planes[0][30:70, 20:60]).all()


@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 3.0])
def test_crop_keeps_its_place_at_any_scale(scale: float) -> None:
    picture = ramp_picture(240, 240)
    size = 64
    crop_from_frame = np.array([[scale, 0, 0], [0, scale, 0]], np.float32)
    crop_from_frame[:, 2] = size / 2 - scale * np.array([110, 90])
    crop = crop_from_picture(picture, crop_from_frame, size).astype(float)
    centre = crop[size // 2 - 1 : size // 2 + 1, size // 2 - 1 : size // 2 + 1].mean((0, 1))
    # The pixel whose centre lies at 110.5 has the value 110.
    np.testing.assert_allclose(centre[:2], [109.5, 89.5], atol=0.6)


@pytest.mark.parametrize("shape", [(64, 64), (301, 203), (3, 5), (1, 1)])
@pytest.mark.parametrize("scale", [0.6, 0.5, 0.34, 0.2, 0.01, 1e-4])
def test_picture_is_averaged_down_whatever_its_size(shape: tuple[int, int], scale: float) -> None:
    """Coarse crops of pictures of any size: an even picture stays even, noise averages out."""
    even = picture_from_bgr(np.full((*shape, 3), 90, np.uint8))
    middle = np.array([shape[1] / 2, shape[0] / 2], np.float32)
    place = np.array([[scale, 0, 16], [0, scale, 16]], np.float32)
    place[:, 2] -= middle * np.float32(scale)
    crop = crop_from_picture(even, place, 32)
    assert crop.max() <= 90
    assert crop.max() == 90 or scale * min(shape) <= 2
    noise = np.random.default_rng(0).integers(0, 255, (*shape, 3)).astype(np.uint8)
    seen = crop_from_picture(picture_from_bgr(noise), place, 32)[12:20, 12:20].astype(float)
    if scale <= 0.34 and scale * min(shape) > 12:
        assert seen.std() < 0.6 * noise.std()


def test_crop_that_leaves_the_frame_repeats_its_rim() -> None:
    """As the pictures did that the landmark network learnt from: black is taken for a thing."""
    image = np.full((50, 50, 3), 200, np.uint8)
    image[:, :3] = 90
    picture = picture_from_bgr(image)
    beside = np.array([[1, 0, 30], [0, 1, 0]], np.float32)
    crop = crop_from_picture(picture, beside, 60)
    assert (crop[:, :32] == 90).all()
    assert crop[5:45, 35:58].min() == 200
    away = np.array([[1, 0, 900], [0, 1, 0]], np.float32)
    assert crop_from_picture(picture, away, 60).max() == 0


@pytest.mark.parametrize("is_coded", [False, True])
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.0])
def test_brightness_of_a_crop_is_that_of_the_crop(scale: float, *, is_coded: bool) -> None:
    rng = np.random.default_rng(3)
    image = cv2.GaussianBlur(rng.integers(0, 255, (120, 120, 3), dtype=np.uint8), (0, 0), 4)
    picture = picture_from_bgr(np.asarray(image, np.uint8))
    if is_coded:
        picture = coded_picture(picture.planes[0].astype(np.uint8))
    place = np.array([[scale, 0, -20], [0, scale, -20]], np.float32)
    grey = cv2.cvtColor(crop_from_picture(picture, place, 48), cv2.COLOR_BGR2GRAY)
    assert np.abs(luma_from_picture(picture, place, 48) - grey.astype(float)).max() <= 3
    away = np.array([[1, 0, 900], [0, 1, 0]], np.float32)
    assert luma_from_picture(picture, away, 48).max() == 0


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_crop_by_a_senseless_map_is_a_fault(value: float) -> None:
    with pytest.raises(EngineFault):
        crop_from_picture(ramp_picture(20, 20), np.full((2, 3), value, np.float32), 16)


def test_region_lies_on_the_chroma_grid_and_in_the_frame() -> None:
    planes = (np.zeros((51, 61), np.uint8), np.zeros((26, 31), np.uint8))
    picture = Picture((planes[0], planes[1], planes[1]), "yuv420")
    assert sized_region(np.array([3.2, 5.9, 10.1, 11.0]), picture) == (4, 2, 8, 10)
    assert sized_region(np.array([-9, -9, 1e9, 1e9]), picture) == (0, 0, 51, 61)
    assert sized_region(np.array([61.0, 0, 80, 20]), picture) is None
    with pytest.raises(EngineFault):
        sized_region(np.array([0, 0, np.nan, 4]), picture)


def test_identity_oval_holds_the_features_and_spares_the_corners() -> None:
    mask = identity_mask(100)
    for x, y in ((30, 37), (70, 37), (50, 60), (36, 80), (64, 80), (50, 94)):
        assert mask[y, x]
    assert not mask[0].any()
    assert not mask[:, :10].any()
