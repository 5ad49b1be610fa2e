"""What a picture's blur hides of an error in landmarks does not count as doubt."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from engines.face.face_look import Look, apart
from engines.face.swapper import DOUBT_LIMIT
from engines.face.visible_doubt import visible_doubt
from engines.pictures import Picture, picture_from_bgr
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

_DOUBT = 2 * DOUBT_LIMIT


def look_of(size_px: float) -> Look:
    """A face in a crop that is `size_px` wide, in the middle of the frame."""
    motion, shape = apart(drawn_face() * np.float32(size_px) + np.array([100, 100, 0], np.float32))
    return Look(0, 0.0, motion, shape, np.zeros((2, 4, 4, 3), np.float32), _DOUBT)


def scene(blur: float) -> Picture:
    """Black and white squares, out of focus by so many px."""
    squares = (np.indices((400, 400)) // 32).sum(0) % 2 * 255
    grey: npt.NDArray[np.uint8] = squares.astype(np.uint8)
    soft = cv2.GaussianBlur(grey, (0, 0), blur) if blur else grey
    return picture_from_bgr(np.repeat(np.asarray(soft, np.uint8)[..., None], 3, axis=2))


def test_blur_as_wide_as_the_error_hides_it() -> None:
    """The eyes are 20 px apart: the error is 2.4 px."""
    doubts = [visible_doubt(look_of(50), scene(blur)) for blur in (0.0, 1.5, 2.0, 2.8)]
    assert doubts[0] == pytest.approx(_DOUBT)
    assert all(np.diff(doubts) < 0)
    assert doubts[2] > DOUBT_LIMIT > doubts[3]


def test_a_large_face_is_doubted_however_blurred() -> None:
    assert visible_doubt(look_of(200), scene(3.0)) == _DOUBT


@pytest.mark.parametrize("doubt", [0.0, DOUBT_LIMIT, np.inf])
def test_a_sure_face_and_one_that_cannot_be_followed_stay_so(doubt: float) -> None:
    assert visible_doubt(replace(look_of(50), doubt=doubt), scene(3.0)) == doubt


def test_an_error_beyond_a_share_of_the_face_is_seen_in_any_blur() -> None:
    far = replace(look_of(20), doubt=0.2 * 0.4)
    assert visible_doubt(far, scene(3.0)) > DOUBT_LIMIT


def test_a_face_without_any_edge_is_taken_for_soft() -> None:
    flat = picture_from_bgr(np.full((400, 400, 3), 90, np.uint8))
    assert visible_doubt(look_of(50), flat) < DOUBT_LIMIT < visible_doubt(look_of(90), flat)
