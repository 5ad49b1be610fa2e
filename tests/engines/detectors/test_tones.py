"""Faces in narrow tones are found as a viewer would see them, and others cost no second search."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from skimage import data as photographs

from engines.backends.openvino import OpenVino
from engines.detectors.detector import Detector
from engines.detectors.loading import detector_from_model
from engines.detectors.multiscale import DetectionPlan, detect_picture
from engines.detectors.tones import shown, tones_of
from engines.models.catalogue import centerface_path
from engines.pictures import Picture, Plane, picture_from_bgr

pytestmark = pytest.mark.unit

Floats = NDArray[np.float64]
SIDE = 384


@pytest.fixture(scope="module")
def detector() -> Detector:
    return detector_from_model(OpenVino(threads=2), centerface_path())


@pytest.fixture(scope="module")
def scene() -> Floats:
    """A portrait in grey, 0…1."""
    rgb: NDArray[np.uint8] = photographs.astronaut()  # type: ignore[no-untyped-call]
    grey = cv2.resize(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), (SIDE, SIDE))
    return np.asarray(grey, np.float64) / 255


def deep(values: Floats) -> Picture:
    return Picture((np.rint(values).astype(np.uint16),), "gray", 16, "bt601", True)


def deep_colour(values: Floats) -> Picture:
    return Picture((np.rint(np.dstack([values] * 3)).astype(np.uint16),), "bgr", 16, "bt709", True)


def video(values: Floats, depth: int) -> Picture:
    """4:2:0 of limited range without colour; `values` are luma samples."""
    luma = np.rint(values).astype(np.uint16)
    chroma = np.full((SIDE // 2, SIDE // 2), 1 << (depth - 1), np.uint16)
    planes: tuple[Plane, ...] = (luma, chroma, chroma.copy())
    if depth == 8:
        planes = tuple(plane.astype(np.uint8) for plane in planes)
    return Picture(planes, "yuv420", depth)


def boxed(values: Floats) -> Picture:
    """Black and white bars take the whole range."""
    framed = values.copy()
    framed[:4], framed[-4:] = 0, 65535
    return deep(framed)


SCENES: dict[str, Callable[[Floats], Picture]] = {
    "14-bit thermal counts": lambda g: deep(7400 + 600 * g),
    "a few counts": lambda g: deep(29300 + 12 * g),
    "10 bits in 16": lambda g: deep(1023 * g),
    "colour, 10 bits in 16": lambda g: deep_colour(1023 * g),
    "thermal counts between bars": lambda g: boxed(7400 + 600 * g),
    "linear light, six stops down": lambda g: deep(1023 * g**2.2),
    "12-bit video": lambda g: video(1000 + 30 * g, 12),
    "10-bit video": lambda g: video(80 + 14 * g, 10),
    "very dark video": lambda g: video(16 + 2.5 * g, 8),
    "very bright video": lambda g: video(232 + 3 * g, 8),
}


@pytest.mark.parametrize("name", SCENES)
def test_face_in_narrow_tones_is_found(name: str, scene: Floats, detector: Detector) -> None:
    found = detect_picture(detector, SCENES[name](scene), DetectionPlan(SIDE), 0.5)
    assert len(found) == 1
    np.testing.assert_allclose(found[0].box_px, np.array([136, 43, 203, 134]), atol=12)


def test_face_in_the_shadows_of_a_bright_deep_picture_is_found(
    scene: Floats, detector: Detector
) -> None:
    values = np.full((SIDE, 2 * SIDE), 0.6) + np.linspace(0, 0.4, 2 * SIDE)
    values[:160, :240] = scene[:160, :240] * 0.004
    found = detect_picture(detector, deep(65535 * values), DetectionPlan(2 * SIDE), 0.5)
    assert len(found) == 1


def test_ordinary_pictures_are_searched_once(scene: Floats) -> None:
    assert tones_of(deep(20000 + 40000 * scene)) == ()
    assert tones_of(video(16 + 200 * scene, 8)) == ()
    assert tones_of(video(64 + 700 * scene, 10)) == ()


def test_flat_pictures_have_no_tones() -> None:
    for value in (0, 900, 65535):
        assert tones_of(deep(np.full((90, 160), value))) == ()
    assert tones_of(picture_from_bgr(np.zeros((90, 160, 3), np.uint8))) == ()


def test_coded_bars_cost_no_second_search(scene: Floats) -> None:
    values = 16 + 200 * scene
    values[:, :150] = values[:, -150:] = 16 + (np.arange(150) % 7 == 0) - (np.arange(150) % 9 == 0)
    assert tones_of(video(values, 8)) == ()


def test_noise_shows_no_faces(detector: Detector) -> None:
    noise = np.random.default_rng(4).normal(2000, 12, (SIDE, SIDE))
    picture = deep(noise)
    assert tones_of(picture)
    assert detect_picture(detector, picture, DetectionPlan(SIDE), 0.3) == ()


def test_stretched_picture_keeps_its_order_and_uses_all_levels(scene: Floats) -> None:
    picture = deep(7400 + 600 * scene)
    grey = shown(picture, tones_of(picture)[0], SIDE, SIDE)[..., 0].astype(int)
    order = picture.planes[0].astype(int)
    np.testing.assert_allclose(grey, np.clip((order - 7400) / 600, 0, 1) * 255, atol=12)
    assert grey.min() == 0
    assert grey.max() == 255
