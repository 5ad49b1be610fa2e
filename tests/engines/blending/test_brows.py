"""Brows become as dark as those of the head, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.blending.brows import BROW_GAINS, brow_darkness, brow_warmth, with_brows
from engines.blending.harmony import retouch_of, retouched, seen_head
from engines.blending.patches import Patch
from engines.face.alignment import identity_mask
from engines.pictures import picture_from_bgr
from engines.stylegan.drawing import brightness
from engines.stylegan.topology import BROW_LEFT_SLICE, BROW_RIGHT_SLICE
from tests.engines.stylegan.faces import drawn_face

pytestmark = pytest.mark.unit

SIDE = 256
POINTS = np.asarray(drawn_face()[:, :2], np.float32)
SKIN = np.array([110.0, 140.0, 190.0], np.float32)

Float32 = NDArray[np.float32]


def brows() -> Float32:
    both = [POINTS[part] for part in (BROW_LEFT_SLICE, BROW_RIGHT_SLICE)]
    return np.asarray(np.stack(both), np.float32)


def face_with(hair: float, lamp: float = 1.0, thick: float = 1.0) -> Float32:
    """Skin with brows of so much of its brightness, a lamp above it all."""
    pixels = np.broadcast_to(SKIN, (SIDE, SIDE, 3)).astype(np.float32)
    for brow in brows() * SIDE:
        middle = brow.mean(axis=0)
        left, top = np.floor(middle + thick * (brow.min(axis=0) - middle)).astype(int)
        right, bottom = np.ceil(middle + thick * (brow.max(axis=0) - middle)).astype(int)
        pixels[top:bottom, left:right] *= np.float32(hair)
    return np.asarray(pixels * np.float32(lamp), np.float32)


def darkness(pixels: Float32) -> float:
    return brow_darkness(brightness(pixels), POINTS)


def test_darkness_is_a_share_of_the_skin_in_any_light() -> None:
    told = [darkness(face_with(hair)) for hair in (1.0, 0.7, 0.4, 0.2)]
    assert told == sorted(told)
    assert told[0] == pytest.approx(0, abs=0.02)
    assert told[-1] == pytest.approx(0.8, abs=0.1)
    assert darkness(face_with(0.4, lamp=0.6)) == pytest.approx(told[2], abs=0.05)


@pytest.mark.parametrize(("own", "wanted"), [(0.7, 0.5), (0.3, 0.6)])
def test_brows_become_as_dark_as_others(own: float, wanted: float) -> None:
    pixels, other = face_with(own), face_with(wanted)
    with_brows(pixels, POINTS, darkness(other) / darkness(pixels))
    assert darkness(pixels) == pytest.approx(darkness(other), abs=0.06)


def test_nothing_but_brows_changes_and_they_keep_their_hue() -> None:
    pixels = face_with(0.7)
    before = pixels.copy()
    with_brows(pixels, POINTS, 1.6)
    changed = np.argwhere(np.abs(pixels - before).max(axis=2) > 1)[:, ::-1] / SIDE
    places = brows().reshape(-1, 2)
    assert (changed >= places.min(axis=0) - 0.05).all()
    assert (changed <= places.max(axis=0) + 0.05).all()
    x, y = (brows()[0].mean(axis=0) * SIDE).astype(int)
    assert pixels[y, x] / pixels[y, x].sum() == pytest.approx(SKIN / SKIN.sum(), abs=0.03)


def test_bluish_brows_become_as_warm_as_the_heads_and_stay_as_dark() -> None:
    """The planted fault: black brows with a blue sheen under fair hair."""
    head, pixels = face_with(0.5), face_with(0.5)
    for brow in brows() * SIDE:
        left, top = np.floor(brow.min(axis=0)).astype(int)
        right, bottom = np.ceil(brow.max(axis=0)).astype(int)
        head[top:bottom, left:right] *= np.array([0.8, 1.0, 1.05], np.float32)
    dark, lacking = darkness(pixels), brow_warmth(head, POINTS) - brow_warmth(pixels, POINTS)
    assert lacking > 0.15
    with_brows(pixels, POINTS, 1.0, lacking)
    assert brow_warmth(pixels, POINTS) == pytest.approx(brow_warmth(head, POINTS), abs=0.06)
    assert darkness(pixels) == pytest.approx(dark, abs=0.03)


def test_hair_before_a_forehead_is_no_skin() -> None:
    """The planted fault: a fringe made the skin look dark, and so every brow fair."""
    plain, fringed = face_with(0.4), face_with(0.4)
    top = int(brows()[..., 1].min() * SIDE)
    fringed[: top - 2] *= 0.2
    assert darkness(fringed) == pytest.approx(darkness(plain), abs=0.1)


@pytest.mark.parametrize("away", [0.0, 0.8, -5.0, 40.0])
def test_small_brows_and_those_beyond_the_picture_are_left_alone(away: float) -> None:
    for places in (POINTS + np.float32(away), POINTS * np.float32(0.02) + np.float32(0.5)):
        pixels = face_with(0.6)
        told = brow_darkness(brightness(pixels), places)
        with_brows(pixels, places, 1.5)
        with_brows(pixels, places, 1.0, 0.3)
        assert np.isfinite(told)
        assert not np.isinf(brow_warmth(pixels, places))
        assert np.isfinite(pixels).all()
        assert pixels.min() >= 0


def test_a_patch_gets_brows_as_dark_as_the_heads() -> None:
    """The planted fault: pale brows under dark hair."""
    head = face_with(0.4).astype(np.uint8)
    alpha = identity_mask(SIDE).astype(np.float32)
    both = np.stack([POINTS, POINTS])
    patch = Patch(face_with(0.7), alpha, np.eye(2, 3, dtype=np.float32), points=both)
    found = retouch_of(seen_head(picture_from_bgr(head), patch, head), patch)
    assert BROW_GAINS[0] < found.brows < BROW_GAINS[1] + 1e-6
    made = retouched(patch, found, (1, 2))
    assert darkness(made.pixels) > darkness(patch.pixels) + 0.04
    bare = replace(patch, points=None)
    assert retouch_of(seen_head(picture_from_bgr(head), bare, head), bare).brows == 1
