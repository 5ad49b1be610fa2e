"""What a closer look shows the detector, and what of its answer concerns the place."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from skimage import data as photographs

from engines.backends.openvino import OpenVino
from engines.detectors.closer_look import faces_at
from engines.detectors.loading import detector_from_model
from engines.models.catalogue import centerface_path
from engines.pictures import BgrImage, picture_from_bgr
from engines.types import Face

pytestmark = pytest.mark.unit


class Pointing:
    """Finds a face at every white spot."""

    def detect(self, image_bgr: BgrImage, *, min_score: float) -> tuple[Face, ...]:
        count, _, stats, _ = cv2.connectedComponentsWithStats((image_bgr[..., 0] > 128).view("u1"))
        boxes = [(x, y, x + w, y + h) for x, y, w, h, _ in stats[1:count].tolist()]
        return tuple(
            Face(np.array(box, np.float32), np.full((5, 2), box[:2], np.float32), 0.5)
            for box in boxes
        )


def spots(*places: tuple[int, int]) -> BgrImage:
    image = np.zeros((240, 320, 3), np.uint8)
    for x, y in places:
        image[y : y + 20, x : x + 20] = 255
    return image


def test_a_face_is_told_in_pixels_of_the_frame() -> None:
    box = np.array([96, 98, 126, 128], np.float32)
    ((found,),) = faces_at(Pointing(), picture_from_bgr(spots((100, 100))), [box], 0.1)
    assert np.allclose(found.box_px, [100, 100, 120, 120], atol=0.6)
    assert np.allclose(found.landmarks_px, 100, atol=0.6)


def test_faces_beside_the_place_are_none_of_it() -> None:
    box = np.array([96, 98, 126, 128], np.float32)
    assert faces_at(Pointing(), picture_from_bgr(spots((130, 100))), [box], 0.1) == [()]


def test_a_place_outside_the_picture_shows_nobody() -> None:
    box = np.array([-90, -90, -60, -60], np.float32)
    assert faces_at(Pointing(), picture_from_bgr(spots((0, 0))), [box], 0.1) == [()]


@pytest.mark.parametrize("scale", [0.15, 1.0])
def test_the_detector_finds_a_face_of_any_size_and_none_beside_it(scale: float) -> None:
    rgb = np.asarray(photographs.astronaut())  # type: ignore[no-untyped-call]
    image = cv2.resize(rgb[..., ::-1], None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    picture = picture_from_bgr(np.asarray(image, np.uint8))
    detector = detector_from_model(OpenVino(), centerface_path())
    face = np.array([170, 60, 265, 190], np.float32) * np.float32(scale)
    flag = np.array([20, 20, 110, 140], np.float32) * np.float32(scale)
    at_face, at_flag = faces_at(detector, picture, [face, flag], 0.08)
    assert at_face[0].score > 0.5
    assert at_flag == ()


def test_no_places_need_no_look() -> None:
    detector = detector_from_model(OpenVino(), centerface_path())
    assert faces_at(detector, picture_from_bgr(spots()), [], 0.08) == []
