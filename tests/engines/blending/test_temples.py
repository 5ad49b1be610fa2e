"""Temples of glasses are taken off beside a painted face, and nothing else is."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending import temples
from engines.blending.patches import Patch, defect_of, identity_mask_of
from engines.pictures import BgrImage
from tests.engines.stylegan.faces import identities

pytestmark = pytest.mark.unit

SIZE = 256
SKIN = (120, 140, 190)
LEVEL = SIZE * 3 // 8


def patch_of(size: int = SIZE) -> Patch:
    """A painted face that fades out beside its identity."""
    pixels = np.full((size, size, 3), SKIN, np.float32)
    pixels[::16] -= 20
    place = np.eye(2, 3, dtype=np.float32)
    bare = Patch(pixels, np.zeros((size, size), np.float32), place, identities(1, 1.0)[0])
    must = identity_mask_of(bare, size).astype(np.uint8)
    away = cv2.distanceTransform(1 - must, cv2.DIST_L2, 3)
    alpha = np.clip(1 - away / 8, 0, 1).astype(np.float32)
    return Patch(pixels, alpha, place, bare.identity)


def head(*lines: tuple[int, int, int, int], size: int = SIZE) -> BgrImage:
    """Skin with dark lines, x0 x1 y and thickness of each."""
    image = np.full((size, size, 3), SKIN, np.uint8)
    for x0, x1, y, thick in lines:
        cv2.rectangle(image, (x0, y), (x1, y + thick), (20, 20, 20), -1)
    return image


def sides(patch: Patch) -> tuple[int, int]:
    """First and last column of the identity outline."""
    columns = np.flatnonzero(identity_mask_of(patch, SIZE).any(axis=0))
    return int(columns[0]), int(columns[-1])


def seen(patch: Patch, image: BgrImage) -> NDArray[np.float32]:
    """What the patch makes of the picture, float32[SIZE, SIZE, 3]."""
    alpha = patch.alpha[..., None]
    return np.asarray(patch.pixels * alpha + image * (1 - alpha), np.float32)


def without_temples(patch: Patch, image: BgrImage) -> Patch:
    """The patch with what a head shows of temples painted over."""
    found = temples.temples_beside(patch, image)
    return patch if found is None else temples.without_temples(patch, found)


def test_temple_goes_with_the_glasses() -> None:
    patch = patch_of()
    first, _ = sides(patch)
    image = head((first - 20, first + 20, LEVEL, 5))
    made = without_temples(patch, image)
    beside = np.s_[LEVEL : LEVEL + 6, first - 18 : first - 9]
    assert seen(patch, image)[beside].mean() < 40
    assert seen(made, image)[beside].mean() > 135
    assert defect_of(made) == ""


def test_what_must_be_hidden_stays_as_it_was_painted() -> None:
    """The planted fault: glasses lie over the whole face, and are drawn nowhere within it."""
    patch = patch_of()
    first, last = sides(patch)
    made = without_temples(patch, head((first - 20, last + 20, LEVEL, 5)))
    must = identity_mask_of(patch, SIZE)
    assert (made.alpha[must] == 1).all()
    np.testing.assert_array_equal(made.pixels[must], patch.pixels[must])


def test_lines_elsewhere_stay() -> None:
    patch = patch_of()
    first, last = sides(patch)
    behind = (first - 28, first - 20, LEVEL, 5)
    upright, thick = (last + 12, last + 16, LEVEL - 30, 60), (last - 9, last + 28, LEVEL, 40)
    for one in (behind, upright, thick, (first - 20, first + 20, SIZE - 40, 5)):
        image = head(one)
        away = np.abs(seen(without_temples(patch, image), image) - seen(patch, image))
        assert away[:, :, 1].max() < 12, one


def test_small_faces_are_left() -> None:
    patch = patch_of(96)
    assert without_temples(patch, head((0, 95, 36, 2), size=96)) is patch
