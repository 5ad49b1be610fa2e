"""Hair around a painted face becomes as bright as the surrogate's; skin and walls do not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from engines.hair_tone import HairTone, hair_tone
from engines.head_traits import HEAD_TRAITS
from engines.polar import DOWN, RAYS, STEPS, UP, distances
from engines.reshaping import headness
from engines.seam import LUMA, skin_likeness, toned

pytestmark = pytest.mark.unit

Float32 = NDArray[np.float32]
SKIN = np.array([90, 110, 150], np.float32)
HAIR = np.array([30, 40, 55], np.float32)
WALL = np.array([200, 200, 200], np.float32)
PATCH = np.full(RAYS, 0.42, np.float32)


def scene(hair: Float32 = HAIR) -> Float32:
    rays = np.where((distances() < 0.65)[..., None], hair, WALL)
    return np.broadcast_to(rays, (RAYS, STEPS, 3)).astype(np.float32)


def tone(bright: float, around: Float32) -> HairTone:
    traits = np.full(HEAD_TRAITS, bright, np.float32)
    return hair_tone(around, headness(around, PATCH, SKIN), PATCH, SKIN, traits)


@pytest.mark.parametrize(("trait", "share"), [(0.0, 0.3), (0.5, 0.55), (1.0, 0.8)])
def test_hair_is_as_bright_beside_the_skin_as_the_surrogates(trait: float, share: float) -> None:
    around = scene()
    made = around + (found := tone(trait, around)).shift(around, found.weight)
    above = made[UP > 0.9][:, (distances()[0] > 0.45) & (distances()[0] < 0.6)]
    assert float(above.mean(axis=(0, 1)) @ LUMA) == pytest.approx(share * (SKIN @ LUMA), rel=0.1)


def test_wall_and_neck_keep_their_colour() -> None:
    around = scene()
    found = tone(1.0, around)
    change = np.abs(found.shift(around, found.weight)).max(axis=2)
    assert change[:, distances()[0] > 0.75].max() < 2
    assert change[DOWN > 0.6].max() < 2


def test_pixel_that_is_half_wall_changes_less() -> None:
    around = scene()
    found = tone(1.0, around)
    pixels = np.stack([HAIR, (HAIR + WALL) / 2])
    change = np.abs(found.shift(pixels[None], np.ones((1, 2), np.float32))).max(axis=2)[0]
    assert change[1] < 0.35 * change[0]


def test_bald_head_is_left_as_it_is() -> None:
    around = scene(SKIN)
    found = tone(0.0, around)
    assert np.abs(found.shift(around, found.weight)).max() < 3


def test_neck_takes_on_the_faces_colour_at_the_rim_and_its_own_farther_out() -> None:
    face, neck = np.full((RAYS, STEPS, 3), SKIN), np.full((RAYS, STEPS, 3), SKIN - 20)
    rim = np.full(RAYS, 0.4, np.float32)
    added = toned(neck.astype(np.float32), face.astype(np.float32), rim, rim)
    near, far = (added[:, np.abs(distances()[0] - at).argmin()].mean() for at in (0.42, 1.0))
    assert near > 10
    assert far < 1


def test_hair_beside_a_face_takes_nothing_from_it() -> None:
    face = np.full((RAYS, STEPS, 3), SKIN).astype(np.float32)
    hair = np.full((RAYS, STEPS, 3), HAIR).astype(np.float32)
    rim = np.full(RAYS, 0.4, np.float32)
    assert np.abs(toned(hair, face, rim, rim)).max() < 5
    assert float(skin_likeness(HAIR, SKIN)) < 0.3
