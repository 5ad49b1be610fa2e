from __future__ import annotations

import cv2
import numpy as np
import pytest

from engines.alignment import EYES
from engines.face_look import PAINTED_EYES
from training.painted import painted_crop, painted_place

pytestmark = pytest.mark.unit


def test_eyes_come_to_where_the_swap_paints_them() -> None:
    eyes = np.concatenate([EYES, np.zeros((2, 1))], axis=1).astype(np.float32)
    assert np.allclose(painted_place(eyes)[:, :2], PAINTED_EYES, atol=1e-6)


def test_picture_and_points_move_alike() -> None:
    crop = np.zeros((256, 256, 3), np.uint8)
    cv2.circle(crop, (76, 94), 8, (255, 255, 255), -1)
    rows, columns = np.nonzero(painted_crop(crop)[..., 0] > 128)
    found = np.array([columns.mean() + 0.5, rows.mean() + 0.5]) / 128
    place = painted_place(np.array([76.5 / 256, 94.5 / 256, 0.0], np.float32))
    assert np.abs(found - place[:2]).max() < 0.3 / 128


def test_what_lies_beyond_the_crop_is_marked() -> None:
    shown = painted_crop(np.full((128, 128), 255, np.uint8), cv2.BORDER_CONSTANT)
    assert shown[64, 64] == 255
    assert shown[:8].max() == 0
    assert shown[:, :8].max() == 0
