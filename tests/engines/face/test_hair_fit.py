"""How well surrogates go with the hair of a head: told by brows and beards."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.face.hair_fit import misfits, shades

pytestmark = pytest.mark.unit

SIDE = 128
MARKS = np.array([[0.3, 0.37], [0.7, 0.37], [0.5, 0.6], [0.36, 0.75], [0.64, 0.75]], np.float32)


def face(brows: int = 150, moustache: int = 150, light: float = 1.0) -> NDArray[np.uint8]:
    """Grey skin with brows and a moustache of these grey levels."""
    crop = np.full((SIDE, SIDE, 3), 150.0)
    for left, right in ((26, 51), (77, 102)):
        crop[33:40, left:right] = brows
    crop[82:90, 50:78] = moustache
    return np.rint(crop * light).astype(np.uint8)


def told(*faces: NDArray[np.uint8]) -> NDArray[np.float32]:
    return shades(np.stack(faces), MARKS * np.float32(SIDE))


def test_black_brows_do_not_go_with_fair_hair_and_fair_ones_do() -> None:
    fair, fairer, black = told(face(brows=110), face(brows=120), face(brows=25))
    near, far = misfits(np.stack([fairer, black]), fair)
    assert near < 0.15 < 0.6 < far


def test_a_moustache_does_not_go_with_a_shaved_face() -> None:
    shaved, bearded = told(face(60), face(60, moustache=60))
    assert misfits(bearded[None], shaved)[0] > 0.5
    assert misfits(bearded[None], bearded)[0] == 0


def test_light_is_no_hair() -> None:
    bright, dim = told(face(60, 90), face(60, 90, light=0.6))
    assert misfits(dim[None], bright)[0] < 0.15


def test_a_face_whose_mouth_lies_outside_is_told_by_the_rest() -> None:
    outside = MARKS * np.float32(SIDE)
    outside[3:] += 3 * SIDE
    found = shades(face(60)[None], outside)
    assert np.isfinite(found).all()


def test_a_face_modelled_harder_than_its_head_does_not_go_with_it_and_a_softer_one_does() -> None:
    stripes = np.where(np.arange(SIDE) // 6 % 2, 1, -1)[:, None, None]
    soft, hard = (np.clip(face(60) + stripes * depth, 0, 255).astype(np.uint8) for depth in (3, 25))
    shallow, deep = told(soft, hard)
    assert misfits(deep[None], shallow)[0] > misfits(shallow[None], deep)[0] + 0.5
